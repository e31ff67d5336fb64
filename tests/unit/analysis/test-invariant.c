/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold of any trace, on random ones: parts add up to their whole to the nanosecond.
 */
#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

typedef void (*Check)(const LsTrace *trace, const LsActivity *activity);

static void
on_random_traces(const void *data)
{
    Check check = *(const Check *)data;

    for (uint32_t seed = 100; seed < 160; seed++) {
        g_autoptr(LsTrace) trace = sample_random(seed);
        g_autoptr(LsActivity) activity = ls_activity_new(trace);

        check(trace, activity);
    }
}

static void
check_steps(const LsTrace *trace, const LsActivity *activity)
{
    g_autoptr(LsTable) table = run_analysis("steps", trace, activity);

    for (size_t r = 0; r < ls_table_get_rows(table); r++) {
        int64_t step_ns = get_int(table, r, "step_ns"), idle_ns = get_int(table, r, "idle_ns");
        int64_t exposed_ns = get_int(table, r, "exposed_ns");
        int64_t waited_for_ns = get_int(table, r, "waited_for_ns");
        int64_t wait_ns = get_int(table, r, "exposed_wait_ns");
        int64_t negotiation_ns = get_int(table, r, "negotiation_exposure_ns");

        g_assert_cmpint(get_int(table, r, "hidden_ns") + exposed_ns, ==,
                        get_int(table, r, "communication_ns"));
        g_assert_cmpint(waited_for_ns, >=, MAX(exposed_ns, MAX(wait_ns, negotiation_ns)));
        g_assert_cmpint(waited_for_ns, <=, exposed_ns + wait_ns + negotiation_ns);
        g_assert_cmpint(waited_for_ns + get_int(table, r, "compute_ns"), <=, step_ns);
        g_assert_cmpint(get_int(table, r, "compute_ns") + idle_ns, <=, step_ns);
        g_assert_cmpint(get_int(table, r, "exposed_transfer_ns"), <=, exposed_ns);
    }
}

static void
check_ledger(const LsTrace *trace, const LsActivity *activity)
{
    g_autoptr(LsTable) ledger = run_analysis("ledger", trace, activity);
    g_autoptr(LsTable) steps = run_analysis("steps", trace, activity);
    int64_t sum_ns = 0, steady_ns = 0, n = 0;

    for (size_t r = 0; r < ls_table_get_rows(ledger); r++) {
        g_assert_cmpint(get_int(ledger, r, "mean_ns"), >=, 0);
        if (!g_str_equal(get_text(ledger, r, "class"), "imbalance"))
            sum_ns += get_int(ledger, r, "mean_ns");
    }
    for (size_t r = 0; r < ls_table_get_rows(steps); r++)
        if (!get_int(steps, r, "warmup") && !get_int(steps, r, "cut")) {
            steady_ns += get_int(steps, r, "step_ns");
            n++;
        }
    g_assert_cmpint(n, >, 0);
    g_assert_cmpint(sum_ns, ==, steady_ns / n);
}

static void
check_tensors(const LsTrace *trace, const LsActivity *activity)
{
    static const char *const parts[] = {"gate_ns", "slowest_rank_ns", "behind_ns", "sleep_ns",
                                        "protocol_ns"};
    g_autoptr(LsTable) table = run_analysis("tensors", trace, activity);

    g_assert_cmpuint(ls_table_get_rows(table), ==, 4);
    for (size_t r = 0; r < ls_table_get_rows(table); r++) {
        int64_t sum_ns = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
            g_assert_cmpint(get_int(table, r, parts[i]), >=, 0);
            sum_ns += get_int(table, r, parts[i]);
        }
        g_assert_cmpint(sum_ns, ==, get_int(table, r, "negotiation_ns"));
    }
}

static void
check_stragglers(const LsTrace *trace, const LsActivity *activity)
{
    g_autoptr(LsTable) table = run_analysis("stragglers", trace, activity);
    g_autoptr(LsTable) collectives = run_analysis("collectives", trace, activity);
    int64_t times = 0, decided = 0;
    double chance = 0;

    for (size_t r = 0; r < ls_table_get_rows(table); r++)
        if (g_str_equal(get_text(table, r, "level"), "rank")) {
            times += get_int(table, r, "times_last");
            chance += get_real(table, r, "times_last_by_chance");
        }
    for (size_t r = 0; r < ls_table_get_rows(collectives); r++)
        decided += !is_null(collectives, r, "last_rank");
    g_assert_cmpint(times, ==, decided);
    g_assert_cmpfloat_with_epsilon(chance, (double)decided, 1e-6);
}

static void
check_every_table(const LsTrace *trace, const LsActivity *activity)
{
    for (const LsAnalysis *const *all = ls_analysis_get_all(); *all != NULL; all++) {
        g_autoptr(LsTable) table = run_analysis((*all)->name, trace, activity);

        g_assert_cmpstr(ls_table_get_name(table), ==, (*all)->name);
    }
}

static LsTrace *
make_empty(void)
{
    return sample_freeze(NULL, 0, 0);
}

static void
test_empty(void)
{
    g_autoptr(LsTrace) trace = make_empty();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);

    for (const LsAnalysis *const *all = ls_analysis_get_all(); *all != NULL; all++) {
        g_autoptr(LsTable) table = run_analysis((*all)->name, trace, activity);

        if (!g_str_equal((*all)->name, "findings"))
            g_assert_cmpuint(ls_table_get_rows(table), ==, 0);
    }
}

int
main(int argc, char **argv)
{
    static const Check steps = check_steps, ledger = check_ledger, tensors = check_tensors,
                       stragglers = check_stragglers, every = check_every_table;

    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/analysis/invariant/steps", &steps, on_random_traces);
    g_test_add_data_func("/analysis/invariant/ledger-adds-up-to-the-step", &ledger,
                         on_random_traces);
    g_test_add_data_func("/analysis/invariant/negotiation-is-its-parts", &tensors,
                         on_random_traces);
    g_test_add_data_func("/analysis/invariant/somebody-is-last", &stragglers, on_random_traces);
    g_test_add_data_func("/analysis/invariant/every-table-runs", &every, on_random_traces);
    g_test_add_func("/analysis/invariant/nothing-comes-of-nothing", test_empty);
    return g_test_run();
}
