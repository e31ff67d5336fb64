/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/queue.c: names, entries, requests and handles behind one lock.
 *
 * A name is free again before its callback runs, so that a callback can submit it anew; the handle
 * is done after the callback, so that a waiter may free what the callback uses.
 */
#include "reduce/queue.h"

#include "capture/compat.h"
#include "reduce/failure.h"
#include "reduce/handle.h"
#include "reduce/names.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

LS_BIND_SINCE(pthread_condattr_setclock, "GLIBC_2.3.3");

struct LsQueue {
    pthread_mutex_t lock;
    pthread_cond_t work; /* something for the communication thread */
    pthread_cond_t done; /* handles are done, or the last waiter is gone */
    LsNames names;
    LsHandles handles;
    LsRequestList waiting;
    LsEntry *first;     /* on their way */
    LsEntry *abandoned; /* failed, and still in use by the communication thread for all we know */
    size_t on_way;
    int waiters;
    bool leaving, ended;
    uint64_t wakes;
    lockstep_status end_status;
    char end_text[LS_FAILURE_TEXT_MAX];
    int rank, ranks;
    LsPlane *plane;           /* borrowed; NULL: tensors lie on the host */
    LsInstrument *instrument; /* borrowed, as the groups */
    const LsGroups *groups;
};

LsQueue *
ls_queue_new(int rank, LsInstrument *instrument, const LsGroups *groups)
{
    LsQueue *queue = calloc(1, sizeof *queue);
    pthread_condattr_t monotonic;
    if (queue == NULL)
        return NULL;
    queue->rank = rank;
    queue->instrument = instrument;
    queue->groups = groups;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, &monotonic);
    pthread_cond_init(&queue->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return queue;
}

void
ls_queue_set_plane(LsQueue *queue, LsPlane *plane, int ranks)
{
    queue->plane = plane;
    queue->ranks = ranks;
}

static void
free_entry(LsQueue *queue, LsEntry *entry)
{
    if (entry != NULL)
        ls_device_release(queue->plane, &entry->use);
    free(entry);
}

