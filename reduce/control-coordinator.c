/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/control-coordinator.c: Horovod's original protocol (facts B2; seeds 1.1): in each cycle
 * every rank's requests are gathered at rank 0, which counts them, answers what every rank has
 * submitted, in the order in which it became so, fused into buffers, and broadcasts the answers.
 *
 * GATHER, BROADCAST, DONE: always both, also with nothing to say. All ranks execute what the one
 * list says, and so in one order, whatever the order of their submissions. Rank 0 reads its own
 * requests first, then those of ranks 1, 2, ... A rank that cannot go on sends an empty message;
 * whatever rank 0 finds wrong it broadcasts as the cycle's failure, so that no rank is left
 * waiting.
 */
#include "reduce/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/fusion.h"
#include "reduce/lockstep.h"
#include "reduce/pending.h"
#include "reduce/stall.h"
#include "reduce/tally.h"

#define ROOT        0
#define ERROR_BYTES 256

typedef enum State {
    STATE_IDLE,      /* begin() is next */
    STATE_BEGUN,     /* the gather is to be asked for */
    STATE_GATHER,    /* asked for */
    STATE_BROADCAST, /* asked for */
    STATE_DONE,      /* take() is next */
    STATE_LOST,
} State;

struct LsControl {
    LsControlConfig config;
    LsControlEvents events;
    State state;
    int64_t now_ns;
    LsPending pending;
    LsRequestList own; /* the root's own requests of this cycle */
    uint8_t *message;  /* what this rank sends, owned */
    size_t length;
    LsResponseList responses; /* of this cycle */
    LsResponseList late;      /* failures that are known here alone */
    char error[ERROR_BYTES];  /* "" while all is well */

    /* At the root. */
    LsTally tally;
    LsStall stall;
    int64_t clock_next_ns; /* no clock pair before */
    int32_t clock_peer;    /* the next one */
    uint8_t *last_words;   /* "out of memory", encoded while there was some; owned */
    size_t last_words_length;
};

static void
coordinator_close(LsControl *control)
{
    if (control == NULL)
        return;
    ls_pending_clear(&control->pending);
    ls_request_list_clear(&control->own);
    ls_response_list_clear(&control->responses);
    ls_response_list_clear(&control->late);
    ls_tally_clear(&control->tally);
    free(control->message);
    free(control->last_words);
    free(control);
}

static LsControl *
coordinator_open(const LsControlConfig *config, const LsControlEvents *events)
{
    char text[] = "rank 0 is out of memory";
    const LsResponseList last_words = {.failure = text, .clock_peer = -1};
    LsControl *control = calloc(1, sizeof *control);
    if (control == NULL)
        return NULL;
    control->config = *config;
    if (events != NULL)
        control->events = *events;
    control->responses = control->late = LS_RESPONSE_LIST_INIT;
    control->clock_next_ns = INT64_MIN;
    ls_tally_init(&control->tally, config->ranks);
    ls_stall_init(&control->stall, config->stall_warning_ns, config->stall_limit_ns);
    if (ls_response_list_encode(&last_words, &control->last_words, &control->last_words_length))
        return control;
    coordinator_close(control);
    return NULL;
}

/* The first failure of a cycle is the one that is told. */
static void
fail(LsControl *control, const char *text)
{
    if (control->error[0] == '\0')
        snprintf(control->error, sizeof control->error, "%s", text);
}

static void
fail_rank(LsControl *control, int rank, const char *text)
{
    char sentence[ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "rank %d: %.200s", rank, text);
    fail(control, sentence);
}

static void
tell_stage(const LsControl *control, LsControlStage stage)
{
    if (control->events.stage != NULL)
        control->events.stage(control->events.user, stage);
}

static bool
coordinator_begin(LsControl *control, LsRequestList *requests, bool shut_down, int64_t now_ns)
{
    if (control->state != STATE_IDLE) {
        fail(control, "a cycle begins before the last one was taken");
        control->state = STATE_LOST;
        return false;
    }
    control->state = STATE_BEGUN;
    control->now_ns = now_ns;
    free(control->message);
    control->message = NULL;
    control->length = 0;
    if (!ls_pending_submit(&control->pending, requests, &control->late))
        fail_rank(control, control->config.rank, "out of memory");
    requests->shut_down = shut_down;
    if (control->config.rank == ROOT) {
        control->own = *requests;
        *requests = (LsRequestList){0};
    } else if (control->error[0] == '\0' &&
               !ls_request_list_encode(requests, &control->message, &control->length)) {
        fail_rank(control, control->config.rank, "out of memory");
    }
    ls_request_list_clear(requests);
    return true; /* a failure is told in step with the others */
}

