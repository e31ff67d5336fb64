/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-shared.c: ranks of one host reduce fused buffers in memory that all of them see.
 *
 * Each packs its tensors right into its section (`lend`); after a barrier each folds its share of
 * all sections, in the order of the ranks, into the spare one, and after another barrier every rank
 * unpacks the result from there. No message but the barriers', where MPI copies each element from
 * process to process 2 (N - 1) / N times, with a system call for each piece. Nobody lays down the
 * next buffer before all have folded this one (the second barrier), and nobody folds the next
 * before all have taken this result (its first).
 *
 * What is short, a tensor that goes alone (its copies in and out would cost what MPI's do) and
 * every other operation are MPI's (plane-mpi.c); so is everything where the host does not give such
 * memory.
 */
#include "reduce/plane.h"

#include "reduce/average.h"
#include "reduce/calls-mpi.h"
#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/shared-mpi.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>
#include <string.h>

/* Of fewer bytes MPI's own call takes less than two barriers. */
#define SHORT_BYTES ((size_t)16 * 1024)

#define FIRST_BYTES ((size_t)1024 * 1024) /* from the start; more when it is needed */

/* Larger buffers are MPI's. */
#define LEND_BYTES ((size_t)256 * 1024 * 1024)

/* What is folded of all sections before the next is: it stays in the first cache. */
#define FOLD_BYTES ((size_t)16 * 1024)

#define LINE_BYTES 64

typedef struct SharedPlane {
    LsPlane base;
    const LsWorld *world; /* borrowed */
    LsPlane *mpi;         /* owned */
    LsMpiOps ops;
    LsShared shared;
} SharedPlane;

static bool
shared_fits(const LsWorld *world)
{
    return world->class == &ls_world_mpi && world->hosts == 1;
}

static void
shared_close(LsPlane *base)
{
    SharedPlane *plane = (SharedPlane *)base;
    ls_shared_close(&plane->shared);
    ls_mpi_ops_close(&plane->ops);
    plane->mpi->class->close(plane->mpi);
    free(plane);
}

static lockstep_status
shared_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    LsPlane *mpi;
    lockstep_status status = ls_plane_mpi.open(config, &mpi);
    if (status != LOCKSTEP_OK)
        return status;
    SharedPlane *plane = calloc(1, sizeof *plane);
    status = plane == NULL ? ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory")
                           : ls_mpi_ops_open(&plane->ops);
    if (status != LOCKSTEP_OK) {
        free(plane);
        mpi->class->close(mpi);
        return status;
    }
    plane->base.class = &ls_plane_shared;
    plane->world = config->world;
    plane->mpi = mpi;
    plane->shared.file = -1;
    *ret_plane = &plane->base;
    return LOCKSTEP_OK;
}

static lockstep_status
shared_connect(LsPlane **base)
{
    SharedPlane *plane = (SharedPlane *)*base;
    if (ls_shared_open(&plane->shared, plane->world, FIRST_BYTES, LEND_BYTES))
        return LOCKSTEP_OK;
    *base = plane->mpi;
    ls_mpi_ops_close(&plane->ops);
    free(plane);
    return LOCKSTEP_OK;
}

static uint8_t *
result_of(const SharedPlane *plane)
{
    return ls_shared_section(&plane->shared, plane->shared.ranks);
}

static bool
shared_lend(LsPlane *base, size_t bytes, void **ret_input, void **ret_output)
{
    SharedPlane *plane = (SharedPlane *)base;
    if (bytes < SHORT_BYTES || !ls_shared_reserve(&plane->shared, bytes))
        return false;
    *ret_input = ls_shared_section(&plane->shared, plane->shared.rank);
    *ret_output = result_of(plane);
    return true;
}

/* Where a rank's share begins: at a line of the cache, so that no two write to the same. */
static size_t
share_start(const SharedPlane *plane, size_t bytes, int rank)
{
    size_t lines = bytes / LINE_BYTES, ranks = (size_t)plane->shared.ranks;
    return (size_t)rank == ranks ? bytes : lines * (size_t)rank / ranks * LINE_BYTES;
}

