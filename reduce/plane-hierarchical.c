/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-hierarchical.c: Horovod's hierarchical allreduce since 0.14.1 (facts: seeds 1.6,
 * Horovod C2), MPI inside the host and between hosts.
 *
 * With L ranks on each host, every one of them gets 1/L of the elements by a reduce-scatter,
 * reduces it with those of the same number on other hosts, all L at once, and an allgather puts the
 * host's result together. What L does not divide (fewer than L elements) is reduced to the last
 * rank of the host, goes between hosts with that one's part, and is broadcast. Where hosts have
 * different numbers of ranks all goes this way, by the first rank of each host.
 */
#include "reduce/plane-peers.h"

#include "reduce/hosts-mpi.h"
#include "reduce/instrument.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>
#include <string.h>

typedef struct HierarchicalPlane {
    LsPeersPlane base;
    LsHosts hosts;
} HierarchicalPlane;

static lockstep_status
hierarchical_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    LsPlane *plane;
    lockstep_status status =
        ls_peers_plane_new(&ls_plane_hierarchical, config, sizeof(HierarchicalPlane), &plane);
    if (status != LOCKSTEP_OK)
        return status;
    status = ls_hosts_open(&((HierarchicalPlane *)plane)->hosts, config->world);
    if (status == LOCKSTEP_OK)
        *ret_plane = plane;
    else
        ls_peers_plane_close(plane);
    return status;
}

static lockstep_status
hierarchical_connect(LsPlane **plane)
{
    return ls_hosts_connect(&((HierarchicalPlane *)*plane)->hosts);
}

static void
hierarchical_close(LsPlane *plane)
{
    ls_hosts_close(&((HierarchicalPlane *)plane)->hosts);
    ls_peers_plane_close(plane);
}

/* In place MPI leaves this rank's part at the front; the allgather wants it at its own place. */
static lockstep_status
scatter(const LsHosts *hosts, char *data, int64_t each, lockstep_dtype dtype, lockstep_op op)
{
    size_t bytes = (size_t)each * ls_dtype_bytes((uint8_t)dtype);
    lockstep_status status =
        ls_mpi_check(MPI_Reduce_scatter_block(MPI_IN_PLACE, data, (int)each, ls_mpi_type(dtype),
                                              ls_mpi_op(&hosts->ops, dtype, op), hosts->local),
                     "MPI_Reduce_scatter_block");
    memmove(data + (size_t)hosts->local_rank * bytes, data, bytes);
    return status;
}

/* This rank's part and, at its owner, the rest, which lies behind the last part. */
static lockstep_status
cross(const LsHosts *hosts, char *data, LsHostsCut cut, lockstep_dtype dtype, lockstep_op op,
      int64_t *ret_bytes)
{
    bool owns = hosts->local_rank == cut.owner;
    size_t first = (size_t)(cut.each * hosts->local_rank) * ls_dtype_bytes((uint8_t)dtype);
    int64_t count = cut.each + (owns ? cut.rest : 0);
    *ret_bytes = count * (int64_t)ls_dtype_bytes((uint8_t)dtype);
    if (count == 0)
        return LOCKSTEP_OK;
    return ls_mpi_allreduce(&hosts->ops, hosts->cross, data + first, data + first, count, dtype,
                            op);
}

static lockstep_status
run_piece(HierarchicalPlane *plane, char *data, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    const LsHosts *hosts = &plane->hosts;
    const LsPlane *base = &plane->base.base;
    LsHostsCut piece = ls_hosts_cut(hosts, count);
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)dtype);
    int64_t whole = piece.each * hosts->local_ranks * width, rest = piece.rest * width;
    int64_t own = 0, start = ls_instrument_now();
    lockstep_status status = LOCKSTEP_OK;
    if (piece.each > 0) {
        status = scatter(hosts, data, piece.each, dtype, op);
        start = ls_plane_stage(base, "MPI_REDUCESCATTER", start, whole);
    }
    if (status == LOCKSTEP_OK && rest > 0) {
        status = ls_mpi_reduce(&hosts->ops, hosts->local, data + whole, piece.rest, dtype, op,
                               piece.owner);
        start = ls_plane_stage(base, "MPI_REDUCE", start, rest);
    }
    if (status == LOCKSTEP_OK) {
        status = cross(hosts, data, piece, dtype, op, &own);
        if (own > 0)
            start = ls_plane_stage(base, "MPI_ALLREDUCE", start, own);
    }
    if (status == LOCKSTEP_OK && piece.each > 0) {
        status = ls_mpi_check(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data,
                                            (int)piece.each, ls_mpi_type(dtype), hosts->local),
                              "MPI_Allgather");
        start = ls_plane_stage(base, "MPI_ALLGATHER", start, whole);
    }
    if (status == LOCKSTEP_OK && rest > 0) {
        status = ls_mpi_broadcast(hosts->local, data + whole, (size_t)rest, piece.owner);
        ls_plane_stage(base, "MPI_BCAST", start, rest);
    }
    return status;
}

static lockstep_status
hierarchical_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                       lockstep_dtype dtype, lockstep_op op)
{
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    lockstep_status status = LOCKSTEP_OK;
    ls_peers_plane_copy(input, output, count, dtype);
    for (int64_t at = 0; at < count && status == LOCKSTEP_OK; at += LS_MPI_PIECE) {
        int64_t piece = count - at < LS_MPI_PIECE ? count - at : LS_MPI_PIECE;
        status = run_piece((HierarchicalPlane *)base, (char *)output + (size_t)at * width, piece,
                           dtype, op);
    }
    return status;
}

const LsPlaneClass ls_plane_hierarchical = {
    .name = "hierarchical",
    .allreduce_text = "HIERARCHICAL_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "RING_ALLGATHER",
    .reduce_scatter_text = "RING_REDUCESCATTER",
    .fits = ls_peers_plane_fits,
    .open = hierarchical_open,
    .connect = hierarchical_connect,
    .close = hierarchical_close,
    .allreduce = hierarchical_allreduce,
    .broadcast = ls_peers_plane_broadcast,
    .allgather = ls_peers_plane_allgather,
    .reduce_scatter = ls_peers_plane_reduce_scatter,
    .alltoall = ls_peers_plane_alltoall,
};
