/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/board.c: an anonymous file of the host's leader, which the others open through /proc, so
 * that no name is left behind whatever happens.
 */
#include "reduce/board.h"

#include "reduce/failure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static LsBoardPage *
map_page(int fd)
{
    void *page = mmap(NULL, sizeof(LsBoardPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page != MAP_FAILED ? page : NULL;
}

static int
create(void)
{
    int fd = memfd_create("lockstep-board", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, sizeof(LsBoardPage)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Every leader's descriptor to every rank; *ret_fd: of this rank's leader, -1: none, or rank 0 has
 * no memory to tell them. */
static lockstep_status
exchange(const LsWorld *world, LsTransport *transport, int fd, int *ret_fd)
{
    size_t size = (size_t)world->ranks * sizeof(int32_t);
    int32_t own = fd, *all = world->rank == 0 ? malloc(size) : NULL;
    LsAction gather = {.kind = LS_ACTION_GATHER, .data = &own, .length = sizeof own};
    LsAction broadcast = {
        .kind = LS_ACTION_BROADCAST, .data = all, .length = all != NULL ? size : 0};
    LsResult result = {0};
    bool done = transport->class->perform(transport, &gather, &result);
    own = -1;
    for (int rank = 0; done && all != NULL && rank < world->ranks; rank++) {
        all[rank] = -1;
        if (result.parts[rank].length == sizeof *all)
            memcpy(&all[rank], result.parts[rank].data, sizeof *all);
    }
    done = done && transport->class->perform(transport, &broadcast, &result);
    int leader = ls_world_leader(world, world->infos[world->rank].host);
    if (done && result.parts[0].length == size)
        memcpy(&own, (const char *)result.parts[0].data + (size_t)leader * sizeof own, sizeof own);
    *ret_fd = own;
    free(all);
    return done ? LOCKSTEP_OK : ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
}

lockstep_status
ls_board_open(const LsWorld *world, LsTransport *transport, LsBoard *ret_board)
{
    int fd = -1, theirs = -1;
    ret_board->fd = world->leader ? create() : -1;
    ret_board->page = NULL;
    lockstep_status status = exchange(world, transport, ret_board->fd, &fd);
    if (status != LOCKSTEP_OK)
        return status;
    if (!world->leader && fd >= 0) {
        char path[64];
        int leader = ls_world_leader(world, world->infos[world->rank].host);
        snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)world->infos[leader].pid, fd);
        fd = theirs = open(path, O_RDWR | O_CLOEXEC);
    }
    if (fd >= 0)
        ret_board->page = map_page(fd);
    if (theirs >= 0)
        close(theirs);
    if (ret_board->page == NULL)
        ret_board->page = &ret_board->own;
    return LOCKSTEP_OK;
}

void
ls_board_close(LsBoard *board)
{
    if (board->page != NULL && board->page != &board->own)
        munmap(board->page, sizeof(LsBoardPage));
    if (board->fd >= 0)
        close(board->fd);
}

int
ls_board_claim(LsBoard *board, int news)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&board->page->word, &none, news + 1))
        return news;
    return none - 1;
}

int
ls_board_look(const LsBoard *board)
{
    return atomic_load(&board->page->word) - 1;
}
