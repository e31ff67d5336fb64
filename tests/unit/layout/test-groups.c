/* SPDX-License-Identifier: Apache-2.0
 * The figure of groups, of a job made by hand: two ranks, five tensors in two groups of which rank
 * 1's are 40 ns later, cycles of 100 ns; every time and cycle is known. */
#include "layout/groups-figure.h"
#include "tests/unit/sample-trace.h"

static const char *const names[] = {"top.w", "top.b", "low.w", "low.b", "low.s"};
enum { N = 5 };

/* Groups complete at 130 and 350 (rank 1: 170 and 390): reported in cycle 2 and 4, sent in 2 and 4.
 */
static LsProcess *
make_rank(int rank, bool grouped)
{
    LsProcess *process = sample_process(rank, 2, "node");
    int64_t late_ns = 40 * rank;
    sample_step(process, 7, 0, 1000);
    sample_phase(process, "backward", 50, 380, 10);
    for (int64_t number = 0; number < 6; number++) {
        LsCycle cycle = {.control = ls_strings_add(process->strings, "bitvector"),
                         .number = number,
                         .start_ns = number * 100,
                         .end_ns = number * 100 + 20,
                         .responses = number == 2 || number == 4};
        g_array_append_val(process->cycles, cycle);
    }
    uint32_t first = sample_call(process, 11, 300, 230, 290);
    uint32_t second = sample_call(process, 12, 1200, 430, 490);
    for (int i = 0; i < N; i++) {
        bool low = i >= 2;
        sample_use(process, names[i], 3, low ? second : first,
                   100 + 30 * i + (low ? 130 : 0) + late_ns, low ? 421 : 221);
        LsUse *use = sample_last_use(process);
        use->bytes = 100 * (i + 1);
        use->gate_ns = (low ? 350 : 130) + late_ns;
        if (grouped)
            use->group = ls_strings_add(process->strings, low ? "group 1" : "group 0");
        else
            use->gate_ns = use->submit_ns;
    }
    return process;
}

static void
add_graph(LsProcess *process)
{
    for (int i = 0; i < N; i++) {
        /* top.b stands before top.w */
        LsGraphTensor tensor = {.tensor = ls_strings_add(process->strings, names[i]),
                                .group = ls_strings_add(process->strings, "group"),
                                .place = i < 2 ? 1 - i : i,
                                .bytes = 8};
        g_array_append_val(process->graph_tensors, tensor);
    }
    LsGraphNeed needs[] = {
        {.tensor = ls_strings_add(process->strings, "low.w"),
         .needed = ls_strings_add(process->strings, "top.b")},
        {.tensor = ls_strings_add(process->strings, "low.w"),
         .needed = ls_strings_add(process->strings, "nobody")},
    };
    g_array_append_vals(process->graph_needs, needs, 2);
}

typedef struct Shown {
    LsTrace *trace;
    LsActivity *activity;
    LsModel *model;
    LsGroupsFigure *figure;
} Shown;

static void
show(Shown *shown, bool grouped, bool graph, uint32_t rank)
{
    LsProcess *processes[] = {make_rank(0, grouped), make_rank(1, grouped)};
    if (graph)
        add_graph(processes[0]);
    shown->trace = sample_freeze(processes, 2, 2);
    shown->activity = ls_activity_new(shown->trace);
    shown->model = ls_model_new(shown->trace, shown->activity);
    shown->figure = ls_groups_figure_new(shown->model, 0, rank);
}

static void
clear(Shown *shown)
{
    ls_groups_figure_free(shown->figure);
    ls_model_free(shown->model);
    ls_activity_free(shown->activity);
    ls_trace_unref(shown->trace);
}

static const LsFigureSection *
get_section(const LsGroupsFigure *figure, guint s)
{
    return &g_array_index(figure->sections, LsFigureSection, s);
}

static const char *
get_name(const Shown *shown, guint member)
{
    return ls_trace_get_string(
        shown->trace, g_array_index(shown->figure->members, LsFigureMember, member).tensor);
}

