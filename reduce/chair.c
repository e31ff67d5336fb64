/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/chair.c: counts, judges, answers.
 */
#include "reduce/chair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/group.h"
#include "reduce/lockstep.h"

bool
ls_chair_open(LsChair *chair, const LsControlConfig *config, const LsControlEvents *events,
              LsFault *fault)
{
    char text[48];
    const LsResponseList last_words = {.failure = text, .clock_peer = -1};
    snprintf(text, sizeof text, "rank %d: out of memory", config->rank);
    *chair = (LsChair){.config = config, .events = events, .fault = fault};
    chair->clock_next_ns = INT64_MIN;
    ls_tally_init(&chair->tally, config->ranks, config->ranks);
    ls_stall_init(&chair->stall, config->stall_warning_ns, config->stall_limit_ns);
    return ls_response_list_encode(&last_words, &chair->last_words, &chair->last_words_length);
}

void
ls_chair_clear(LsChair *chair)
{
    ls_tally_clear(&chair->tally);
    free(chair->last_words);
    chair->last_words = NULL;
}

void
ls_chair_narrow(LsChair *chair, int ranks, int64_t stall_ns)
{
    chair->tally.needed = ranks;
    ls_stall_init(&chair->stall, stall_ns == INT64_MAX ? 0 : stall_ns, 0);
}

void
ls_chair_begin(LsChair *chair, int64_t now_ns)
{
    chair->now_ns = now_ns;
}

static void
count_one(LsChair *chair, int sender, LsRequest *request)
{
    char text[LS_FAULT_BYTES];
    LsTallied *tallied = NULL;
    int64_t first_ns = chair->now_ns - request->waited_ns;
    switch (ls_tally_add(&chair->tally, request, &tallied)) {
    case LS_TALLY_FIRST:
        ls_stall_start(&chair->stall, &tallied->clock, first_ns);
        break;
    case LS_TALLY_COUNTED:
        ls_stall_backdate(&chair->stall, &tallied->clock, first_ns);
        break;
    case LS_TALLY_TWICE:
        snprintf(text, sizeof text, "'%.100s' was submitted again before it was answered",
                 request->name);
        ls_fault_note_rank(chair->fault, sender, text);
        break;
    case LS_TALLY_NO_MEMORY:
        ls_fault_note_rank(chair->fault, chair->config->rank, "out of memory");
        break;
    }
}

void
ls_chair_count(LsChair *chair, int sender, int others, LsRequestList *requests)
{
    char text[LS_FAULT_BYTES];
    if (requests->failure != NULL)
        ls_fault_note(chair->fault, requests->failure);
    for (size_t i = 0; i < requests->n && !ls_fault_is(chair->fault); i++) {
        LsRequest *request = &requests->items[i];
        if (request->rank < sender || request->others > sender + others - request->rank) {
            snprintf(
                text, sizeof text, "a request in the name of rank %d",
                (int)(request->rank < sender ? request->rank : request->rank + request->others));
            ls_fault_note_rank(chair->fault, sender, text);
        } else {
            count_one(chair, sender, request);
        }
    }
    chair->asked |= requests->n > 0;
    chair->shut_down |= requests->shut_down;
    ls_request_list_clear(requests);
}

void
ls_chair_hear(LsChair *chair, int sender, const LsPiece *piece)
{
    LsRequestList requests;
    char text[160];
    if (piece->length == 0) {
        ls_fault_note_rank(chair->fault, sender, "out of memory");
        return;
    }
    const char *fault = ls_request_list_decode(piece->data, piece->length, &requests, text);
    if (fault != NULL)
        ls_fault_note_rank(chair->fault, sender, fault);
    ls_chair_count(chair, sender, 0, &requests);
}

/* Who is known to have the tensor. false: out of memory. */
static bool
gather_present(const LsTallied *tallied, LsRankSet *ret_set)
{
    if (!ls_rank_set_init(ret_set, tallied->submitted.ranks))
        return false;
    ls_rank_set_unite(ret_set, &tallied->submitted);
    ls_rank_set_unite(ret_set, &tallied->held);
    return true;
}

