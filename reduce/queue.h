/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/queue.h: what was submitted and is not done yet; where the program's threads and the
 * communication thread meet.
 *
 * One lock, held for moments and never during a callback. A name is on its way at most once; its
 * submissions are counted. Requests wait in order of submission until the communication thread
 * takes them for the next cycle. Ends in one of two ways: close (in order: all that is left fails,
 * from the communication thread) or abandon (a rank died: all fails at once, from the watcher,
 * while the communication thread may still be inside a collective with the tensors' memory).
 */
#pragma once

#include "reduce/device-entry.h"
#include "reduce/group.h"
#include "reduce/instrument.h"
#include "reduce/lockstep.h"
#include "reduce/message.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct LsQueue LsQueue;

/* A tensor on its way. Read only outside the queue. */
typedef struct LsEntry {
    struct LsEntry *next, *previous; /* of those on their way */
    struct LsName *name;
    const void *input;
    void *output;
    int64_t count;
    int64_t rows;        /* first extent; a scalar has one */
    int64_t capacity;    /* allgather: of output, elements */
    int64_t *ret_counts; /* allgather: the caller's, or NULL */
    lockstep_dtype dtype;
    lockstep_handle handle;
    bool forget; /* nobody holds the handle */
    bool finished;
    lockstep_callback callback;
    void *user;
    int64_t occurrence;
    int64_t submit_ns; /* on the recorder's clock */
    uint32_t record_name;
    LsDeviceUse use;
} LsEntry;

/* What is asked of the tensor; operation: LsOperation. */
typedef struct LsWork {
    uint8_t operation, reduction;
    int root;
    int64_t capacity; /* allgather */
    int64_t *ret_counts;
} LsWork;

typedef struct LsQueueState {
    size_t waiting; /* requests not taken yet */
    size_t on_way;  /* tensors not done, waiting ones included */
    bool leaving;   /* ls_queue_leave() was called */
    bool ended;     /* closed or abandoned */
    uint64_t wakes; /* for ls_queue_sleep() */
} LsQueueState;

/* instrument and groups (which are written down with submissions; NULL: none) are borrowed. NULL:
 * out of memory. */
LsQueue *ls_queue_new(int rank, LsInstrument *instrument, const LsGroups *groups);
/* Before the first submission: tensors may lie on the plane's device. Borrowed. */
void ls_queue_set_plane(LsQueue *queue, LsPlane *plane, int ranks);
/* After the last call of every other function; waits for threads still inside ls_queue_wait(). */
void ls_queue_free(LsQueue *queue);

/* Any thread: */
/* n tensors, all or none; ret_handles: n of them, or NULL. */
lockstep_status ls_queue_submit(LsQueue *queue, const lockstep_tensor *const *tensors, size_t n,
                                const LsWork *work, lockstep_handle *ret_handles);
lockstep_status ls_queue_wait(LsQueue *queue, lockstep_handle handle, int timeout_ms);
/* Whether the calling thread is inside a tensor's callback. */
bool ls_queue_is_calling(void);
/* This rank wants to leave: wakes the communication thread. */
void ls_queue_leave(LsQueue *queue);
LsQueueState ls_queue_state(LsQueue *queue);
/* All that is on its way and all that comes fails with this; frees nothing before the queue. Also
 * the waiting requests are dropped. Once; what comes after another end does nothing. */
void ls_queue_abandon(LsQueue *queue, lockstep_status status, const char *text);

/* The communication thread: */
/* Moves what waits into the list, which is empty. */
void ls_queue_take(LsQueue *queue, LsRequestList *list);
/* Until the deadline (CLOCK_MONOTONIC), an end, a leave after `state` was read, or, with
 * wake_on_submission, a request that waits. */
void ls_queue_sleep(LsQueue *queue, const LsQueueState *state, int64_t deadline_ns,
                    bool wake_on_submission);
/* NULL: no such tensor is on its way here. */
LsEntry *ls_queue_find(LsQueue *queue, const char *name);
/* The tensor is done: frees it after the callback. buffer: for the record, -1: none. */
void ls_queue_finish(LsQueue *queue, LsEntry *entry, int64_t buffer, lockstep_status status,
                     const char *text);
/* As finish with LOCKSTEP_OK of each, but all handles are done at once, after the last callback: a
 * program that waits for one after another is woken once for a buffer. Moves the entries about. */
void ls_queue_finish_all(LsQueue *queue, LsEntry **entries, size_t n, int64_t buffer);
/* As abandon, but what it fails is freed. */
void ls_queue_close(LsQueue *queue, lockstep_status status, const char *text);
