/* SPDX-License-Identifier: Apache-2.0
 * What the headline says of runs of which the answer is known: names, figures, and what it must not
 * claim. */
#include "report/report.h"

#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

#include <string.h>

#define STEPS 10
#define MS    INT64_C(1000000)

/* Ranks train in step; one may be late from a step on, by its input or its forward phase. */
typedef struct Run {
    int ranks, late_rank; /* -1: none */
    int64_t late_ms;
    int late_from;
    const char *late_phase;
    bool without_compute, without_steps;
} Run;

static void
add_step(LsProcess *process, const Run *run, int rank, int step)
{
    int64_t start_ns = step * 100 * MS;
    int64_t late_ns = rank == run->late_rank && step >= run->late_from ? run->late_ms * MS : 0;
    bool by_input = late_ns > 0 && g_str_equal(run->late_phase, "input");
    int64_t forward_ns = start_ns + 5 * MS + (by_input ? late_ns : 0);
    int64_t backward_ns = start_ns + 25 * MS + late_ns;
    /* All leave the collective 2 ms after the last has come. */
    int64_t last_ns = start_ns + 65 * MS +
                      (run->late_rank >= 0 && step >= run->late_from ? run->late_ms * MS : 0);
    uint32_t call = sample_call(process, step, 1 << 20, last_ns + MS / 2, last_ns + 2 * MS);

    sample_use(process, "gradient", (uint32_t)step, call, backward_ns + 40 * MS, last_ns + MS / 4);
    if (!run->without_steps)
        sample_step(process, step, start_ns, start_ns + 95 * MS);
    sample_phase(process, "input", start_ns, forward_ns, 0);
    if (run->without_compute)
        return;
    sample_phase(process, "forward", forward_ns, backward_ns, 100);
    sample_phase(process, "backward", backward_ns, backward_ns + 40 * MS, 200);
}

static LsTrace *
make_run(const Run *run)
{
    LsProcess *processes[8];

    for (int rank = 0; rank < run->ranks; rank++) {
        processes[rank] = sample_process(rank, run->ranks, rank < 2 ? "gpu01" : "gpu02");
        for (int step = 0; step < STEPS; step++)
            add_step(processes[rank], run, rank, step);
    }
    return sample_freeze(processes, (size_t)run->ranks, (uint32_t)run->ranks);
}

/* Line i as "LABEL | TEXT"; caller frees. */
static char *
get_line(const Run *run, size_t i)
{
    g_autoptr(LsTrace) trace = make_run(run);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    g_assert_cmpuint(n, ==, 5);
    return g_strconcat(lines[i].label, " | ", lines[i].text, NULL);
}

static void
check_line(const Run *run, size_t i, const char *expected)
{
    g_autofree char *line = get_line(run, i);

    g_assert_cmpstr(line, ==, expected);
}

static void
test_late_input(void)
{
    /* Step 0 makes the communicator: warm-up. 20 ms late: the others wait 20 ms of 95, three of
     * four: 15 ms in the mean; all move bytes for 1.5 ms of a call that runs 0.5 ms after the last
     * arrival. */
    const Run run = {4, 2, 20, 0, "input", false, false};

    check_line(
        &run, 0,
        "Step 95.0 ms | The step waits 16.8 ms (18 %) for communication: 15.0 ms waiting for "
        "a rank, 1.50 ms moving bytes, 250 us agreeing.");
    check_line(&run, 1,
               "Rank 2 (gpu02:2) | was last in 10 of 10 buffers, in 9 of 9 steps, by 20.0 ms. It "
               "costs 20.0 ms a step. Its input takes 25.0 ms against 5.00 ms elsewhere.");
    check_line(
        &run, 3,
        "Try | faster input on rank 2 (25.0 ms against 5.00 ms elsewhere; wins 20.0 ms a step "
        "at most).");
    check_line(&run, 4,
               "Recorded | 4 of 4 ranks, 0 records lost, one clock (same machine), "
               "1 warm-up step left out.");
}

static void
test_late_compute(void)
{
    const Run run = {4, 3, 10, 4, "forward", false, false};
    g_autofree char *line = get_line(&run, 1);

    g_assert_true(g_str_has_prefix(line, "Rank 3 (gpu02:3) | was last in 6 of 6 buffers"));
    g_assert_nonnull(strstr(line, "since step 4"));
    g_assert_nonnull(strstr(line, "Its compute takes 70.0 ms against 60.0 ms elsewhere"));
}

static void
test_nobody_late(void)
{
    const Run run = {4, -1, 0, 0, NULL, false, false};
    g_autofree char *line = get_line(&run, 1), *advice = get_line(&run, 3);

    g_assert_null(strstr(line, "costs 2"));
    g_assert_true(g_str_has_prefix(line, "Last rank | No rank can be told to be the last in any of "
                                         "10 negotiations"));
    g_assert_null(strstr(advice, "input on rank"));
}

static void
test_without_compute(void)
{
    const Run run = {4, 2, 20, 0, "input", true, false};
    g_autofree char *first = get_line(&run, 0), *second = get_line(&run, 1);

    g_assert_nonnull(strstr(first, "No compute was recorded"));
    g_assert_nonnull(
        strstr(first, "waits 20.0 ms for its last rank and moves its bytes in 1.50 ms"));
    g_assert_null(strstr(first, "exposed"));
    g_assert_true(g_str_has_prefix(second, "Rank 2"));
    g_assert_null(strstr(second, "costs"));
}

static void
test_without_steps(void)
{
    const Run run = {4, 2, 20, 0, "input", false, true};
    g_autofree char *first = get_line(&run, 0), *advice = get_line(&run, 3);

    /* Ten calls of 1.5 ms, all exposed. */
    g_assert_nonnull(
        strstr(first, "Of 15.0 ms of communication a rank 15.0 ms (100 %) are exposed"));
    g_assert_nonnull(strstr(advice, "mark the steps"));
}

static void
test_dead_rank(void)
{
    LsProcess *process = sample_process(0, 2, "gpu01");
    LsInstant lost = {.kind = LS_INSTANT_PEER_LOST, .time_ns = 500, .value = 1};

    sample_step(process, 0, 0, 1000);
    g_array_append_val(process->instants, lost);
    g_array_append_val(process->instants, lost); /* said twice, told once */
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 2);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    g_assert_cmpstr(lines[n - 1].text, ==,
                    "1 of 2 ranks, 0 records lost, one clock, rank 1 died while it ran.");
}

static void
test_nothing(void)
{
    g_autoptr(LsTrace) trace = sample_freeze(NULL, 0, 0);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpstr(lines[0].label, ==, "No events recorded");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/headline/names-the-late-rank-and-its-input", test_late_input);
    g_test_add_func("/report/headline/says-since-when-and-compute", test_late_compute);
    g_test_add_func("/report/headline/accuses-nobody-without-cause", test_nobody_late);
    g_test_add_func("/report/headline/claims-no-exposure-without-compute", test_without_compute);
    g_test_add_func("/report/headline/without-steps", test_without_steps);
    g_test_add_func("/report/headline/says-who-died", test_dead_rank);
    g_test_add_func("/report/headline/no-events-recorded", test_nothing);
    return g_test_run();
}
