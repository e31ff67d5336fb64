/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is named and for how much: 4 ranks on 2 hosts, one step of 1000 ns, each rank computing until
 * it submits one tensor; two buffers may wait at the same time.
 */
#include "analysis/ledger.h"
#include "analysis/straggler.h"
#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

#define RANKS 4

/* submit[b][r]: buffer b's only tensor on rank r. Compute of rank r runs from 0 to compute[r]. */
static LsTrace *
make_trace(const int64_t submit[2][RANKS], const int64_t compute[RANKS])
{
    LsProcess *processes[RANKS];

    for (int rank = 0; rank < RANKS; rank++) {
        LsProcess *process = processes[rank] =
            sample_process(rank, RANKS, rank < 2 ? "gpu01" : "gpu02");

        sample_step(process, 0, 0, 1000);
        sample_phase(process, "forward", 0, compute[rank], 0);
        for (int b = 0; b < 2; b++) {
            uint32_t call = sample_call(process, b, 8, 700 + 50 * b, 740 + 50 * b);

            sample_use(process, b ? "b" : "a", 0, call, submit[b][rank], 690);
        }
    }
    /* The communicator is made before the step, which would be warm-up else. */
    for (int rank = 0; rank < RANKS; rank++)
        sample_call(processes[rank], 2, 8, -300, -200);
    return sample_freeze(processes, RANKS, RANKS);
}

static void
check_set(const LsTable *table, size_t row, const char *level, int64_t times, int64_t waited_ns,
          int64_t cost_ns)
{
    const Expected expected[] = {
        {"times_last", times}, {"waited_for_ns", waited_ns}, {"cost_ns_per_step", cost_ns}};

    g_assert_cmpstr(get_text(table, row, "level"), ==, level);
    check_row(table, row, expected, G_N_ELEMENTS(expected));
}

static void
test_one_rank(void)
{
    /* Rank 2 is last in both buffers. Both waits of a rank are one: from its first arrival to 600.
     */
    const int64_t submit[2][RANKS] = {{100, 150, 500, 200}, {200, 250, 600, 300}};
    const int64_t compute[RANKS] = {250, 300, 600, 350};
    g_autoptr(LsTrace) trace = make_trace(submit, compute);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) table = run_analysis("stragglers", trace, activity);

    g_assert_cmpuint(ls_table_get_rows(table), ==, RANKS + 2);
    check_set(table, 0, "rank", 0, 0, 0);
    /* 500 + 450 + 400 in all; without compute 350, 300, 250: the smallest is what it costs. */
    check_set(table, 2, "rank", 2, 1350, 250);
    g_assert_cmpfloat(get_real(table, 2, "times_last_by_chance"), ==, 0.5);
    /* As a host it is outwaited by ranks 0 and 1 only. */
    check_set(table, 4, "host", 0, 0, 0);
    check_set(table, 5, "host", 2, 950, 300);
    g_assert_cmpfloat(get_real(table, 5, "times_last_by_chance"), ==, 1.0);
}

static void
test_host_by_turns(void)
{
    /* Ranks 2 and 3 are last by turns: each alone costs little, the host all. */
    const int64_t submit[2][RANKS] = {{100, 100, 500, 110}, {520, 520, 530, 680}};
    const int64_t compute[RANKS] = {100, 100, 480, 100};
    g_autoptr(LsTrace) trace = make_trace(submit, compute);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) table = run_analysis("stragglers", trace, activity);

    /* For rank 2 the others wait 400, 400, 390; for rank 3 160, 160, 150. */
    check_set(table, 2, "rank", 1, 1190, 390);
    check_set(table, 3, "rank", 1, 470, 150);
    check_set(table, 5, "host", 2, 1120, 560);
}

/* Two runs in one folder, both with a step 7: rank 1 is last in the first by 300, in the second by
 * 100, of which the others compute none. Two steps, not one. */
static void
test_two_runs(void)
{
    LsProcess *processes[4];

    for (int i = 0; i < 4; i++) {
        int run = i / 2, rank = i % 2;
        int64_t at = 10000 * run, late = rank == 0 ? 0 : run == 0 ? 300 : 100;
        LsProcess *process = processes[i] = sample_process(rank, 2, "gpu01");
        uint32_t call = sample_call(process, 10 + run, 8, at + 700, at + 740);

        process->rank.run = (uint32_t)run;
        process->rank.incarnation = run;
        sample_step(process, 7, at, at + 1000);
        sample_phase(process, "forward", at, at + 200 + late, 0);
        sample_use(process, "a", 0, call, at + 200 + late, at + 690);
        sample_call(process, run, 8, at - 300, at - 200);
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 4, 2);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsScope) scope = ls_scope_new(&input);
    g_autoptr(GArray) found = ls_stragglers_find(&input, scope);
    LsStraggler late = {0};

    g_assert_cmpuint(ls_scope_get_steady(scope), ==, 2);
    for (guint i = 0; i < found->len && late.steps_last == 0; i++)
        late = g_array_index(found, LsStraggler, i);
    g_assert_cmpint(late.steps_last, ==, 2);
    g_assert_cmpint(late.steps_judged, ==, 2);
    g_assert_cmpint(late.cost_ns_per_step, ==, 200);
    g_assert_cmpfloat(late.share_since, ==, 1);
    g_assert_cmpint(ls_ledger_make(&input, scope).imbalance_ns, ==, 0);
}

/* A step that one run cut is whole in the other. */
static void
test_cut_in_one_run(void)
{
    LsProcess *processes[2];

    for (int run = 0; run < 2; run++) {
        processes[run] = sample_process(0, 1, "gpu01");
        processes[run]->rank.run = (uint32_t)run;
        processes[run]->rank.incarnation = run;
        sample_step(processes[run], 0, 10000 * run, 10000 * run + 1000);
        g_array_index(processes[run]->steps, LsStep, 0).cut = run == 0;
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 2, 1);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsScope) scope = ls_scope_new(&input);
    size_t n;
    const LsStep *steps = ls_trace_get_steps(trace, &n);

    g_assert_cmpuint(n, ==, 2);
    g_assert_false(ls_scope_is_steady(scope, &steps[0]));
    g_assert_true(ls_scope_is_steady(scope, &steps[1]));
    g_assert_cmpuint(ls_scope_get_steady(scope), ==, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/straggler/waits-at-once-are-one-wait", test_one_rank);
    g_test_add_func("/analysis/straggler/host-of-ranks-late-by-turns", test_host_by_turns);
    g_test_add_func("/analysis/straggler/two-runs-have-steps-of-their-own", test_two_runs);
    g_test_add_func("/analysis/scope/a-cut-step-is-whole-in-another-run", test_cut_in_one_run);
    return g_test_run();
}
