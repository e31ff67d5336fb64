/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/calls.c: see calls.h. Linked into a test, these stand before MPI's own. */
#include "calls.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int gather, gatherv, bcast, allreduce, sends, receives;
static pthread_t program; /* the thread that reset */

static void
tally(atomic_int *calls)
{
    if (!pthread_equal(pthread_self(), program))
        atomic_fetch_add(calls, 1);
}

void
calls_reset(void)
{
    program = pthread_self();
    gather = gatherv = bcast = allreduce = sends = receives = 0;
}

void
calls_restart(void)
{
    gather = gatherv = bcast = allreduce = sends = receives = 0;
}

Calls
calls_get(void)
{
    return (Calls){gather, gatherv, bcast, allreduce, sends, receives};
}

int
MPI_Gather(const void *from, int n_from, MPI_Datatype from_type, void *to, int n_to,
           MPI_Datatype to_type, int root, MPI_Comm comm)
{
    tally(&gather);
    return PMPI_Gather(from, n_from, from_type, to, n_to, to_type, root, comm);
}

int
MPI_Gatherv(const void *from, int n_from, MPI_Datatype from_type, void *to, const int *n_to,
            const int *offsets, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    tally(&gatherv);
    return PMPI_Gatherv(from, n_from, from_type, to, n_to, offsets, to_type, root, comm);
}

int
MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    tally(&bcast);
    return PMPI_Bcast(data, count, type, root, comm);
}

int
MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    tally(&allreduce);
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

int
MPI_Send(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
{
    tally(&sends);
    return PMPI_Send(data, count, type, peer, tag, comm);
}

int
MPI_Recv(void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
         MPI_Status *status)
{
    tally(&receives);
    return PMPI_Recv(data, count, type, peer, tag, comm, status);
}
