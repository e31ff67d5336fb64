/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/context.h: all that one lockstep_init() makes. Only context.c and submit.c look inside.
 */
#pragma once

#include "reduce/execute.h"
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
    LsPlane *plane;
    LsQueue *queue;
    LsExecutor *executor;
    LsLoop *loop;
    LsWatcher *watcher;
    pthread_t thread; /* runs the loop */
    bool threaded;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool started, cancelled; /* the thread may begin, or must not */
    bool ended;              /* the loop has returned */
    bool lost;               /* a rank died */
    bool recovered;          /* what it left has been seen to */
};
