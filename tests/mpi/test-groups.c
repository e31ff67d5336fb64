/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-groups.c: what is recorded of groups: the graph once, by rank 0; each submission's
 * group; the gate at the moment when the last member came, not when a cycle began. And that names
 * and bytes alone, without an edge, make groups. */
#include "recorder.h"
#include "support.h"

#include <string.h>

#define PAUSE_US 30000

static const char *const names[] = {"top/w", "top/b", "low/w", "low/b", "low/s"};
#define N ((int)G_N_ELEMENTS(names))

static lockstep_context *
open_with(const char *settings, const lockstep_graph *graph)
{
    lockstep_options options;
    lockstep_context *context;
    lockstep_options_init(&options);
    options.settings = settings;
    options.graph = graph;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_OK);
    return context;
}

/* Of N tensors, 100 bytes more each; edges: each needs the one before. */
static lockstep_graph *
make_graph(bool edges)
{
    lockstep_graph *graph = lockstep_graph_new();
    for (int i = 0; i < N; i++) {
        assert_status(lockstep_graph_tensor(graph, names[i], 100 * (i + 1)), LOCKSTEP_OK);
        if (edges && i > 0)
            assert_status(lockstep_graph_needs(graph, names[i], names[i - 1]), LOCKSTEP_OK);
    }
    return graph;
}

/* All tensors, the pause before the last. */
static void
run_step(lockstep_context *context, gulong pause_us)
{
    static float data[N][200];
    lockstep_handle handles[N];
    for (int i = 0; i < N; i++) {
        lockstep_tensor tensor =
            support_tensor(names[i], data[i], data[i], 25 * (i + 1), LOCKSTEP_FLOAT32);
        if (i == N - 1)
            g_usleep(pause_us);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handles[i]), LOCKSTEP_OK);
    }
    for (int i = 0; i < N; i++)
        assert_status(lockstep_wait(context, handles[i], -1), LOCKSTEP_OK);
}

static const char *
name_of(int64_t id)
{
    LsRecord record = {.name = (uint32_t)id};
    return recorder_name(&record);
}

static void
test_graph(void)
{
    lockstep_graph *graph = make_graph(true);
    recorder_start();
    lockstep_context *context = open_with("grouping=layer", graph);
    lockstep_graph_free(graph);
    run_step(context, 0);
    run_step(context, 0);
    support_close(context);
    bool writes = support_rank() == 0;
    g_assert_cmpuint(recorder_count(LS_RECORD_TENSOR, NULL), ==, writes ? N : 0);
    g_assert_cmpuint(recorder_count(LS_RECORD_NEEDS, NULL), ==, writes ? N - 1 : 0);
    for (guint i = 0; i < N && writes; i++) {
        const LsRecord *tensor = recorder_get(LS_RECORD_TENSOR, NULL, i);
        g_assert_cmpstr(recorder_name(tensor), ==, names[i]);
        g_assert_cmpint(tensor->args[1], ==, 100 * (i + 1));
        g_assert_cmpstr(name_of(tensor->args[2]), ==, i < 2 ? "top" : "low");
        g_assert_cmpint(tensor->args[3], ==, i);
    }
    for (guint i = 1; i < N && writes; i++) {
        const LsRecord *needs = recorder_get(LS_RECORD_NEEDS, names[i], 0);
        g_assert_cmpstr(name_of(needs->args[1]), ==, names[i - 1]);
        g_assert_cmpint(needs->args[2], ==, 0);
    }
}

/* A group with many edges and more tensors than one piece: all is written, over some cycles. What
 * the last tensor needs comes last. */
static void
test_large_graph(void)
{
    lockstep_graph *graph = lockstep_graph_new();
    enum { TENSORS = 1500, EDGES = 9, EACH = LS_RECORD_ARGS_MAX - 1 };
    for (int i = 0; i < TENSORS; i++) {
        g_autofree char *name = g_strdup_printf("t/%d", i);
        assert_status(lockstep_graph_tensor(graph, name, 8), LOCKSTEP_OK);
        for (int k = 1; k <= EDGES && k <= i; k++) {
            g_autofree char *needed = g_strdup_printf("t/%d", i - k);
            assert_status(lockstep_graph_needs(graph, name, needed), LOCKSTEP_OK);
        }
    }
    recorder_start();
    lockstep_context *context = open_with("grouping=none;cycle_time_ms=1;idle_time_ms=1", graph);
    lockstep_graph_free(graph);
    while (support_rank() == 0 &&
           recorder_count(LS_RECORD_NEEDS, "t/1499") < (EDGES + EACH - 1) / EACH)
        g_usleep(10000);
    MPI_Barrier(MPI_COMM_WORLD); /* who leaves ends the others' cycles */
    support_close(context);
    if (support_rank() != 0)
        return;
    guint edges = 0;
    g_assert_cmpuint(recorder_count(LS_RECORD_TENSOR, NULL), ==, TENSORS);
    for (guint i = 0; i < recorder_count(LS_RECORD_NEEDS, NULL); i++)
        for (int k = 1; k < LS_RECORD_ARGS_MAX; k++)
            edges += recorder_get(LS_RECORD_NEEDS, NULL, i)->args[k] != 0;
    g_assert_cmpuint(edges, ==, EDGES * TENSORS - EDGES * (EDGES + 1) / 2);
}

