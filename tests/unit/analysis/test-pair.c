/* SPDX-License-Identifier: Apache-2.0
 *
 * Every figure of the tables, for two ranks of which one is 200 ns late: the moments are told at
 * the top of tests/unit/index/test-activity.c, the expected values follow from them by the formulas
 * of metrics.md.
 */
#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

#include <string.h>

#define CHECK_ROW(table, row, ...)                                                                 \
    do {                                                                                           \
        const Expected expected[] = {__VA_ARGS__};                                                 \
        check_row(table, row, expected, G_N_ELEMENTS(expected));                                   \
    } while (0)

static LsTable *
run_on_pair(const char *name)
{
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);

    return run_analysis(name, trace, activity);
}

static void
test_steps(void)
{
    g_autoptr(LsTable) table = run_on_pair("steps");

    g_assert_cmpuint(ls_table_get_rows(table), ==, 2);
    CHECK_ROW(table, 0, {"step", 0}, {"rank", 0}, {"start_ns", 0}, {"step_ns", 1000},
              {"compute_ns", 500}, {"communication_ns", 160}, {"hidden_ns", 0}, {"exposed_ns", 160},
              {"waited_for_ns", 320}, {"exposed_wait_ns", 200}, {"exposed_transfer_ns", 160},
              {"idle_ns", 240}, {"io_ns", 100}, {"fusion_ns", 20}, {"negotiation_exposure_ns", 30},
              {"samples", 32}, {"operations", 1000}, {"warmup", 0}, {"cut", 0});
    CHECK_ROW(table, 1, {"step", 0}, {"rank", 1}, {"step_ns", 1000}, {"compute_ns", 500},
              {"communication_ns", 164}, {"hidden_ns", 64}, {"exposed_ns", 100},
              {"waited_for_ns", 120}, {"exposed_wait_ns", 0}, {"exposed_transfer_ns", 100},
              {"idle_ns", 100}, {"io_ns", 300}, {"fusion_ns", 20}, {"negotiation_exposure_ns", 20});
}

static void
test_overlap(void)
{
    g_autoptr(LsTable) table = run_on_pair("overlap");

    CHECK_ROW(table, 1, {"rank", 1}, {"window_ns", 1000}, {"compute_ns", 500},
              {"communication_ns", 164}, {"hidden_ns", 64}, {"exposed_ns", 100});
    g_assert_cmpfloat_with_epsilon(get_real(table, 1, "overlap_ratio"), 64.0 / 164, 1e-12);
    g_assert_cmpfloat(get_real(table, 0, "overlap_ratio"), ==, 0);
}

static void
test_collectives(void)
{
    g_autoptr(LsTable) table = run_on_pair("collectives");

    g_assert_cmpuint(ls_table_get_rows(table), ==, 2);
    CHECK_ROW(table, 0, {"step", 0}, {"bytes", 6000}, {"tensors", 1}, {"ranks", 2},
              {"ranks_expected", 2}, {"start_ns", 620}, {"end_ns", 684}, {"transfer_ns", 60},
              {"transfer_aligned_ns", 60}, {"wait_max_ns", 196}, {"wait_max_aligned_ns", 200},
              {"last_rank", 1});
    CHECK_ROW(table, 1, {"transfer_ns", 100}, {"transfer_aligned_ns", 100}, {"wait_max_ns", 200},
              {"wait_max_aligned_ns", 200}, {"last_rank", 1});
    g_assert_cmpstr(get_text(table, 0, "operation"), ==, "allreduce");
    g_assert_cmpstr(get_text(table, 0, "verdict"), ==, "ok");
    /* 6000 bytes in 60 ns, times 2 (n - 1) / n = 1 */
    g_assert_cmpfloat_with_epsilon(get_real(table, 0, "bus_bytes_per_s"), 1e11, 1);
}

static void
test_tensors(void)
{
    g_autoptr(LsTable) table = run_on_pair("tensors");

    /* Means of ranks 0 and 1: negotiation 210 and 10, of which 200 and 0 for rank 1, 5 and 5
     * asleep. */
    CHECK_ROW(table, 0, {"bytes", 6000}, {"count", 1}, {"negotiation_ns", 110}, {"gate_ns", 0},
              {"slowest_rank_ns", 100}, {"behind_ns", 0}, {"sleep_ns", 5}, {"protocol_ns", 5},
              {"queue_ns", 10}, {"pack_ns", 0}, {"operation_ns", 62}, {"unpack_ns", 0},
              {"spread_ns", 200}, {"most_often_last_rank", 1});
    CHECK_ROW(table, 1, {"negotiation_ns", 120}, {"slowest_rank_ns", 100}, {"protocol_ns", 20},
              {"queue_ns", 10}, {"pack_ns", 10}, {"operation_ns", 100}, {"unpack_ns", 10});
    g_assert_cmpstr(get_text(table, 0, "tensor"), ==, "a");
    g_assert_true(is_null(table, 0, "group"));
}