/* This rank's share of the first `bytes` of all sections. */
static lockstep_status
fold(const SharedPlane *plane, size_t bytes, lockstep_dtype dtype, lockstep_op op)
{
    size_t width = ls_dtype_bytes((uint8_t)dtype);
    size_t end = share_start(plane, bytes, plane->shared.rank + 1);
    lockstep_status status = LOCKSTEP_OK;
    for (size_t at = share_start(plane, bytes, plane->shared.rank);
         at < end && status == LOCKSTEP_OK; at += FOLD_BYTES) {
        size_t size = end - at < FOLD_BYTES ? end - at : FOLD_BYTES;
        uint8_t *to = result_of(plane) + at;
        memcpy(to, (uint8_t *)ls_shared_section(&plane->shared, 0) + at, size);
        for (int rank = 1; rank < plane->shared.ranks && status == LOCKSTEP_OK; rank++)
            status = ls_mpi_check(
                MPI_Reduce_local((uint8_t *)ls_shared_section(&plane->shared, rank) + at, to,
                                 (int)(size / width), ls_mpi_type(dtype),
                                 ls_mpi_op(&plane->ops, dtype, op)),
                "MPI_Reduce_local");
        if (op == LOCKSTEP_AVERAGE)
            ls_average_divide(dtype, to, size / width, plane->shared.ranks);
    }
    return status;
}

/* All processes come here before any goes on, and each sees what the others have written. The
 * fences keep a processor that reorders from moving accesses over MPI's call; GCC's builtin, since
 * it refuses C11's under the thread sanitizer. */
static lockstep_status
meet(const SharedPlane *plane)
{
    __sync_synchronize();
    lockstep_status status = ls_mpi_check(MPI_Barrier(plane->shared.communicator), "MPI_Barrier");
    __sync_synchronize();
    return status;
}

/* What lies in the sections becomes the result. */
static lockstep_status
combine(const SharedPlane *plane, size_t bytes, lockstep_dtype dtype, lockstep_op op)
{
    lockstep_status status = meet(plane);
    if (status == LOCKSTEP_OK)
        status = fold(plane, bytes, dtype, op);
    return status == LOCKSTEP_OK ? meet(plane) : status;
}

static lockstep_status
shared_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                 lockstep_dtype dtype, lockstep_op op)
{
    SharedPlane *plane = (SharedPlane *)base;
    if (input == ls_shared_section(&plane->shared, plane->shared.rank))
        return combine(plane, (size_t)count * ls_dtype_bytes((uint8_t)dtype), dtype, op);
    lockstep_op sum = op == LOCKSTEP_AVERAGE ? LOCKSTEP_SUM : op;
    lockstep_status status =
        plane->mpi->class->allreduce(plane->mpi, input, output, count, dtype, sum);
    if (status == LOCKSTEP_OK && op == LOCKSTEP_AVERAGE)
        ls_average_divide(dtype, output, (size_t)count, plane->shared.ranks);
    return status;
}

static lockstep_status
shared_broadcast(LsPlane *base, void *data, size_t size_bytes, int root)
{
    LsPlane *mpi = ((SharedPlane *)base)->mpi;
    return mpi->class->broadcast(mpi, data, size_bytes, root);
}

static lockstep_status
shared_allgather(LsPlane *base, void *data, const int64_t *offsets)
{
    LsPlane *mpi = ((SharedPlane *)base)->mpi;
    return mpi->class->allgather(mpi, data, offsets);
}

static lockstep_status
shared_reduce_scatter(LsPlane *base, void *data, const int64_t *offsets, lockstep_dtype dtype,
                      lockstep_op op)
{
    LsPlane *mpi = ((SharedPlane *)base)->mpi;
    return mpi->class->reduce_scatter(mpi, data, offsets, dtype, op);
}

static lockstep_status
shared_alltoall(LsPlane *base, const void *send, const int64_t *send_offsets, void *receive,
                const int64_t *receive_offsets)
{
    LsPlane *mpi = ((SharedPlane *)base)->mpi;
    return mpi->class->alltoall(mpi, send, send_offsets, receive, receive_offsets);
}

const LsPlaneClass ls_plane_shared = {
    .name = "shared",
    .allreduce_text = "MPI_ALLREDUCE",
    .lent_text = "SHARED_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "MPI_ALLGATHER",
    .reduce_scatter_text = "MPI_REDUCESCATTER",
    .averages = true,
    .fits = shared_fits,
    .open = shared_open,
    .connect = shared_connect,
    .close = shared_close,
    .allreduce = shared_allreduce,
    .broadcast = shared_broadcast,
    .allgather = shared_allgather,
    .reduce_scatter = shared_reduce_scatter,
    .alltoall = shared_alltoall,
    .lend = shared_lend,
};
