/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/round.c: both halves of a round. Rank 0's requests are not encoded: it counts them first.
 */
#include "reduce/round.h"

#include <stdlib.h>
#include <string.h>

bool
ls_round_open(LsRound *round, const LsControlConfig *config, const LsControlEvents *events)
{
    *round = (LsRound){.config = *config};
    if (events != NULL)
        round->events = *events;
    round->responses = round->late = LS_RESPONSE_LIST_INIT;
    return ls_pending_open(&round->pending, &round->config, &round->events) &&
           ls_chair_open(&round->chair, &round->config, &round->events, &round->fault);
}

void
ls_round_clear(LsRound *round)
{
    ls_pending_clear(&round->pending);
    ls_request_list_clear(&round->outgoing);
    ls_response_list_clear(&round->responses);
    ls_response_list_clear(&round->late);
    ls_chair_clear(&round->chair);
    free(round->message);
}

void
ls_round_tell_stage(const LsRound *round, LsControlStage stage)
{
    if (round->events.stage != NULL)
        round->events.stage(round->events.user, stage);
}

void
ls_round_begin(LsRound *round, LsRequestList *requests, bool shut_down, int64_t now_ns)
{
    char text[160];
    round->now_ns = now_ns;
    free(round->message);
    round->message = NULL;
    round->length = 0;
    ls_chair_begin(&round->chair, now_ns);
    const char *fault = ls_pending_submit(&round->pending, requests, now_ns, &round->late, text);
    if (fault != NULL)
        ls_fault_note_rank(&round->fault, round->config.rank, fault);
    if (!ls_pending_report(&round->pending, now_ns, &round->outgoing))
        ls_fault_note_rank(&round->fault, round->config.rank, "out of memory");
    round->outgoing.shut_down = shut_down;
}

void
ls_round_add(LsRound *round, LsWaiting *waiting)
{
    LsRequest copy;
    if (ls_fault_is(&round->fault))
        return;
    bool done = ls_request_copy(&waiting->request, &copy);
    if (done) {
        copy.waited_ns = round->now_ns - waiting->since_ns;
        done = ls_request_list_take(&round->outgoing, &copy);
        ls_request_clear(&copy);
    }
    if (done)
        ls_pending_note_sent(&round->pending, waiting);
    else
        ls_fault_note_rank(&round->fault, round->config.rank, "out of memory");
}

void
ls_round_gather(LsRound *round, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = LS_ACTION_GATHER, .root = LS_CHAIR_RANK};
    if (round->config.rank == LS_CHAIR_RANK)
        return;
    if (ls_fault_is(&round->fault)) {
        ls_request_list_clear(&round->outgoing);
        round->outgoing.failure = strdup(round->fault.text);
    }
    /* Where even that cannot be said, an empty message does. */
    if (!ls_fault_is(&round->fault) || round->outgoing.failure != NULL)
        if (!ls_request_list_encode(&round->outgoing, &round->message, &round->length))
            ls_fault_note_rank(&round->fault, round->config.rank, "out of memory");
    ls_request_list_clear(&round->outgoing);
    ret_action->data = round->message;
    ret_action->length = round->length;
}

void
ls_round_answer(LsRound *round, const LsResult *result, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = LS_ACTION_BROADCAST, .root = LS_CHAIR_RANK};
    if (round->config.rank != LS_CHAIR_RANK)
        return;
    ls_round_tell_stage(round, LS_CONTROL_PARSE);
    if (result == NULL || result->n_parts != round->config.ranks) {
        ls_fault_note(&round->fault, "the gather did not bring one message per rank");
    } else {
        ls_chair_count(&round->chair, LS_CHAIR_RANK, 0, &round->outgoing);
        for (int rank = 1; rank < result->n_parts && !ls_fault_is(&round->fault); rank++)
            ls_chair_hear(&round->chair, rank, &result->parts[rank]);
    }
    ls_request_list_clear(&round->outgoing);
    ls_round_tell_stage(round, LS_CONTROL_BUILD);
    ls_chair_answer(&round->chair, &round->responses, &round->message, &round->length);
    ret_action->data = round->message;
    ret_action->length = round->length;
}

bool
ls_round_settle(LsRound *round)
{
    char text[160];
    if (!ls_fault_is(&round->fault)) {
        const char *fault = ls_pending_settle(&round->pending, &round->responses, text);
        if (fault != NULL)
            ls_fault_note_rank(&round->fault, LS_CHAIR_RANK, fault);
    }
    for (size_t i = 0; i < round->late.n && !ls_fault_is(&round->fault); i++)
        if (!ls_response_list_take(&round->responses, &round->late.items[i]))
            ls_fault_note_rank(&round->fault, round->config.rank, "out of memory");
    if (!ls_fault_is(&round->fault))
        ls_response_list_clear(&round->late);
    return !ls_fault_is(&round->fault);
}

bool
ls_round_end(LsRound *round, const LsResult *result)
{
    char text[160];
    const char *fault = NULL;
    ls_round_tell_stage(round, LS_CONTROL_PARSE);
    if (result == NULL || result->n_parts != 1) {
        ls_fault_note(&round->fault, "the broadcast brought no message");
        return false;
    }
    if (round->config.rank != LS_CHAIR_RANK)
        fault = ls_response_list_decode(result->parts[0].data, result->parts[0].length,
                                        &round->responses, text);
    if (fault != NULL)
        ls_fault_note(&round->fault, fault);
    else if (round->responses.failure != NULL)
        ls_fault_note(&round->fault, round->responses.failure);
    return !ls_fault_is(&round->fault);
}

void
ls_round_take(LsRound *round, LsResponseList *ret_responses, bool *ret_shut_down, int *ret_path)
{
    *ret_responses = round->responses;
    *ret_shut_down = round->responses.shut_down;
    *ret_path = round->responses.path;
    round->responses = LS_RESPONSE_LIST_INIT;
}
