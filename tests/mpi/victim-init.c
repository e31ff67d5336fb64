/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/victim-init.c FOLDER RANK CALL LIMIT_S: RANK kills itself at its CALLth collective call
 * of MPI inside lockstep_init (0: before it), which it counts through MPI's profiling names; every
 * survivor writes what it was told, and when, into files of FOLDER. A RANK that lived writes how
 * many calls there were: all of them init's, for what runs after it (control tree) exchanges
 * messages and calls no collective. */
#include "reduce/lockstep.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int calls, deadly = -1;
static const char *folder;
static int rank;

static long long
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void
tell(const char *what, long long number, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%d", folder, what, rank);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "%lld %s\n", number, text);
    fclose(file);
}

static void
die(void)
{
    tell("died", now_ns(), "");
    kill(getpid(), SIGKILL);
}

static void
count_call(void)
{
    if (++calls == deadly)
        die();
}

int
MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    count_call();
    return PMPI_Comm_dup(comm, copy);
}

int
MPI_Gather(const void *from, int n, MPI_Datatype type, void *to, int n_to, MPI_Datatype type_to,
           int root, MPI_Comm comm)
{
    count_call();
    return PMPI_Gather(from, n, type, to, n_to, type_to, root, comm);
}

int
MPI_Gatherv(const void *from, int n, MPI_Datatype type, void *to, const int n_to[],
            const int places[], MPI_Datatype type_to, int root, MPI_Comm comm)
{
    count_call();
    return PMPI_Gatherv(from, n, type, to, n_to, places, type_to, root, comm);
}

int
MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    count_call();
    return PMPI_Bcast(data, n, type, root, comm);
}

int
MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    count_call();
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int
main(int argc, char **argv)
{
    int level;
    char settings[64];
    lockstep_context *context;
    lockstep_options options;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Barrier(MPI_COMM_WORLD);
    folder = argv[1];
    calls = 0;
    if (rank == atoi(argv[2]))
        deadly = atoi(argv[3]);
    snprintf(settings, sizeof settings, "control=tree;init_limit_s=%s", argv[4]);
    lockstep_options_init(&options);
    options.settings = settings;
    if (deadly == 0)
        die();
    lockstep_status status = lockstep_init(&options, &context);
    tell("knew", now_ns(), lockstep_last_error());
    tell("status", status, lockstep_status_text(status));
    tell("calls", calls, "");
    fflush(NULL);
    _exit(status == LOCKSTEP_ERR_PEER_LOST ? 9 : 1);
}
