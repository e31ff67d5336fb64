/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/board.h: memory that the ranks of a host share: the first rank found dead or failed.
 *
 * Survivors of a death soon leave too, and a watcher that wakes late sees several ends at once,
 * without their order. So whoever finds a death writes it here before anything else, and later
 * finders take what stands here. A rank that lives but cannot go on writes itself here, and why.
 */
#pragma once

#include "reduce/transport.h"
#include "reduce/world.h"

#include <stdatomic.h>

/* News: a rank, which is dead, or with this bit has failed. */
#define LS_NEWS_FAILED (1 << 30)

typedef struct LsBoardPage {
    atomic_int word; /* news + 1; 0: none */
    char text[256];  /* of a failure, a moment after the word */
} LsBoardPage;

typedef struct LsBoard {
    LsBoardPage *page; /* shared */
    LsBoardPage own;   /* stands in where nothing can be shared */
    int fd;            /* the leader's */
} LsBoard;

/* Collective. */
lockstep_status ls_board_open(const LsWorld *world, LsTransport *transport, LsBoard *ret_board);
void ls_board_close(LsBoard *board);

/* The first news: these, unless others were before. */
int ls_board_claim(LsBoard *board, int news);
/* -1: no news. */
int ls_board_look(const LsBoard *board);
