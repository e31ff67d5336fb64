/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/queue-private.h: what the files of the queue share: the queue itself, and its entries'
 * list. queue.c holds it, queue-submit.c fills it, queue-done.c empties it.
 */
#pragma once

#include "reduce/failure.h"
#include "reduce/handle.h"
#include "reduce/names.h"
#include "reduce/queue.h"

#include <pthread.h>

struct LsQueue {
    pthread_mutex_t lock;
    pthread_cond_t work; /* something for the communication thread */
    pthread_cond_t done; /* handles are done, or the last waiter is gone */
    LsNames names;
    LsHandles handles;
    LsRequestList waiting;
    LsEntry *first;     /* on their way */
    LsEntry *abandoned; /* failed, and still in use by the communication thread for all we know */
    LsEntry *spare;     /* by `next`: memory for entries to come */
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

/* Under the lock: into the list of those on their way, and out of it. */
void ls_queue_link(LsQueue *queue, LsEntry *entry);
void ls_queue_unlink(LsQueue *queue, LsEntry *entry);
/* Zeroed; NULL: out of memory. */
LsEntry *ls_queue_new_entry(LsQueue *queue);
/* Under the lock, of an entry that uses nothing of the device: keeps its memory for the next. */
void ls_queue_spare_entry(LsQueue *queue, LsEntry *entry);
/* With what it uses of the device. May be NULL. */
void ls_queue_free_entry(LsQueue *queue, LsEntry *entry);
