/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/tally.h: the root's table of who has submitted what (Horovod's message table, facts B2).
 *
 * A tensor is ready when every rank that is counted (all; in the tree those of a rank's subtree)
 * has submitted it; its response is then the collective, or, where the ranks do not agree, the
 * error that says so (facts B8). Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reduce/message.h"
#include "reduce/ranks.h"
#include "reduce/roster.h"
#include "reduce/stall.h"

/* What some of the ranks submitted alike under one name. */
typedef struct LsVariant {
    LsRequest request; /* the first one's; owned */
    LsRankSet ranks;
} LsVariant;

/* One name that waits for its answer. */
typedef struct LsTallied {
    LsRosterItem item;   /* its name is owned */
    LsVariant *variants; /* owned; more than one: they differ somewhere */
    size_t n_variants;
    LsRankSet submitted;
    LsRankSet held; /* who has it and does not ask for it yet */
    LsStallClock clock;
} LsTallied;

typedef struct LsTally {
    int ranks;
    int needed; /* ranks that make a tensor ready */
    LsRoster roster;
    LsTallied **ready; /* owned; submitted everywhere, in the order in which they became so */
    size_t n_ready, capacity;
} LsTally;

typedef enum LsTallyVerdict {
    LS_TALLY_COUNTED,
    LS_TALLY_FIRST, /* counted; no rank had submitted this name */
    LS_TALLY_TWICE, /* one of its ranks had already: a fault of the peer */
    LS_TALLY_NO_MEMORY,
} LsTallyVerdict;

void ls_tally_init(LsTally *tally, int ranks, int needed);
void ls_tally_clear(LsTally *tally);
/* Counts what the request's ranks, which must be below the number of ranks, submitted or hold;
 * takes the request's memory if it is counted. */
LsTallyVerdict ls_tally_add(LsTally *tally, LsRequest *request, LsTallied **ret_tallied);
/* Moves the answers to all that is ready to the end of the list. false: out of memory. */
bool ls_tally_answer(LsTally *tally, LsResponseList *list);
/* Whether the rank is known to have it. */
bool ls_tallied_has(const LsTallied *tallied, int rank);
/* Moves the requests of all that is ready to the end of the list, one for each run of ranks that
 * asked alike. false: out of memory. */
bool ls_tally_forward(LsTally *tally, int64_t now_ns, LsRequestList *list);
/* Appends who has submitted the tensor, as held. false: out of memory. */
bool ls_tally_report(const LsTallied *tallied, int64_t now_ns, LsRequestList *list);
/* Strikes the tensor off. */
void ls_tally_remove(LsTally *tally, LsTallied *tallied);
