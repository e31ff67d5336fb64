/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/peers-mpi.c: pieces of a message, and the ring (Patarasuk & Yuan, 2009): each rank sends
 * to the next and receives from the one before, a part at a time.
 */
#include "reduce/peers-mpi.h"

#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)512 * 1024) /* a multiple of every element */
#define TAG         2

lockstep_status
ls_peers_open(LsPeers *peers, MPI_Comm communicator)
{
    *peers = (LsPeers){.communicator = communicator};
    MPI_Comm_rank(communicator, &peers->rank);
    MPI_Comm_size(communicator, &peers->ranks);
    peers->scratch = malloc(PIECE_BYTES);
    peers->offsets = calloc((size_t)peers->ranks + 1, sizeof *peers->offsets);
    if (peers->scratch != NULL && peers->offsets != NULL)
        return LOCKSTEP_OK;
    ls_peers_close(peers);
    return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
}

void
ls_peers_close(LsPeers *peers)
{
    free(peers->scratch);
    free(peers->offsets);
    *peers = (LsPeers){0};
}

LsFold
ls_fold_of(lockstep_dtype dtype, lockstep_op op)
{
    return (LsFold){ls_dtype_bytes((uint8_t)dtype), ls_arith_find(dtype, op)};
}

void
ls_peers_split(LsPeers *peers, int64_t count)
{
    int64_t each = count / peers->ranks, more = count % peers->ranks;
    for (int rank = 0; rank <= peers->ranks; rank++)
        peers->offsets[rank] = each * rank + (rank < more ? rank : more);
}

static size_t
piece_at(size_t bytes, size_t at)
{
    size_t left = bytes > at ? bytes - at : 0;
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

/* One piece each way; an end without bytes has no partner. */
static lockstep_status
pass(const LsPeers *peers, const void *send, size_t send_bytes, int to, void *receive,
     size_t receive_bytes, int from)
{
    return ls_mpi_check(MPI_Sendrecv(send, (int)send_bytes, MPI_BYTE,
                                     send_bytes > 0 ? to : MPI_PROC_NULL, TAG, receive,
                                     (int)receive_bytes, MPI_BYTE,
                                     receive_bytes > 0 ? from : MPI_PROC_NULL, TAG,
                                     peers->communicator, MPI_STATUS_IGNORE),
                        "MPI_Sendrecv");
}

lockstep_status
ls_peers_swap(const LsPeers *peers, const void *send, size_t send_bytes, int to, void *receive,
              size_t receive_bytes, int from)
{
    size_t most = send_bytes > receive_bytes ? send_bytes : receive_bytes;
    lockstep_status status = LOCKSTEP_OK;
    for (size_t at = 0; at < most && status == LOCKSTEP_OK; at += PIECE_BYTES)
        status = pass(peers, (const char *)send + at, piece_at(send_bytes, at), to,
                      (char *)receive + at, piece_at(receive_bytes, at), from);
    return status;
}

lockstep_status
ls_peers_fold(const LsPeers *peers, const void *send, int64_t send_count, int to, void *inout,
              int64_t count, int from, LsFold fold)
{
    size_t send_bytes = (size_t)send_count * fold.width, bytes = (size_t)count * fold.width;
    size_t most = send_bytes > bytes ? send_bytes : bytes;
    lockstep_status status = LOCKSTEP_OK;
    for (size_t at = 0; at < most && status == LOCKSTEP_OK; at += PIECE_BYTES) {
        size_t piece = piece_at(bytes, at);
        status = pass(peers, (const char *)send + at, piece_at(send_bytes, at), to, peers->scratch,
                      piece, from);
        if (status == LOCKSTEP_OK)
            fold.combine(peers->scratch, (char *)inout + at, piece / fold.width);
    }
    return status;
}

/* Rank r begins with the part before its own and ends with its own: P - 1 steps. */
lockstep_status
ls_peers_reduce_scatter(const LsPeers *peers, void *data, const int64_t *offsets, LsFold fold)
{
    int ranks = peers->ranks, rank = peers->rank;
    lockstep_status status = LOCKSTEP_OK;
    for (int step = 1; step < ranks && status == LOCKSTEP_OK; step++) {
        int out = (rank - step + ranks) % ranks, in = (out - 1 + ranks) % ranks;
        status = ls_peers_fold(peers, (const char *)data + (size_t)offsets[out] * fold.width,
                               offsets[out + 1] - offsets[out], (rank + 1) % ranks,
                               (char *)data + (size_t)offsets[in] * fold.width,
                               offsets[in + 1] - offsets[in], (rank - 1 + ranks) % ranks, fold);
    }
    return status;
}

lockstep_status
ls_peers_allgather(const LsPeers *peers, void *data, const int64_t *offsets, size_t width)
{
    int ranks = peers->ranks, rank = peers->rank;
    lockstep_status status = LOCKSTEP_OK;
    for (int step = 0; step < ranks - 1 && status == LOCKSTEP_OK; step++) {
        int out = (rank - step + ranks) % ranks, in = (out - 1 + ranks) % ranks;
        status = ls_peers_swap(peers, (const char *)data + (size_t)offsets[out] * width,
                               (size_t)(offsets[out + 1] - offsets[out]) * width,
                               (rank + 1) % ranks, (char *)data + (size_t)offsets[in] * width,
                               (size_t)(offsets[in + 1] - offsets[in]) * width,
                               (rank - 1 + ranks) % ranks);
    }
    return status;
}

lockstep_status
ls_peers_alltoall(const LsPeers *peers, const void *send, const int64_t *send_offsets,
                  void *receive, const int64_t *receive_offsets)
{
    int ranks = peers->ranks, rank = peers->rank;
    lockstep_status status = LOCKSTEP_OK;
    for (int step = 0; step < ranks && status == LOCKSTEP_OK; step++) {
        int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks;
        status = ls_peers_swap(peers, (const char *)send + send_offsets[to],
                               (size_t)(send_offsets[to + 1] - send_offsets[to]), to,
                               (char *)receive + receive_offsets[from],
                               (size_t)(receive_offsets[from + 1] - receive_offsets[from]), from);
    }
    return status;
}