void
ls_queue_free(LsQueue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->waiters > 0)
        pthread_cond_wait(&queue->done, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    for (LsEntry *entry = queue->abandoned, *next; entry != NULL; entry = next) {
        next = entry->next;
        free_entry(queue, entry);
    }
    ls_request_list_clear(&queue->waiting);
    ls_handles_clear(&queue->handles);
    ls_names_clear(&queue->names);
    pthread_cond_destroy(&queue->done);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static void
link_entry(LsQueue *queue, LsEntry *entry)
{
    entry->previous = NULL;
    entry->next = queue->first;
    if (queue->first != NULL)
        queue->first->previous = entry;
    queue->first = entry;
    queue->on_way++;
    entry->name->on_way = entry;
}

static void
unlink_entry(LsQueue *queue, LsEntry *entry)
{
    if (entry->previous != NULL)
        entry->previous->next = entry->next;
    else
        queue->first = entry->next;
    if (entry->next != NULL)
        entry->next->previous = entry->previous;
    queue->on_way--;
    entry->name->on_way = NULL;
}

static bool
fill_request(LsRequest *request, int rank, const lockstep_tensor *tensor, const LsWork *work)
{
    int ndim = tensor->shape != NULL ? tensor->ndim : 1;
    const int64_t *shape = tensor->shape != NULL ? tensor->shape : &tensor->count;
    *request = (LsRequest){.rank = rank,
                           .operation = work->operation,
                           .dtype = (uint8_t)tensor->dtype,
                           .reduction = work->reduction,
                           .root = work->root,
                           .name = strdup(tensor->name),
                           .shape = calloc((size_t)ndim + 1, sizeof *shape),
                           .ndim = ndim};
    if (request->name == NULL || request->shape == NULL)
        return false;
    for (int i = 0; i < ndim; i++)
        request->shape[i] = shape[i];
    return true;
}

/* A submission between its allocation and its place in the queue, and what is said of it after:
 * the entry may be done and gone as soon as the lock is. */
typedef struct Submission {
    LsEntry *entry;
    LsRequest request;
    lockstep_handle handle;
    uint32_t record_name, record_group;
    int64_t occurrence;
} Submission;

static lockstep_status
prepare(const LsQueue *queue, Submission *submission, const lockstep_tensor *tensor,
        const LsWork *work, bool forget, int64_t now_ns)
{
    bool flat = tensor->shape == NULL;
    submission->entry = calloc(1, sizeof *submission->entry);
    if (submission->entry == NULL || !fill_request(&submission->request, queue->rank, tensor, work))
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", tensor->name);
    *submission->entry = (LsEntry){.input = tensor->input,
                                   .output = tensor->output,
                                   .count = tensor->count,
                                   .rows = flat               ? tensor->count
                                           : tensor->ndim > 0 ? tensor->shape[0]
                                                              : 1,
                                   .capacity = work->capacity,
                                   .ret_counts = work->ret_counts,
                                   .dtype = tensor->dtype,
                                   .forget = forget,
                                   .callback = tensor->callback,
                                   .user = tensor->user,
                                   .submit_ns = now_ns};
    return ls_device_admit(queue->plane, queue->rank, queue->ranks, tensor, work,
                           &submission->entry->use);
}

/* Under the lock: ids of the name and of its group's, once something is recorded. */
static void
name_records(LsQueue *queue, LsName *name)
{
    if (name->record_name != 0)
        return;
    ls_instrument_name(queue->instrument, name->text, &name->record_name);
    int group = ls_groups_find(queue->groups, name->text);
    if (group != LS_GROUP_NONE)
        ls_instrument_name(queue->instrument, ls_group_name(queue->groups, group),
                           &name->record_group);
}

/* Under the lock. Takes request and entry on success. */
static lockstep_status
insert(LsQueue *queue, Submission *submission)
{
    LsEntry *entry = submission->entry;
    LsRequest *request = &submission->request;
    if (queue->ended)
        return ls_fail(queue->end_status, "tensor %s: %s", request->name, queue->end_text);
    if (queue->leaving)
        return ls_fail(LOCKSTEP_ERR_SHUT_DOWN, "tensor %s: this rank is shutting down",
                       request->name);
    entry->name = ls_names_add(&queue->names, request->name);
    if (entry->name == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", request->name);
    if (entry->name->on_way != NULL)
        return ls_fail(LOCKSTEP_ERR_DUPLICATE,
                       "tensor %s: an earlier submission of this name is still on its way on rank "
                       "%d",
                       request->name, queue->rank);
    if (!ls_handles_add(&queue->handles, &entry->handle))
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", request->name);
    name_records(queue, entry->name);
    entry->record_name = entry->name->record_name;
    entry->occurrence = entry->name->submissions;
    if (!ls_request_list_take(&queue->waiting, request)) {
        ls_handles_remove(&queue->handles, entry->handle);
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", entry->name->text);
    }
    entry->name->submissions++;
    link_entry(queue, entry);
    submission->handle = entry->handle;
    submission->record_name = entry->record_name;
    submission->record_group = entry->name->record_group;
    submission->occurrence = entry->occurrence;
    return LOCKSTEP_OK;
}

/* Under the lock, the last one inserted first. */
static void
take_back(LsQueue *queue, Submission *submission)
{
    LsEntry *entry = submission->entry;
    submission->request = queue->waiting.items[--queue->waiting.n];
    unlink_entry(queue, entry);
    entry->name->submissions--;
    ls_handles_remove(&queue->handles, entry->handle);
}

static lockstep_status
insert_all(LsQueue *queue, Submission *submissions, size_t n)
{
    lockstep_status status = LOCKSTEP_OK;
    size_t done = 0;
    pthread_mutex_lock(&queue->lock);
    while (done < n && status == LOCKSTEP_OK) {
        status = insert(queue, &submissions[done]);
        done += status == LOCKSTEP_OK;
    }
    while (status != LOCKSTEP_OK && done > 0)
        take_back(queue, &submissions[--done]);
    if (status == LOCKSTEP_OK)
        pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

lockstep_status
ls_queue_submit(LsQueue *queue, const lockstep_tensor *const *tensors, size_t n, const LsWork *work,
                lockstep_handle *ret_handles)
{
    int64_t now = ls_instrument_now();
    Submission one = {0}, *submissions = n == 1 ? &one : calloc(n, sizeof one);
    if (submissions == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "%zu tensors: out of memory", n);
    lockstep_status status = LOCKSTEP_OK;
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++)
        status = prepare(queue, &submissions[i], tensors[i], work, ret_handles == NULL, now);
    if (status == LOCKSTEP_OK)
        status = insert_all(queue, submissions, n);
    for (size_t i = 0; i < n; i++) {
        const lockstep_tensor *tensor = tensors[i];
        if (status == LOCKSTEP_OK) {
            ls_instrument_submit(
                queue->instrument, submissions[i].record_name, now, submissions[i].occurrence,
                tensor->count * (int64_t)ls_dtype_bytes((uint8_t)tensor->dtype),
                submissions[i].record_group,
                ls_instrument_code(work->operation, tensor->dtype, work->reduction));
        } else {
            ls_request_clear(&submissions[i].request);
            free_entry(queue, submissions[i].entry);
        }
        if (ret_handles != NULL)
            ret_handles[i] = status == LOCKSTEP_OK ? submissions[i].handle : 0;
    }
    if (submissions != &one)
        free(submissions);
    return status;
}

static struct timespec
deadline_in(int timeout_ms)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    return deadline;
}

/* Under the lock: waits until the handle is done. NULL: there is no such handle, or *late. */
static const LsHandleSlot *
await(LsQueue *queue, lockstep_handle handle, int timeout_ms, bool *late)
{
    struct timespec deadline = timeout_ms > 0 ? deadline_in(timeout_ms) : (struct timespec){0, 0};
    const LsHandleSlot *slot = ls_handles_find(&queue->handles, handle);
    while (slot != NULL && !slot->done) {
        if (timeout_ms < 0) {
            pthread_cond_wait(&queue->done, &queue->lock);
        } else if (timeout_ms == 0 || *late) {
            *late = true;
            return NULL;
        } else if (pthread_cond_timedwait(&queue->done, &queue->lock, &deadline) == ETIMEDOUT) {
            *late = true; /* looks once more */
        }
        slot = ls_handles_find(&queue->handles, handle);
    }
    *late = false;
    return slot;
}

lockstep_status
ls_queue_wait(LsQueue *queue, lockstep_handle handle, int timeout_ms)
{
    bool late = false;
    lockstep_status status;
    pthread_mutex_lock(&queue->lock);
    queue->waiters++;
    const LsHandleSlot *slot = await(queue, handle, timeout_ms, &late);
    if (slot != NULL) {
        status = slot->status;
        if (status < 0)
            ls_fail(status, "%s", slot->text != NULL ? slot->text : lockstep_status_text(status));
        ls_handles_remove(&queue->handles, handle);
    } else if (late) {
        status = LOCKSTEP_IN_PROGRESS;
    } else {
        status = ls_fail(LOCKSTEP_ERR_ARGUMENT,
                         "handle %llu: there is no such handle, or it was waited for already",
                         (unsigned long long)handle);
    }
    queue->waiters--;
    if (queue->waiters == 0)
        pthread_cond_broadcast(&queue->done);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void
ls_queue_leave(LsQueue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->leaving = true;
    queue->wakes++;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
}

LsQueueState
ls_queue_state(LsQueue *queue)
{
    pthread_mutex_lock(&queue->lock);
    LsQueueState state = {.waiting = queue->waiting.n,
                          .on_way = queue->on_way,
                          .leaving = queue->leaving,
                          .ended = queue->ended,
                          .wakes = queue->wakes};
    pthread_mutex_unlock(&queue->lock);
    return state;
}

void
ls_queue_take(LsQueue *queue, LsRequestList *list)
{
    pthread_mutex_lock(&queue->lock);
    LsRequestList empty = *list;
    *list = queue->waiting;
    queue->waiting = empty;
    pthread_mutex_unlock(&queue->lock);
}

void
ls_queue_sleep(LsQueue *queue, const LsQueueState *state, int64_t deadline_ns,
               bool wake_on_submission)
{
    struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    int result = 0;
    pthread_mutex_lock(&queue->lock);
    while (result != ETIMEDOUT && queue->wakes == state->wakes && !queue->ended &&
           !(wake_on_submission && queue->waiting.n > 0))
        result = pthread_cond_timedwait(&queue->work, &queue->lock, &deadline);
    pthread_mutex_unlock(&queue->lock);
}

LsEntry *
ls_queue_find(LsQueue *queue, const char *name)
{
    pthread_mutex_lock(&queue->lock);
    LsName *found = ls_names_find(&queue->names, name);
    LsEntry *entry = found != NULL ? found->on_way : NULL;
    pthread_mutex_unlock(&queue->lock);
    return entry;
}

/* This thread is inside a callback: what would wait for it there would wait for ever. */
static _Thread_local bool is_calling;

bool
ls_queue_is_calling(void)
{
    return is_calling;
}

/* Outside the lock, for an entry that is no longer on its way. */
static void
call_back(LsQueue *queue, const LsEntry *entry, int64_t buffer, lockstep_status status,
          const char *sentence)
{
    ls_instrument_done(queue->instrument, entry->record_name, entry->occurrence, buffer, status);
    if (entry->callback == NULL)
        return;
    is_calling = true;
    entry->callback(status, sentence, entry->user);
    is_calling = false;
}

/* Under the lock, after the callback. */
static void
end_handle(LsQueue *queue, const LsEntry *entry, lockstep_status status, const char *text)
{
    if (entry->forget)
        ls_handles_remove(&queue->handles, entry->handle);
    else
        ls_handles_finish(&queue->handles, entry->handle, status, text);
}

static void
complete(LsQueue *queue, LsEntry *entry, int64_t buffer, lockstep_status status, const char *text)
{
    const char *sentence = status < 0 && text != NULL ? text : "";
    call_back(queue, entry, buffer, status, sentence);
    pthread_mutex_lock(&queue->lock);
    end_handle(queue, entry, status, status < 0 ? sentence : NULL);
    pthread_cond_broadcast(&queue->done);
    pthread_mutex_unlock(&queue->lock);
}

/* Under the lock. false: it was abandoned. */
static bool
claim(LsQueue *queue, LsEntry *entry)
{
    if (entry->finished)
        return false;
    entry->finished = true;
    unlink_entry(queue, entry);
    return true;
}

void
ls_queue_finish(LsQueue *queue, LsEntry *entry, int64_t buffer, lockstep_status status,
                const char *text)
{
    pthread_mutex_lock(&queue->lock);
    bool claimed = claim(queue, entry);
    pthread_mutex_unlock(&queue->lock);
    if (!claimed)
        return;
    complete(queue, entry, buffer, status, text);
    free_entry(queue, entry);
}

void
ls_queue_finish_all(LsQueue *queue, LsEntry **entries, size_t n, int64_t buffer)
{
    size_t claimed = 0;
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < n; i++) {
        if (claim(queue, entries[i]))
            entries[claimed++] = entries[i];
    }
    pthread_mutex_unlock(&queue->lock);
    for (size_t i = 0; i < claimed; i++)
        call_back(queue, entries[i], buffer, LOCKSTEP_OK, "");
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < claimed; i++)
        end_handle(queue, entries[i], LOCKSTEP_OK, NULL);
    pthread_cond_broadcast(&queue->done);
    pthread_mutex_unlock(&queue->lock);
    for (size_t i = 0; i < claimed; i++)
        free_entry(queue, entries[i]);
}