/* Counts one rank's requests. */
static void
tally_requests(LsControl *control, int rank, LsRequestList *requests)
{
    char text[ERROR_BYTES];
    for (size_t i = 0; i < requests->n && control->error[0] == '\0'; i++) {
        LsRequest *request = &requests->items[i];
        LsTallied *tallied = NULL;
        if (request->rank != rank) {
            snprintf(text, sizeof text, "a request in the name of rank %d", (int)request->rank);
            fail_rank(control, rank, text);
            return;
        }
        switch (ls_tally_add(&control->tally, request, &tallied)) {
        case LS_TALLY_COUNTED:
            break;
        case LS_TALLY_FIRST:
            ls_stall_start(&control->stall, &tallied->clock, control->now_ns);
            break;
        case LS_TALLY_TWICE:
            snprintf(text, sizeof text, "'%.100s' was submitted again before it was answered",
                     request->name);
            fail_rank(control, rank, text);
            break;
        case LS_TALLY_NO_MEMORY:
            fail_rank(control, ROOT, "out of memory");
            break;
        }
    }
    if (requests->n > 0)
        control->responses.path = LS_PATH_SLOW;
    control->responses.shut_down |= requests->shut_down;
}

static void
parse_parts(LsControl *control, const LsResult *result)
{
    tell_stage(control, LS_CONTROL_PARSE);
    control->responses.path = LS_PATH_IDLE;
    if (result == NULL || result->n_parts != control->config.ranks) {
        fail(control, "the gather did not bring one message per rank");
        return;
    }
    tally_requests(control, ROOT, &control->own);
    ls_request_list_clear(&control->own);
    for (int rank = 1; rank < result->n_parts && control->error[0] == '\0'; rank++) {
        LsRequestList requests;
        char text[160];
        if (result->parts[rank].length == 0) {
            fail_rank(control, rank, "out of memory");
            continue;
        }
        const char *fault = ls_request_list_decode(result->parts[rank].data,
                                                   result->parts[rank].length, &requests, text);
        if (fault != NULL)
            fail_rank(control, rank, fault);
        else
            tally_requests(control, rank, &requests);
        ls_request_list_clear(&requests);
    }
}

/* Appends the failure of a tensor that waited over the limit. false: out of memory. */
static bool
fail_stalled(LsControl *control, LsTallied *tallied)
{
    int64_t waited_ns = control->now_ns - tallied->clock.first_ns;
    LsResponse response = {.operation = LS_OPERATION_ERROR, .status = LOCKSTEP_ERR_STALLED};
    response.error =
        ls_stall_text(&control->stall, tallied->item.name, &tallied->submitted, waited_ns);
    response.names = calloc(1, sizeof *response.names);
    response.counts = calloc(1, sizeof *response.counts);
    char *name = strdup(tallied->item.name);
    if (response.error != NULL && response.names != NULL && response.counts != NULL &&
        name != NULL) {
        response.names[0] = name;
        response.n = 1;
        if (ls_response_list_take(&control->responses, &response)) {
            ls_tally_remove(&control->tally, tallied);
            return true;
        }
    } else {
        free(name);
    }
    ls_response_clear(&response);
    return false;
}

static void
warn_stalled(const LsControl *control, const LsTallied *tallied)
{
    int64_t waited_ns = control->now_ns - tallied->clock.first_ns;
    if (control->events.stall == NULL)
        return;
    for (int rank = 0; rank < control->config.ranks; rank++)
        if (!ls_rank_set_has(&tallied->submitted, rank))
            control->events.stall(control->events.user, tallied->item.name, rank, waited_ns);
}

static bool
inspect_stalls(LsControl *control)
{
    if (!ls_stall_due(&control->stall, control->now_ns))
        return true;
    LsRosterItem *next;
    for (LsRosterItem *item = control->tally.roster.first; item != NULL; item = next) {
        LsTallied *tallied = (LsTallied *)item;
        next = item->next;
        LsStallVerdict verdict = ls_stall_judge(&control->stall, &tallied->clock, control->now_ns);
        if (verdict != LS_STALL_NOT)
            warn_stalled(control, tallied);
        if (verdict == LS_STALL_FAIL && !fail_stalled(control, tallied))
            return false;
    }
    return true;
}

