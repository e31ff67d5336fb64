/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/board.h: one word in memory that the ranks of a host share: the first rank found dead.
 *
 * Survivors of a death soon leave too, and a watcher that wakes late sees several ends at once,
 * without their order. So whoever finds a death writes it here before anything else, and later
 * finders take what stands here.
 */
#pragma once

#include "reduce/transport.h"
#include "reduce/world.h"

#include <stdatomic.h>

typedef struct LsBoard {
    atomic_int *word; /* shared: rank + 1; 0: nobody */
    atomic_int own;   /* stands in where nothing can be shared */
    int fd;           /* the leader's */
} LsBoard;

/* Collective. */
lockstep_status ls_board_open(const LsWorld *world, LsTransport *transport, LsBoard *ret_board);
void ls_board_close(LsBoard *board);

/* The rank that was found first: this one, unless another was before. */
int ls_board_claim(LsBoard *board, int rank);