/* Cycles start each 50 ms: the gate's time is the last submission's, not the next cycle's start. */
static void
test_gate(void)
{
    lockstep_graph *graph = make_graph(false);
    recorder_start();
    lockstep_context *context =
        open_with("grouping=layer;cycle_start=clock;cycle_time_ms=50", graph);
    lockstep_graph_free(graph);
    for (int step = 0; step < 3; step++)
        run_step(context, PAUSE_US);
    support_close(context);
    g_assert_cmpuint(recorder_count(LS_RECORD_GATE, NULL), ==, 3 * N);
    for (guint step = 0; step < 3; step++) {
        for (int i = 0; i < N; i++) {
            const LsRecord *last = recorder_get(LS_RECORD_SUBMIT, names[i < 2 ? 1 : N - 1], step);
            const LsRecord *submit = recorder_get(LS_RECORD_SUBMIT, names[i], step);
            const LsRecord *gate = recorder_get(LS_RECORD_GATE, names[i], step);
            g_assert_cmpint(gate->start_ns, ==, last->start_ns);
            g_assert_cmpint(gate->args[1], ==, submit->args[2]);
            g_assert_cmpstr(name_of(submit->args[2]), ==, i < 2 ? "top" : "low");
            if (i >= 2 && i < N - 1)
                g_assert_cmpint(gate->start_ns - submit->start_ns, >=, PAUSE_US * 1000);
        }
    }
}

/* Whether this rank was told just what is missing where. */
static bool
is_told_of_withheld(lockstep_context *context)
{
    float data[2] = {0};
    lockstep_handle handle;
    bool told = true;
    lockstep_tensor first = support_tensor("top/w", &data[0], &data[0], 1, LOCKSTEP_FLOAT32);
    lockstep_tensor last = support_tensor("top/b", &data[1], &data[1], 1, LOCKSTEP_FLOAT32);
    assert_status(lockstep_allreduce(context, &first, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
    if (support_rank() != 1) {
        assert_status(support_reduce(context, &last, LOCKSTEP_SUM), LOCKSTEP_ERR_STALLED);
        assert_contains(lockstep_last_error(), "tensor 'top/b' of group 'top' waited");
        told = strstr(lockstep_last_error(), "s for rank 1 to submit it") != NULL;
    }
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_ERR_STALLED);
    assert_contains(lockstep_last_error(), "tensor 'top/w' of group 'top' waited");
    return told && strstr(lockstep_last_error(), "s for the rest of it") != NULL;
}

/* Rank 1 withholds the last of a group: all are told the tensor, the group, and the rank or, of the
 * members that every rank has, that the rest is missing. A rank that this machine holds up for
 * longer than the limit is missing too, and rightly: then all try again. */
static void
test_withheld(gconstpointer settings)
{
    lockstep_graph *graph = make_graph(false);
    recorder_start();
    lockstep_context *context = open_with(settings, graph);
    lockstep_graph_free(graph);
    while (!support_is_on_all(is_told_of_withheld(context)))
        ;
    support_close(context);
    if (support_rank() <= 1) { /* where it is missing, and where all is known */
        const LsRecord *stall = recorder_find_stall("top/b", 1);
        g_assert_true(stall != NULL && strcmp(name_of(stall->args[3]), "top") == 0);
        g_assert_true(recorder_heard("tensor top/b of group top has waited"));
    }
}

typedef struct Colouring {
    const char *settings;
    const char *groups[N];
} Colouring;

static void
test_colouring(gconstpointer user)
{
    const Colouring *colouring = user;
    lockstep_graph *graph = make_graph(false);
    recorder_start();
    lockstep_context *context = open_with(colouring->settings, graph);
    lockstep_graph_free(graph);
    run_step(context, 0);
    support_close(context);
    for (int i = 0; i < N; i++) {
        const LsRecord *submit = recorder_get(LS_RECORD_SUBMIT, names[i], 0);
        g_assert_cmpstr(name_of(submit->args[2]), ==, colouring->groups[i]);
    }
}

int
main(int argc, char **argv)
{
    static const Colouring layer = {"grouping=layer", {"top", "top", "low", "low", "low"}};
    static const Colouring slices = {"grouping=slices;group_slices=2",
                                     {"group 0", "group 0", "group 0", "low", "low"}};
    static const Colouring bytes = {"grouping=bytes;group_bytes=600",
                                    {"group 0", "group 0", "group 0", "low", "low"}};
    static const char *const controls[] = {"coordinator", "bitvector", "tree"};
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (guint i = 0; i < G_N_ELEMENTS(controls); i++) {
        g_autofree char *path = g_strconcat("/mpi/groups/withheld-member/", controls[i], NULL);
        char *settings = g_strdup_printf(
            "grouping=layer;stall_warning_s=0.4;stall_limit_s=1;control=%s", controls[i]);
        g_test_add_data_func_full(path, settings, test_withheld, g_free);
    }
    g_test_add_func("/mpi/groups/the-graph-is-written-once", test_graph);
    g_test_add_func("/mpi/groups/a-large-graph-is-written-whole", test_large_graph);
    g_test_add_func("/mpi/groups/gate-is-the-last-members-submission", test_gate);
    g_test_add_data_func("/mpi/groups/by-layer-without-edges", &layer, test_colouring);
    g_test_add_data_func("/mpi/groups/by-slices-without-edges", &slices, test_colouring);
    g_test_add_data_func("/mpi/groups/by-bytes-without-edges", &bytes, test_colouring);
    return support_run();
}
