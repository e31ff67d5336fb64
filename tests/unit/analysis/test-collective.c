/* SPDX-License-Identifier: Apache-2.0
 * Verdicts of a buffer, and the nulls that go with them: one small trace each. */
#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

#include "capture/format.h"

#include <string.h>

/* One buffer: rank r arrives at submit[r], its call runs from 1000 to end[r]. */
typedef struct Case {
    int64_t submit_ns[2], end_ns[2];
    int64_t uncertainty_ns; /* of rank 1 */
    LsClockMethod method;   /* of rank 1 */
    uint32_t expected;
    uint8_t operation;
    bool host_timed, open;
    const char *verdict;
    int last_rank; /* -1: null */
} Case;

static LsTrace *
make_trace(const Case *one)
{
    LsProcess *processes[2];

    for (int rank = 0; rank < 2; rank++) {
        uint32_t row;
        LsCall *call;

        processes[rank] = sample_process(rank, (int)one->expected, "gpu01");
        if (rank == 1) {
            processes[rank]->rank.clock_method = one->method;
            processes[rank]->rank.clock_uncertainty_ns = one->uncertainty_ns;
        }
        row = sample_call(processes[rank], 0, 1000, 1000, one->end_ns[rank]);
        call = &g_array_index(processes[rank]->calls, LsCall, row);
        call->operation = one->operation;
        call->device_timed = !one->host_timed;
        call->open = one->open && rank == 1;
        sample_use(processes[rank], "a", 0, row, one->submit_ns[rank], 990);
    }
    return sample_freeze(processes, 2, one->expected);
}

static void
test_verdicts(void)
{
    static const Case cases[] = {
        {{100, 300}, {2000, 2000}, 0, LS_CLOCK_SAME_BOOT, 2, 0, false, false, "ok", 1},
        {{100, 300}, {2000, 2000}, 200, LS_CLOCK_ROUNDTRIP, 2, 0, false, false, "tie", -1},
        {{100, 300}, {2000, 2000}, 199, LS_CLOCK_ROUNDTRIP, 2, 0, false, false, "ok", 1},
        {{100, 300}, {2000, 2000}, 0, LS_CLOCK_SAME_BOOT, 3, 0, false, false, "incomplete", 1},
        {{100, 300}, {2000, 2000}, 0, LS_CLOCK_SAME_BOOT, 2, 0, false, true, "incomplete", 1},
        {{100, 300},
         {2000, 2000},
         0,
         LS_CLOCK_SAME_BOOT,
         2,
         LS_OPERATION_BROADCAST,
         false,
         false,
         "bound",
         1},
        /* Without a clock rank 1 stays shorter: it came last. */
        {{100, 5300}, {2000, 7000}, 0, LS_CLOCK_NONE, 2, 0, false, false, "ok", 1},
        {{100, 300}, {2000, 2000}, 0, LS_CLOCK_SAME_BOOT, 2, 0, true, false, "ok", 1},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LsTrace) trace = make_trace(&cases[i]);
        g_autoptr(LsActivity) activity = ls_activity_new(trace);
        g_autoptr(LsTable) table = run_analysis("collectives", trace, activity);

        g_test_message("case %zu", i);
        g_assert_cmpstr(get_text(table, 0, "verdict"), ==, cases[i].verdict);
        if (cases[i].last_rank < 0)
            g_assert_true(is_null(table, 0, "last_rank"));
        else
            g_assert_cmpint(get_int(table, 0, "last_rank"), ==, cases[i].last_rank);
        g_assert_cmpint(is_null(table, 0, "wait_max_aligned_ns"), ==,
                        cases[i].method == LS_CLOCK_NONE);
        g_assert_cmpint(is_null(table, 0, "bus_bytes_per_s"), ==,
                        cases[i].host_timed || g_str_equal(cases[i].verdict, "incomplete"));
    }
}

/* Ends 50 apart and clocks exact: waits that differ by 60 cannot both be right; by 40 they may. */
static void
test_inconclusive(void)
{
    /* D = 2000 - 100 and end - 300: without clocks the wait is 1900 - (end - 300). */
    const Case good = {{100, 300}, {2000, 2050}, 0, LS_CLOCK_SAME_BOOT, 2, 0, false,
                       false,      NULL,         0};
    g_autoptr(LsTrace) trace = make_trace(&good);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) table = run_analysis("collectives", trace, activity);

    g_assert_cmpint(get_int(table, 0, "wait_max_ns"), ==, 150);
    g_assert_cmpint(get_int(table, 0, "wait_max_aligned_ns"), ==, 200);
    g_assert_cmpstr(get_text(table, 0, "verdict"), ==, "ok"); /* the ends' spread explains it */
}

static bool
has_finding(const LsTable *table, const char *severity, const char *part)
{
    for (size_t r = 0; r < ls_table_get_rows(table); r++)
        if (g_str_equal(get_text(table, r, "severity"), severity) &&
            strstr(get_text(table, r, "text"), part) != NULL)
            return true;
    return false;
}

/* Rank 0 leaves at 1500 although rank 1 arrives at 1800 only: a clock is wrong by 300 at least. */
static void
test_early_end(void)
{
    const Case early = {{100, 1800}, {1500, 1900}, 40, LS_CLOCK_WALL, 2, 0, false, false, NULL, 0};
    g_autoptr(LsTrace) trace = make_trace(&early);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) findings = run_analysis("findings", trace, activity);

    g_assert_true(has_finding(findings, "warning",
                              "ended before the last one arrived, by up to "
                              "260 ns"));
}

static void
test_reasons(void)
{
    const Case hosted = {{100, 300}, {2000, 2000}, 0, LS_CLOCK_NONE, 2, 0, true, false, NULL, 0};
    g_autoptr(LsTrace) trace = make_trace(&hosted);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) findings = run_analysis("findings", trace, activity);
    g_autoptr(LsTable) overlap = run_analysis("overlap", trace, activity);

    g_assert_true(has_finding(findings, "note", "Bus bandwidth of 1 buffer is null"));
    g_assert_true(has_finding(findings, "note", "No compute recorded"));
    g_assert_true(has_finding(findings, "note", "No steps were marked"));
    g_assert_true(has_finding(findings, "note", "The clock of rank 1 could not be brought onto"));
    g_assert_true(is_null(overlap, 0, "exposed_ns"));
    g_assert_true(is_null(overlap, 0, "overlap_ratio"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/collective/verdicts", test_verdicts);
    g_test_add_func("/analysis/collective/spread-of-ends-is-allowed-for", test_inconclusive);
    g_test_add_func("/analysis/collective/end-before-arrival-is-a-finding", test_early_end);
    g_test_add_func("/analysis/collective/nulls-carry-reasons", test_reasons);
    return g_test_run();
}
