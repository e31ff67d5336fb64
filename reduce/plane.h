/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane.h: how bytes move between the ranks.
 *
 * One file and one row of the table per plane; plane-self.c is the smallest one, to start a new one
 * from. Calls block; every rank makes the same calls in the same order, from its communication
 * thread. Counts are elements and may be 0 or exceed what one call of the library below can take.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsWorld LsWorld;
typedef struct LsPlane LsPlane;

typedef struct LsPlaneClass {
    const char *name;           /* of the setting `plane` */
    const char *allreduce_text; /* name of the OPERATION record */
    const char *broadcast_text;
    bool (*fits)(const LsWorld *world);
    lockstep_status (*open)(const LsWorld *world, LsPlane **ret_plane);
    void (*close)(LsPlane *plane);
    /* op is not AVERAGE (reduce/average.h). input may equal output, not overlap it otherwise. */
    lockstep_status (*allreduce)(LsPlane *plane, const void *input, void *output, int64_t count,
                                 lockstep_dtype dtype, lockstep_op op);
    lockstep_status (*broadcast)(LsPlane *plane, void *data, size_t size_bytes, int root);
} LsPlaneClass;

/* First member of every plane's own struct. */
struct LsPlane {
    const LsPlaneClass *class;
};

extern const LsPlaneClass ls_plane_self;
extern const LsPlaneClass ls_plane_mpi; /* only where the library is built with MPI */

/* The row for this world; name "auto" takes the one that fits. NULL: there is none, and the
 * thread's sentence says which there are. */
const LsPlaneClass *ls_plane_find(const char *name, const LsWorld *world);
