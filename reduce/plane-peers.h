/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-peers.h: what the planes share that run on MPI ranks: the ring's halves for
 * allgather and reduce-scatter, exchange pair by pair, MPI_Bcast.
 */
#pragma once

#include "reduce/calls-mpi.h"
#include "reduce/peers-mpi.h"
#include "reduce/plane.h"
#include "reduce/world.h"

/* First member of such a plane's struct. */
typedef struct LsPeersPlane {
    LsPlane base;
    LsPeers peers;
} LsPeersPlane;

bool ls_peers_plane_fits(const LsWorld *world);
/* A zeroed struct of `size` bytes, opened as far as it is an LsPeersPlane. */
lockstep_status ls_peers_plane_new(const LsPlaneClass *class, const LsPlaneConfig *config,
                                   size_t size, LsPlane **ret_plane);
void ls_peers_plane_close(LsPlane *plane);
lockstep_status ls_peers_plane_broadcast(LsPlane *plane, void *data, size_t size_bytes, int root);
lockstep_status ls_peers_plane_allgather(LsPlane *plane, void *data, const int64_t *offsets);
lockstep_status ls_peers_plane_reduce_scatter(LsPlane *plane, void *data, const int64_t *offsets,
                                              lockstep_dtype dtype, lockstep_op op);
lockstep_status ls_peers_plane_alltoall(LsPlane *plane, const void *send,
                                        const int64_t *send_offsets, void *receive,
                                        const int64_t *receive_offsets);
/* Where input and output are two: planes reduce in the output. */
void ls_peers_plane_copy(const void *input, void *output, int64_t count, lockstep_dtype dtype);
