/* SPDX-License-Identifier: Apache-2.0
 * tests/bench/bench-reduce.c: the library against bare MPI_Allreduce, in one run (facts: Horovod
 * F).
 *
 * bench-reduce [ROUNDS]: each round measures the bare calls, then each control with a context of
 * its own, so that neither disturbs the other, one after the other; a number is the median over the
 * rounds of a round's median, of the slowest rank. What must hold is the ratio, since times are the
 * machine's. Fails where a ratio is far off. */
#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX  15
#define REPEATS_MAX 200
#define TENSORS_MAX 1000
#define CACHE_WORDS 17 /* of 1,024 bits and the three that status takes */

typedef struct Case {
    const char *text;
    int tensors, count, repeats; /* count: of float32 */
    double far_off;              /* ratio to bare that is a failure; 0: none */
} Case;

static const Case cases[] = {
    {"one tensor of 4 B", 1, 1, 200, 0},
    {"1,000 tensors of 4 KB", 1000, 1024, 3, 6},
    {"one tensor of 64 MB", 1, 16 << 20, 2, 6},
    {"200 tensors of 64 KB", 200, 16384, 5, 6},
};

static const char *const controls[] = {"coordinator", "bitvector"};

#define N_WAYS (1 + (int)G_N_ELEMENTS(controls))

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median_of(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double
slowest(double mine)
{
    double most = mine;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static double
measure_bare(const Case *c, float *data)
{
    double times[REPEATS_MAX];
    MPI_Barrier(MPI_COMM_WORLD);
    for (int repeat = -1; repeat < c->repeats; repeat++) {
        double start = MPI_Wtime();
        for (int t = 0; t < c->tensors; t++)
            MPI_Allreduce(MPI_IN_PLACE, data + (size_t)t * (size_t)c->count, c->count, MPI_FLOAT,
                          MPI_SUM, MPI_COMM_WORLD);
        if (repeat >= 0) /* the first time is warming up */
            times[repeat] = (MPI_Wtime() - start) * 1e6;
    }
    return slowest(median_of(times, c->repeats));
}

static double
measure_and(void)
{
    enum { N = 200 };
    double times[N];
    uint64_t words[CACHE_WORDS] = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    for (int repeat = 0; repeat < N; repeat++) {
        double start = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, words, CACHE_WORDS, MPI_UINT64_T, MPI_BAND, MPI_COMM_WORLD);
        times[repeat] = (MPI_Wtime() - start) * 1e6;
    }
    return slowest(median_of(times, N));
}

static void
reduce_all(lockstep_context *context, const Case *c, float *data, char (*names)[16])
{
    static lockstep_handle handles[TENSORS_MAX];
    for (int t = 0; t < c->tensors; t++) {
        float *at = data + (size_t)t * (size_t)c->count;
        lockstep_tensor tensor = support_tensor(names[t], at, at, c->count, LOCKSTEP_FLOAT32);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handles[t]), LOCKSTEP_OK);
    }
    for (int t = 0; t < c->tensors; t++)
        assert_status(lockstep_wait(context, handles[t], -1), LOCKSTEP_OK);
}

/* The first two times fill the cache. */
static double
measure_library(const Case *c, float *data, char (*names)[16], const char *control)
{
    double times[REPEATS_MAX];
    g_autofree char *settings = g_strdup_printf("control=%s", control);
    lockstep_context *context = support_open(settings);
    for (int repeat = -2; repeat < c->repeats; repeat++) {
        double start = MPI_Wtime();
        reduce_all(context, c, data, names);
        if (repeat >= 0)
            times[repeat] = (MPI_Wtime() - start) * 1e6;
    }
    support_close(context);
    return slowest(median_of(times, c->repeats));
}

/* Prints one case; whether it is not far off. */
static bool
run_case(const Case *c, int rounds, float *data, char (*names)[16])
{
    double times[1 + G_N_ELEMENTS(controls)][ROUNDS_MAX], and[ROUNDS_MAX], medians[N_WAYS];
    bool good = true;
    for (int round = 0; round < rounds; round++) {
        times[0][round] = measure_bare(c, data);
        for (int way = 1; way < N_WAYS; way++)
            times[way][round] = measure_library(c, data, names, controls[way - 1]);
        and[round] = measure_and();
    }
    for (int way = 0; way < N_WAYS; way++)
        medians[way] = median_of(times[way], rounds);
    double bound = 50 + 5 * (medians[0] + median_of(and, rounds));
    if (support_rank() != 0)
        return true;
    printf("%-22s %5d  bare %10.1f us", c->text, support_ranks(), medians[0]);
    for (int way = 1; way < N_WAYS; way++) {
        double ratio = medians[way] / medians[0];
        printf("   %s %10.1f us, ratio %6.2f", controls[way - 1], medians[way], ratio);
        good = good && (c->far_off == 0 || ratio < c->far_off);
    }
    if (c->tensors * c->count == 1)
        printf("   (50 us + 5 x (bare + AND) = %.1f us)", bound);
    printf("\n");
    fflush(stdout);
    return good;
}

int
main(int argc, char **argv)
{
    bool good = true;
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    float *data = calloc(16 << 20, sizeof *data);
    static char names[TENSORS_MAX][16];
    if (data == NULL || rounds < 1 || rounds > ROUNDS_MAX)
        g_error("bench-reduce [ROUNDS], 1 to %d", ROUNDS_MAX);
    for (int t = 0; t < TENSORS_MAX; t++)
        g_snprintf(names[t], sizeof names[t], "tensor/%d", t);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        good = run_case(&cases[i], rounds, data, names) && good;
    free(data);
    MPI_Finalize();
    return good ? 0 : 1;
}
