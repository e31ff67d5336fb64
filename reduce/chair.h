/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/chair.h: rank 0's part in every control: it counts who has submitted what, answers what
 * all have, in the order in which it became so, fused into buffers, looks for stalls, and has the
 * hosts measure their clocks in turn (facts B2, B7, B9).
 *
 * In the tree every rank has one, for its own part of the ranks. Whatever it finds wrong becomes
 * its answer, so that no rank is left waiting. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/control.h"
#include "reduce/fault.h"
#include "reduce/tally.h"

#define LS_CHAIR_RANK 0

typedef struct LsChair {
    const LsControlConfig *config; /* borrowed, as what follows */
    const LsControlEvents *events;
    LsFault *fault;
    LsTally tally;
    LsStall stall;
    int64_t now_ns;
    int64_t clock_next_ns; /* no clock pair before */
    int32_t clock_peer;    /* the next one */
    bool asked;            /* something was submitted since the last answer */
    bool shut_down;        /* some rank wants to leave */
    uint8_t *last_words;   /* "out of memory", encoded while there was some; owned */
    size_t last_words_length;
} LsChair;

/* false: out of memory. */
bool ls_chair_open(LsChair *chair, const LsControlConfig *config, const LsControlEvents *events,
                   LsFault *fault);
void ls_chair_clear(LsChair *chair);
/* Counts for so many ranks only, and judges stalls after that time. */
void ls_chair_narrow(LsChair *chair, int ranks, int64_t stall_ns);
/* Time goes on. */
void ls_chair_begin(LsChair *chair, int64_t now_ns);
/* Counts what `sender` sent, for itself and `others` ranks that follow it; empties the list. */
void ls_chair_count(LsChair *chair, int sender, int others, LsRequestList *requests);
/* The same of bytes, for the sender alone; no bytes: it is out of memory. */
void ls_chair_hear(LsChair *chair, int sender, const LsPiece *piece);
/* Whether a stall is to be told or ended by an answer. */
bool ls_chair_stall_due(const LsChair *chair);
bool ls_chair_clock_due(const LsChair *chair);
/* The next pair of hosts, if one is due now: the caller announces it. -1: none. */
int32_t ls_chair_clock_peer(LsChair *chair);
/* Adds to the list (its head may hold what was agreed otherwise) all answers that are due, fuses,
 * and encodes it; or encodes the fault. *ret_message is the caller's to free. */
void ls_chair_answer(LsChair *chair, LsResponseList *list, uint8_t **ret_message,
                     size_t *ret_length);
