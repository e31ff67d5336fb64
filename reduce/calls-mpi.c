/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/calls-mpi.c: which MPI type and operation stands for which of ours; calls in pieces.
 */
#include "reduce/calls-mpi.h"

#include "reduce/arith.h"
#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

/* A rank's share of one allreduce. MPI allocates a buffer of about that size: a larger one comes
 * from the kernel, and goes back to it, in each call, page by page, and does not stay in the cache.
 * A smaller one would make the messages of a ring so short that their latency counts. */
#define SHARE_BYTES (2 * 1024 * 1024)

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

MPI_Datatype
ls_mpi_type(lockstep_dtype dtype)
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

MPI_Op
ls_mpi_op(const LsMpiOps *ops, lockstep_dtype dtype, lockstep_op op)
{
    if (op == LOCKSTEP_AVERAGE)
        op = LOCKSTEP_SUM;
    MPI_Op own = ops->own[dtype][op];
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

void
ls_mpi_ops_close(LsMpiOps *ops)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        MPI_Op *op = &ops->own[rows[i].dtype][rows[i].op];
        if (*op != MPI_OP_NULL && ls_mpi_is_running())
            MPI_Op_free(op);
        *op = MPI_OP_NULL;
    }
}

lockstep_status
ls_mpi_ops_open(LsMpiOps *ops)
{
    lockstep_status status = LOCKSTEP_OK;
    for (int dtype = 0; dtype <= LOCKSTEP_INT64; dtype++) {
        for (int op = 0; op <= LOCKSTEP_PRODUCT; op++)
            ops->own[dtype][op] = MPI_OP_NULL;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == LOCKSTEP_OK; i++)
        status =
            ls_mpi_check(MPI_Op_create(rows[i].function, 1, &ops->own[rows[i].dtype][rows[i].op]),
                         "MPI_Op_create");
    if (status != LOCKSTEP_OK)
        ls_mpi_ops_close(ops);
    return status;
}

static int
least(int64_t left, int64_t piece)
{
    return (int)(left < piece ? left : piece);
}

static int
piece_of(int64_t left)
{
    return least(left, LS_MPI_PIECE);
}

/* Elements of one call: a ring divides them among the ranks. */
static int64_t
allreduce_piece(MPI_Comm communicator, size_t width)
{
    int ranks = 1;
    MPI_Comm_size(communicator, &ranks);
    int64_t piece = (int64_t)ranks * SHARE_BYTES / (int64_t)width;
    return piece < LS_MPI_PIECE ? piece : LS_MPI_PIECE;
}

lockstep_status
ls_mpi_allreduce(const LsMpiOps *ops, MPI_Comm communicator, const void *input, void *output,
                 int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    lockstep_status status = LOCKSTEP_OK;
    int64_t at = 0, most = allreduce_piece(communicator, width);
    do {
        int piece = least(count - at, most);
        const char *from = (const char *)input + (size_t)at * width;
        char *to = (char *)output + (size_t)at * width;
        status =
            ls_mpi_check(MPI_Allreduce(input == output ? MPI_IN_PLACE : from, to, piece,
                                       ls_mpi_type(dtype), ls_mpi_op(ops, dtype, op), communicator),
                         "MPI_Allreduce");
        at += piece;
    } while (at < count && status == LOCKSTEP_OK);
    return status;
}

lockstep_status
ls_mpi_reduce(const LsMpiOps *ops, MPI_Comm communicator, void *data, int64_t count,
              lockstep_dtype dtype, lockstep_op op, int root)
{
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    lockstep_status status = LOCKSTEP_OK;
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    for (int64_t at = 0; at < count && status == LOCKSTEP_OK;) {
        int piece = piece_of(count - at);
        char *from = (char *)data + (size_t)at * width;
        status = ls_mpi_check(MPI_Reduce(rank == root ? MPI_IN_PLACE : from,
                                         rank == root ? from : NULL, piece, ls_mpi_type(dtype),
                                         ls_mpi_op(ops, dtype, op), root, communicator),
                              "MPI_Reduce");
        at += piece;
    }
    return status;
}

lockstep_status
ls_mpi_broadcast(MPI_Comm communicator, void *data, size_t size_bytes, int root)
{
    lockstep_status status = LOCKSTEP_OK;
    size_t at = 0;
    do {
        int piece = piece_of((int64_t)(size_bytes - at));
        status = ls_mpi_check(MPI_Bcast((char *)data + at, piece, MPI_BYTE, root, communicator),
                              "MPI_Bcast");
        at += (size_t)piece;
    } while (at < size_bytes && status == LOCKSTEP_OK);
    return status;
}
