/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-planes.c: every plane gives the same: all types and operations, counts that are
 * less than the ranks, odd, and long, in place or not, hosts alike or not. Whole numbers and exact
 * sums bit for bit, other floats within ranks times epsilon, and the same bits on every rank.
 *
 * A spread; with LOCKSTEP_LONG in the environment the whole cross, to 10 million elements. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N_KINDS (8 * 5)

static const char *const planes[] = {"shared",       "mpi",    "ring",  "halving",
                                     "hierarchical", "hybrid", "server"};
static const char *const op_texts[] = {"sum", "average", "min", "max", "product"};
static bool whole;

/* After so many elements input and result repeat themselves (support_input's 23, 256 and 5), so one
 * block of them fills and checks an array of any length at the speed of copying. */
#define PERIOD (23 * 256 * 5)

/* Arrays from here on come alone and share memory that stays: fresh pages cost more than the sums.
 */
#define LONG_BYTES (1 << 20)

/* One tensor of a kind (dtype, op), from filling to checking. */
typedef struct Job {
    lockstep_dtype dtype;
    lockstep_op op;
    int64_t count;
    size_t bytes;
    void *in, *out;
    lockstep_handle handle;
} Job;

static void *
take(size_t bytes, bool output)
{
    static void *shared[2];
    static size_t sizes[2];
    if (bytes < LONG_BYTES)
        return g_malloc(bytes);
    if (bytes > sizes[output]) {
        g_free(shared[output]);
        shared[output] = g_malloc(sizes[output] = bytes);
    }
    return shared[output];
}

static void
give_back(void *data, size_t bytes)
{
    if (bytes < LONG_BYTES)
        g_free(data);
}

static void
fill(const Job *job)
{
    size_t width = support_bytes(job->dtype), n = (size_t)MIN(job->count, PERIOD) * width;
    for (int64_t i = 0; i < MIN(job->count, PERIOD); i++)
        support_put(job->in, job->dtype, i, support_input(job->dtype, job->op, i, support_rank()));
    for (size_t at = n; at < (size_t)job->count * width; at += n)
        memcpy((char *)job->in + at, job->in, MIN(n, (size_t)job->count * width - at));
}

static void
begin(Job *job, lockstep_context *context, int kind, int64_t count, bool in_place)
{
    char name[32];
    *job = (Job){(lockstep_dtype)(kind / 5), (lockstep_op)(kind % 5), count, 0, NULL, NULL, 0};
    job->bytes = (size_t)(count + 1) * support_bytes(job->dtype);
    job->in = take(job->bytes, false);
    fill(job);
    job->out = in_place ? job->in : memset(take(job->bytes, true), 0x55, job->bytes);
    g_snprintf(name, sizeof name, "t%d", kind);
    lockstep_tensor tensor = support_tensor(name, job->in, job->out, count, job->dtype);
    assert_status(lockstep_allreduce(context, &tensor, job->op, &job->handle), LOCKSTEP_OK);
}

/* Says which element of the block is wrong. */
static void
check_block(const Job *job, const void *expected, int64_t first, int64_t n, const char *plane)
{
    size_t width = support_bytes(job->dtype);
    const char *block = (const char *)job->out + (size_t)first * width;
    if (memcmp(block, expected, (size_t)n * width) == 0)
        return;
    for (int64_t i = 0; i < n; i++) {
        double got = support_get(block, job->dtype, i),
               right = support_get(expected, job->dtype, i);
        if (got != right)
            g_error(
                "rank %d of %d, plane %s, dtype %d, %s, element %d of %d: %.17g, expected %.17g",
                support_rank(), support_ranks(), plane, job->dtype, op_texts[job->op],
                (int)(first + i), (int)job->count, got, right);
    }
}

static void
finish(Job *job, lockstep_context *context, const char *plane)
{
    int64_t length = MIN(job->count, PERIOD);
    g_autofree void *expected = g_malloc((size_t)(length + 1) * support_bytes(job->dtype));
    for (int64_t i = 0; i < length; i++)
        support_put(expected, job->dtype, i,
                    support_expect(job->dtype, job->op, i, support_ranks()));
    assert_status(lockstep_wait(context, job->handle, -1), LOCKSTEP_OK);
    for (int64_t first = 0; first < job->count; first += PERIOD)
        check_block(job, expected, first, MIN(PERIOD, job->count - first), plane);
    if (job->out != job->in)
        give_back(job->out, job->bytes);
    give_back(job->in, job->bytes);
}

static lockstep_context *
open_plane(const char *plane, const char *more)
{
    g_autofree char *settings = g_strdup_printf("plane=%s;fusion_threshold_bytes=0%s", plane, more);
    return support_open(settings);
}

static void
test_sums(gconstpointer plane)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 15, 16, 255, 1025, 4099, 65537};
    lockstep_context *context = open_plane(plane, "");
    for (guint c = 0; c < G_N_ELEMENTS(counts); c++) {
        for (int turn = 0; turn < (whole ? 2 : 1); turn++) {
            Job jobs[N_KINDS];
            bool in_place = (c & 1) != (guint)turn;
            for (int kind = 0; kind < N_KINDS; kind++)
                begin(&jobs[kind], context, kind, counts[c], in_place != (kind % 3 == 0));
            for (int kind = 0; kind < N_KINDS; kind++)
                finish(&jobs[kind], context, plane);
        }
    }
    support_close(context);
}

