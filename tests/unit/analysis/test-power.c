/* SPDX-License-Identifier: Apache-2.0
 *
 * Table `power` on curves whose integral is known: a ramp, a failed sample, a gap, an energy
 * counter that disagrees, a device that two ranks share.
 */
#include <glib.h>
#include <math.h>

#include "analysis/analysis.h"
#include "tests/unit/sample-trace.h"

#define SECOND INT64_C(1000000000)

static void
add_sample(LsProcess *process, const char *name, const char *unit, int64_t device, int64_t time_ns,
           double value, bool valid)
{
    ls_track_builder_add_sample(ls_process_get_track(process, LS_TRACK_COUNTER, name, unit, device),
                                time_ns, value, valid);
}

/* 10 Hz; power goes from 100 W to 200 W. */
static void
add_ramp(LsProcess *process, int64_t device, int64_t seconds)
{
    for (int64_t t = 0; t <= 10 * seconds; t++) {
        double watts = 100 + 100 * (double)t / (double)(10 * seconds);
        /* What could not be read has a value that would be seen. */
        bool valid = t % 7 != 3;
        add_sample(process, "gpu power", "W", device, t * SECOND / 10, valid ? watts : 1e9, valid);
    }
}

static LsTable *
run(LsTrace *trace)
{
    LsAnalysisInput input = {.trace = trace, .step_first = INT64_MIN, .step_last = INT64_MAX};
    return ls_analysis_find("power")->run(&input);
}

static double
get(const LsTable *table, size_t row, const char *column)
{
    int c = ls_table_find_column(table, column);
    g_assert_cmpint(c, >=, 0);
    return ls_table_is_null(table, row, (size_t)c) ? (double)NAN
                                                   : ls_table_get_real(table, row, (size_t)c);
}

static void
test_ramp(void)
{
    LsProcess *process = sample_process(0, 1, "a");
    add_ramp(process, 0, 20);
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    g_autoptr(LsTable) table = run(trace);
    /* The run, the rank, four windows of 5 s. */
    g_assert_cmpuint(ls_table_get_rows(table), ==, 6);
    for (size_t row = 0; row < 2; row++) {
        g_assert_cmpfloat(fabs(get(table, row, "watts_mean") - 150), <, 0.01);
        g_assert_cmpfloat(fabs(get(table, row, "energy_j") - 3000), <, 0.1);
    }
    g_assert_cmpfloat(fabs(get(table, 1, "watts_max") - 200), <, 0.01);
    g_assert_cmpfloat(get(table, 1, "invalid"), ==, 29);
    /* 100 .. 125 W, then 125 .. 150 W: the line goes on over a sample that failed. */
    g_assert_cmpfloat(fabs(get(table, 2, "watts_mean") - 112.5), <, 0.01);
    g_assert_cmpfloat(fabs(get(table, 3, "energy_j") - 5 * 137.5), <, 0.1);
}

static void
test_short(void)
{
    LsProcess *process = sample_process(0, 1, "a");
    add_ramp(process, 0, 4);
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    g_autoptr(LsTable) table = run(trace);
    g_assert_cmpuint(ls_table_get_rows(table), ==, 2);
    g_assert_false(isnan(get(table, 1, "watts_mean")));
    g_assert_true(isnan(get(table, 1, "energy_j")));
}

static void
test_counter(void)
{
    LsProcess *process = sample_process(0, 1, "a");
    add_ramp(process, 0, 20);
    for (int64_t t = 0; t <= 20; t++)
        add_sample(process, "gpu energy", "J", 0, t * SECOND, 5000 + 170 * (double)t, true);
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    g_autoptr(LsTable) table = run(trace);
    g_assert_cmpfloat(fabs(get(table, 1, "energy_j") - 3400), <, 0.1);
    g_assert_cmpfloat(fabs(get(table, 2, "energy_j") - 850), <, 0.1);
}

static void
test_gap(void)
{
    LsProcess *process = sample_process(0, 1, "a");
    for (int64_t t = 0; t <= 50; t++)
        add_sample(process, "gpu power", "W", 0, t * SECOND / 10, 100, true);
    for (int64_t t = 150; t <= 200; t++)
        add_sample(process, "gpu power", "W", 0, t * SECOND / 10, 300, true);
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    g_autoptr(LsTable) table = run(trace);
    /* The ten seconds between are not made up; the energy of the whole is not known then. */
    g_assert_cmpfloat(fabs(get(table, 1, "watts_mean") - 200), <, 0.01);
    g_assert_true(isnan(get(table, 1, "energy_j")));
}

/* Ranks whose samples do not fall together: the time that both cover ends between samples. */
static void
test_staggered(void)
{
    LsProcess *processes[] = {sample_process(0, 2, "a"), sample_process(1, 2, "b")};
    for (int i = 0; i < 2; i++)
        for (int64_t t = 0; t < 2; t++)
            add_sample(processes[i], "gpu power", "W", 0, (10 * t + i) * SECOND / 10,
                       100 + 100 * (double)t, true);
    g_autoptr(LsTrace) trace = sample_freeze(processes, 2, 2);
    g_autoptr(LsTable) table = run(trace);
    /* From 0.1 s to 1 s: 110 .. 200 W and 100 .. 190 W. */
    g_assert_cmpfloat(fabs(get(table, 0, "watts_mean") - 300), <, 0.01);
    g_assert_cmpfloat(fabs(get(table, 0, "watts_max") - 390), <, 0.01);
}

static void
test_shared_device(void)
{
    LsProcess *processes[] = {sample_process(0, 3, "a"), sample_process(1, 3, "a"),
                              sample_process(2, 3, "b")};
    for (int i = 0; i < 3; i++)
        add_ramp(processes[i], 0, 20);
    g_autoptr(LsTrace) trace = sample_freeze(processes, 3, 3);
    g_autoptr(LsTable) table = run(trace);
    /* Device 0 of a, seen by two ranks, and device 0 of b. */
    g_assert_true(ls_table_is_null(table, 0, 0));
    g_assert_cmpfloat(fabs(get(table, 0, "watts_mean") - 300), <, 0.1);
    g_assert_cmpfloat(fabs(get(table, 0, "energy_j") - 6000), <, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/power/ramp-with-failures", test_ramp);
    g_test_add_func("/analysis/power/no-energy-under-5-s", test_short);
    g_test_add_func("/analysis/power/counter-is-preferred", test_counter);
    g_test_add_func("/analysis/power/a-gap-is-not-covered", test_gap);
    g_test_add_func("/analysis/power/ends-between-samples", test_staggered);
    g_test_add_func("/analysis/power/a-shared-device-counts-once", test_shared_device);
    return g_test_run();
}
