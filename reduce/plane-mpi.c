/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-mpi.c: MPI_Allreduce and MPI_Bcast on host memory.
 *
 * MPI's own operations where they do what is promised; for 16-bit floats, and for minimum and
 * maximum of floats, operations of ours (reduce/arith.h). Long tensors go in pieces, since MPI
 * counts in int.
 */
#include "reduce/plane.h"
#include "reduce/arith.h"
#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>

#define PIECE_ELEMENTS (INT64_C(1) << 30)
#define N_DTYPES       (LOCKSTEP_INT64 + 1)
#define N_OPS          (LOCKSTEP_PRODUCT + 1)

typedef struct MpiPlane {
    LsPlane base;
    MPI_Comm communicator;       /* borrowed */
    MPI_Op own[N_DTYPES][N_OPS]; /* MPI_OP_NULL: MPI's own does it */
} MpiPlane;

/* What MPI calls: it gives no user pointer, so one function per row. */
#define USER_DEFINE(DTYPE, OP, name, element, load, store, expression)                             \
    static void user_##name(void *in, void *inout, int *count, MPI_Datatype *type)                 \
    {                                                                                              \
        ls_arith_##name(in, inout, (size_t)*count);                                                \
    }
LS_ARITH_ROWS(USER_DEFINE)

static const struct {
    lockstep_dtype dtype;
    lockstep_op op;
    MPI_User_function *function;
} rows[] = {
#define USER_ROW(DTYPE, OP, name, element, load, store, expression)                                \
    {LOCKSTEP_##DTYPE, LOCKSTEP_##OP, user_##name},
    LS_ARITH_ROWS(USER_ROW)
#undef USER_ROW
};

static MPI_Datatype
type_of(lockstep_dtype dtype)
{
    switch (dtype) {
    case LOCKSTEP_FLOAT32:
        return MPI_FLOAT;
    case LOCKSTEP_FLOAT64:
        return MPI_DOUBLE;
    case LOCKSTEP_FLOAT16:
    case LOCKSTEP_BFLOAT16:
        return MPI_UINT16_T; /* only ever with an operation of ours */
    case LOCKSTEP_INT8:
        return MPI_INT8_T;
    case LOCKSTEP_UINT8:
        return MPI_UINT8_T;
    case LOCKSTEP_INT32:
        return MPI_INT32_T;
    case LOCKSTEP_INT64:
        return MPI_INT64_T;
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Op
op_of(const MpiPlane *plane, lockstep_dtype dtype, lockstep_op op)
{
    MPI_Op own = plane->own[dtype][op];
    if (own != MPI_OP_NULL)
        return own;
    switch (op) {
    case LOCKSTEP_MIN:
        return MPI_MIN;
    case LOCKSTEP_MAX:
        return MPI_MAX;
    case LOCKSTEP_PRODUCT:
        return MPI_PROD;
    case LOCKSTEP_SUM:
    case LOCKSTEP_AVERAGE:
        break;
    }
    return MPI_SUM;
}

static bool
mpi_fits(const LsWorld *world)
{
    return world->class == &ls_world_mpi;
}

static void
mpi_close(LsPlane *base)
{
    MpiPlane *plane = (MpiPlane *)base;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        MPI_Op *op = &plane->own[rows[i].dtype][rows[i].op];
        if (*op != MPI_OP_NULL && ls_mpi_is_running())
            MPI_Op_free(op);
    }
    free(plane);
}

static lockstep_status
mpi_open(const LsWorld *world, LsPlane **ret_plane)
{
    MpiPlane *plane = calloc(1, sizeof *plane);
    lockstep_status status = LOCKSTEP_OK;
    if (plane == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    plane->base.class = &ls_plane_mpi;
    plane->communicator = ls_world_mpi_communicator(world);
    for (int dtype = 0; dtype < N_DTYPES; dtype++) {
        for (int op = 0; op < N_OPS; op++)
            plane->own[dtype][op] = MPI_OP_NULL;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == LOCKSTEP_OK; i++)
        status =
            ls_mpi_check(MPI_Op_create(rows[i].function, 1, &plane->own[rows[i].dtype][rows[i].op]),
                         "MPI_Op_create");
    if (status == LOCKSTEP_OK)
        *ret_plane = &plane->base;
    else
        mpi_close(&plane->base);
    return status;
}

static lockstep_status
mpi_allreduce(LsPlane *base, const void *input, void *output, int64_t count, lockstep_dtype dtype,
              lockstep_op op)
{
    MpiPlane *plane = (MpiPlane *)base;
    size_t bytes = ls_dtype_bytes((uint8_t)dtype);
    lockstep_status status = LOCKSTEP_OK;
    int64_t at = 0;
    do {
        int piece = (int)(count - at < PIECE_ELEMENTS ? count - at : PIECE_ELEMENTS);
        const char *from = (const char *)input + (size_t)at * bytes;
        char *to = (char *)output + (size_t)at * bytes;
        status = ls_mpi_check(MPI_Allreduce(input == output ? MPI_IN_PLACE : from, to, piece,
                                            type_of(dtype), op_of(plane, dtype, op),
                                            plane->communicator),
                              "MPI_Allreduce");
        at += piece;
    } while (at < count && status == LOCKSTEP_OK);
    return status;
}

static lockstep_status
mpi_broadcast(LsPlane *base, void *data, size_t size_bytes, int root)
{
    MpiPlane *plane = (MpiPlane *)base;
    lockstep_status status = LOCKSTEP_OK;
    size_t at = 0;
    do {
        size_t left = size_bytes - at;
        int piece = (int)(left < PIECE_ELEMENTS ? left : PIECE_ELEMENTS);
        status = ls_mpi_check(
            MPI_Bcast((char *)data + at, piece, MPI_BYTE, root, plane->communicator), "MPI_Bcast");
        at += (size_t)piece;
    } while (at < size_bytes && status == LOCKSTEP_OK);
    return status;
}

const LsPlaneClass ls_plane_mpi = {
    .name = "mpi",
    .allreduce_text = "MPI_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .fits = mpi_fits,
    .open = mpi_open,
    .close = mpi_close,
    .allreduce = mpi_allreduce,
    .broadcast = mpi_broadcast,
};
