/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-memory.h: N ranks in one process, with virtual time.
 *
 * Each rank has a clock of its own that only messages, ls_memory_spend() and the scheduler move. A
 * call ends when every rank has come to it; when it ends for each rank follows from the ranks'
 * clocks and the cost of its messages alone, so that the same input gives the same times on any
 * machine and under any order of threads. Messages from rank to rank are received in the order of
 * their arrival; there the order of threads matters, that of the scheduler follows the times. Two
 * ways to use it: as an LsTransport per rank, which
 * blocks (one thread per rank; a rank alone never waits), or through ls_memory_run(), which drives
 * the controls of all ranks on the calling thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reduce/transport.h"

typedef struct LsMemory LsMemory;

/* What a message costs. Gather and broadcast are linear in the ranks at their root, an allreduce
 * takes ceil(log2 ranks) rounds. All 0: messages take no time. */
typedef struct LsMemoryCost {
    int64_t alpha_ns;  /* each message */
    int64_t beta_ps;   /* each byte, in picoseconds */
    int64_t jitter_ns; /* up to that much more for each message, by chance */
    uint64_t seed;     /* of the chance */
} LsMemoryCost;

/* cost: NULL = messages take no time. NULL: out of memory. */
LsMemory *ls_memory_new(int ranks, const LsMemoryCost *cost);
/* Close the transports first. */
void ls_memory_free(LsMemory *memory);

/* A rank's virtual time, from 0; spending moves it on. */
int64_t ls_memory_now(const LsMemory *memory, int rank);
void ls_memory_spend(LsMemory *memory, int rank, int64_t ns);

/* The blocking transport of one rank. events: NULL = none. NULL: out of memory. */
LsTransport *ls_memory_transport(LsMemory *memory, int rank, const LsTransportEvents *events);

/* What drives the ranks: their program. */
typedef struct LsMemoryProgram {
    /* The rank begins a cycle at its time now_ns: adds what it has submitted since its last one and
     * says whether it wants to leave. */
    void (*submit)(void *user, int rank, int64_t now_ns, LsRequestList *requests,
                   bool *ret_shut_down);
    /* It has the cycle's responses (cleared after the call). Returns how long executing them and
     * waiting for the next cycle takes. */
    int64_t (*execute)(void *user, int rank, int64_t now_ns, const LsResponseList *responses,
                       bool shut_down, int path);
    LsTransportEvents *events; /* one per rank, or NULL */
    void *user;
} LsMemoryProgram;

/* Runs cycles until all ranks have left, or `cycles` of them. controls: one per rank. NULL: done;
 * else one sentence: a control's error, or who waits for whom. The sentence lives as long as
 * memory. */
const char *ls_memory_run(LsMemory *memory, const LsControlClass *class, LsControl *const *controls,
                          const LsMemoryProgram *program, int64_t cycles);