static void
test_groups(void)
{
    Shown shown;
    show(&shown, true, false, 0);
    const LsGroupsFigure *figure = shown.figure;
    g_assert_nonnull(figure);
    g_assert_true(figure->grouped);
    g_assert_false(figure->has_graph);
    g_assert_cmpint(figure->step, ==, 7);
    g_assert_cmpuint(figure->sections->len, ==, 2);
    g_assert_cmpuint(figure->members->len, ==, N);
    g_assert_cmpuint(figure->edges->len, ==, 0);
    g_assert_cmpuint(figure->buffers, ==, 2);
    for (guint i = 0; i < N; i++)
        g_assert_cmpstr(get_name(&shown, i), ==, names[i]); /* in the order of backward */
    const LsFigureSection *low = get_section(figure, 1);
    g_assert_cmpstr(low->label, ==, "group 1");
    g_assert_cmpstr(low->scope, ==, ""); /* a group has one name, here and in the table */
    g_assert_cmpuint(low->first, ==, 2);
    g_assert_cmpuint(low->n, ==, 3);
    g_assert_cmpint(low->bytes, ==, 1200);
    g_assert_cmpint(low->submit_ns, ==, 290);
    g_assert_cmpint(low->ready_ns, ==, 350);
    g_assert_cmpint(low->agreed_ns, ==, 421);
    g_assert_cmpint(low->start_ns, ==, 430);
    g_assert_cmpint(low->end_ns, ==, 490);
    g_assert_cmpint(low->ready_cycle, ==, 4);
    g_assert_cmpint(low->sent_first_cycle, ==, 4);
    g_assert_cmpint(low->sent_last_cycle, ==, 4);
    g_assert_cmpuint(low->n_ready, ==, 2);
    const LsFigureReady *last = &g_array_index(figure->ready, LsFigureReady, low->last_ready);
    g_assert_cmpuint(last->rank, ==, 1);
    g_assert_cmpint(last->ready_ns, ==, 390);
    g_assert_cmpuint(figure->last_rank, ==, 1);
    g_assert_cmpuint(figure->last_counts, ==, 2);
    g_assert_cmpuint(figure->phases->len, ==, 1);
    g_assert_true(g_array_index(figure->cycles, LsFigureCycle, 0).start_ns <= figure->start_ns);
    clear(&shown);
}

/* The other rank's view: its own submissions, the same cycles. */
static void
test_other_rank(void)
{
    Shown shown;
    show(&shown, true, false, 1);
    const LsFigureSection *top = get_section(shown.figure, 0);
    g_assert_cmpint(top->submit_ns, ==, 140);
    g_assert_cmpint(top->ready_ns, ==, 170);
    g_assert_cmpint(top->first_ready_cycle, ==, 2);
    g_assert_cmpint(top->last_ready_cycle, ==, 2);
    clear(&shown);
}

static void
test_graph(void)
{
    Shown shown;
    show(&shown, true, true, 0);
    g_assert_true(shown.figure->has_graph);
    g_assert_cmpstr(get_name(&shown, 0), ==, "top.b"); /* in the order of the graph */
    g_assert_cmpstr(get_name(&shown, 1), ==, "top.w");
    g_assert_cmpuint(shown.figure->edges->len, ==, 1); /* what is not there has no edge */
    const LsFigureEdge *edge = &g_array_index(shown.figure->edges, LsFigureEdge, 0);
    g_assert_cmpstr(get_name(&shown, edge->needed), ==, "top.b");
    g_assert_cmpstr(get_name(&shown, edge->needing), ==, "low.w");
    clear(&shown);
}

/* Without groups the buffers are what is shown. */
static void
test_buffers(void)
{
    Shown shown;
    show(&shown, false, false, 0);
    g_assert_false(shown.figure->grouped);
    g_assert_cmpuint(shown.figure->sections->len, ==, 2);
    g_assert_cmpstr(get_section(shown.figure, 0)->label, ==, "buffer 11");
    g_assert_cmpstr(get_section(shown.figure, 1)->label, ==, "buffer 12");
    g_assert_cmpint(get_section(shown.figure, 1)->ready_ns, ==, 350); /* of its last tensor */
    g_assert_cmpint(get_section(shown.figure, 1)->last_ready_cycle, ==, 4);
    clear(&shown);
}

/* Nothing was submitted: no figure. */
static void
test_nothing(void)
{
    LsProcess *process = sample_process(0, 1, "node");
    sample_step(process, 1, 0, 1000);
    LsTrace *trace = sample_freeze(&process, 1, 1);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    g_assert_null(ls_groups_figure_new(model, 0, 0));
    g_assert_null(ls_groups_figure_new(model, -1, 0));
    ls_model_free(model);
    ls_activity_free(activity);
    ls_trace_unref(trace);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout/groups/when-and-in-which-cycle", test_groups);
    g_test_add_func("/layout/groups/another-ranks-view", test_other_rank);
    g_test_add_func("/layout/groups/order-and-edges-of-the-graph", test_graph);
    g_test_add_func("/layout/groups/buffers-where-nothing-is-grouped", test_buffers);
    g_test_add_func("/layout/groups/nothing-submitted-no-figure", test_nothing);
    return g_test_run();
}