/* Appends the failure of a tensor that waited over the limit. false: out of memory. */
static bool
fail_stalled(LsChair *chair, LsTallied *tallied, LsResponseList *list)
{
    LsRankSet present;
    bool done = false;
    if (!gather_present(tallied, &present))
        return false;
    char *error = ls_stall_text(&chair->stall, tallied->item.name,
                                ls_groups_name_of(chair->config->groups, tallied->item.name),
                                &present, chair->now_ns - tallied->clock.first_ns);
    if (error != NULL)
        done = ls_response_list_fail(list, tallied->item.name, LOCKSTEP_ERR_STALLED, error);
    if (done)
        ls_tally_remove(&chair->tally, tallied);
    free(error);
    ls_rank_set_clear(&present);
    return done;
}

static void
warn_stalled(const LsChair *chair, const LsTallied *tallied)
{
    int64_t waited_ns = chair->now_ns - tallied->clock.first_ns;
    if (chair->events->stall == NULL)
        return;
    for (int rank = 0; rank < chair->config->ranks; rank++)
        if (!ls_tallied_has(tallied, rank))
            chair->events->stall(chair->events->user, tallied->item.name, rank, waited_ns);
}

static bool
inspect_stalls(LsChair *chair, LsResponseList *list)
{
    if (!ls_stall_due(&chair->stall, chair->now_ns))
        return true;
    LsRosterItem *next;
    for (LsRosterItem *item = chair->tally.roster.first; item != NULL; item = next) {
        LsTallied *tallied = (LsTallied *)item;
        next = item->next;
        LsStallVerdict verdict = ls_stall_judge(&chair->stall, &tallied->clock, chair->now_ns);
        if (verdict != LS_STALL_NOT)
            warn_stalled(chair, tallied);
        if (verdict == LS_STALL_FAIL && !fail_stalled(chair, tallied, list))
            return false;
    }
    return true;
}

bool
ls_chair_stall_due(const LsChair *chair)
{
    return chair->now_ns >= chair->stall.next_ns;
}

bool
ls_chair_clock_due(const LsChair *chair)
{
    return chair->config->clock_peers > 0 && chair->now_ns >= chair->clock_next_ns;
}

int32_t
ls_chair_clock_peer(LsChair *chair)
{
    const LsControlConfig *config = chair->config;
    if (!ls_chair_clock_due(chair))
        return -1;
    int32_t peer = chair->clock_peer;
    chair->clock_peer = (peer + 1) % config->clock_peers;
    if (__builtin_add_overflow(chair->now_ns, config->clock_interval_ns, &chair->clock_next_ns))
        chair->clock_next_ns = INT64_MAX;
    return peer;
}

static void
fill(LsChair *chair, LsResponseList *list)
{
    const LsControlConfig *config = chair->config;
    const LsFusionRule rule = {config->fusion_threshold_bytes, config->fusion_padding_bytes};
    size_t agreed = list->n; /* otherwise: from a cache */
    if (!ls_tally_answer(&chair->tally, list) ||
        !ls_groups_fuse(config->groups, config->groups_alone, list, &rule) ||
        !inspect_stalls(chair, list))
        ls_fault_note_rank(chair->fault, chair->config->rank, "out of memory");
    list->path = LS_PATH_IDLE;
    if (agreed > 0)
        list->path = LS_PATH_MIXED;
    else if (chair->asked || list->n > 0)
        list->path = LS_PATH_SLOW;
    if (list->clock_peer < 0)
        list->clock_peer = ls_chair_clock_peer(chair);
    list->shut_down = chair->shut_down;
    chair->asked = false;
}

void
ls_chair_answer(LsChair *chair, LsResponseList *list, uint8_t **ret_message, size_t *ret_length)
{
    if (!ls_fault_is(chair->fault))
        fill(chair, list);
    if (ls_fault_is(chair->fault)) {
        ls_response_list_clear(list);
        list->failure = strdup(chair->fault->text);
    }
    if ((!ls_fault_is(chair->fault) || list->failure != NULL) &&
        ls_response_list_encode(list, ret_message, ret_length))
        return;
    ls_fault_note_rank(chair->fault, chair->config->rank, "out of memory");
    *ret_message = chair->last_words;
    *ret_length = chair->last_words_length;
    chair->last_words = NULL;
}
