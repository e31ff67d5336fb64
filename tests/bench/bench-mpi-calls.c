/* SPDX-License-Identifier: Apache-2.0
 *
 * What liblockstep-mpi.so adds to a call of MPI: this program is linked with it in front of the
 * real library, and calls both names, the wrapped one and the PMPI_ one, in turn, on a communicator
 * of one rank. Printed: the difference per call, and two readings of the clock beside it, which are
 * in each recorded call. Prints `key value unit`; medians and the best of the batches.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/recorder.h"
#include "lks.h"

#define REPEATS 201
#define BATCH   200

static MPI_Comm self;
static int in[4], out[4];
static MPI_Request request;

static int64_t
run_clock(void)
{
    int64_t start = ls_recorder_now();
    for (int i = 0; i < BATCH; i++) {
        ls_recorder_now();
        ls_recorder_now();
    }
    return ls_recorder_now() - start;
}

/* One pair of functions for each call: the wrapped, the real. */
#define PAIR(name, function, ...)                                                                  \
    static int64_t name##_wrapped(void)                                                            \
    {                                                                                              \
        int64_t start = ls_recorder_now();                                                         \
        for (int i = 0; i < BATCH; i++)                                                            \
            MPI_##function(__VA_ARGS__);                                                           \
        return ls_recorder_now() - start;                                                          \
    }                                                                                              \
    static int64_t name##_real(void)                                                               \
    {                                                                                              \
        int64_t start = ls_recorder_now();                                                         \
        for (int i = 0; i < BATCH; i++)                                                            \
            PMPI_##function(__VA_ARGS__);                                                          \
        return ls_recorder_now() - start;                                                          \
    }

PAIR(allreduce, Allreduce, in, out, 4, MPI_INT, MPI_SUM, self)
PAIR(barrier, Barrier, self)
PAIR(wait, Wait, &request, MPI_STATUS_IGNORE)

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
print(const char *key, double *values)
{
    qsort(values, REPEATS, sizeof *values, compare);
    printf("%s.median %.1f ns\n%s.best %.1f ns\n", key, values[REPEATS / 2], key, values[0]);
}

/* In turn, so that whatever else the machine does falls on both. */
static void
measure(const char *key, int64_t (*wrapped)(void), int64_t (*real)(void))
{
    static double with[REPEATS], without[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        with[i] = (double)wrapped() / BATCH;
        without[i] = real != NULL ? (double)real() / BATCH : 0;
        if (real != NULL)
            ls_recorder_flush();
    }
    qsort(without, REPEATS, sizeof *without, compare);
    for (int i = 0; i < REPEATS; i++)
        with[i] -= without[REPEATS / 2];
    print(key, with);
    if (real != NULL)
        printf("%s.itself %.1f ns\n", key, without[REPEATS / 2]);
}

static int
check_file(const char *folder)
{
    g_autoptr(GPtrArray) paths = lks_list(folder);
    if (paths->len != 1)
        return 1;
    g_autoptr(LksFile) file = lks_read(paths->pdata[0]);
    uint64_t calls = lks_count(file, LS_RECORD_MPI_CALL), lost = lks_sum_lost(file);
    printf("mpi.in_file %" G_GUINT64_FORMAT " events\nmpi.lost %" G_GUINT64_FORMAT " events\n",
           calls, lost);
    printf("mpi.bytes_per_event %.2f bytes\n", (double)file->length / (double)calls);
    g_remove(paths->pdata[0]);
    return calls != 3 * REPEATS * BATCH || lost != 0;
}

int
main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-bench-XXXXXX", NULL);
    g_autofree char *manifest = g_build_filename(folder, "run.json", NULL);
    g_setenv("LOCKSTEP_RUN", folder, TRUE);
    MPI_Init(&argc, &argv);
    self = MPI_COMM_SELF;
    request = MPI_REQUEST_NULL;
    measure("clock_twice", run_clock, NULL);
    measure("mpi.allreduce", allreduce_wrapped, allreduce_real);
    measure("mpi.barrier", barrier_wrapped, barrier_real);
    measure("mpi.wait", wait_wrapped, wait_real);
    ls_recorder_flush();
    int status = check_file(folder);
    PMPI_Finalize();
    g_remove(manifest);
    g_rmdir(folder);
    if (status != 0)
        printf("mpi.valid 0 (records were lost; the figures do not count)\n");
    return status;
}
