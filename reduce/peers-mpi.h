/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/peers-mpi.h: exchange between ranks by MPI's messages from one to one, and the two halves
 * of a ring made of them.
 *
 * Everything goes in pieces through memory that is reserved at the start, so that no rank can run
 * out of it while others wait for its message. Both ends cut alike. `offsets` are ranks + 1 numbers
 * that say where each rank's part begins; parts may be empty and differ in length.
 */
#pragma once

#include "reduce/arith.h"
#include "reduce/lockstep.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsPeers {
    MPI_Comm communicator; /* borrowed */
    int rank, ranks;
    void *scratch;    /* owned: one piece */
    int64_t *offsets; /* owned: ranks + 1, for whoever holds the struct */
} LsPeers;

/* What is reduced: how wide an element is, and how two become one. */
typedef struct LsFold {
    size_t width;
    LsCombine combine;
} LsFold;

lockstep_status ls_peers_open(LsPeers *peers, MPI_Comm communicator);
void ls_peers_close(LsPeers *peers);
LsFold ls_fold_of(lockstep_dtype dtype, lockstep_op op);
/* count elements in parts that differ by one at most, into peers->offsets. */
void ls_peers_split(LsPeers *peers, int64_t count);

/* Sends to one rank and receives from another at the same time. No bytes: no message. */
lockstep_status ls_peers_swap(const LsPeers *peers, const void *send, size_t send_bytes, int to,
                              void *receive, size_t receive_bytes, int from);
/* The same; what comes is combined into `inout`. Counts in elements. */
lockstep_status ls_peers_fold(const LsPeers *peers, const void *send, int64_t send_count, int to,
                              void *inout, int64_t count, int from, LsFold fold);

/* Ring, ranks - 1 steps: after it this rank's part of data is reduced over all ranks, the rest is
 * undefined. Offsets in elements. */
lockstep_status ls_peers_reduce_scatter(const LsPeers *peers, void *data, const int64_t *offsets,
                                        LsFold fold);
/* Ring: every rank's part, each of which is in place at its owner, goes to all. Offsets in
 * elements of `width` bytes. */
lockstep_status ls_peers_allgather(const LsPeers *peers, void *data, const int64_t *offsets,
                                   size_t width);
/* Each rank's part for each: pair by pair. Offsets in bytes. */
lockstep_status ls_peers_alltoall(const LsPeers *peers, const void *send,
                                  const int64_t *send_offsets, void *receive,
                                  const int64_t *receive_offsets);