/* The pairs of hosts take turns, one in a cycle, none within the interval after the last. */
static void
choose_clock_peer(LsControl *control)
{
    const LsControlConfig *config = &control->config;
    if (config->clock_peers < 1 || control->now_ns < control->clock_next_ns)
        return;
    control->responses.clock_peer = control->clock_peer;
    control->clock_peer = (control->clock_peer + 1) % config->clock_peers;
    if (__builtin_add_overflow(control->now_ns, config->clock_interval_ns, &control->clock_next_ns))
        control->clock_next_ns = INT64_MAX;
}

/* Makes the broadcast's bytes out of what the tally holds, or out of the failure. */
static void
build_answer(LsControl *control)
{
    const LsFusionRule rule = {control->config.fusion_threshold_bytes,
                               control->config.fusion_padding_bytes};
    tell_stage(control, LS_CONTROL_BUILD);
    if (control->error[0] == '\0') {
        if (!ls_tally_answer(&control->tally, &control->responses) ||
            !ls_fuse(&control->responses, &rule) || !inspect_stalls(control))
            fail_rank(control, ROOT, "out of memory");
        if (control->responses.n > 0)
            control->responses.path = LS_PATH_SLOW;
        choose_clock_peer(control);
    }
    if (control->error[0] != '\0') {
        ls_response_list_clear(&control->responses);
        control->responses.failure = strdup(control->error);
    }
    if ((control->error[0] == '\0' || control->responses.failure != NULL) &&
        ls_response_list_encode(&control->responses, &control->message, &control->length))
        return;
    fail_rank(control, ROOT, "out of memory");
    control->message = control->last_words;
    control->length = control->last_words_length;
    control->last_words = NULL;
}

/* Reads the broadcast; the root knows it already. */
static void
parse_answer(LsControl *control, const LsResult *result)
{
    char text[160];
    const char *fault = NULL;
    tell_stage(control, LS_CONTROL_PARSE);
    if (result == NULL || result->n_parts != 1) {
        fail(control, "the broadcast brought no message");
        return;
    }
    if (control->config.rank != ROOT)
        fault = ls_response_list_decode(result->parts[0].data, result->parts[0].length,
                                        &control->responses, text);
    if (fault != NULL)
        fail(control, fault);
    else if (control->responses.failure != NULL)
        fail(control, control->responses.failure);
    if (control->error[0] == '\0') {
        fault = ls_pending_settle(&control->pending, &control->responses, text);
        if (fault != NULL)
            fail_rank(control, ROOT, fault);
    }
    for (size_t i = 0; i < control->late.n && control->error[0] == '\0'; i++)
        if (!ls_response_list_take(&control->responses, &control->late.items[i]))
            fail_rank(control, control->config.rank, "out of memory");
    if (control->error[0] == '\0')
        ls_response_list_clear(&control->late);
}

static bool
coordinator_advance(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = LS_ACTION_DONE, .root = ROOT};
    switch (control->state) {
    case STATE_BEGUN:
        control->state = STATE_GATHER;
        ret_action->kind = LS_ACTION_GATHER;
        break;
    case STATE_GATHER:
        control->state = STATE_BROADCAST;
        ret_action->kind = LS_ACTION_BROADCAST;
        if (control->config.rank != ROOT)
            return true;
        parse_parts(control, result);
        build_answer(control);
        break;
    case STATE_BROADCAST:
        parse_answer(control, result);
        control->state = control->error[0] == '\0' ? STATE_DONE : STATE_LOST;
        return control->state == STATE_DONE;
    default:
        fail(control, "no cycle is under way");
        control->state = STATE_LOST;
        return false;
    }
    ret_action->data = control->message;
    ret_action->length = control->length;
    return true;
}

static void
coordinator_take(LsControl *control, LsResponseList *ret_responses, bool *ret_shut_down,
                 int *ret_path)
{
    *ret_responses = control->responses;
    *ret_shut_down = control->responses.shut_down;
    *ret_path = control->responses.path;
    control->responses = LS_RESPONSE_LIST_INIT;
    control->state = STATE_IDLE;
}

static size_t
coordinator_pending(const LsControl *control)
{
    return control->pending.waiting.n;
}

static const char *
coordinator_error(const LsControl *control)
{
    return control->error;
}

const LsControlClass ls_control_coordinator = {
    .name = "coordinator",
    .open = coordinator_open,
    .close = coordinator_close,
    .begin = coordinator_begin,
    .advance = coordinator_advance,
    .take = coordinator_take,
    .pending = coordinator_pending,
    .error = coordinator_error,
};
