/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/calls-mpi.h: MPI's collective calls for the types, operations and counts of the library.
 *
 * MPI's own operations where they do what is promised; for 16-bit floats, for minimum and maximum
 * of floats and for 8-bit sums, operations of ours (reduce/arith.h). Long tensors go in pieces,
 * since MPI counts in int.
 */
#pragma once

#include "reduce/lockstep.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Elements, or bytes, of one call. */
#define LS_MPI_PIECE (INT64_C(1) << 30)

typedef struct LsMpiOps {
    MPI_Op own[LOCKSTEP_INT64 + 1][LOCKSTEP_PRODUCT + 1]; /* MPI_OP_NULL: MPI's own does it */
} LsMpiOps;

/* On failure there is nothing to close. */
lockstep_status ls_mpi_ops_open(LsMpiOps *ops);
void ls_mpi_ops_close(LsMpiOps *ops);
MPI_Op ls_mpi_op(const LsMpiOps *ops, lockstep_dtype dtype, lockstep_op op);
MPI_Datatype ls_mpi_type(lockstep_dtype dtype);

/* input may equal output. */
lockstep_status ls_mpi_allreduce(const LsMpiOps *ops, MPI_Comm communicator, const void *input,
                                 void *output, int64_t count, lockstep_dtype dtype, lockstep_op op);
/* In place; what other ranks than the root have after it is undefined. */
lockstep_status ls_mpi_reduce(const LsMpiOps *ops, MPI_Comm communicator, void *data, int64_t count,
                              lockstep_dtype dtype, lockstep_op op, int root);
lockstep_status ls_mpi_broadcast(MPI_Comm communicator, void *data, size_t size_bytes, int root);
