/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/hosts-mpi.c: two communicators, by what the ranks know of their hosts (reduce/world.h):
 * containers on one machine, and the pretended hosts of the setting `host`, are hosts.
 */
#include "reduce/hosts-mpi.h"

#include "reduce/world-mpi.h"

static bool
is_even(const LsWorld *world)
{
    int n = 0;
    for (int host = 0; host < world->hosts; host++) {
        n = 0;
        for (int rank = 0; rank < world->ranks; rank++)
            n += world->infos[rank].host == host;
        if (n != world->local_ranks)
            return false;
    }
    return true;
}

lockstep_status
ls_hosts_open(LsHosts *hosts, const LsWorld *world)
{
    *hosts = (LsHosts){.world = world,
                       .local = MPI_COMM_NULL,
                       .cross = MPI_COMM_NULL,
                       .local_rank = world->local_rank,
                       .local_ranks = world->local_ranks,
                       .hosts = world->hosts,
                       .even = is_even(world)};
    return ls_mpi_ops_open(&hosts->ops);
}

lockstep_status
ls_hosts_connect(LsHosts *hosts)
{
    const LsWorld *world = hosts->world;
    MPI_Comm all = ls_world_mpi_communicator(world);
    lockstep_status status = ls_mpi_check(
        MPI_Comm_split(all, world->infos[world->rank].host, world->rank, &hosts->local),
        "MPI_Comm_split");
    if (status == LOCKSTEP_OK)
        status = ls_mpi_check(MPI_Comm_split(all, world->local_rank, world->rank, &hosts->cross),
                              "MPI_Comm_split");
    return status;
}

void
ls_hosts_close(LsHosts *hosts)
{
    if (ls_mpi_is_running()) {
        if (hosts->local != MPI_COMM_NULL)
            MPI_Comm_free(&hosts->local);
        if (hosts->cross != MPI_COMM_NULL)
            MPI_Comm_free(&hosts->cross);
    }
    ls_mpi_ops_close(&hosts->ops);
}

LsHostsCut
ls_hosts_cut(const LsHosts *hosts, int64_t count)
{
    if (!hosts->even)
        return (LsHostsCut){0, count, 0};
    return (LsHostsCut){count / hosts->local_ranks, count % hosts->local_ranks,
                        hosts->local_ranks - 1};
}

#define BLOCKS_MAX 4

int
ls_hosts_blocks(const LsHosts *hosts)
{
    return hosts->local_ranks < BLOCKS_MAX ? hosts->local_ranks : BLOCKS_MAX;
}

int
ls_hosts_carrier(const LsHosts *hosts, int block)
{
    return hosts->local_ranks > BLOCKS_MAX && block >= 2 ? block + 1 : block;
}

int64_t
ls_hosts_block_start(const LsHosts *hosts, int64_t count, int block)
{
    int blocks = ls_hosts_blocks(hosts);
    int64_t each = count / blocks / LS_HOSTS_BLOCK * LS_HOSTS_BLOCK;
    return block == blocks ? count : each * block;
}

bool
ls_hosts_is_small(const LsHosts *hosts, int64_t count)
{
    return !hosts->even || count < (int64_t)LS_HOSTS_BLOCK * ls_hosts_blocks(hosts);
}
