/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/queue.c: names, entries, requests and handles behind one lock, and what the communication
 * thread asks of them.
 */
#include "reduce/queue-private.h"

#include "capture/compat.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

LS_BIND_SINCE(pthread_condattr_setclock, "GLIBC_2.3.3");

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

LsEntry *
ls_queue_new_entry(LsQueue *queue)
{
    pthread_mutex_lock(&queue->lock);
    LsEntry *entry = queue->spare;
    if (entry != NULL)
        queue->spare = entry->next;
    pthread_mutex_unlock(&queue->lock);
    if (entry == NULL)
        return calloc(1, sizeof *entry);
    *entry = (LsEntry){0};
    return entry;
}

void
ls_queue_spare_entry(LsQueue *queue, LsEntry *entry)
{
    entry->next = queue->spare;
    queue->spare = entry;
}

void
ls_queue_free_entry(LsQueue *queue, LsEntry *entry)
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
        ls_queue_free_entry(queue, entry);
    }
    for (LsEntry *entry = queue->spare, *next; entry != NULL; entry = next) {
        next = entry->next;
        free(entry);
    }
    ls_request_list_clear(&queue->waiting);
    ls_handles_clear(&queue->handles);
    ls_names_clear(&queue->names);
    pthread_cond_destroy(&queue->done);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

void
ls_queue_link(LsQueue *queue, LsEntry *entry)
{
    entry->previous = NULL;
    entry->next = queue->first;
    if (queue->first != NULL)
        queue->first->previous = entry;
    queue->first = entry;
    queue->on_way++;
    entry->name->on_way = entry;
}

void
ls_queue_unlink(LsQueue *queue, LsEntry *entry)
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
