/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-compress.c: what is lost in one sum is made good in the next ones, on both sides;
 * all ranks have the same bits; how many bytes travel is in the record; other types stay exact. */
#include "recorder.h"
#include "support.h"

#include <math.h>
#include <string.h>

#define TENSORS 5

static const int counts[TENSORS] = {1, 3, 130, 4097, 300001};

static lockstep_context *
open_with(const char *compression, const char *more)
{
    g_autofree char *settings = g_strdup_printf("compression=%s%s", compression, more);
    return support_open(settings);
}

static float
gradient(int tensor, int i, int rank)
{
    return (float)((i * 31 + tensor * 7 + rank * 13) % 19 - 9) / 8 * (i % 50 == 0 ? 3 : 1);
}

/* One round of all tensors; totals[t][i] grows by what came out. */
static void
run_round(lockstep_context *context, float **data, double **totals, lockstep_op op)
{
    lockstep_handle handles[TENSORS];
    for (int t = 0; t < TENSORS; t++) {
        g_autofree char *name = g_strdup_printf("layer/%d", t);
        for (int i = 0; i < counts[t]; i++)
            data[t][i] = gradient(t, i, support_rank());
        lockstep_tensor tensor =
            support_tensor(name, data[t], data[t], counts[t], LOCKSTEP_FLOAT32);
        assert_status(lockstep_allreduce(context, &tensor, op, &handles[t]), LOCKSTEP_OK);
    }
    for (int t = 0; t < TENSORS; t++) {
        assert_status(lockstep_wait(context, handles[t], -1), LOCKSTEP_OK);
        for (int i = 0; i < counts[t]; i++)
            totals[t][i] += data[t][i];
    }
}

/* The mean over rounds comes to the true value as 1 / rounds: what is not out yet is bounded. */
static double
distance(double **totals, int rounds, int ranks, lockstep_op op)
{
    double worst = 0;
    for (int t = 0; t < TENSORS; t++) {
        double error = 0, size = 0;
        for (int i = 0; i < counts[t]; i++) {
            double sum = 0;
            for (int rank = 0; rank < ranks; rank++)
                sum += gradient(t, i, rank);
            sum /= op == LOCKSTEP_AVERAGE ? ranks : 1;
            error += fabs(totals[t][i] / rounds - sum);
            size += fabs(sum);
        }
        worst = MAX(worst, error / MAX(size, 1e-9));
    }
    return worst;
}

