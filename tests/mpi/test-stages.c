/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-stages.c: planes that move a buffer in several stages record each: in the order in
 * which they ran, inside the buffer's time, one after another, with the bytes that this rank
 * handled. The ranks count themselves to two hosts. */
#include "recorder.h"
#include "support.h"

#include <string.h>

#define WIDTH 4

typedef struct Stage {
    const char *name;
    int64_t bytes;
} Stage;

static int local_rank, local_ranks;

static void
find_place(void)
{
    int ranks = support_ranks(), host = support_rank() * 2 / ranks;
    local_ranks = local_rank = 0;
    for (int rank = 0; rank < ranks; rank++) {
        local_ranks += rank * 2 / ranks == host;
        local_rank += rank * 2 / ranks == host && rank < support_rank();
    }
}

/* Each returns how many stages there are. */
static int
expect_hierarchical(int64_t count, Stage *stages)
{
    int64_t each = count / local_ranks, rest = count % local_ranks;
    bool owns = local_rank == local_ranks - 1;
    int64_t own = each + (owns ? rest : 0);
    int n = 0;
    if (each > 0)
        stages[n++] = (Stage){"MPI_REDUCESCATTER", each * local_ranks * WIDTH};
    if (rest > 0)
        stages[n++] = (Stage){"MPI_REDUCE", rest * WIDTH};
    if (own > 0)
        stages[n++] = (Stage){"MPI_ALLREDUCE", own * WIDTH};
    if (each > 0)
        stages[n++] = (Stage){"MPI_ALLGATHER", each * local_ranks * WIDTH};
    if (rest > 0)
        stages[n++] = (Stage){"MPI_BCAST", rest * WIDTH};
    return n;
}

static int
expect_hybrid(int64_t count, Stage *stages)
{
    int64_t each = count / local_ranks / 256 * 256; /* two local ranks, or one */
    int64_t own = local_rank == local_ranks - 1 ? count - each * (local_ranks - 1) : each;
    bool small = each == 0;
    int n = 0;
    stages[n++] = (Stage){small ? "MPI_REDUCE" : "MPI_ALLREDUCE_LOCAL", count * WIDTH};
    if (!small || local_rank == 0)
        stages[n++] = (Stage){"MPI_ALLREDUCE", (small ? count : own) * WIDTH};
    stages[n++] = (Stage){"MPI_BCAST", count * WIDTH};
    return n;
}

static int
expect_server(int64_t count, Stage *stages)
{
    stages[0] = (Stage){"SERVER_PUSH", count * WIDTH};
    stages[1] = (Stage){"SERVER_PULL", count * WIDTH};
    return 2;
}

typedef struct Case {
    const char *plane, *outer;
    int64_t count;
    int (*expect)(int64_t count, Stage *stages);
} Case;

static void
check_buffer(const Case *c, guint first, const LsRecord *outer)
{
    Stage stages[8];
    int n = c->expect(c->count, stages);
    int64_t last = outer->start_ns;
    for (int i = 0; i < n; i++) {
        const LsRecord *stage = recorder_get(LS_RECORD_OPERATION, NULL, first + (guint)i);
        g_assert_nonnull(stage);
        g_assert_cmpstr(recorder_name(stage), ==, stages[i].name);
        g_assert_cmpint(stage->args[2], ==, stages[i].bytes);
        g_assert_cmpint(stage->args[0], ==, outer->args[0]); /* buffer, tensors, code */
        g_assert_cmpint(stage->args[3], ==, outer->args[3]);
        g_assert_cmpint(stage->args[4], ==, outer->args[4]);
        g_assert_cmpint(stage->start_ns, >=, last);
        g_assert_cmpint(stage->end_ns, >=, stage->start_ns);
        last = stage->end_ns;
    }
    g_assert_cmpint(last, <=, outer->end_ns);
    g_assert_true(recorder_get(LS_RECORD_OPERATION, NULL, first + (guint)n) == outer);
}

