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

typedef struct Waiting {
    LsRosterItem item; /* its name is owned */
    uint8_t operation, dtype, reduction;
    int32_t root;
    int64_t count;
} Waiting;

typedef struct Owed {
    LsRosterItem item; /* its name is owned */
    size_t times;
    int32_t status;
    char *error; /* owned */
} Owed;

static void
remove_waiting(LsPending *pending, Waiting *waiting)
{
    ls_roster_remove(&pending->waiting, &waiting->item);
    free(waiting->item.name);
    free(waiting);
}

static void
remove_owed(LsPending *pending, Owed *owed)
{
    ls_roster_remove(&pending->owed, &owed->item);
    free(owed->item.name);
    free(owed->error);
    free(owed);
}

void
ls_pending_clear(LsPending *pending)
{
    while (pending->waiting.first != NULL)
        remove_waiting(pending, (Waiting *)pending->waiting.first);
    while (pending->owed.first != NULL)
        remove_owed(pending, (Owed *)pending->owed.first);
}

static bool
add_waiting(LsPending *pending, const LsRequest *request)
{
    if (ls_roster_find(&pending->waiting, request->name) != NULL)
        return true; /* the caller's fault, which the root tells to all */
    Waiting *waiting = calloc(1, sizeof *waiting);
    if (waiting == NULL)
        return false;
    waiting->operation = request->operation;
    waiting->dtype = request->dtype;
    waiting->reduction = request->reduction;
    waiting->root = request->root;
    if (request->operation != LS_OPERATION_BARRIER)
        ls_shape_count(request->shape, request->ndim, &waiting->count);
    waiting->item.name = strdup(request->name);
    if (waiting->item.name != NULL && ls_roster_add(&pending->waiting, &waiting->item))
        return true;
    free(waiting->item.name);
    free(waiting);
    return false;
}

/* A response that fails this one name; takes `error`. false: out of memory. */
static bool
fail_name(LsResponseList *list, const char *name, int32_t status, const char *error)
{
    LsResponse response = {.operation = LS_OPERATION_ERROR, .status = status};
    response.names = calloc(1, sizeof *response.names);
    response.counts = calloc(1, sizeof *response.counts);
    response.error = strdup(error);
    char *copy = strdup(name);
    if (response.names != NULL && response.counts != NULL && response.error != NULL &&
        copy != NULL) {
        response.names[0] = copy;
        response.n = 1;
        if (ls_response_list_take(list, &response))
            return true;
    } else {
        free(copy);
    }
    ls_response_clear(&response);
    return false;
}

bool
ls_pending_submit(LsPending *pending, LsRequestList *requests, LsResponseList *ret_late)
{
    size_t kept = 0, i = 0;
    bool done = true;
    for (; i < requests->n && done; i++) {
        LsRequest *request = &requests->items[i];
        Owed *owed = (Owed *)ls_roster_find(&pending->owed, request->name);
        if (owed != NULL) {
            done = fail_name(ret_late, request->name, owed->status, owed->error);
            ls_request_clear(request);
            if (--owed->times == 0)
                remove_owed(pending, owed);
        } else {
            done = add_waiting(pending, request);
            requests->items[kept++] = *request;
        }
    }
    for (; i < requests->n; i++)
        requests->items[kept++] = requests->items[i];
    requests->n = kept;
    return done;
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
        Waiting *waiting = (Waiting *)ls_roster_find(&pending->waiting, name);
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
        Waiting *waiting = (Waiting *)ls_roster_find(&pending->waiting, response->names[i]);
        if (waiting == NULL) {
            snprintf(error, ERROR_BYTES, "an answer to '%.80s', which does not wait here",
                     response->names[i]);
            return error;
        }
        if (waiting->operation != response->operation || waiting->dtype != response->dtype ||
            waiting->count != response->counts[i]) {
            snprintf(error, ERROR_BYTES,
                     "'%.40s' is answered as %s of %" PRId64 " %s, here it is %s of %" PRId64 " %s",
                     response->names[i], ls_operation_text(response->operation),
                     response->counts[i], ls_dtype_text(response->dtype),
                     ls_operation_text(waiting->operation), waiting->count,
                     ls_dtype_text(waiting->dtype));
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
