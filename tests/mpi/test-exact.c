/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-exact.c: what arrives is exactly what every rank's input makes it: all types and
 * operations, in place or not, alone and fused, from several threads in any order. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *const op_texts[] = {"sum", "average", "min", "max", "product"};

static void
check(const void *data, lockstep_dtype dtype, lockstep_op op, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double got = support_get(data, dtype, i),
               expected = support_expect(dtype, op, i, support_ranks());
        if (got != expected)
            g_error("rank %d, dtype %d, %s, element %d: %.17g, expected %.17g", support_rank(),
                    dtype, op_texts[op], (int)i, got, expected);
    }
}

static void
check_case(lockstep_context *context, lockstep_dtype dtype, lockstep_op op, int64_t count,
           bool in_place)
{
    size_t bytes = (size_t)(count + 1) * support_bytes(dtype);
    void *in = g_malloc(bytes), *out = in_place ? in : g_malloc0(bytes);
    for (int64_t i = 0; i < count; i++)
        support_put(in, dtype, i, support_input(dtype, op, i, support_rank()));
    lockstep_tensor tensor = support_tensor("t", in, out, count, dtype);
    assert_status(support_reduce(context, &tensor, op), LOCKSTEP_OK);
    check(out, dtype, op, count);
    if (!in_place)
        g_free(out);
    g_free(in);
}

static void
test_types(gconstpointer settings)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 64, 1000, 4099, 100000};
    lockstep_context *context = support_open(settings);
    for (guint c = 0; c < G_N_ELEMENTS(counts); c++) {
        for (int dtype = 0; dtype <= LOCKSTEP_INT64; dtype++) {
            for (int op = 0; op <= LOCKSTEP_PRODUCT; op++)
                check_case(context, (lockstep_dtype)dtype, (lockstep_op)op, counts[c],
                           (c + (guint)dtype + (guint)op) % 2 != 0);
        }
    }
    support_close(context);
}

/* Longer than what goes in one call of MPI (reduce/calls-mpi.c): pieces, the last one shorter. */
static void
test_pieces(void)
{
    int64_t bytes = 2 * support_ranks() * INT64_C(2097152) + 72;
    lockstep_context *context = support_open("plane=mpi");
    for (int in_place = 0; in_place <= 1; in_place++) {
        check_case(context, LOCKSTEP_FLOAT32, LOCKSTEP_SUM, bytes / 4, in_place);
        check_case(context, LOCKSTEP_FLOAT16, LOCKSTEP_MAX, bytes / 2, in_place);
        check_case(context, LOCKSTEP_INT64, LOCKSTEP_AVERAGE, bytes / 8, in_place);
    }
    support_close(context);
}

/* Sums that a narrower sum would get wrong. */
static void
test_average_extremes(void)
{
    lockstep_context *context = support_open(NULL);
    int64_t big[2] = {INT64_MAX - support_rank(), INT64_MIN + 7 * support_rank()};
    int32_t ints[2] = {INT32_MAX, INT32_MIN};
    uint16_t halves[1] = {0x7bff}; /* 65504, the largest float16 */
    lockstep_tensor tensor = support_tensor("a", big, big, 2, LOCKSTEP_INT64);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_AVERAGE), LOCKSTEP_OK);
    __int128 high = 0, low = 0;
    for (int rank = 0; rank < support_ranks(); rank++) {
        high += INT64_MAX - rank;
        low += (__int128)INT64_MIN + 7 * rank;
    }
    g_assert_cmpint(big[0], ==, (int64_t)(high / support_ranks()));
    g_assert_cmpint(big[1], ==, (int64_t)(low / support_ranks()));
    tensor = support_tensor("b", ints, ints, 2, LOCKSTEP_INT32);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_AVERAGE), LOCKSTEP_OK);
    g_assert_cmpint(ints[0], ==, INT32_MAX);
    g_assert_cmpint(ints[1], ==, INT32_MIN);
    tensor = support_tensor("c", halves, halves, 1, LOCKSTEP_FLOAT16);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_AVERAGE), LOCKSTEP_OK);
    g_assert_cmphex(halves[0], ==, 0x7bff);
    support_close(context);
}

static void
test_nan(void)
{
    static const lockstep_dtype dtypes[] = {LOCKSTEP_FLOAT32, LOCKSTEP_FLOAT64, LOCKSTEP_FLOAT16,
                                            LOCKSTEP_BFLOAT16};
    lockstep_context *context = support_open(NULL);
    for (int poisoned = 0; poisoned < support_ranks(); poisoned++) {
        for (guint d = 0; d < G_N_ELEMENTS(dtypes); d++) {
            for (int op = 0; op <= LOCKSTEP_PRODUCT; op++) {
                double data[2];
                support_put(data, dtypes[d], 0, support_rank() == poisoned ? NAN : 1);
                support_put(data, dtypes[d], 1, 2);
                lockstep_tensor tensor = support_tensor("n", data, data, 2, dtypes[d]);
                assert_status(support_reduce(context, &tensor, (lockstep_op)op), LOCKSTEP_OK);
                g_assert_true(isnan(support_get(data, dtypes[d], 0)));
                g_assert_false(isnan(support_get(data, dtypes[d], 1)));
            }
        }
    }
    support_close(context);
}

