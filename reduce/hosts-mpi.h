/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/hosts-mpi.h: the ranks of one host among themselves, and of all hosts those that have the
 * same number on theirs.
 */
#pragma once

#include "reduce/calls-mpi.h"
#include "reduce/world.h"

typedef struct LsHosts {
    MPI_Comm local, cross; /* owned */
    int local_rank, local_ranks, hosts;
    bool even; /* every host has as many ranks */
    LsMpiOps ops;
} LsHosts;

/* Collective. On failure there is nothing to close. */
lockstep_status ls_hosts_open(LsHosts *hosts, const LsWorld *world);
void ls_hosts_close(LsHosts *hosts);
