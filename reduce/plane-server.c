/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-server.c: sharded parameter servers, as MXNet's kvstore in dist_sync.
 *
 * Every rank is a worker; the first so many (setting `servers`) hold shards too. Workers push their
 * values, a server adds what all pushed and only then answers, workers pull the sum. Keys of at
 * least BIG elements are cut into one shard for each server, smaller ones go whole to one server,
 * by MXNet's rule (key * 9973) mod servers, a key being the number of the call. Rank r pushes to
 * r, r + 1, ...: no server hears all at once, but each takes in P shards and sends out P, which is
 * what becomes tight with few servers (facts: seeds 3).
 */
#include "reduce/plane-peers.h"

#include "reduce/failure.h"
#include "reduce/instrument.h"

#define BIG 1000000 /* MXNET_KVSTORE_BIGARRAY_BOUND */

typedef struct ServerPlane {
    LsPeersPlane base;
    int servers;
    int64_t calls; /* equal on all ranks */
} ServerPlane;

static lockstep_status
server_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    int ranks = config->world->ranks;
    if (config->servers > ranks)
        return ls_fail(LOCKSTEP_ERR_SETTINGS, "setting servers: %d of %d ranks cannot be servers",
                       config->servers, ranks);
    lockstep_status status =
        ls_peers_plane_new(&ls_plane_server, config, sizeof(ServerPlane), ret_plane);
    if (status == LOCKSTEP_OK)
        ((ServerPlane *)*ret_plane)->servers = config->servers > 0 ? config->servers : ranks;
    return status;
}

/* Which elements lie at which rank: peers.offsets, those without a shard having none. */
static void
place(ServerPlane *plane, int64_t count)
{
    LsPeers *peers = &plane->base.peers;
    int only = (int)(plane->calls++ * 9973 % plane->servers);
    for (int rank = 0; rank <= peers->ranks; rank++) {
        int servers = rank < plane->servers ? rank : plane->servers;
        if (count < BIG)
            peers->offsets[rank] = rank > only ? count : 0;
        else
            peers->offsets[rank] =
                count / plane->servers * servers +
                (count % plane->servers < servers ? count % plane->servers : servers);
    }
}

static lockstep_status
push(LsPeers *peers, void *data, LsFold fold)
{
    const int64_t *offsets = peers->offsets;
    int64_t own = offsets[peers->rank + 1] - offsets[peers->rank];
    char *shard = (char *)data + (size_t)offsets[peers->rank] * fold.width;
    lockstep_status status = LOCKSTEP_OK;
    for (int step = 1; step < peers->ranks && status == LOCKSTEP_OK; step++) {
        int to = (peers->rank + step) % peers->ranks;
        int from = (peers->rank - step + peers->ranks) % peers->ranks;
        status = ls_peers_fold(peers, (char *)data + (size_t)offsets[to] * fold.width,
                               offsets[to + 1] - offsets[to], to, shard, own, from, fold);
    }
    return status;
}

static lockstep_status
pull(LsPeers *peers, void *data, LsFold fold)
{
    const int64_t *offsets = peers->offsets;
    size_t own = (size_t)(offsets[peers->rank + 1] - offsets[peers->rank]) * fold.width;
    char *shard = (char *)data + (size_t)offsets[peers->rank] * fold.width;
    lockstep_status status = LOCKSTEP_OK;
    for (int step = 1; step < peers->ranks && status == LOCKSTEP_OK; step++) {
        int to = (peers->rank + step) % peers->ranks;
        int from = (peers->rank - step + peers->ranks) % peers->ranks;
        status =
            ls_peers_swap(peers, shard, own, to, (char *)data + (size_t)offsets[from] * fold.width,
                          (size_t)(offsets[from + 1] - offsets[from]) * fold.width, from);
    }
    return status;
}

static lockstep_status
server_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                 lockstep_dtype dtype, lockstep_op op)
{
    ServerPlane *plane = (ServerPlane *)base;
    LsPeers *peers = &plane->base.peers;
    LsFold fold = ls_fold_of(dtype, op);
    int64_t bytes = count * (int64_t)fold.width, start = ls_instrument_now();
    if (count == 0)
        return LOCKSTEP_OK;
    ls_peers_plane_copy(input, output, count, dtype);
    place(plane, count);
    lockstep_status status = push(peers, output, fold);
    start = ls_plane_stage(base, "SERVER_PUSH", start, bytes);
    if (status == LOCKSTEP_OK)
        status = pull(peers, output, fold);
    ls_plane_stage(base, "SERVER_PULL", start, bytes);
    return status;
}

const LsPlaneClass ls_plane_server = {
    .name = "server",
    .allreduce_text = "SERVER_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "RING_ALLGATHER",
    .reduce_scatter_text = "RING_REDUCESCATTER",
    .fits = ls_peers_plane_fits,
    .open = server_open,
    .close = ls_peers_plane_close,
    .allreduce = server_allreduce,
    .broadcast = ls_peers_plane_broadcast,
    .allgather = ls_peers_plane_allgather,
    .reduce_scatter = ls_peers_plane_reduce_scatter,
    .alltoall = ls_peers_plane_alltoall,
};
