/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/shared-mpi.c: a memory file (memfd_create) of the first rank, which the others open by its
 * process id. Its pages are allocated before they are used, each rank's section by that rank: one
 * that touches a page which the system cannot give would be killed. Whoever fails says so in an
 * agreement, so that no rank uses what another does not have.
 */
#include "reduce/shared-mpi.h"

#include "reduce/instrument.h"
#include "reduce/world-mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* More is asked for in steps, so that slowly growing buffers do not ask each time. */
#define STEP_BYTES ((size_t)1024 * 1024)

/* What the first rank tells. Its memory begins with the mark, by which others know that they
 * opened no other file: pids of two machines may be equal. */
typedef struct Invitation {
    int64_t mark;
    int64_t file; /* -1: it has none */
} Invitation;

static size_t
round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t
whole_size(const LsShared *shared)
{
    return shared->section * ((size_t)shared->ranks + 1);
}

/* A file that is longer than the process may make ends it by a signal. */
static bool
may_be_so_long(const LsShared *shared)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || whole_size(shared) <= limit.rlim_cur);
}

static bool
map_file(LsShared *shared)
{
    void *base = mmap(NULL, whole_size(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      shared->file, 0);
    if (base == MAP_FAILED)
        return false;
    shared->base = base;
    return true;
}

static bool
allocate(const LsShared *shared, int number, size_t end)
{
    off_t start = (off_t)(shared->section * (size_t)number + shared->there);
    int result;
    do
        result = posix_fallocate(shared->file, start, (off_t)(end - shared->there));
    while (result == EINTR);
    return result == 0;
}

/* This rank's section; the first rank's also the spare one. */
static bool
allocate_own(const LsShared *shared, size_t end)
{
    return allocate(shared, shared->rank, end) &&
           (shared->rank != 0 || allocate(shared, shared->ranks, end));
}

static bool
agree(const LsShared *shared, bool mine)
{
    int all = mine;
    return MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, shared->communicator) ==
               MPI_SUCCESS &&
           all != 0;
}

static bool
create(LsShared *shared, size_t least, Invitation *ret_invitation)
{
    if (may_be_so_long(shared))
        shared->file = memfd_create("lockstep-sections", MFD_CLOEXEC);
    if (shared->file < 0 || ftruncate(shared->file, (off_t)whole_size(shared)) != 0 ||
        !map_file(shared) || !allocate_own(shared, least))
        return false;
    *ret_invitation = (Invitation){ls_instrument_now() ^ (int64_t)getpid() << 40, shared->file};
    memcpy(shared->base, &ret_invitation->mark, sizeof ret_invitation->mark);
    return true;
}

static bool
enter(LsShared *shared, const LsWorld *world, size_t least, const Invitation *invitation)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)world->infos[0].pid,
             (long long)invitation->file);
    shared->file = open(path, O_RDWR | O_CLOEXEC);
    return shared->file >= 0 && lseek(shared->file, 0, SEEK_END) == (off_t)whole_size(shared) &&
           map_file(shared) &&
           memcmp(shared->base, &invitation->mark, sizeof invitation->mark) == 0 &&
           allocate_own(shared, least);
}

bool
ls_shared_open(LsShared *shared, const LsWorld *world, size_t least, size_t most)
{
    Invitation invitation = {0, -1};
    least = round_up(least, STEP_BYTES);
    *shared = (LsShared){.communicator = ls_world_mpi_communicator(world),
                         .rank = world->rank,
                         .ranks = world->ranks,
                         .file = -1,
                         .section = round_up(most > least ? most : least, STEP_BYTES)};
    shared->most = shared->section;
    bool done = world->rank == 0 && create(shared, least, &invitation);
    if (MPI_Bcast(&invitation, sizeof invitation, MPI_BYTE, 0, shared->communicator) != MPI_SUCCESS)
        invitation.file = -1;
    if (world->rank != 0)
        done = invitation.file >= 0 && enter(shared, world, least, &invitation);
    if (agree(shared, done)) {
        shared->there = least;
        return true;
    }
    ls_shared_close(shared);
    return false;
}

void
ls_shared_close(LsShared *shared)
{
    if (shared->base != NULL)
        munmap(shared->base, whole_size(shared));
    if (shared->file >= 0)
        close(shared->file);
    *shared = (LsShared){.file = -1};
}

bool
ls_shared_reserve(LsShared *shared, size_t bytes)
{
    if (bytes <= shared->there)
        return true;
    if (bytes > shared->most)
        return false;
    size_t end = round_up(bytes, STEP_BYTES);
    if (agree(shared, allocate_own(shared, end)))
        shared->there = end;
    else
        shared->most = shared->there; /* it was refused: not asked for again */
    return bytes <= shared->there;
}

void *
ls_shared_section(const LsShared *shared, int number)
{
    return shared->base + shared->section * (size_t)number;
}
