/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-self.c: one rank, whose sum is its own tensor.
 *
 * The template of a plane. A new one: copy this file, fill the functions, add the row to the
 * table in plane.c and the file to meson.build. fits() says for which worlds it works; open() does
 * what is collective and can fail; the calls find what they need in a struct of their own, whose
 * first member is the LsPlane.
 */
#include "reduce/plane.h"
#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/world.h"

#include <stdlib.h>
#include <string.h>

static bool
self_fits(const LsWorld *world)
{
    return world->ranks == 1;
}

static lockstep_status
self_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    LsPlane *plane = calloc(1, sizeof *plane);
    if (plane == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    plane->class = &ls_plane_self;
    *ret_plane = plane;
    return LOCKSTEP_OK;
}

static void
self_close(LsPlane *plane)
{
    free(plane);
}

static lockstep_status
self_allreduce(LsPlane *plane, const void *input, void *output, int64_t count, lockstep_dtype dtype,
               lockstep_op op)
{
    if (count > 0 && input != output)
        memcpy(output, input, (size_t)count * ls_dtype_bytes((uint8_t)dtype));
    return LOCKSTEP_OK;
}

/* What the root gave is already in data. */
static lockstep_status
self_broadcast(LsPlane *plane, void *data, size_t size_bytes, int root)
{
    return LOCKSTEP_OK;
}

/* The only part is in place. */
static lockstep_status
self_allgather(LsPlane *plane, void *data, const int64_t *offsets)
{
    return LOCKSTEP_OK;
}

static lockstep_status
self_reduce_scatter(LsPlane *plane, void *data, const int64_t *offsets, lockstep_dtype dtype,
                    lockstep_op op)
{
    return LOCKSTEP_OK;
}

static lockstep_status
self_alltoall(LsPlane *plane, const void *send, const int64_t *send_offsets, void *receive,
              const int64_t *receive_offsets)
{
    if (send_offsets[1] > send_offsets[0])
        memcpy((char *)receive + receive_offsets[0], (const char *)send + send_offsets[0],
               (size_t)(send_offsets[1] - send_offsets[0]));
    return LOCKSTEP_OK;
}

const LsPlaneClass ls_plane_self = {
    .name = "self",
    .allreduce_text = "SELF_ALLREDUCE",
    .broadcast_text = "SELF_BCAST",
    .allgather_text = "SELF_ALLGATHER",
    .reduce_scatter_text = "SELF_REDUCESCATTER",
    .fits = self_fits,
    .open = self_open,
    .close = self_close,
    .allreduce = self_allreduce,
    .broadcast = self_broadcast,
    .allgather = self_allgather,
    .reduce_scatter = self_reduce_scatter,
    .alltoall = self_alltoall,
};
