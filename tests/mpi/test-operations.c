/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-operations.c: allgather, reduce-scatter, barrier and grouped submission, over
 * every plane: what arrives is what every rank's input makes it, and what cannot be is said. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *const planes[] = {"shared",       "mpi",    "ring",  "halving",
                                     "hierarchical", "hybrid", "server"};

static lockstep_context *
open_plane(const char *plane)
{
    g_autofree char *settings = g_strdup_printf("plane=%s", plane);
    return support_open(settings);
}

/* Rank r gives `step` + r * factor rows; of zero factor and step nothing at all. */
static int64_t
rows_of(int rank, int round)
{
    return round == 0 ? rank : round == 1 ? (rank % 2) * 3 : round == 2 ? 0 : 40000 - rank * 777;
}

static void
gather_round(lockstep_context *context, int round, lockstep_dtype dtype)
{
    enum { WIDTH = 3 };
    int ranks = support_ranks(), rank = support_rank();
    int64_t total = 0, before = 0, counts[32];
    for (int r = 0; r < ranks; r++) {
        before += r < rank ? rows_of(r, round) : 0;
        total += rows_of(r, round);
    }
    int64_t shape[] = {rows_of(rank, round), WIDTH};
    size_t width = support_bytes(dtype);
    char *output = g_malloc0((size_t)(total * WIDTH + 1) * width);
    bool in_place = round % 2 == 0;
    char *input = in_place ? output + (size_t)(before * WIDTH) * width
                           : g_malloc0((size_t)(shape[0] * WIDTH + 1) * width);
    for (int64_t i = 0; i < shape[0] * WIDTH; i++)
        support_put(input, dtype, i, (double)((rank * 7 + i) % 50));
    lockstep_tensor tensor = support_tensor("gathered", input, output, shape[0] * WIDTH, dtype);
    tensor.shape = shape;
    tensor.ndim = 2;
    lockstep_gather gather = {sizeof gather, total * WIDTH, counts};
    lockstep_handle handle;
    assert_status(lockstep_allgather(context, &tensor, &gather, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    int64_t at = 0;
    for (int r = 0; r < ranks; r++) {
        g_assert_cmpint(counts[r], ==, rows_of(r, round) * WIDTH);
        for (int64_t i = 0; i < counts[r]; i++)
            g_assert_cmpfloat(support_get(output, dtype, at++), ==, (double)((r * 7 + i) % 50));
    }
    if (!in_place)
        g_free(input);
    g_free(output);
}

static void
test_allgather(gconstpointer plane)
{
    lockstep_context *context = open_plane(plane);
    for (int round = 0; round < 4; round++) {
        for (int dtype = 0; dtype <= LOCKSTEP_INT64; dtype++)
            gather_round(context, round, (lockstep_dtype)dtype);
    }
    support_close(context);
}

/* One rank's output is too small: all are told; a shape that differs further in: all are told. */
static void
test_allgather_refused(void)
{
    lockstep_context *context = support_open(NULL);
    int ranks = support_ranks(), last = ranks - 1;
    bool is_last = support_rank() == last;
    float input[4] = {0}, output[64];
    lockstep_handle handle;
    lockstep_tensor tensor = support_tensor("tight", input, output, 2, LOCKSTEP_FLOAT32);
    lockstep_gather gather = {sizeof gather, is_last ? 2 * ranks - 1 : 2 * ranks, NULL};
    g_autofree char *room =
        g_strdup_printf("output of rank %d has room for %d", last, 2 * ranks - 1);
    assert_status(lockstep_allgather(context, &tensor, &gather, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_ERR_ARGUMENT);
    assert_contains(lockstep_last_error(), room);
    int64_t shape[] = {2, is_last ? 1 : 2};
    tensor.count = shape[0] * shape[1];
    tensor.shape = shape;
    tensor.ndim = 2;
    gather.capacity = 64;
    assert_status(lockstep_allgather(context, &tensor, &gather, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1),
                  ranks > 1 ? LOCKSTEP_ERR_MISMATCH : LOCKSTEP_OK);
    gather.size = 3;
    assert_status(lockstep_allgather(context, &tensor, &gather, &handle), LOCKSTEP_ERR_ARGUMENT);
    gather_round(context, 1, LOCKSTEP_INT32); /* and it goes on */
    support_close(context);
}

static void
scatter(lockstep_context *context, int64_t rows, int64_t columns, lockstep_dtype dtype,
        lockstep_op op)
{
    int rank = support_rank();
    int64_t shape[] = {rows, columns}, count = rows * columns, before = 0;
    int64_t own = lockstep_share(context, rows, rank) * columns;
    for (int r = 0; r < rank; r++)
        before += lockstep_share(context, rows, r) * columns;
    void *input = g_malloc((size_t)(count + 1) * support_bytes(dtype));
    void *output = g_malloc0((size_t)(own + 1) * support_bytes(dtype));
    for (int64_t i = 0; i < count; i++)
        support_put(input, dtype, i, support_input(dtype, op, i, rank));
    lockstep_tensor tensor = support_tensor("scattered", input, output, count, dtype);
    lockstep_handle handle;
    tensor.shape = shape;
    tensor.ndim = 2;
    assert_status(lockstep_reduce_scatter(context, &tensor, op, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    for (int64_t i = 0; i < own; i++) {
        double got = support_get(output, dtype, i),
               expected = support_expect(dtype, op, before + i, support_ranks());
        if (got != expected)
            g_error("rank %d, dtype %d, op %d, %d x %d, element %d: %g, expected %g", rank, dtype,
                    op, (int)rows, (int)columns, (int)i, got, expected);
    }
    g_free(output);
    g_free(input);
}

static void
test_reduce_scatter(gconstpointer plane)
{
    lockstep_context *context = open_plane(plane);
    for (int dtype = 0; dtype <= LOCKSTEP_INT64; dtype++) {
        for (int op = 0; op <= LOCKSTEP_PRODUCT; op++) {
            scatter(context, 0, 5, (lockstep_dtype)dtype, (lockstep_op)op);
            scatter(context, 1, 7, (lockstep_dtype)dtype, (lockstep_op)op);
            scatter(context, 13, 3, (lockstep_dtype)dtype, (lockstep_op)op);
        }
    }
    /* Longer than the room that pieces have. */
    scatter(context, 301, 1009, LOCKSTEP_FLOAT64, LOCKSTEP_SUM);
    scatter(context, 301, 1009, LOCKSTEP_INT64, LOCKSTEP_AVERAGE);
    scatter(context, 301, 1009, LOCKSTEP_FLOAT16, LOCKSTEP_AVERAGE);
    support_close(context);
}

static void
test_reduce_scatter_refused(void)
{
    lockstep_context *context = support_open(NULL);
    float data[64] = {0};
    lockstep_handle handle = 1;
    lockstep_tensor tensor = support_tensor("s", data, data + 63, 64, LOCKSTEP_FLOAT32);
    assert_status(lockstep_reduce_scatter(context, &tensor, LOCKSTEP_SUM, &handle),
                  LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpuint(handle, ==, 0);
    assert_contains(lockstep_last_error(), "overlaps");
    support_close(context);
}

/* Nobody leaves before the last has come. */
static void
test_barrier(void)
{
    lockstep_context *context = support_open(NULL);
    for (int late = 0; late < support_ranks(); late++) {
        lockstep_handle handle;
        int64_t came = 0, last = 0; /* on the one clock of this machine */
        if (support_rank() == late)
            g_usleep(60000);
        came = g_get_monotonic_time();
        assert_status(lockstep_barrier(context, "meet", &handle), LOCKSTEP_OK);
        assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
        int64_t left = g_get_monotonic_time();
        lockstep_tensor tensor = support_tensor("last", &came, &last, 1, LOCKSTEP_INT64);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_MAX), LOCKSTEP_OK);
        g_assert_cmpint(last, >, 0);
        g_assert_cmpint(left, >=, last);
    }
    support_close(context);
}

/* All or none, and together. */
static void
test_group(void)
{
    enum { N = 50 };
    lockstep_context *context = support_open(NULL);
    lockstep_tensor tensors[N];
    const lockstep_tensor *list[N];
    lockstep_handle handles[N];
    char names[N][16];
    float data[N];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) {
            int k = (i * 7 + support_rank() * 3 + round) % N;
            g_snprintf(names[i], sizeof names[i], "g%d", k);
            data[i] = (float)(k + support_rank());
            tensors[i] = support_tensor(names[i], &data[i], &data[i], 1, LOCKSTEP_FLOAT32);
            list[i] = &tensors[i];
        }
        assert_status(lockstep_allreduce_group(context, list, N, LOCKSTEP_SUM, handles),
                      LOCKSTEP_OK);
        for (int i = 0; i < N; i++) {
            int k = (i * 7 + support_rank() * 3 + round) % N, ranks = support_ranks();
            assert_status(lockstep_wait(context, handles[i], -1), LOCKSTEP_OK);
            g_assert_cmpfloat(data[i], ==, (float)(k * ranks + ranks * (ranks - 1) / 2));
        }
    }
    list[N - 1] = list[3]; /* a name twice: none is submitted, and all names stay free */
    assert_status(lockstep_allreduce_group(context, list, N, LOCKSTEP_SUM, handles),
                  LOCKSTEP_ERR_DUPLICATE);
    for (int i = 0; i < N; i++)
        g_assert_cmpuint(handles[i], ==, 0);
    list[N - 1] = &tensors[N - 1];
    assert_status(lockstep_allreduce_group(context, list, N, LOCKSTEP_SUM, handles), LOCKSTEP_OK);
    for (int i = 0; i < N; i++)
        assert_status(lockstep_wait(context, handles[i], -1), LOCKSTEP_OK);
    assert_status(lockstep_allreduce_group(context, list, 0, LOCKSTEP_SUM, handles), LOCKSTEP_OK);
    support_close(context);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    for (guint p = 0; p < G_N_ELEMENTS(planes); p++) {
        g_autofree char *gather = g_strdup_printf("/mpi/operations/allgather/%s", planes[p]);
        g_autofree char *scattered =
            g_strdup_printf("/mpi/operations/reduce-scatter/%s", planes[p]);
        g_test_add_data_func(gather, planes[p], test_allgather);
        g_test_add_data_func(scattered, planes[p], test_reduce_scatter);
    }
    g_test_add_func("/mpi/operations/allgather-refused", test_allgather_refused);
    g_test_add_func("/mpi/operations/reduce-scatter-refused", test_reduce_scatter_refused);
    g_test_add_func("/mpi/operations/barrier", test_barrier);
    g_test_add_func("/mpi/operations/group", test_group);
    return support_run();
}