static void
test_broadcast(void)
{
    lockstep_context *context = support_open(NULL);
    for (int root = 0; root < support_ranks(); root++) {
        for (int64_t count = 0; count <= 10000; count = count * 100 + (count == 0)) {
            g_autofree int32_t *in = g_new(int32_t, count + 1), *out = g_new0(int32_t, count + 1);
            lockstep_handle handle;
            for (int64_t i = 0; i < count; i++)
                in[i] = (int32_t)(i * 31 + support_rank() * 1000003);
            bool is_root = support_rank() == root;
            bool in_place = root % 2 == 1;
            lockstep_tensor tensor = support_tensor("b",
                                                    in_place  ? in
                                                    : is_root ? in
                                                              : NULL,
                                                    in_place ? in : out, count, LOCKSTEP_INT32);
            assert_status(lockstep_broadcast(context, &tensor, root, &handle), LOCKSTEP_OK);
            assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
            const int32_t *got = in_place ? in : out;
            for (int64_t i = 0; i < count; i++)
                g_assert_cmpint(got[i], ==, (int32_t)(i * 31 + root * 1000003));
        }
    }
    support_close(context);
}

#define THREADS 4
#define TENSORS 24
#define ROUNDS  10

typedef struct Submitter {
    lockstep_context *context;
    int index;
} Submitter;

/* Submits its tensors in an order of its own rank's, of mixed types, and checks each. */
static gpointer
submit(gpointer user)
{
    const Submitter *self = user;
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)(support_rank() * 100 + self->index));
    for (int round = 0; round < ROUNDS; round++) {
        void *data[TENSORS];
        lockstep_handle handles[TENSORS];
        int order[TENSORS];
        for (int i = 0; i < TENSORS; i++) {
            int j = g_rand_int_range(random, 0, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (int k = 0; k < TENSORS; k++) {
            int t = order[k];
            lockstep_dtype dtype = (lockstep_dtype)(t % 8);
            lockstep_op op = (lockstep_op)(t / 8 % 2);
            int64_t count = 1 + t * t * 5;
            g_autofree char *name = g_strdup_printf("thread-%d/%d", self->index, t);
            data[t] = g_malloc((gsize)count * support_bytes(dtype));
            for (int64_t i = 0; i < count; i++)
                support_put(data[t], dtype, i, support_input(dtype, op, i, support_rank()));
            lockstep_tensor tensor = support_tensor(name, data[t], data[t], count, dtype);
            assert_status(lockstep_allreduce(self->context, &tensor, op, &handles[t]), LOCKSTEP_OK);
        }
        for (int t = 0; t < TENSORS; t++) {
            assert_status(lockstep_wait(self->context, handles[t], -1), LOCKSTEP_OK);
            check(data[t], (lockstep_dtype)(t % 8), (lockstep_op)(t / 8 % 2), 1 + t * t * 5);
            g_free(data[t]);
        }
    }
    return NULL;
}

static void
test_threads(gconstpointer settings)
{
    lockstep_context *context = support_open(settings);
    Submitter submitters[THREADS];
    GThread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        submitters[i] = (Submitter){context, i};
        threads[i] = g_thread_new("submit", submit, &submitters[i]);
    }
    for (int i = 0; i < THREADS; i++)
        g_thread_join(threads[i]);
    support_close(context);
}

/* Two contexts at once, one of them of half the ranks. */
static void
test_communicators(void)
{
    MPI_Comm half;
    lockstep_context *all = support_open(NULL), *part;
    lockstep_options options;
    float one = 1, whole, share;
    lockstep_handle first, second;
    MPI_Comm_split(MPI_COMM_WORLD, support_rank() % 2, 0, &half);
    lockstep_options_init(&options);
    options.mpi_comm = &half;
    assert_status(lockstep_init(&options, &part), LOCKSTEP_OK);
    g_assert_cmpint(lockstep_size(part), ==, support_ranks() / 2);
    lockstep_tensor tensor = support_tensor("x", &one, &whole, 1, LOCKSTEP_FLOAT32);
    lockstep_tensor other = support_tensor("x", &one, &share, 1, LOCKSTEP_FLOAT32);
    for (int i = 0; i < 20; i++) {
        assert_status(lockstep_allreduce(all, &tensor, LOCKSTEP_SUM, &first), LOCKSTEP_OK);
        assert_status(lockstep_allreduce(part, &other, LOCKSTEP_SUM, &second), LOCKSTEP_OK);
        assert_status(lockstep_wait(part, second, -1), LOCKSTEP_OK);
        assert_status(lockstep_wait(all, first, -1), LOCKSTEP_OK);
        g_assert_cmpfloat(whole, ==, (float)support_ranks());
        g_assert_cmpfloat(share, ==, (float)(support_ranks() / 2));
    }
    support_close(part);
    support_close(all);
    MPI_Comm_free(&half);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    g_test_add_data_func("/mpi/exact/types", NULL, test_types);
    g_test_add_data_func("/mpi/exact/types-unfused", "fusion_threshold_bytes=0", test_types);
    g_test_add_func("/mpi/exact/longer-than-a-call", test_pieces);
    g_test_add_func("/mpi/exact/average-extremes", test_average_extremes);
    g_test_add_func("/mpi/exact/nan-passes", test_nan);
    g_test_add_func("/mpi/exact/broadcast-from-every-root", test_broadcast);
    g_test_add_data_func("/mpi/exact/threads-fused", NULL, test_threads);
    g_test_add_data_func("/mpi/exact/threads-unfused", "fusion_threshold_bytes=0", test_threads);
    g_test_add_data_func("/mpi/exact/threads-small-buffers", "fusion_threshold_bytes=4K",
                         test_threads);
    g_test_add_data_func("/mpi/exact/threads-by-clock", "cycle_start=clock;cycle_time_ms=0.5",
                         test_threads);
    g_test_add_func("/mpi/exact/communicators", test_communicators);
    return support_run();
}
