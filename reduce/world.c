/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/world.c: the table of worlds, and who of a world shares a machine.
 *
 * Ranks share a host when they agree in boot id and pid namespace: then a pid means the same
 * process to both. Two containers on one machine are two hosts.
 */
#include "reduce/world.h"

#include "reduce/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const LsWorldClass *const classes[] = {
#if LS_HAVE_MPI
    &ls_world_mpi,
#endif
    &ls_world_self,
};

#define HOST_TEXT_MAX 128

/* What each rank tells at the start. */
typedef struct Card {
    LsRankInfo info;
    char host[HOST_TEXT_MAX];
} Card;

lockstep_status
ls_world_check(const lockstep_options *options)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i]->fits(options))
            return classes[i]->check != NULL ? classes[i]->check() : LOCKSTEP_OK;
    }
    return LOCKSTEP_OK;
}

lockstep_status
ls_world_open(const lockstep_options *options, LsWorld **ret_world)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i]->fits(options))
            return classes[i]->open(options, ret_world);
    }
    return ls_fail(LOCKSTEP_ERR_MPI, "a communicator was given, but the library was built without "
                                     "MPI");
}

/* Fields 3 (state) and 22 (start time) of /proc/PID/stat; the name before them may hold anything
 * but ends at the last parenthesis. */
static bool
read_stat(int64_t pid, char *ret_state, long long *ret_started)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    char *at = strrchr(line, ')');
    return at != NULL &&
           sscanf(at + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                  "%*d %*d %lld",
                  ret_state, ret_started) == 2;
}

int64_t
ls_world_started(int64_t pid)
{
    char state;
    long long started;
    if (!read_stat(pid, &state, &started) || state == 'Z' || state == 'X')
        return 0;
    return started;
}

bool
ls_world_is_stopped(int64_t pid)
{
    char state;
    long long started;
    return read_stat(pid, &state, &started) && (state == 'T' || state == 't');
}

static void
find_host(char *ret_text, size_t size)
{
    char boot[64] = "", space[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(boot, sizeof boot, file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    boot[strcspn(boot, "\n")] = '\0';
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[length > 0 ? length : 0] = '\0';
    snprintf(ret_text, size, "%s %s", boot, space);
}

/* At the root: hosts are numbered in order of their lowest rank. */
static void
number_hosts(Card *cards, int ranks)
{
    int32_t hosts = 0;
    for (int rank = 0; rank < ranks; rank++) {
        int other = 0;
        while (strncmp(cards[other].host, cards[rank].host, HOST_TEXT_MAX) != 0)
            other++;
        cards[rank].info.host = other < rank ? cards[other].info.host : hosts++;
    }
}

static void
find_place(LsWorld *world)
{
    const LsRankInfo *infos = world->infos;
    world->hosts = world->local_rank = world->local_ranks = 0;
    for (int rank = 0; rank < world->ranks; rank++) {
        if (infos[rank].host >= world->hosts)
            world->hosts = infos[rank].host + 1;
        if (infos[rank].host != infos[world->rank].host)
            continue;
        world->local_ranks++;
        world->local_rank += rank < world->rank;
    }
    world->leader = world->local_rank == 0;
}

/* At the root: the cards of all into one array of infos. */
static lockstep_status
collect(const LsWorld *world, const LsResult *result, LsRankInfo *ret_infos)
{
    Card *cards = calloc((size_t)world->ranks, sizeof *cards);
    lockstep_status status = LOCKSTEP_OK;
    if (cards == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory for %d ranks", world->ranks);
    for (int rank = 0; rank < world->ranks && status == LOCKSTEP_OK; rank++) {
        if (rank >= result->n_parts || result->parts[rank].length != sizeof *cards)
            status = ls_fail(LOCKSTEP_ERR_INTERNAL,
                             "rank %d told of itself in another form: it runs another version of "
                             "the library",
                             rank);
        else
            memcpy(&cards[rank], result->parts[rank].data, sizeof *cards);
    }
    if (status == LOCKSTEP_OK)
        number_hosts(cards, world->ranks);
    for (int rank = 0; rank < world->ranks; rank++)
        ret_infos[rank] = cards[rank].info;
    free(cards);
    return status;
}

static lockstep_status
fail_transport(const LsTransport *transport)
{
    return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
}

lockstep_status
ls_world_meet(LsWorld *world, LsTransport *transport, const char *host)
{
    Card card = {.info = {.job_rank = world->job_rank, .pid = getpid()}};
    LsAction gather = {.kind = LS_ACTION_GATHER, .data = &card, .length = sizeof card};
    size_t size = (size_t)world->ranks * sizeof(LsRankInfo);
    LsRankInfo *infos = world->infos;
    LsAction broadcast = {.kind = LS_ACTION_BROADCAST, .data = infos, .length = size};
    LsResult result = {0};
    lockstep_status status = LOCKSTEP_OK;
    card.info.started = ls_world_started(card.info.pid);
    if (host != NULL)
        snprintf(card.host, sizeof card.host, "%s", host);
    else
        find_host(card.host, sizeof card.host);
    if (!transport->class->perform(transport, &gather, &result))
        return fail_transport(transport);
    if (world->rank == 0)
        status = collect(world, &result, infos);
    int32_t why = status;
    if (status != LOCKSTEP_OK)
        broadcast = (LsAction){.kind = LS_ACTION_BROADCAST, .data = &why, .length = sizeof why};
    if (!transport->class->perform(transport, &broadcast, &result))
        return fail_transport(transport);
    if (status == LOCKSTEP_OK && (result.n_parts != 1 || result.parts[0].length != size)) {
        memcpy(&why, result.parts[0].data, sizeof why);
        status = ls_fail(why, "rank 0 could not collect what the ranks told of themselves");
    }
    if (status == LOCKSTEP_OK) {
        memmove(infos, result.parts[0].data, size);
        find_place(world);
    }
    return status;
}

int
ls_world_leader(const LsWorld *world, int host)
{
    int rank = 0;
    while (rank < world->ranks - 1 && world->infos[rank].host != host)
        rank++;
    return rank;
}
