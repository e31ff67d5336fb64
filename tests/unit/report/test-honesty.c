/* SPDX-License-Identifier: Apache-2.0
 * What the recording cost, in the honesty ledger: the figures that the recorders measured, whose
 * they are, and what was not measured. */
#include "report/honesty.h"

#include "tests/unit/sample-trace.h"

#include <string.h>

#define MS INT64_C(1000000)

/* A rank that recorded `records` in a second. */
static LsProcess *
make_process(int rank, uint64_t records, int64_t cost_ns, int64_t cpu_ns)
{
    LsProcess *process = sample_process(rank, 3, "gpu01");

    sample_step(process, 0, 0, 1000 * MS);
    process->rank.first_ns = 0;
    process->rank.last_ns = 1000 * MS;
    process->rank.records = records;
    process->rank.record_cost_ns = cost_ns;
    process->rank.recorder_cpu_ns = cpu_ns;
    return process;
}

/* The lines of cost, joined by " | "; caller frees. */
static char *
list_cost(LsProcess **processes, size_t n)
{
    g_autoptr(LsTrace) trace = sample_freeze(processes, n, (uint32_t)n);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(GPtrArray) lines = ls_honesty_list(&input);
    GString *text = g_string_new(NULL);
    bool inside = false;

    for (guint i = 0; i < lines->len; i++) {
        const char *line = lines->pdata[i];

        inside = g_str_has_prefix(line, "cost of recording") || (inside && line[0] == ' ');
        if (inside)
            g_string_append_printf(text, "%s%s", text->len > 0 ? " | " : "", line);
    }
    return g_string_free(text, false);
}

/* Who does not know its rank is none of the job's. */
static void
test_strangers(void)
{
    LsProcess *processes[] = {make_process(0, 10, 50, 0), make_process(-1, 10, 50, 0),
                              make_process(-1, 10, 50, 0)};
    g_autoptr(LsTrace) trace = sample_freeze(processes, 3, 3);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(GPtrArray) lines = ls_honesty_list(&input);

    g_assert_cmpstr(lines->pdata[0], ==, "ranks: 1 found, 3 expected");
    g_assert_cmpstr(lines->pdata[1], ==, "processes of no known rank: 2");
}

static void
test_measured(void)
{
    /* 10,000 records of 50 ns and 20,000 of 60 in a second: 0.05 and 0.12 %. */
    LsProcess *processes[] = {make_process(0, 10000, 50, 30 * MS),
                              make_process(1, 20000, 60, 20 * MS),
                              make_process(2, 10000, 50, LS_TIME_NONE)};
    g_autofree char *text = list_cost(processes, 3);

    g_assert_cmpstr(text, ==,
                    "cost of recording: 50 ns to 60 ns a record, measured at the start"
                    " |   of a rank's time: at most 0.120 % (rank 1)"
                    " |   of a processor, by the recorder's own thread: at most 3.00 % (rank 0)"
                    " |   not known of the recorder's own thread: 1 rank, which did not end it");
}

static void
test_not_measured(void)
{
    LsProcess *none[] = {make_process(0, 10, LS_TIME_NONE, LS_TIME_NONE)};
    LsProcess *one_of_two[] = {make_process(0, 1000, 70, MS),
                               make_process(1, 10, LS_TIME_NONE, LS_TIME_NONE)};
    g_autofree char *nothing = list_cost(none, 1);
    g_autofree char *half = list_cost(one_of_two, 2);

    g_assert_cmpstr(nothing, ==, "cost of recording: not measured by what wrote these files");
    g_assert_nonnull(strstr(half, "70 ns a record"));
    g_assert_nonnull(strstr(half, "not measured by what wrote the files of 1 rank"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/honesty/processes-of-no-rank", test_strangers);
    g_test_add_func("/report/honesty/cost-is-the-recorders-own-figure", test_measured);
    g_test_add_func("/report/honesty/what-was-not-measured-is-said", test_not_measured);
    return g_test_run();
}
