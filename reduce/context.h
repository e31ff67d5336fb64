/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/context.h: all that one lockstep_init() makes. Only context.c, join.c and submit.c look
 * inside.
 */
#pragma once

#include "reduce/device.h"
#include "reduce/execute.h"
#include "reduce/failure.h"
#include "reduce/graph.h"
#include "reduce/group.h"
#include "reduce/instrument.h"
#include "reduce/loop.h"
#include "reduce/queue.h"
#include "reduce/settings.h"
#include "reduce/watcher.h"
#include "reduce/world.h"

#include <pthread.h>
#include <stdbool.h>

struct lockstep_context {
    LsSettings settings;
    LsInstrument instrument;
    LsGroups *groups;
    LsGraph *graph; /* NULL: the program told of none */
    LsWorld *world;
    LsTransport *transport;
    LsDevice *device; /* NULL: tensors lie on the host */
    LsCuContext cuda; /* what was current in the thread that called init */
    LsPlane *plane;
    LsQueue *queue;
    LsExecutor *executor;
    LsLoop *loop;
    LsWatcher *watcher;
    LsWatcher *early; /* until that one is there */
    pthread_t thread; /* brings the ranks together, then runs the loop */
    bool threaded;
    lockstep_options options; /* what the thread needs of them */
    lockstep_status local;    /* of what can be wrong before the ranks meet */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool joined; /* the ranks have met, or failed to: status and text tell */
    lockstep_status status;
    char text[LS_FAILURE_TEXT_MAX]; /* also of local, and of who was lost */
    bool started, cancelled;        /* the loop may begin, or must not */
    bool ended;                     /* the loop has returned */
    bool lost;                      /* a rank died */
    bool recovered;                 /* what it left has been seen to */
};

/* join.c. What this rank can do by itself; failures are told to the others when the ranks meet. */
void ls_context_prepare(lockstep_context *context, const lockstep_options *options);
/* Starts the thread in which the ranks meet: `joined` or `lost` follow. */
void ls_context_start(lockstep_context *context);
/* Frees everything; the ranks are together, or never met. */
void ls_context_close(lockstep_context *context);
/* Sets one of the flags above and wakes who waits. */
void ls_context_set(lockstep_context *context, bool *flag);