static void
test_stages(gconstpointer user)
{
    const Case *c = user;
    int ranks = support_ranks();
    g_autofree char *settings =
        g_strdup_printf("plane=%s;host=h%d", c->plane, support_rank() * 2 / ranks);
    g_autofree float *data = g_new(float, c->count);
    Stage stages[8];
    find_place();
    recorder_start();
    lockstep_context *context = support_open(settings);
    for (int round = 0; round < 3; round++) {
        lockstep_tensor tensor = support_tensor("w", data, data, c->count, LOCKSTEP_FLOAT32);
        for (int64_t i = 0; i < c->count; i++)
            data[i] = (float)(i % 7 + support_rank());
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        for (int64_t i = 0; i < c->count; i++)
            g_assert_cmpfloat(data[i], ==, (float)(i % 7 * ranks + ranks * (ranks - 1) / 2));
    }
    support_close(context);
    guint n = (guint)c->expect(c->count, stages);
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, c->outer), ==, 3);
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, NULL), ==, 3 * (n + 1));
    for (guint round = 0; round < 3; round++)
        check_buffer(c, round * (n + 1), recorder_get(LS_RECORD_OPERATION, c->outer, round));
}

/* 1,000 bytes become a multiple of 512 bytes for each rank of the host, so that as many tensors of
 * 32 bytes travel together; without a plane that cuts buffers the threshold is as it was given. */
static void
test_threshold(gconstpointer plane)
{
    enum { TENSORS = 300, COUNT = 8 };
    static float data[TENSORS][COUNT];
    lockstep_tensor tensors[TENSORS];
    const lockstep_tensor *list[TENSORS];
    lockstep_handle handles[TENSORS];
    char names[TENSORS][16];
    int64_t largest = 0, expected = 1000 / (COUNT * WIDTH) * (COUNT * WIDTH);
    g_autofree char *settings =
        g_strdup_printf("plane=%s;host=h%d;fusion_threshold_bytes=1000", (const char *)plane,
                        support_rank() * 2 / support_ranks());
    find_place();
    recorder_start();
    lockstep_context *context = support_open(settings);
    for (int i = 0; i < TENSORS; i++) {
        g_snprintf(names[i], sizeof names[i], "t%d", i);
        tensors[i] = support_tensor(names[i], data[i], data[i], COUNT, LOCKSTEP_FLOAT32);
        list[i] = &tensors[i];
    }
    assert_status(lockstep_allreduce_group(context, list, TENSORS, LOCKSTEP_SUM, handles),
                  LOCKSTEP_OK);
    for (int i = 0; i < TENSORS; i++)
        assert_status(lockstep_wait(context, handles[i], 60000), LOCKSTEP_OK);
    support_close(context);
    for (guint i = 0; i < recorder_count(LS_RECORD_PACK, NULL); i++)
        largest = MAX(largest, recorder_get(LS_RECORD_PACK, NULL, i)->args[2]);
    if (strcmp(plane, "mpi") != 0)
        expected = (1000 + 512 * local_ranks - 1) / (512 * local_ranks) * (512 * local_ranks);
    g_assert_cmpint(largest, ==, expected);
}

int
main(int argc, char **argv)
{
    static const Case cases[] = {
        {"hierarchical", "HIERARCHICAL_ALLREDUCE", 1000, expect_hierarchical},
        {"hierarchical", "HIERARCHICAL_ALLREDUCE", 1001, expect_hierarchical},
        {"hierarchical", "HIERARCHICAL_ALLREDUCE", 1, expect_hierarchical},
        {"hybrid", "HYBRID_ALLREDUCE", 2000, expect_hybrid},
        {"hybrid", "HYBRID_ALLREDUCE", 100, expect_hybrid},
        {"server", "SERVER_ALLREDUCE", 1000, expect_server},
    };
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path =
            g_strdup_printf("/mpi/stages/%s-%d", cases[i].plane, (int)cases[i].count);
        g_test_add_data_func(path, &cases[i], test_stages);
    }
    g_test_add_data_func("/mpi/stages/threshold-is-rounded-hierarchical", "hierarchical",
                         test_threshold);
    g_test_add_data_func("/mpi/stages/threshold-is-rounded-hybrid", "hybrid", test_threshold);
    g_test_add_data_func("/mpi/stages/threshold-is-as-given-mpi", "mpi", test_threshold);
    return support_run();
}
