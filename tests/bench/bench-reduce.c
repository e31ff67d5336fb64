/* SPDX-License-Identifier: Apache-2.0
 * tests/bench/bench-reduce.c: the library against bare MPI_Allreduce, in one run (facts: Horovod
 * F).
 *
 * bench-reduce [ROUNDS]: each round measures the bare calls, then each control with a context of
 * its own, so that neither disturbs the other, one after the other. A line per case: its name,
 * ranks, the quartiles of the bare calls, of the AND of the words that a cache of 1,024 takes, of
 * the tensors packed into one call by hand, as fast as fusion over MPI can be at all, and of each
 * control, in us, each the slowest rank's. collectives.py holds them against one another.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX  15
#define REPEATS_MAX 200
#define TENSORS_MAX 1000
#define PACKED_MAX  (200 * 16384) /* elements of a case of several tensors */
#define CACHE_WORDS 17            /* of 1,024 bits and the three that status takes */

typedef struct Case {
    const char *text;
    int tensors, count, repeats; /* count: of float32 */
} Case;

static const Case cases[] = {
    {"one 4 B tensor", 1, 1, 200},
    {"1000 x 4 KB", 1000, 1024, 3},
    {"one 64 MB", 1, 16 << 20, 4},
    {"200 x 64 KB", 200, 16384, 5},
};

typedef struct Way {
    const char *name;     /* in the output */
    const char *settings; /* NULL: the library is not used */
} Way;

static const Way ways[] = {
    {"bare", NULL},
    {"and", NULL},
    {"packed", NULL},
    {"coordinator", "control=coordinator"},
    {"bitvector", "control=bitvector"},
    {"messages", "control=bitvector;plane=mpi"},
};

#define FIRST_OURS 3

typedef struct Sample {
    double values[ROUNDS_MAX * REPEATS_MAX];
    int n;
} Sample;

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sample's, sorted; of the rank where it is largest. */
static double
quantile_of(const Sample *sample, double share)
{
    double at = share * (sample->n - 1), most;
    int below = (int)at, above = below + 1 < sample->n ? below + 1 : below;
    double mine =
        sample->values[below] + (at - below) * (sample->values[above] - sample->values[below]);
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void
add(Sample *sample, double start)
{
    sample->values[sample->n++] = (MPI_Wtime() - start) * 1e6;
}

static void
measure_bare(const Case *c, float *data, Sample *sample)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int repeat = -1; repeat < c->repeats; repeat++) {
        double start = MPI_Wtime();
        for (int t = 0; t < c->tensors; t++)
            MPI_Allreduce(MPI_IN_PLACE, data + (size_t)t * (size_t)c->count, c->count, MPI_FLOAT,
                          MPI_SUM, MPI_COMM_WORLD);
        if (repeat >= 0) /* the first time is warming up */
            add(sample, start);
    }
}

static void
measure_and(Sample *sample)
{
    uint64_t words[CACHE_WORDS] = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    for (int repeat = 0; repeat < REPEATS_MAX; repeat++) {
        double start = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, words, CACHE_WORDS, MPI_UINT64_T, MPI_BAND, MPI_COMM_WORLD);
        add(sample, start);
    }
}

static void
measure_packed(const Case *c, float *data, Sample *sample)
{
    static float packed[PACKED_MAX];
    size_t count = (size_t)c->count, n = (size_t)c->tensors;
    float *buffer = n > 1 ? packed : data;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int repeat = -1; repeat < c->repeats; repeat++) {
        double start = MPI_Wtime();
        for (size_t t = 0; n > 1 && t < n; t++)
            memcpy(packed + t * count, data + t * count, count * sizeof *data);
        MPI_Allreduce(MPI_IN_PLACE, buffer, (int)(n * count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (size_t t = 0; n > 1 && t < n; t++)
            memcpy(data + t * count, packed + t * count, count * sizeof *data);
        if (repeat >= 0)
            add(sample, start);
    }
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
static void
measure_library(const Case *c, float *data, char (*names)[16], const char *settings, Sample *sample)
{
    lockstep_context *context = support_open(settings);
    for (int repeat = -2; repeat < c->repeats; repeat++) {
        double start = MPI_Wtime();
        reduce_all(context, c, data, names);
        if (repeat >= 0)
            add(sample, start);
    }
    support_close(context);
}

static void
run_case(const Case *c, int rounds, float *data, char (*names)[16])
{
    static Sample samples[G_N_ELEMENTS(ways)];
    for (size_t way = 0; way < G_N_ELEMENTS(ways); way++)
        samples[way].n = 0;
    for (int round = 0; round < rounds; round++) {
        measure_bare(c, data, &samples[0]);
        measure_and(&samples[1]);
        measure_packed(c, data, &samples[2]);
        for (size_t way = FIRST_OURS; way < G_N_ELEMENTS(ways); way++)
            measure_library(c, data, names, ways[way].settings, &samples[way]);
    }
    printf("%s\t%d", c->text, support_ranks());
    for (size_t way = 0; way < G_N_ELEMENTS(ways); way++) {
        qsort(samples[way].values, (size_t)samples[way].n, sizeof(double), compare);
        printf("\t%s", ways[way].name);
        for (int quarter = 1; quarter <= 3; quarter++)
            printf("\t%.1f", quantile_of(&samples[way], quarter / 4.0));
    }
    printf("\n");
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    float *data = calloc(16 << 20, sizeof *data);
    static char names[TENSORS_MAX][16];
    if (data == NULL || rounds < 1 || rounds > ROUNDS_MAX)
        g_error("bench-reduce [ROUNDS], 1 to %d", ROUNDS_MAX);
    for (int t = 0; t < TENSORS_MAX; t++)
        g_snprintf(names[t], sizeof names[t], "tensor/%d", t);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        run_case(&cases[i], rounds, data, names);
    free(data);
    MPI_Finalize();
    return 0;
}
