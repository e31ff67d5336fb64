/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/calls.h: counts MPI calls at the profiling layer (PMPI), those of other threads than
 * the one that reset: the communication thread's. */
#pragma once

typedef struct Calls {
    int gather, gatherv, bcast, allreduce, send, receive;
} Calls;

void calls_reset(void);
/* From here on, whichever thread says so: what the ranks exchanged in order to meet does not count. */
void calls_restart(void);
Calls calls_get(void);
