/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/round.h: Horovod's original exchange (facts B2): every rank's requests are gathered at
 * rank 0, whose answers are broadcast. In the control `coordinator` all there is in a cycle, in
 * `bitvector` what follows where the cache does not know.
 *
 * All ranks execute what the one list says, and so in one order, whatever the order of their
 * submissions. A rank that cannot go on says so in place of its requests; whatever rank 0 finds
 * wrong it broadcasts as the round's failure, so that no rank is left waiting. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/chair.h"
#include "reduce/control.h"
#include "reduce/fault.h"
#include "reduce/pending.h"

typedef struct LsRound {
    LsControlConfig config;
    LsControlEvents events;
    LsFault fault;
    int64_t now_ns;
    LsPending pending;
    LsRequestList outgoing;   /* to be sent in this cycle */
    LsResponseList responses; /* of this cycle */
    LsResponseList late;      /* failures that are known here alone */
    uint8_t *message;         /* what this rank sends, owned */
    size_t length;
    LsChair chair; /* at rank 0 */
} LsRound;

/* false: out of memory; clear it nevertheless. */
bool ls_round_open(LsRound *round, const LsControlConfig *config, const LsControlEvents *events);
void ls_round_clear(LsRound *round);
void ls_round_tell_stage(const LsRound *round, LsControlStage stage);

/* A cycle begins: takes the submissions in, and reports whose group has waited for long. */
void ls_round_begin(LsRound *round, LsRequestList *requests, bool shut_down, int64_t now_ns);
/* What waits is to be sent in this cycle. */
void ls_round_add(LsRound *round, LsWaiting *waiting);
/* The gather; then, with what it brought, the broadcast. */
void ls_round_gather(LsRound *round, LsAction *ret_action);
void ls_round_answer(LsRound *round, const LsResult *result, LsAction *ret_action);
/* With what that brought: the responses are there. false: `fault` tells. */
bool ls_round_end(LsRound *round, const LsResult *result);
/* The list is complete, wherever it came from: holds it against what was asked. */
bool ls_round_settle(LsRound *round);
void ls_round_take(LsRound *round, LsResponseList *ret_responses, bool *ret_shut_down,
                   int *ret_path);