/* More than a piece of a message, more than MXNet's bound, and, in the whole, 10 million. */
static void
test_long(gconstpointer plane)
{
    static const int64_t counts[] = {300001, 1000003, 10000000};
    lockstep_context *context = open_plane(plane, "");
    for (guint c = 0; c < (whole ? 3 : 2); c++) {
        for (int kind = whole ? 0 : (int)c * 11; kind < N_KINDS; kind += whole ? 1 : 17) {
            for (int turn = 0; turn < (whole ? 2 : 1); turn++) {
                Job job;
                begin(&job, context, kind, counts[c], kind % 2 != turn);
                finish(&job, context, plane);
            }
        }
    }
    support_close(context);
}

/* Sums that are not exact: near, and the same bits on all ranks. */
static void
test_rounding(gconstpointer plane)
{
    static const double epsilons[] = {0x1p-23, 0x1p-52, 0x1p-10, 0x1p-7};
    enum { COUNT = 5003 };
    int ranks = support_ranks();
    for (int dtype = LOCKSTEP_FLOAT32; dtype <= LOCKSTEP_FLOAT64; dtype++) {
        double data[COUNT], sums[COUNT];
        lockstep_context *context = open_plane(plane, "");
        for (int i = 0; i < COUNT; i++) {
            sums[i] = 0;
            for (int rank = 0; rank < ranks; rank++)
                sums[i] += support_round((lockstep_dtype)dtype, 1.0 / (3 + rank + i % 101));
            support_put(data, (lockstep_dtype)dtype, i, 1.0 / (3 + support_rank() + i % 101));
        }
        lockstep_tensor tensor =
            support_tensor("rounded", data, data, COUNT, (lockstep_dtype)dtype);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        support_close(context);
        for (int i = 0; i < COUNT; i++)
            g_assert_cmpfloat(fabs(support_get(data, (lockstep_dtype)dtype, i) - sums[i]), <=,
                              ranks * epsilons[dtype] * sums[i]);
        int bytes = (int)(COUNT * support_bytes((lockstep_dtype)dtype));
        void *first = g_memdup2(data, (gsize)bytes);
        MPI_Bcast(first, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        g_assert_cmpmem(first, bytes, data, bytes);
        g_free(first);
    }
}

/* Hosts of `user` ranks each, the last one taking what is left. */
static void
test_hosts(gconstpointer user)
{
    static const char *const two_levels[] = {"hierarchical", "hybrid"};
    int each = GPOINTER_TO_INT(user);
    g_autofree char *host = g_strdup_printf(";host=h%d", support_rank() / each);
    for (guint p = 0; p < G_N_ELEMENTS(two_levels); p++) {
        static const int64_t counts[] = {1, 3, 7, 1030, 4099, 70001};
        lockstep_context *context = open_plane(two_levels[p], host);
        int left = support_ranks() - support_rank() / each * each;
        g_assert_cmpint(lockstep_local_size(context), ==, MIN(each, left));
        for (guint c = 0; c < G_N_ELEMENTS(counts); c++) {
            Job jobs[N_KINDS];
            for (int kind = 0; kind < N_KINDS; kind++)
                begin(&jobs[kind], context, kind, counts[c], kind % 2 == 0);
            for (int kind = 0; kind < N_KINDS; kind++)
                finish(&jobs[kind], context, two_levels[p]);
        }
        support_close(context);
    }
}

/* A rank per server down to one server for all. */
static void
test_servers(void)
{
    for (int servers = 1; servers < support_ranks(); servers += whole ? 1 : 2) {
        g_autofree char *more = g_strdup_printf(";servers=%d", servers);
        lockstep_context *context = open_plane("server", more);
        for (int kind = servers % 3; kind < N_KINDS; kind += 3) {
            Job job;
            begin(&job, context, kind, kind == 18 ? 1000003 : 1000 + kind, true);
            finish(&job, context, "server");
        }
        support_close(context);
    }
    lockstep_context *context = NULL;
    lockstep_options options;
    lockstep_options_init(&options);
    options.settings = "plane=server;servers=100";
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    assert_contains(lockstep_last_error(), "servers");
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    whole = g_getenv("LOCKSTEP_LONG") != NULL;
    for (guint p = 0; p < G_N_ELEMENTS(planes); p++) {
        g_autofree char *base = g_strdup_printf("/reduce/planes/%s", planes[p]);
        g_autofree char *sums = g_strconcat(base, "/sums", NULL);
        g_autofree char *lengths = g_strconcat(base, "/long", NULL);
        g_autofree char *rounding = g_strconcat(base, "/rounding", NULL);
        g_test_add_data_func(sums, planes[p], test_sums);
        g_test_add_data_func(lengths, planes[p], test_long);
        g_test_add_data_func(rounding, planes[p], test_rounding);
    }
    g_test_add_data_func("/reduce/planes/hosts/of-one", GINT_TO_POINTER(1), test_hosts);
    g_test_add_data_func("/reduce/planes/hosts/of-two", GINT_TO_POINTER(2), test_hosts);
    g_test_add_data_func("/reduce/planes/hosts/of-three", GINT_TO_POINTER(3), test_hosts);
    g_test_add_data_func("/reduce/planes/hosts/of-five", GINT_TO_POINTER(5), test_hosts);
    g_test_add_func("/reduce/planes/servers", test_servers);
    return support_run();
}
