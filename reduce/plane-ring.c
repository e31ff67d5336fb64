/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-ring.c: reduce-scatter, then allgather, each once round a ring of the ranks: 2 (P -
 * 1) steps, 2 (P - 1) / P times the bytes, whatever the number of ranks (facts: seeds 5.1).
 */
#include "reduce/plane-peers.h"

static lockstep_status
ring_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    return ls_peers_plane_new(&ls_plane_ring, config, sizeof(LsPeersPlane), ret_plane);
}

static lockstep_status
ring_allreduce(LsPlane *base, const void *input, void *output, int64_t count, lockstep_dtype dtype,
               lockstep_op op)
{
    LsPeers *peers = &((LsPeersPlane *)base)->peers;
    LsFold fold = ls_fold_of(dtype, op);
    if (count == 0)
        return LOCKSTEP_OK;
    ls_peers_plane_copy(input, output, count, dtype);
    ls_peers_split(peers, count);
    lockstep_status status = ls_peers_reduce_scatter(peers, output, peers->offsets, fold);
    if (status == LOCKSTEP_OK)
        status = ls_peers_allgather(peers, output, peers->offsets, fold.width);
    return status;
}

const LsPlaneClass ls_plane_ring = {
    .name = "ring",
    .allreduce_text = "RING_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "RING_ALLGATHER",
    .reduce_scatter_text = "RING_REDUCESCATTER",
    .fits = ls_peers_plane_fits,
    .open = ring_open,
    .close = ls_peers_plane_close,
    .allreduce = ring_allreduce,
    .broadcast = ls_peers_plane_broadcast,
    .allgather = ls_peers_plane_allgather,
    .reduce_scatter = ls_peers_plane_reduce_scatter,
    .alltoall = ls_peers_plane_alltoall,
};
