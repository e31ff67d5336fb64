/* SPDX-License-Identifier: Apache-2.0
 *
 * Each kind of call that liblockstep-mpi.so stands in front of, once, with what programs pass
 * beside MPI_IN_PLACE and off the root: nothing that MPI could be asked about. Prints what came
 * out. Line by line the same as test-preload.c's table.
 */
#include <mpi.h>
#include <stdio.h>

#define N 16

static int rank, ranks, sum;

static void
add(const int *values, int n)
{
    for (int i = 0; i < n; i++)
        sum = sum * 31 + values[i];
}

static void
reduce_and_gather(MPI_Comm comm, int *in, int *out, const int *counts, const int *places)
{
    long long bits = 0x0ff0 | 1LL << rank, all = 0;

    MPI_Allreduce(in, out, 5, MPI_INT, MPI_SUM, comm);
    add(out, 5);
    MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_LONG_LONG_INT, MPI_BAND, comm);
    MPI_Allreduce(&bits, &all, 1, MPI_LONG_LONG_INT, MPI_BOR, comm);
    add((int[]){(int)bits, (int)all}, 2);
    MPI_Reduce(in, out, 3, MPI_INT, MPI_MAX, 1, comm);
    MPI_Bcast(out, 3, MPI_INT, 1, comm);
    add(out, 3);
    if (rank == 0)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, 0, comm);
    else
        MPI_Gather(in, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, comm);
    if (rank == 0)
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_INT, 0, comm);
    else
        MPI_Gatherv(in, rank + 1, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, comm);
    add(out, rank == 0 ? ranks : 0);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, comm);
    MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, comm);
    add(out, ranks);
}

static void
scatter_and_exchange(MPI_Comm comm, int *in, int *out, const int *counts, const int *places)
{
    if (rank == 0)
        MPI_Scatter(in, 2, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, comm);
    else
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, 0, comm);
    if (rank == 0)
        MPI_Scatterv(in, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, comm);
    else
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, out, rank + 1, MPI_INT, 0, comm);
    add(out, rank == 0 ? 0 : rank + 1);
    MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm);
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_MIN, comm);
    add(out, 2);
    MPI_Scan(in, out, 4, MPI_INT, MPI_PROD, comm);
    MPI_Barrier(comm);
}

static void
send_and_receive(MPI_Comm comm, int *in, int *out)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, n;
    MPI_Request requests[2];
    MPI_Status status;

    MPI_Irecv(out, 4, MPI_INT, before, 7, comm, &requests[0]);
    MPI_Isend(in, 4, MPI_INT, next, 7, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(in, 3, MPI_INT, next, 8, out, 6, MPI_INT, MPI_ANY_SOURCE, 8, comm, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    MPI_Send(in, 2, MPI_INT, MPI_PROC_NULL, 9, comm);
    MPI_Iallreduce(in, out + 4, 2, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    add(out, n);
    add(out + 4, 2);
}

int
main(int argc, char **argv)
{
    int in[N], out[N] = {0}, counts[N], places[N], bad;
    MPI_Comm second;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < N; i++) {
        in[i] = rank * 10 + i;
        counts[i] = i + 1;
        places[i] = i * (i + 1) / 2;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    reduce_and_gather(MPI_COMM_WORLD, in, out, counts, places);
    scatter_and_exchange(second, in, out, counts, places);
    MPI_Comm_free(&second);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &second);
    MPI_Barrier(second); /* perhaps where the one before was */
    MPI_Comm_free(&second);
    send_and_receive(MPI_COMM_WORLD, in, out);
    /* A call that fails is the program's own affair. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bad = MPI_Bcast(out, -1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
    printf("rank %d: %d %d\n", rank, sum, bad);
    MPI_Finalize();
    return 0;
}
