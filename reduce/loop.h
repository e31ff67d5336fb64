/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/loop.h: the communication thread: one cycle after another until all ranks leave.
 */
#pragma once

#include "reduce/control.h"
#include "reduce/execute.h"
#include "reduce/graph.h"
#include "reduce/instrument.h"
#include "reduce/queue.h"
#include "reduce/settings.h"
#include "reduce/world.h"

typedef struct LsLoop LsLoop;

typedef struct LsLoopConfig {
    LsQueue *queue; /* all borrowed */
    LsInstrument *instrument;
    LsWorld *world;
    LsTransport *transport;
    LsExecutor *executor;
    const LsControlClass *class;
    const LsSettings *settings;
    const LsGroups *groups;
    const LsGraph *graph; /* what the program told, to be written down; NULL: nothing */
    /* All ranks have agreed to leave: what connects them may end at any moment now. */
    void (*leave)(void *user);
    void *user;
} LsLoopConfig;

/* Opens the control. NULL: out of memory. */
LsLoop *ls_loop_new(const LsLoopConfig *config);
void ls_loop_free(LsLoop *loop);

/* Ends with the queue closed (or abandoned by someone else). To be the whole life of a thread. Not
 * LOCKSTEP_OK: it could not go on (ls_failure_text() says why), and other ranks may wait for it. */
lockstep_status ls_loop_run(LsLoop *loop);
/* What a transport tells; user: the loop. */
void ls_loop_message(void *user, LsTransportCall call, int64_t start_ns, int64_t end_ns,
                     const LsMessageCount *count);
