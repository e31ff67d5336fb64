/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/pending.c: holds answers against what was asked.
 */
#include "reduce/pending.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

#define ERROR_BYTES 160

typedef struct Owed {
    LsRosterItem item; /* its name is owned */
    size_t times;
    int32_t status;
    char *error; /* owned */
} Owed;

static void
add_ready(LsPending *pending, LsWaiting *waiting)
{
    waiting->state = LS_WAITING_READY;
    waiting->previous = pending->last;
    if (pending->last != NULL)
        pending->last->next = waiting;
    else
        pending->first = waiting;
    pending->last = waiting;
}

static void
remove_ready(LsPending *pending, LsWaiting *waiting)
{
    if (waiting->previous != NULL)
        waiting->previous->next = waiting->next;
    else
        pending->first = waiting->next;
    if (waiting->next != NULL)
        waiting->next->previous = waiting->previous;
    else
        pending->last = waiting->previous;
    waiting->previous = waiting->next = NULL;
}

static void
remove_waiting(LsPending *pending, LsWaiting *waiting)
{
    if (waiting->state == LS_WAITING_HELD)
        ls_gate_withdraw(&pending->gate, waiting);
    else if (waiting->state == LS_WAITING_READY)
        remove_ready(pending, waiting);
    ls_roster_remove(&pending->waiting, &waiting->item);
    ls_request_clear(&waiting->request);
    waiting->next = pending->spare;
    pending->spare = waiting;
}

static void
remove_owed(LsPending *pending, Owed *owed)
{
    ls_roster_remove(&pending->owed, &owed->item);
    free(owed->item.name);
    free(owed->error);
    free(owed);
}

bool
ls_pending_open(LsPending *pending, const LsControlConfig *config, const LsControlEvents *events)
{
    *pending = (LsPending){.config = config, .events = events};
    return ls_gate_open(&pending->gate, config);
}

void
ls_pending_clear(LsPending *pending)
{
    while (pending->waiting.first != NULL)
        remove_waiting(pending, (LsWaiting *)pending->waiting.first);
    while (pending->owed.first != NULL)
        remove_owed(pending, (Owed *)pending->owed.first);
    while (pending->spare != NULL) {
        LsWaiting *spare = pending->spare;
        pending->spare = spare->next;
        free(spare);
    }
    ls_gate_clear(&pending->gate);
}

/* The group is complete: its members go, in the order of their submission. */
static void
release(LsPending *pending, LsGateGroup *group)
{
    const char *last = group->held[group->n - 1]->item.name;
    for (size_t i = 0; i < group->n; i++) {
        LsWaiting *waiting = group->held[i];
        add_ready(pending, waiting);
        if (pending->events->gate != NULL)
            pending->events->gate(pending->events->user, waiting->item.name, waiting->group, last);
    }
    group->n = 0;
}

/* Takes the request. false: out of memory. */
static bool
add_waiting(LsPending *pending, LsRequest *request, int64_t now_ns)
{
    LsWaiting *waiting = pending->spare;
    if (waiting == NULL)
        waiting = malloc(sizeof *waiting);
    else
        pending->spare = waiting->next;
    if (waiting == NULL)
        return false;
    *waiting = (LsWaiting){0};
    waiting->item.name = request->name;
    if (!ls_roster_add(&pending->waiting, &waiting->item)) {
        free(waiting);
        return false;
    }
    waiting->request = *request;
    *request = (LsRequest){0};
    waiting->since_ns = now_ns;
    if (ls_operation_has_count(waiting->request.operation))
        ls_shape_count(waiting->request.shape, waiting->request.ndim, &waiting->count);
    waiting->group = ls_groups_find(pending->config->groups, waiting->item.name);
    if (waiting->group == LS_GROUP_NONE) {
        add_ready(pending, waiting);
        return true;
    }
    LsGateGroup *complete = ls_gate_hold(&pending->gate, waiting, now_ns);
    if (complete != NULL)
        release(pending, complete);
    return true;
}

/* NULL, or what is wrong. */
static const char *
submit_one(LsPending *pending, LsRequest *request, int64_t now_ns, LsResponseList *ret_late,
           char error[ERROR_BYTES])
{
    Owed *owed = (Owed *)ls_roster_find(&pending->owed, request->name);
    bool done;
    if (owed != NULL) {
        done = ls_response_list_fail(ret_late, request->name, owed->status, owed->error);
        if (--owed->times == 0)
            remove_owed(pending, owed);
    } else if (ls_pending_find(pending, request->name) != NULL) {
        snprintf(error, ERROR_BYTES, "'%.100s' was submitted again before it was answered",
                 request->name);
        return error;
    } else {
        done = add_waiting(pending, request, now_ns);
    }
    return done ? NULL : "out of memory";
}

