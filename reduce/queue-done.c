/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/queue-done.c: how tensors leave the queue: done one by one, or all failed at an end; and
 * the program's threads that wait for it.
 *
 * A name is free again before its callback runs, so that a callback can submit it anew; the handle
 * is done after the callback, so that a waiter may free what the callback uses.
 */
#include "reduce/queue-private.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

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
    ls_queue_unlink(queue, entry);
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
    ls_queue_free_entry(queue, entry);
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
    for (size_t i = 0; i < claimed; i++) {
        call_back(queue, entries[i], buffer, LOCKSTEP_OK, "");
        ls_device_release(queue->plane, &entries[i]->use);
    }
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < claimed; i++) {
        end_handle(queue, entries[i], LOCKSTEP_OK, NULL);
        ls_queue_spare_entry(queue, entries[i]);
    }
    pthread_cond_broadcast(&queue->done);
    pthread_mutex_unlock(&queue->lock);
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
            ls_queue_free_entry(queue, entry);
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
