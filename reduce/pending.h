/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/pending.h: what this rank has submitted and has no answer to yet.
 *
 * Every control keeps one: an answer is taken only to what was asked, and once. A tensor goes
 * through the gate of its group, is then ready to be reported, then sent to whoever counts it. A
 * tensor that failed by stalling before this rank came to submit it is owed to this rank: its later
 * submission meets that failure here, so that the ranks' occurrences of the name stay in step. Libc
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/gate.h"
#include "reduce/message.h"
#include "reduce/roster.h"

typedef enum LsWaitingState {
    LS_WAITING_HELD,  /* its group is not complete here */
    LS_WAITING_READY, /* to be reported */
    LS_WAITING_SENT,
} LsWaitingState;

typedef struct LsWaiting LsWaiting;
struct LsWaiting {
    LsRosterItem item; /* its name is the request's */
    LsRequest request; /* owned */
    int64_t count;     /* elements; 0 of a barrier */
    int64_t since_ns;  /* when it was submitted */
    int group;         /* LS_GROUP_NONE */
    LsWaitingState state;
    LsWaiting *previous, *next; /* of those that are ready */
    struct LsCached *cached;    /* bitvector: its entry when the cache was of that generation */
    uint64_t generation;        /* 0: never looked up */
};

typedef struct LsPending {
    const LsControlConfig *config; /* borrowed */
    const LsControlEvents *events;
    LsRoster waiting;
    LsRoster owed;
    LsWaiting *first, *last; /* those that are ready, in the order in which they became so */
    LsGate gate;
    LsWaiting *spare; /* owned, by `next`: memory for what waits next */
} LsPending;

/* false: out of memory. */
bool ls_pending_open(LsPending *pending, const LsControlConfig *config,
                     const LsControlEvents *events);
void ls_pending_clear(LsPending *pending);
/* Takes the requests; the list is empty then. Answers to those that are owed a failure go to the
 * end of ret_late. NULL, or one sentence: out of memory, or in `error`: a name that waits already.
 */
const char *ls_pending_submit(LsPending *pending, LsRequestList *requests, int64_t now_ns,
                              LsResponseList *ret_late, char error[160]);
LsWaiting *ls_pending_find(const LsPending *pending, const char *name);
/* It was reported. */
void ls_pending_note_sent(LsPending *pending, LsWaiting *waiting);
/* Appends to the list the held members of groups that have waited for long, once per wait. false:
 * out of memory. */
bool ls_pending_report(LsPending *pending, int64_t now_ns, LsRequestList *list);
/* Strikes off what the responses answer; removes failures that are not ours from the list. NULL, or
 * one sentence in `error`: an answer to what was not asked. */
const char *ls_pending_settle(LsPending *pending, LsResponseList *responses, char error[160]);