const char *
ls_pending_submit(LsPending *pending, LsRequestList *requests, int64_t now_ns,
                  LsResponseList *ret_late, char error[ERROR_BYTES])
{
    const char *fault = NULL;
    for (size_t i = 0; i < requests->n && fault == NULL; i++)
        fault = submit_one(pending, &requests->items[i], now_ns, ret_late, error);
    ls_request_list_clear(requests);
    ls_gate_inspect(&pending->gate, pending->config, pending->events, now_ns);
    return fault;
}

LsWaiting *
ls_pending_find(const LsPending *pending, const char *name)
{
    return (LsWaiting *)ls_roster_find(&pending->waiting, name);
}

void
ls_pending_note_sent(LsPending *pending, LsWaiting *waiting)
{
    remove_ready(pending, waiting);
    waiting->state = LS_WAITING_SENT;
}

bool
ls_pending_report(LsPending *pending, int64_t now_ns, LsRequestList *list)
{
    LsGateGroup *group;
    while ((group = ls_gate_overdue(&pending->gate, now_ns)) != NULL) {
        for (size_t i = 0; i < group->n; i++) {
            LsRequest copy;
            if (!ls_request_copy(&group->held[i]->request, &copy))
                return false;
            copy.held = true;
            copy.waited_ns = now_ns - group->held[i]->since_ns;
            if (!ls_request_list_take(list, &copy)) {
                ls_request_clear(&copy);
                return false;
            }
        }
    }
    return true;
}

/* Takes the name. */
static bool
note_owed(LsPending *pending, char *name, const LsResponse *response)
{
    Owed *owed = (Owed *)ls_roster_find(&pending->owed, name);
    if (owed != NULL) {
        owed->times++;
        free(name);
        return true;
    }
    owed = calloc(1, sizeof *owed);
    char *error = strdup(response->error);
    if (owed != NULL && error != NULL) {
        *owed = (Owed){.item = {.name = name}, .times = 1, .status = response->status};
        owed->error = error;
        if (ls_roster_add(&pending->owed, &owed->item))
            return true;
    }
    free(error);
    free(owed);
    free(name);
    return false;
}

/* Leaves only those names of a failure that wait here. */
static bool
settle_failure(LsPending *pending, LsResponse *response)
{
    size_t kept = 0;
    bool done = true;
    for (size_t i = 0; i < response->n; i++) {
        char *name = response->names[i];
        LsWaiting *waiting = ls_pending_find(pending, name);
        if (waiting != NULL) {
            remove_waiting(pending, waiting);
            response->names[kept++] = name;
        } else if (response->status == LOCKSTEP_ERR_STALLED) {
            done = note_owed(pending, name, response) && done;
        } else {
            free(name);
        }
    }
    response->n = kept;
    return done;
}

static const char *
settle_answer(LsPending *pending, const LsResponse *response, char error[ERROR_BYTES])
{
    for (size_t i = 0; i < response->n; i++) {
        LsWaiting *waiting = ls_pending_find(pending, response->names[i]);
        if (waiting == NULL || waiting->state == LS_WAITING_HELD) {
            snprintf(error, ERROR_BYTES, "an answer to '%.80s', which does not wait here",
                     response->names[i]);
            return error;
        }
        const LsRequest *asked = &waiting->request;
        if (asked->operation != response->operation || asked->dtype != response->dtype ||
            waiting->count != response->counts[i]) {
            snprintf(error, ERROR_BYTES,
                     "'%.40s' is answered as %s of %" PRId64 " %s, here it is %s of %" PRId64 " %s",
                     response->names[i], ls_operation_text(response->operation),
                     response->counts[i], ls_dtype_text(response->dtype),
                     ls_operation_text(asked->operation), waiting->count,
                     ls_dtype_text(asked->dtype));
            return error;
        }
        remove_waiting(pending, waiting);
    }
    return NULL;
}

const char *
ls_pending_settle(LsPending *pending, LsResponseList *responses, char error[ERROR_BYTES])
{
    size_t kept = 0;
    const char *fault = NULL;
    for (size_t i = 0; i < responses->n; i++) {
        LsResponse *response = &responses->items[i];
        if (fault != NULL) {
            ls_response_clear(response);
            continue;
        }
        if (response->operation != LS_OPERATION_ERROR)
            fault = settle_answer(pending, response, error);
        else if (!settle_failure(pending, response))
            fault = strcpy(error, "out of memory");
        if (response->n > 0)
            responses->items[kept++] = *response;
        else
            ls_response_clear(response);
    }
    responses->n = kept;
    return fault;
}
