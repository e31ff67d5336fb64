/* SPDX-License-Identifier: Apache-2.0
 *
 * lockstep-mark.h: marks that a training program sets by hand.
 *
 * Link with liblockstep-capture. Nothing is recorded, and every call returns at once, unless the
 * environment names a run folder (LOCKSTEP_RUN) or `lockstep record` started the program. No call
 * fails, blocks, or changes errno. Any thread may call any function; an end belongs to the latest
 * begin of the same thread. Times are the machine's CLOCK_MONOTONIC.
 */
#ifndef LOCKSTEP_MARK_H
#define LOCKSTEP_MARK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef LOCKSTEP_API
#define LOCKSTEP_API __attribute__((visibility("default")))
#endif

typedef enum lockstep_phase {
    LOCKSTEP_PHASE_FORWARD = 0,
    LOCKSTEP_PHASE_BACKWARD = 1,
    LOCKSTEP_PHASE_OPTIMIZER = 2,
    LOCKSTEP_PHASE_INPUT = 3,      /* reading data */
    LOCKSTEP_PHASE_CHECKPOINT = 4, /* writing state */
} lockstep_phase;

/* A training step begins. `number` counts steps as the program does (the same on every rank). */
LOCKSTEP_API void lockstep_step_begin(int64_t number);
/* It ends. samples: training examples this rank consumed in it; operations: floating-point
 * operations this rank did; 0 = not said. */
LOCKSTEP_API void lockstep_step_end(int64_t samples, int64_t operations);

/* A phase of the step, on the calling thread. Phases of one thread may nest. */
LOCKSTEP_API void lockstep_phase_begin(lockstep_phase phase);
LOCKSTEP_API void lockstep_phase_end(lockstep_phase phase, int64_t operations);

/* A sample of a counter (loss, learning rate, queue length) and a point in time worth finding. The
 * text is copied; it should be one of few, since each distinct one is kept. */
LOCKSTEP_API void lockstep_counter(const char *name, double value);
LOCKSTEP_API void lockstep_instant(const char *name);

#ifdef __cplusplus
}
#endif
#endif
