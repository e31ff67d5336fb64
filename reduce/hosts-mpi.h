/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/hosts-mpi.h: the ranks of one host among themselves, and of all hosts those that have the
 * same number on theirs.
 */
#pragma once

#include "reduce/calls-mpi.h"
#include "reduce/world.h"

typedef struct LsHosts {
    const LsWorld *world;  /* borrowed */
    MPI_Comm local, cross; /* owned */
    int local_rank, local_ranks, hosts;
    bool even; /* every host has as many ranks */
    LsMpiOps ops;
} LsHosts;

/* Without the communicators, on this rank alone. On failure there is nothing to close. */
lockstep_status ls_hosts_open(LsHosts *hosts, const LsWorld *world);
/* The communicators. Collective. */
lockstep_status ls_hosts_connect(LsHosts *hosts);
void ls_hosts_close(LsHosts *hosts);

/* How hierarchical cuts a tensor: what each local rank sees to, and what is left over. */
typedef struct LsHostsCut {
    int64_t each, rest; /* elements of every local rank's part; what is left over */
    int owner;          /* the local rank that sees to the rest */
} LsHostsCut;
LsHostsCut ls_hosts_cut(const LsHosts *hosts, int64_t count);

/* How hybrid does: blocks, multiples of 256 elements, each carried by one local rank. */
#define LS_HOSTS_BLOCK 256 /* elements */
int ls_hosts_blocks(const LsHosts *hosts);
int ls_hosts_carrier(const LsHosts *hosts, int block);
/* First element of a block; the last block takes what is left over. */
int64_t ls_hosts_block_start(const LsHosts *hosts, int64_t count, int block);
/* Too few elements to be cut, or hosts that differ: all goes by the first local rank. */
bool ls_hosts_is_small(const LsHosts *hosts, int64_t count);
