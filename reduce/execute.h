/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/execute.h: carries out the responses of a cycle: pack, move, unpack, complete.
 *
 * Every rank executes the same responses in the same order. Memory for fused buffers is reserved at
 * the start, so that no rank can run out of it while the others are in a collective.
 */
#pragma once

#include "reduce/instrument.h"
#include "reduce/message.h"
#include "reduce/plane.h"
#include "reduce/queue.h"
#include "reduce/settings.h"
#include "reduce/world.h"

typedef struct LsExecutor LsExecutor;

typedef struct LsExecutorConfig {
    LsQueue *queue; /* all borrowed */
    LsInstrument *instrument;
    const LsWorld *world;
    LsPlane *plane;
    int64_t fusion_threshold_bytes;
    LsCompression compression;
    int topk_permille;
} LsExecutorConfig;

/* NULL: out of memory. */
LsExecutor *ls_executor_new(const LsExecutorConfig *config);
void ls_executor_free(LsExecutor *executor);

/* All tensors named are done or failed after it. A status below 0: the plane failed, or a response
 * makes no sense here; the context is then lost, and the thread's sentence says why. Ends early,
 * with LOCKSTEP_OK, when the queue was abandoned. */
lockstep_status ls_executor_run(LsExecutor *executor, const LsResponseList *responses,
                                int64_t cycle);
