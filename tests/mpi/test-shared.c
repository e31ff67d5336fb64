/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-shared.c: fused buffers in the memory that ranks of a host share: larger and
 * smaller by turns, so that it grows and old results must not show through; and that without such
 * memory the sums are the same. */
#include "support.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#define TENSORS 7

typedef struct Kind {
    lockstep_dtype dtype;
    lockstep_op op;
} Kind;

static const Kind kinds[] = {
    {LOCKSTEP_FLOAT32, LOCKSTEP_SUM},     {LOCKSTEP_FLOAT32, LOCKSTEP_AVERAGE},
    {LOCKSTEP_FLOAT64, LOCKSTEP_AVERAGE}, {LOCKSTEP_FLOAT16, LOCKSTEP_MAX},
    {LOCKSTEP_INT32, LOCKSTEP_AVERAGE},   {LOCKSTEP_UINT8, LOCKSTEP_SUM}};

/* Tensors of about `count` elements, submitted as one, so that they travel as one. */
static void
reduce_group(lockstep_context *context, Kind kind, int64_t count)
{
    lockstep_tensor tensors[TENSORS];
    const lockstep_tensor *list[TENSORS];
    lockstep_handle handles[TENSORS];
    char names[TENSORS][16];
    void *data[TENSORS];
    for (int t = 0; t < TENSORS; t++) {
        int64_t n = count + 13 * t;
        data[t] = g_malloc((gsize)n * support_bytes(kind.dtype));
        for (int64_t i = 0; i < n; i++)
            support_put(data[t], kind.dtype, i,
                        support_input(kind.dtype, kind.op, i + t, support_rank()));
        g_snprintf(names[t], sizeof names[t], "t%d", t);
        tensors[t] = support_tensor(names[t], data[t], data[t], n, kind.dtype);
        list[t] = &tensors[t];
    }
    assert_status(lockstep_allreduce_group(context, list, TENSORS, kind.op, handles), LOCKSTEP_OK);
    for (int t = 0; t < TENSORS; t++) {
        assert_status(lockstep_wait(context, handles[t], -1), LOCKSTEP_OK);
        for (int64_t i = 0; i < tensors[t].count; i += 1 + count / 2000)
            g_assert_cmpfloat(support_get(data[t], kind.dtype, i), ==,
                              support_expect(kind.dtype, kind.op, i + t, support_ranks()));
        g_free(data[t]);
    }
}

static bool
has_shared_memory(void)
{
    g_autofree char *maps = NULL;
    g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
    return strstr(maps, "memfd:lockstep-sections") != NULL;
}

static void
reduce_sizes(lockstep_context *context)
{
    static const int64_t counts[] = {1, 900, 30000, 4, 300000, 2000, 900000, 70000};
    for (guint c = 0; c < G_N_ELEMENTS(counts); c++) {
        for (guint k = 0; k < G_N_ELEMENTS(kinds); k++)
            if (counts[c] < 100000 || k == c % G_N_ELEMENTS(kinds))
                reduce_group(context, kinds[k], counts[c]);
    }
}

static void
test_fused(gconstpointer control)
{
    g_autofree char *settings = g_strdup_printf("control=%s", (const char *)control);
    lockstep_context *context = support_open(settings);
    g_assert_true(has_shared_memory());
    reduce_sizes(context);
    support_close(context);
    g_assert_false(has_shared_memory());
}

/* Two hosts have none in common. */
static void
test_hosts(void)
{
    g_autofree char *settings = g_strdup_printf("host=h%d", support_rank() % 2);
    lockstep_context *context = support_open(settings);
    g_assert_false(has_shared_memory());
    reduce_group(context, kinds[0], 30000);
    support_close(context);
}

/* The first rank may make no file of that size, so no rank has the memory. */
static void
test_refused(void)
{
    struct rlimit old, small;
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
    small = (struct rlimit){1 << 20, old.rlim_max};
    if (support_rank() == 0)
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
    lockstep_context *context = support_open("plane=shared");
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
    g_assert_false(has_shared_memory());
    reduce_sizes(context);
    support_close(context);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    g_test_add_data_func("/mpi/shared/fused-coordinator", "coordinator", test_fused);
    g_test_add_data_func("/mpi/shared/fused-bitvector", "bitvector", test_fused);
    g_test_add_func("/mpi/shared/hosts", test_hosts);
    g_test_add_func("/mpi/shared/refused", test_refused);
    return support_run();
}