/* Sets the end and returns the list of what was on its way; NULL also where it was set before. */
static LsEntry *
end(LsQueue *queue, lockstep_status status, const char *text)
{
    LsEntry *left = NULL;
    LsRequestList dropped = {0};
    pthread_mutex_lock(&queue->lock);
    if (!queue->ended) {
        queue->ended = true;
        queue->end_status = status;
        snprintf(queue->end_text, sizeof queue->end_text, "%s", text);
        left = queue->first;
        queue->first = NULL;
        queue->on_way = 0;
        dropped = queue->waiting;
        queue->waiting = (LsRequestList){0};
        for (LsEntry *entry = left; entry != NULL; entry = entry->next) {
            entry->finished = true;
            entry->name->on_way = NULL;
        }
    }
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    ls_request_list_clear(&dropped);
    return left;
}

static void
fail_list(LsQueue *queue, LsEntry *left, bool dispose)
{
    for (LsEntry *entry = left, *next; entry != NULL; entry = next) {
        char text[LS_FAILURE_TEXT_MAX + 128];
        next = entry->next;
        snprintf(text, sizeof text, "tensor %.100s: %s", entry->name->text, queue->end_text);
        complete(queue, entry, -1, queue->end_status, text);
        if (dispose)
            free_entry(queue, entry);
    }
}

void
ls_queue_abandon(LsQueue *queue, lockstep_status status, const char *text)
{
    LsEntry *left = end(queue, status, text);
    if (left != NULL)
        queue->abandoned = left; /* only the first end has any */
    fail_list(queue, left, false);
}

void
ls_queue_close(LsQueue *queue, lockstep_status status, const char *text)
{
    fail_list(queue, end(queue, status, text), true);
}
