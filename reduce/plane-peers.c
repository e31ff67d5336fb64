/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-peers.c: the shared functions of planes on MPI ranks.
 */
#include "reduce/plane-peers.h"

#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>
#include <string.h>

bool
ls_peers_plane_fits(const LsWorld *world)
{
    return world->class == &ls_world_mpi;
}

lockstep_status
ls_peers_plane_new(const LsPlaneClass *class, const LsPlaneConfig *config, size_t size,
                   LsPlane **ret_plane)
{
    LsPeersPlane *plane = calloc(1, size);
    if (plane == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    plane->base.class = class;
    lockstep_status status = ls_peers_open(&plane->peers, ls_world_mpi_communicator(config->world));
    if (status == LOCKSTEP_OK)
        *ret_plane = &plane->base;
    else
        free(plane);
    return status;
}

void
ls_peers_plane_close(LsPlane *plane)
{
    ls_peers_close(&((LsPeersPlane *)plane)->peers);
    free(plane);
}

lockstep_status
ls_peers_plane_broadcast(LsPlane *plane, void *data, size_t size_bytes, int root)
{
    return ls_mpi_broadcast(((LsPeersPlane *)plane)->peers.communicator, data, size_bytes, root);
}

lockstep_status
ls_peers_plane_allgather(LsPlane *plane, void *data, const int64_t *offsets)
{
    return ls_peers_allgather(&((LsPeersPlane *)plane)->peers, data, offsets, 1);
}

lockstep_status
ls_peers_plane_reduce_scatter(LsPlane *plane, void *data, const int64_t *offsets,
                              lockstep_dtype dtype, lockstep_op op)
{
    return ls_peers_reduce_scatter(&((LsPeersPlane *)plane)->peers, data, offsets,
                                   ls_fold_of(dtype, op));
}

lockstep_status
ls_peers_plane_alltoall(LsPlane *plane, const void *send, const int64_t *send_offsets,
                        void *receive, const int64_t *receive_offsets)
{
    return ls_peers_alltoall(&((LsPeersPlane *)plane)->peers, send, send_offsets, receive,
                             receive_offsets);
}

void
ls_peers_plane_copy(const void *input, void *output, int64_t count, lockstep_dtype dtype)
{
    if (input != output && count > 0)
        memcpy(output, input, (size_t)count * ls_dtype_bytes((uint8_t)dtype));
}
