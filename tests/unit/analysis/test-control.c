/* SPDX-License-Identifier: Apache-2.0
 *
 * Cycles and messages of a coordinator with 3 ranks, counted as metrics.md counts them: gather and
 * broadcast move N - 1 messages in or out at the root, 1 elsewhere. Rounds: 4 in two steps and 1
 * between.
 */
#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

#include "capture/format.h"

#define RANKS 3

static void
add_message(LsProcess *process, const char *name, int64_t cycle, int64_t start_ns, int64_t in,
            int64_t out)
{
    LsMessage message = {.name = ls_strings_add(process->strings, name),
                         .cycle = cycle,
                         .start_ns = start_ns,
                         .end_ns = start_ns + 10,
                         .messages_in = in,
                         .messages_out = out,
                         .bytes_in = 100 * in,
                         .bytes_out = 100 * out};

    g_array_append_val(process->messages, message);
}

/* 50 ns, of which 4 messages of 10; a rank without requests calls it idle. */
static void
add_cycle(LsProcess *process, int rank, int64_t number, int64_t start_ns, bool slow)
{
    LsCycle cycle = {.control = ls_strings_add(process->strings, "coordinator"),
                     .number = number,
                     .path = slow && rank != 1 ? LS_PATH_SLOW : LS_PATH_IDLE,
                     .start_ns = start_ns,
                     .end_ns = start_ns + 50,
                     .parse_ns = 4};
    int64_t others = rank == 0 ? RANKS - 1 : 0, one = rank == 0 ? 0 : 1;

    g_array_append_val(process->cycles, cycle);
    add_message(process, "gather", number, start_ns, others, one);
    add_message(process, "gatherv", number, start_ns + 10, others, one);
    add_message(process, "bcast", number, start_ns + 20, one, others);
    add_message(process, "bcast", number, start_ns + 30, one, others);
}

static LsTrace *
make_trace(void)
{
    LsProcess *processes[RANKS];

    for (int rank = 0; rank < RANKS; rank++) {
        LsProcess *process = processes[rank] = sample_process(rank, RANKS, "gpu01");

        sample_step(process, 0, 0, 1000);
        sample_step(process, 1, 2000, 3000);
        add_cycle(process, rank, 0, 100, true);
        add_cycle(process, rank, 1, 200, true);
        add_cycle(process, rank, 2, 1500, false); /* between the steps */
        add_cycle(process, rank, 3, 2100, true);
        add_cycle(process, rank, 4, 2200, false);
    }
    return sample_freeze(processes, RANKS, RANKS);
}

static void
test_cycles(void)
{
    static const Expected idle[] = {
        {"cycles", 2}, {"messages", 16}, {"bytes", 1600}, {"time_ns", 50}};
    static const Expected slow[] = {
        {"cycles", 3}, {"messages", 24}, {"bytes", 2400}, {"time_ns", 50}};
    g_autoptr(LsTrace) trace = make_trace();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) table = run_analysis("cycles", trace, activity);

    g_assert_cmpuint(ls_table_get_rows(table), ==, 2);
    g_assert_cmpstr(get_text(table, 0, "path"), ==, "idle");
    check_row(table, 0, idle, G_N_ELEMENTS(idle));
    g_assert_cmpstr(get_text(table, 1, "path"), ==, "slow");
    check_row(table, 1, slow, G_N_ELEMENTS(slow));
    g_assert_true(is_null(table, 1, "hits"));
}

static void
test_control(void)
{
    static const Expected root[] = {
        {"rank", 0},         {"wait_ns", 80},           {"busy_ns", 20},           {"parse_ns", 8},
        {"cycles_total", 5}, {"messages_in_total", 20}, {"messages_out_total", 20}};
    static const Expected other[] = {{"rank", 2},
                                     {"messages_in_total", 10},
                                     {"messages_out_total", 10},
                                     {"bytes_in_total", 1000}};
    g_autoptr(LsTrace) trace = make_trace();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    g_autoptr(LsTable) table = run_analysis("control", trace, activity);

    check_row(table, 0, root, G_N_ELEMENTS(root));
    check_row(table, 2, other, G_N_ELEMENTS(other));
    /* Two rounds a step, each 4 in and 4 out at the root, 2 and 2 elsewhere. */
    g_assert_cmpfloat(get_real(table, 0, "cycles"), ==, 2);
    g_assert_cmpfloat(get_real(table, 0, "messages_in"), ==, 8);
    g_assert_cmpfloat(get_real(table, 2, "messages_out"), ==, 4);
    g_assert_cmpfloat(get_real(table, 2, "bytes_out"), ==, 400);
}

static void
test_filter(void)
{
    g_autoptr(LsTrace) trace = make_trace();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput second = {trace, activity, NULL, 1, 1};
    g_autoptr(LsTable) table = ls_analysis_find("control")->run(&second);
    g_autoptr(LsTable) cycles = ls_analysis_find("cycles")->run(&second);

    g_assert_cmpint(get_int(table, 0, "cycles_total"), ==, 2);
    g_assert_cmpint(get_int(cycles, 0, "cycles") + get_int(cycles, 1, "cycles"), ==, 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/control/rounds-are-counted-once", test_cycles);
    g_test_add_func("/analysis/control/messages-by-role-and-step", test_control);
    g_test_add_func("/analysis/control/steps-filter", test_filter);
    return g_test_run();
}
