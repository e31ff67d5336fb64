/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-mpi.c: MPI's own collectives on host memory.
 *
 * Where a list of lengths is longer than MPI's int counts, the ring of reduce/peers-mpi.h goes
 * round instead.
 */
#include "reduce/plane-peers.h"

#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct MpiPlane {
    LsPeersPlane base;
    LsMpiOps ops;
    int *counts, *starts; /* owned, one for each rank */
} MpiPlane;

static void
mpi_close(LsPlane *base)
{
    MpiPlane *plane = (MpiPlane *)base;
    ls_mpi_ops_close(&plane->ops);
    free(plane->counts);
    free(plane->starts);
    ls_peers_plane_close(base);
}

static lockstep_status
mpi_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    LsPlane *base;
    lockstep_status status = ls_peers_plane_new(&ls_plane_mpi, config, sizeof(MpiPlane), &base);
    if (status != LOCKSTEP_OK)
        return status;
    MpiPlane *plane = (MpiPlane *)base;
    size_t ranks = (size_t)config->world->ranks;
    status = ls_mpi_ops_open(&plane->ops);
    if (status != LOCKSTEP_OK) {
        ls_peers_plane_close(base);
        return status;
    }
    plane->counts = calloc(ranks, sizeof *plane->counts);
    plane->starts = calloc(ranks, sizeof *plane->starts);
    if (plane->counts == NULL || plane->starts == NULL) {
        mpi_close(base);
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    }
    *ret_plane = base;
    return LOCKSTEP_OK;
}

static lockstep_status
mpi_allreduce(LsPlane *base, const void *input, void *output, int64_t count, lockstep_dtype dtype,
              lockstep_op op)
{
    MpiPlane *plane = (MpiPlane *)base;
    return ls_mpi_allreduce(&plane->ops, plane->base.peers.communicator, input, output, count,
                            dtype, op);
}

/* The offsets as MPI wants them. false: they are too long for it. */
static bool
fill_counts(MpiPlane *plane, const int64_t *offsets)
{
    int ranks = plane->base.peers.ranks;
    if (offsets[ranks] > INT_MAX)
        return false;
    for (int rank = 0; rank < ranks; rank++) {
        plane->counts[rank] = (int)(offsets[rank + 1] - offsets[rank]);
        plane->starts[rank] = (int)offsets[rank];
    }
    return true;
}

static lockstep_status
mpi_allgather(LsPlane *base, void *data, const int64_t *offsets)
{
    MpiPlane *plane = (MpiPlane *)base;
    if (!fill_counts(plane, offsets))
        return ls_peers_plane_allgather(base, data, offsets);
    return ls_mpi_check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, plane->counts,
                                       plane->starts, MPI_BYTE, plane->base.peers.communicator),
                        "MPI_Allgatherv");
}

/* In place MPI leaves the part at the front. */
static lockstep_status
mpi_reduce_scatter(LsPlane *base, void *data, const int64_t *offsets, lockstep_dtype dtype,
                   lockstep_op op)
{
    MpiPlane *plane = (MpiPlane *)base;
    const LsPeers *peers = &plane->base.peers;
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    if (!fill_counts(plane, offsets))
        return ls_peers_plane_reduce_scatter(base, data, offsets, dtype, op);
    lockstep_status status =
        ls_mpi_check(MPI_Reduce_scatter(MPI_IN_PLACE, data, plane->counts, ls_mpi_type(dtype),
                                        ls_mpi_op(&plane->ops, dtype, op), peers->communicator),
                     "MPI_Reduce_scatter");
    memmove((char *)data + (size_t)offsets[peers->rank] * width, data,
            (size_t)plane->counts[peers->rank] * width);
    return status;
}

const LsPlaneClass ls_plane_mpi = {
    .name = "mpi",
    .allreduce_text = "MPI_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "MPI_ALLGATHER",
    .reduce_scatter_text = "MPI_REDUCESCATTER",
    .fits = ls_peers_plane_fits,
    .open = mpi_open,
    .close = mpi_close,
    .allreduce = mpi_allreduce,
    .broadcast = ls_peers_plane_broadcast,
    .allgather = mpi_allgather,
    .reduce_scatter = mpi_reduce_scatter,
    .alltoall = ls_peers_plane_alltoall,
};