static void
assert_same_bits(float **data)
{
    for (int t = 0; t < TENSORS; t++) {
        int bytes = counts[t] * (int)sizeof(float);
        void *first = g_memdup2(data[t], (gsize)bytes);
        MPI_Bcast(first, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        g_assert_cmpmem(first, bytes, data[t], bytes);
        g_free(first);
    }
}

static int64_t
sum_bytes(const char *name)
{
    int64_t bytes = 0;
    for (guint i = 0; i < recorder_count(LS_RECORD_OPERATION, name); i++)
        bytes += recorder_get(LS_RECORD_OPERATION, name, i)->args[2];
    return bytes;
}

static int64_t
sum_wire(void)
{
    int64_t bytes = 0;
    for (guint i = 0; i < recorder_count(LS_RECORD_WIRE, NULL); i++)
        bytes += recorder_get(LS_RECORD_WIRE, NULL, i)->args[2];
    return bytes;
}

typedef struct Case {
    const char *compression, *more, *outer, *inner;
    int rounds;
    double first, last; /* error of one round is over, of the mean of all under */
    double share;       /* of the bytes, at most */
} Case;

static void
test_feedback(gconstpointer user)
{
    const Case *c = user;
    for (int op = LOCKSTEP_SUM; op <= LOCKSTEP_AVERAGE; op++) {
        float *data[TENSORS];
        double *totals[TENSORS];
        for (int t = 0; t < TENSORS; t++) {
            data[t] = g_new0(float, counts[t]);
            totals[t] = g_new0(double, counts[t]);
        }
        recorder_start();
        lockstep_context *context = open_with(c->compression, c->more);
        run_round(context, data, totals, (lockstep_op)op);
        double first = distance(totals, 1, support_ranks(), (lockstep_op)op);
        for (int round = 1; round < c->rounds; round++)
            run_round(context, data, totals, (lockstep_op)op);
        support_close(context);
        double last = distance(totals, c->rounds, support_ranks(), (lockstep_op)op);
        g_test_message("%s: off by %.4f once, by %.4f in the mean of %d; %.4f of the bytes",
                       c->compression, first, last, c->rounds,
                       (double)sum_bytes(c->inner) / (double)sum_bytes(c->outer));
        if (support_ranks() > 1) {
            g_assert_cmpfloat(first, >=, c->first);
            g_assert_cmpfloat(last, <=, c->last);
            g_assert_cmpint(sum_bytes(c->outer), >, 0);
            g_assert_cmpint(sum_bytes(c->inner), >, 0);
            g_assert_cmpint(sum_wire(), ==, sum_bytes(c->inner));
            g_assert_cmpfloat((double)sum_bytes(c->inner), <=,
                              c->share * (double)sum_bytes(c->outer));
        }
        assert_same_bits(data);
        for (int t = 0; t < TENSORS; t++) {
            g_free(data[t]);
            g_free(totals[t]);
        }
    }
}

/* Whole numbers and other operations pass untouched. */
static void
test_others_exact(gconstpointer compression)
{
    lockstep_context *context = open_with(compression, "");
    int ranks = support_ranks();
    for (int dtype = 0; dtype <= LOCKSTEP_INT64; dtype++) {
        for (int op = 0; op <= LOCKSTEP_PRODUCT; op++) {
            double data[3] = {0};
            lockstep_tensor tensor = support_tensor("o", data, data, 2, (lockstep_dtype)dtype);
            if (dtype == LOCKSTEP_FLOAT32 && op <= LOCKSTEP_AVERAGE)
                continue;
            support_put(data, (lockstep_dtype)dtype, 0, 1 + support_rank() % 2);
            support_put(data, (lockstep_dtype)dtype, 1, 2);
            assert_status(support_reduce(context, &tensor, (lockstep_op)op), LOCKSTEP_OK);
            const double twos[] = {2.0 * ranks, 2, 2, 2, ldexp(1, ranks)};
            g_assert_cmpfloat(support_get(data, (lockstep_dtype)dtype, 1), ==, twos[op]);
        }
    }
    support_close(context);
}

/* NaN arrives as NaN, and the tensor is sound again afterwards. */
static void
test_nan(gconstpointer compression)
{
    lockstep_context *context = open_with(compression, ";topk_permille=1000");
    for (int round = 0; round < 12; round++) {
        float data[64];
        for (int i = 0; i < 64; i++)
            data[i] = round == 3 && i == 5 && support_rank() == 0 ? NAN : 1;
        lockstep_tensor tensor = support_tensor("n", data, data, 64, LOCKSTEP_FLOAT32);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        g_assert_cmpint(isnan(data[5]) != 0, ==, round == 3);
        g_assert_false(isnan(data[63]));
    }
    support_close(context);
}

int
main(int argc, char **argv)
{
    static const Case cases[] = {
        {"float16", ";plane=mpi", "MPI_ALLREDUCE", "FLOAT16_ALLREDUCE", 2, 0, 1e-3, 0.5},
        {"bfloat16", ";plane=mpi", "MPI_ALLREDUCE", "BFLOAT16_ALLREDUCE", 2, 0, 2e-2, 0.5},
        {"onebit", "", "ONEBIT_ALLREDUCE", "ONEBIT_PUSH", 100, 0.3, 0.12, 1 / 31.0},
        {"topk", ";topk_permille=50", "TOPK_ALLREDUCE", "TOPK_PUSH", 150, 0.3, 0.2, 0.08},
        {"topk", ";topk_permille=1000", "TOPK_ALLREDUCE", "TOPK_PUSH", 2, 0, 1e-6, 1.5},
        {"onebit", ";plane=ring;fusion_threshold_bytes=0", "ONEBIT_ALLREDUCE", "ONEBIT_PULL", 100,
         0.3, 0.12, 1 / 31.0},
    };
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path =
            g_strdup_printf("/mpi/compress/feedback/%u-%s", i, cases[i].compression);
        g_test_add_data_func(path, &cases[i], test_feedback);
    }
    g_test_add_data_func("/mpi/compress/others-exact/onebit", "onebit", test_others_exact);
    g_test_add_data_func("/mpi/compress/others-exact/topk", "topk", test_others_exact);
    g_test_add_data_func("/mpi/compress/others-exact/float16", "float16", test_others_exact);
    g_test_add_data_func("/mpi/compress/nan/topk", "topk", test_nan);
    g_test_add_data_func("/mpi/compress/nan/float16", "float16", test_nan);
    return support_run();
}