static void
test_ledger(void)
{
    static const struct {
        const char *class;
        int64_t mean_ns, max_ns, max_rank;
    } truth[] = {
        {"compute", 500, 500, 0},
        {"exposed wait", 100, 200, 0},
        /* The first call of rank 0 lies in its wait for the second tensor: waiting comes first. */
        {"exposed transfer", 100, 100, 0},
        /* 700-720 on both; 600-610 of rank 0 lies in that wait too. */
        {"negotiation", 20, 20, 0},
        /* pack 730-740, unpack 840-850 */
        {"fusion", 20, 20, 0},
        {"I/O", 200, 300, 1},
        {"copies", 0, 0, 0},
    };
    g_autoptr(LsTable) table = run_on_pair("ledger");
    int64_t sum_ns = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(truth); i++) {
        g_assert_cmpstr(get_text(table, i, "class"), ==, truth[i].class);
        CHECK_ROW(table, i, {"mean_ns", truth[i].mean_ns}, {"max_ns", truth[i].max_ns},
                  {"max_rank", truth[i].max_rank});
    }
    for (size_t i = 0; i < 8; i++)
        sum_ns += get_int(table, i, "mean_ns");
    g_assert_cmpint(sum_ns, ==, 1000);
    g_assert_cmpstr(get_text(table, 7, "class"), ==, "rest");
    g_assert_cmpstr(get_text(table, 8, "class"), ==, "imbalance");
    g_assert_cmpint(get_int(table, 8, "mean_ns"), ==, 0);
}

static void
test_stragglers(void)
{
    g_autoptr(LsTable) table = run_on_pair("stragglers");

    g_assert_cmpuint(ls_table_get_rows(table), ==, 4);
    CHECK_ROW(table, 0, {"rank", 0}, {"times_last", 0}, {"waited_for_ns", 0},
              {"cost_ns_per_step", 0});
    /* Rank 0 waited 400-700 in all, of which 500-700 without compute. */
    CHECK_ROW(table, 1, {"rank", 1}, {"times_last", 2}, {"waited_for_ns", 300},
              {"cost_ns_per_step", 200});
    g_assert_cmpfloat(get_real(table, 1, "times_last_by_chance"), ==, 1.0);
    g_assert_cmpstr(get_text(table, 3, "level"), ==, "host");
    g_assert_cmpstr(get_text(table, 3, "host"), ==, "gpu02");
    CHECK_ROW(table, 3, {"times_last", 2}, {"cost_ns_per_step", 200});
    g_assert_true(is_null(table, 3, "rank"));
}

static void
test_performance(void)
{
    static const struct {
        const char *phase;
        int64_t operations, time_ns; /* operations 0: null */
    } truth[] = {
        {"input", 0, 200},         {"forward", 800, 200},   {"backward", 1000, 200},
        {"communication", 0, 162}, {"optimizer", 200, 100}, {"all", 2000, 1000},
    };
    g_autoptr(LsTable) table = run_on_pair("performance");

    g_assert_cmpuint(ls_table_get_rows(table), ==, G_N_ELEMENTS(truth));
    for (size_t i = 0; i < G_N_ELEMENTS(truth); i++) {
        g_assert_cmpstr(get_text(table, i, "phase"), ==, truth[i].phase);
        g_assert_cmpint(get_int(table, i, "time_ns"), ==, truth[i].time_ns);
        g_assert_cmpfloat_with_epsilon(get_real(table, i, "share"), (double)truth[i].time_ns / 1000,
                                       1e-12);
        if (truth[i].operations == 0) {
            g_assert_true(is_null(table, i, "operations"));
            g_assert_true(is_null(table, i, "flops"));
            continue;
        }
        g_assert_cmpint(get_int(table, i, "operations"), ==, truth[i].operations);
        g_assert_cmpfloat_with_epsilon(get_real(table, i, "flops"),
                                       (double)truth[i].operations * 1e9 / (double)truth[i].time_ns,
                                       1);
    }
}

