/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/replay-mover.h: who sums the gradients: `reduce` by name (replay-reduce.c), or bare calls
 * of MPI_Allreduce, one per tensor, in the order of the workload (replay-bare.c).
 *
 * Both sum while backward goes on. Bare calls need no agreement, since every rank has the same
 * order beforehand: what negotiation costs shows beside them.
 */
#pragma once

#include "reduce/lockstep.h"
#include "samples/replay-data.h"

typedef struct Mover Mover;

typedef struct MoverClass {
    /* strategy: settings of reduce, NULL its defaults; run: folder to record into, NULL:
     * $LOCKSTEP_RUN. NULL: said on standard error. */
    Mover *(*open)(const Workload *workload, const char *strategy, const char *run);
    void (*close)(Mover *mover);
    int (*get_rank)(const Mover *mover);
    int (*get_ranks)(const Mover *mover);
    /* The tensor's input is there. In the workload's order. */
    lockstep_status (*submit)(Mover *mover, size_t tensor, const TensorData *data);
    /* Until all that was submitted is summed. */
    lockstep_status (*wait)(Mover *mover);
} MoverClass;

extern const MoverClass mover_reduce;
extern const MoverClass mover_bare;
