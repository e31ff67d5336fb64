/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/move.h: one buffer's elements over a plane, where more than the plane's own call is
 * needed: averages, 16-bit floats on the wire, and the shares of a reduce-scatter.
 *
 * All goes in pieces through memory that is reserved at the start.
 */
#pragma once

#include "reduce/plane.h"

#include <stddef.h>
#include <stdint.h>

typedef struct LsMover LsMover;

typedef struct LsMoverConfig {
    LsPlane *plane; /* borrowed */
    int rank, ranks;
    size_t room_bytes; /* of the memory, at least as much as a piece needs */
    bool narrow;       /* sums and averages of float32 travel as what follows */
    lockstep_dtype wire;
} LsMoverConfig;

/* NULL: out of memory. */
LsMover *ls_mover_new(const LsMoverConfig *config);
void ls_mover_free(LsMover *mover);
/* input may equal output. */
lockstep_status ls_mover_allreduce(LsMover *mover, const void *input, void *output, int64_t count,
                                   lockstep_dtype dtype, lockstep_op op);
/* Whether the plane is given the memory as it is: then it may be what the plane has lent. */
bool ls_mover_is_direct(const LsMover *mover, lockstep_dtype dtype, lockstep_op op);
/* Bytes of such an allreduce as it travels, where those are fewer than the tensor's; else 0. */
int64_t ls_mover_wire(const LsMover *mover, int64_t count, lockstep_dtype dtype, lockstep_op op);
/* rows of row_count elements each; output gets this rank's. */
lockstep_status ls_mover_reduce_scatter(LsMover *mover, const void *input, void *output,
                                        int64_t rows, int64_t row_count, lockstep_dtype dtype,
                                        lockstep_op op);
