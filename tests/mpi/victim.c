/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/victim.c FOLDER RANK SETTINGS [HOSTS]: steps until RANK kills itself in mid-run. It
 * writes when, and every survivor when it knew, what it was told, and its exit status, into files
 * of FOLDER. HOSTS: the ranks count themselves to so many hosts. */
#include "reduce/lockstep.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define COUNT 100000

static long long
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void
tell(const char *folder, const char *what, int rank, long long number, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%d", folder, what, rank);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "%lld %s\n", number, text);
    fclose(file);
}

int
main(int argc, char **argv)
{
    int level, rank, ranks, doomed = atoi(argv[2]);
    char settings[256];
    static float data[COUNT];
    lockstep_context *context;
    lockstep_options options;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(settings, sizeof settings, "%s", argv[3]);
    if (argc > 4)
        snprintf(settings, sizeof settings, "%s;host=h%d", argv[3], rank * atoi(argv[4]) / ranks);
    lockstep_options_init(&options);
    options.settings = settings;
    if (lockstep_init(&options, &context) != LOCKSTEP_OK)
        return 3;
    lockstep_status status = LOCKSTEP_OK;
    for (int step = 0; step < 100000 && status == LOCKSTEP_OK; step++) {
        lockstep_handle handle;
        lockstep_tensor tensor = {.size = sizeof tensor,
                                  .name = "weights",
                                  .input = data,
                                  .output = data,
                                  .count = COUNT,
                                  .dtype = LOCKSTEP_FLOAT32};
        if (rank == doomed && step == 100) {
            tell(argv[1], "died", rank, now_ns(), "");
            kill(getpid(), SIGKILL);
        }
        status = lockstep_allreduce(context, &tensor, LOCKSTEP_AVERAGE, &handle);
        if (status == LOCKSTEP_OK)
            status = lockstep_wait(context, handle, -1);
    }
    tell(argv[1], "knew", rank, now_ns(), lockstep_last_error());
    if (status == LOCKSTEP_ERR_PEER_LOST)
        status = lockstep_shutdown(context);
    tell(argv[1], "exit", rank, status == LOCKSTEP_ERR_PEER_LOST ? 9 : 1, "");
    tell(argv[1], "left", rank, now_ns(), "");
    exit(status == LOCKSTEP_ERR_PEER_LOST ? 9 : 1);
}
