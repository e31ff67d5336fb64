/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/world.h: which ranks take part in a context, and what connects them.
 *
 * One row and one file per kind: mpi (a communicator) and self (this process alone). The rest of
 * the library knows no MPI but through this, the transport and the plane.
 */
#pragma once

#include "reduce/lockstep.h"
#include "reduce/transport.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct LsWorld LsWorld;

/* What ranks know of each other, in rank order. */
typedef struct LsRankInfo {
    int32_t job_rank; /* in the whole job; what records say */
    int32_t host;     /* 0 ... hosts - 1, by lowest rank */
    int64_t pid;
    int64_t started; /* of the process, in the kernel's ticks: tells a pid used again */
} LsRankInfo;

typedef struct LsWorldClass {
    const char *name;
    /* May open be tried: no sentence, no effect. */
    bool (*fits)(const lockstep_options *options);
    lockstep_status (*check)(void); /* NULL: nothing is to be checked */
    lockstep_status (*open)(const lockstep_options *options, LsWorld **ret_world);
    void (*close)(LsWorld *world); /* collective */
    LsTransport *(*transport)(LsWorld *world, const LsTransportEvents *events);
    /* Point to point, blocking, between host leaders in a cycle that has announced it. */
    lockstep_status (*send)(LsWorld *world, int peer, const void *data, int size_bytes);
    lockstep_status (*receive)(LsWorld *world, int peer, void *data, int size_bytes);
    /* To all ranks, not waiting for any: this one has failed, for the reason that the thread's
     * sentence gives. */
    void (*cry)(const LsWorld *world);
    /* Whether a rank has; the sentence is then its. */
    bool (*hear)(const LsWorld *world);
} LsWorldClass;

/* First member of every world's own struct. */
struct LsWorld {
    const LsWorldClass *class;
    int rank, ranks;
    int job_rank, job_ranks;
    int64_t communicator; /* equal on all ranks, no other context of these processes has it */
    bool leader;          /* lowest rank of its host */
    int local_rank, local_ranks, hosts;
    LsRankInfo *infos; /* owned, ranks of them; filled by ls_world_meet() */
};

extern const LsWorldClass ls_world_self;
extern const LsWorldClass ls_world_mpi; /* only where the library is built with MPI */

/* On the program's own thread, before open on another: what MPI says of threads. */
lockstep_status ls_world_check(const lockstep_options *options);
lockstep_status ls_world_open(const lockstep_options *options, LsWorld **ret_world);

/* Tells each rank of the others through the transport. host: a text that is equal where ranks share
 * a machine and see each other's pids; NULL: found out. Collective. */
lockstep_status ls_world_meet(LsWorld *world, LsTransport *transport, const char *host);
/* The lowest rank of a host. */
int ls_world_leader(const LsWorld *world, int host);
/* The kernel's start time of a process; 0: there is no such process, or it is dead. */
int64_t ls_world_started(int64_t pid);
/* By SIGSTOP or a debugger. */
bool ls_world_is_stopped(int64_t pid);