/* Two processes, the second of which steps `apart_ns` after the first: its next life, another rank,
 * a rank of another run. */
static bool
knows_sustained(int second_rank, uint32_t second_run, int64_t apart_ns)
{
    LsProcess *processes[2];

    for (int i = 0; i < 2; i++) {
        processes[i] = sample_process(i ? second_rank : 0, 2, "gpu01");
        processes[i]->rank.run = i ? second_run : 0;
        processes[i]->rank.incarnation = i && second_rank == 0;
        sample_step(processes[i], i, i * apart_ns, i * apart_ns + 1000);
        sample_phase(processes[i], "forward", i * apart_ns, i * apart_ns + 500, 100);
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 2, 2);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) table = run_analysis("performance", trace, activity);
    g_autoptr(LsTable) findings = run_analysis("findings", trace, activity);
    size_t all = ls_table_get_rows(table) - 1;
    bool told = false;

    g_assert_cmpstr(get_text(table, all, "phase"), ==, "all");
    g_assert_cmpint(get_int(table, all, "operations"), ==, 2000);
    for (size_t i = 0; i < ls_table_get_rows(findings); i++)
        told |= strstr(get_text(findings, i, "text"), "table performance are null") != NULL;
    g_assert_cmpint(told, ==, is_null(table, all, "time_ns"));
    g_assert_cmpint(told, ==, is_null(table, all, "share"));
    g_assert_cmpint(told, ==, is_null(table, all, "flops"));
    return !told;
}

/* The wall time from the first step of one process to the last of another is a job's only if they
 * step together. */
static void
test_sustained(void)
{
    g_assert_true(knows_sustained(1, 0, 200));
    g_assert_false(knows_sustained(1, 0, 5000));
    g_assert_true(knows_sustained(0, 0, 5000));
    g_assert_false(knows_sustained(0, 1, 5000));
}

static void
test_ranks(void)
{
    g_autoptr(LsTable) table = run_on_pair("ranks");

    CHECK_ROW(table, 1, {"rank", 1}, {"incarnation", 0}, {"local_rank", 1}, {"pid", 1001},
              {"clock_offset_ns", 0}, {"clock_uncertainty_ns", 0});
    g_assert_cmpstr(get_text(table, 1, "clock_method"), ==, "same boot");
    g_assert_cmpstr(get_text(table, 1, "host"), ==, "gpu02");
}

static void
test_filters(void)
{
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    const bool shown[] = {false, true};
    LsAnalysisInput one_rank = {trace, activity, shown, INT64_MIN, INT64_MAX};
    LsAnalysisInput no_step = {trace, activity, NULL, 1, 5};

    for (const LsAnalysis *const *all = ls_analysis_get_all(); *all != NULL; all++) {
        g_autoptr(LsTable) table = (*all)->run(&one_rank);
        int rank = ls_table_find_column(table, "rank");

        g_assert_cmpstr(ls_table_get_name(table), ==, (*all)->name);
        for (size_t r = 0; rank >= 0 && r < ls_table_get_rows(table); r++)
            if (!ls_table_is_null(table, r, (size_t)rank))
                g_assert_cmpint(ls_table_get_int(table, r, (size_t)rank), ==, 1);
    }
    static const char *const by_step[] = {"steps", "collectives", "tensors", "ledger",
                                          "performance"};

    for (size_t i = 0; i < G_N_ELEMENTS(by_step); i++) {
        g_autoptr(LsTable) table = ls_analysis_find(by_step[i])->run(&no_step);

        g_assert_cmpuint(ls_table_get_rows(table), ==, 0);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/pair/steps", test_steps);
    g_test_add_func("/analysis/pair/overlap", test_overlap);
    g_test_add_func("/analysis/pair/collectives", test_collectives);
    g_test_add_func("/analysis/pair/tensors", test_tensors);
    g_test_add_func("/analysis/pair/ledger", test_ledger);
    g_test_add_func("/analysis/pair/stragglers", test_stragglers);
    g_test_add_func("/analysis/pair/performance", test_performance);
    g_test_add_func("/analysis/performance/sustained-by-those-who-step-together", test_sustained);
    g_test_add_func("/analysis/pair/ranks", test_ranks);
    g_test_add_func("/analysis/pair/filters-choose-rows", test_filters);
    return g_test_run();
}
