/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-hybrid.c: the hierarchical allreduce of Kurth et al. (2018) and Horovod 0.13.6
 * (facts: seeds 1.6), MPI inside the host and between hosts.
 *
 * The host reduces among its ranks, all of which then have its sum. Up to four of them (0, 1, 3
 * and 4 where there are five or more: two of each socket of a Summit node) carry one block each to
 * the other hosts and back, blocks being multiples of 256 elements, and broadcast it on their host.
 * What is too small to be cut, and hosts with different numbers of ranks: the sum goes to the first
 * rank of the host only, between hosts, and back.
 */
#include "reduce/plane-peers.h"

#include "reduce/hosts-mpi.h"
#include "reduce/instrument.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>
#include <string.h>

typedef struct HybridPlane {
    LsPeersPlane base;
    LsHosts hosts;
} HybridPlane;

static lockstep_status
hybrid_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    LsPlane *plane;
    lockstep_status status =
        ls_peers_plane_new(&ls_plane_hybrid, config, sizeof(HybridPlane), &plane);
    if (status != LOCKSTEP_OK)
        return status;
    status = ls_hosts_open(&((HybridPlane *)plane)->hosts, config->world);
    if (status == LOCKSTEP_OK)
        *ret_plane = plane;
    else
        ls_peers_plane_close(plane);
    return status;
}

static lockstep_status
hybrid_connect(LsPlane **plane)
{
    return ls_hosts_connect(&((HybridPlane *)*plane)->hosts);
}

static void
hybrid_close(LsPlane *plane)
{
    ls_hosts_close(&((HybridPlane *)plane)->hosts);
    ls_peers_plane_close(plane);
}

static lockstep_status
run_small(HybridPlane *plane, char *data, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    const LsHosts *hosts = &plane->hosts;
    int64_t bytes = count * (int64_t)ls_dtype_bytes((uint8_t)dtype), start = ls_instrument_now();
    lockstep_status status = ls_mpi_reduce(&hosts->ops, hosts->local, data, count, dtype, op, 0);
    start = ls_plane_stage(&plane->base.base, "MPI_REDUCE", start, bytes);
    if (status == LOCKSTEP_OK && hosts->local_rank == 0) {
        status = ls_mpi_allreduce(&hosts->ops, hosts->cross, data, data, count, dtype, op);
        start = ls_plane_stage(&plane->base.base, "MPI_ALLREDUCE", start, bytes);
    }
    if (status == LOCKSTEP_OK)
        status = ls_mpi_broadcast(hosts->local, data, (size_t)bytes, 0);
    ls_plane_stage(&plane->base.base, "MPI_BCAST", start, bytes);
    return status;
}

/* The block that this rank carries, between hosts. */
static lockstep_status
cross(HybridPlane *plane, char *data, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    const LsHosts *hosts = &plane->hosts;
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    lockstep_status status = LOCKSTEP_OK;
    int64_t start = ls_instrument_now();
    for (int block = 0; block < ls_hosts_blocks(hosts); block++) {
        int64_t first = ls_hosts_block_start(hosts, count, block);
        int64_t length = ls_hosts_block_start(hosts, count, block + 1) - first;
        char *at = data + (size_t)first * width;
        if (ls_hosts_carrier(hosts, block) != hosts->local_rank)
            continue;
        status = ls_mpi_allreduce(&hosts->ops, hosts->cross, at, at, length, dtype, op);
        ls_plane_stage(&plane->base.base, "MPI_ALLREDUCE", start, length * (int64_t)width);
    }
    return status;
}

static lockstep_status
run_blocks(HybridPlane *plane, char *data, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    const LsHosts *hosts = &plane->hosts;
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    int64_t bytes = count * (int64_t)width, start = ls_instrument_now();
    lockstep_status status =
        ls_mpi_allreduce(&hosts->ops, hosts->local, data, data, count, dtype, op);
    ls_plane_stage(&plane->base.base, "MPI_ALLREDUCE_LOCAL", start, bytes);
    if (status == LOCKSTEP_OK)
        status = cross(plane, data, count, dtype, op);
    start = ls_instrument_now();
    for (int block = 0; block < ls_hosts_blocks(hosts) && status == LOCKSTEP_OK; block++) {
        int64_t first = ls_hosts_block_start(hosts, count, block);
        int64_t length = ls_hosts_block_start(hosts, count, block + 1) - first;
        status = ls_mpi_broadcast(hosts->local, data + (size_t)first * width,
                                  (size_t)length * width, ls_hosts_carrier(hosts, block));
    }
    ls_plane_stage(&plane->base.base, "MPI_BCAST", start, bytes);
    return status;
}

static lockstep_status
hybrid_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                 lockstep_dtype dtype, lockstep_op op)
{
    HybridPlane *plane = (HybridPlane *)base;
    if (count == 0)
        return LOCKSTEP_OK;
    ls_peers_plane_copy(input, output, count, dtype);
    if (ls_hosts_is_small(&plane->hosts, count))
        return run_small(plane, output, count, dtype, op);
    return run_blocks(plane, output, count, dtype, op);
}

const LsPlaneClass ls_plane_hybrid = {
    .name = "hybrid",
    .allreduce_text = "HYBRID_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "RING_ALLGATHER",
    .reduce_scatter_text = "RING_REDUCESCATTER",
    .fits = ls_peers_plane_fits,
    .open = hybrid_open,
    .connect = hybrid_connect,
    .close = hybrid_close,
    .allreduce = hybrid_allreduce,
    .broadcast = ls_peers_plane_broadcast,
    .allgather = ls_peers_plane_allgather,
    .reduce_scatter = ls_peers_plane_reduce_scatter,
    .alltoall = ls_peers_plane_alltoall,
};
