/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/world-mpi.c: the ranks of an MPI communicator.
 *
 * The communicator is duplicated, so that none of our messages can meet the program's, and its
 * errors are returned, not fatal. A context calls MPI from its own thread: that needs
 * MPI_THREAD_SERIALIZED, and then the program must leave MPI alone until shutdown; with two
 * contexts, or a program that goes on using MPI, it needs MPI_THREAD_MULTIPLE.
 */
#include "reduce/world-mpi.h"

#include "reduce/failure.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CLOCK_TAG 1
#define CRY_TAG   30000 /* of no other message: it is looked for while others are on their way */

typedef struct MpiWorld {
    LsWorld base;
    LsTransport *transport; /* owned until it is handed out */
    MPI_Comm communicator;
} MpiWorld;

static atomic_int open_worlds;   /* now */
static atomic_int opened_worlds; /* so far */

lockstep_status
ls_mpi_check(int result, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (result == MPI_SUCCESS)
        return LOCKSTEP_OK;
    if (MPI_Error_string(result, text, &length) != MPI_SUCCESS)
        length = 0;
    return ls_fail(LOCKSTEP_ERR_MPI, "%s: %.*s", call, length, text);
}

MPI_Comm
ls_world_mpi_communicator(const LsWorld *world)
{
    return ((const MpiWorld *)world)->communicator;
}

bool
ls_mpi_is_running(void)
{
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

static bool
mpi_fits(const lockstep_options *options)
{
    return !options->alone && (options->mpi_comm != NULL || ls_mpi_is_running());
}

/* Whether this process may call MPI from one more thread. */
static lockstep_status
check_threads(void)
{
    static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                         "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
    int level = MPI_THREAD_SINGLE;
    if (!ls_mpi_is_running())
        return ls_fail(LOCKSTEP_ERR_MPI, "a communicator was given, but MPI is not running: call "
                                         "MPI_Init_thread first");
    lockstep_status status = ls_mpi_check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (status != LOCKSTEP_OK)
        return status;
    int at = level <= MPI_THREAD_SINGLE       ? 0
             : level <= MPI_THREAD_FUNNELED   ? 1
             : level <= MPI_THREAD_SERIALIZED ? 2
                                              : 3;
    if (level < MPI_THREAD_SERIALIZED)
        return ls_fail(LOCKSTEP_ERR_THREAD_LEVEL,
                       "MPI was started with %s; MPI_Init_thread must ask for "
                       "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                       levels[at]);
    if (level < MPI_THREAD_MULTIPLE && atomic_load(&open_worlds) > 0)
        return ls_fail(LOCKSTEP_ERR_THREAD_LEVEL,
                       "a second context needs MPI_THREAD_MULTIPLE; MPI was started with %s",
                       levels[at]);
    return LOCKSTEP_OK;
}

/* An id that all ranks share and that no other context of any of them has: contexts that share a
 * lowest rank differ in its count, others in its place in the job. whole: this rank has the memory
 * to meet the others; the last one that has not fails all. */
static lockstep_status
choose_id(MpiWorld *world, bool whole)
{
    int mine[3] = {atomic_load(&opened_worlds), -world->base.job_rank,
                   whole ? -1 : world->base.rank};
    int most[3];
    lockstep_status status = ls_mpi_check(
        MPI_Allreduce(mine, most, 3, MPI_INT, MPI_MAX, world->communicator), "MPI_Allreduce");
    if (status != LOCKSTEP_OK)
        return status;
    if (most[2] >= 0)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "rank %d: out of memory for %d ranks", most[2],
                       world->base.ranks);
    world->base.communicator = (int64_t)most[0] * world->base.job_ranks - most[1];
    atomic_store(&opened_worlds, most[0] + 1);
    return LOCKSTEP_OK;
}

static void
release(MpiWorld *world)
{
    if (world->communicator != MPI_COMM_NULL && ls_mpi_is_running())
        MPI_Comm_free(&world->communicator);
    atomic_fetch_sub(&open_worlds, 1);
    if (world->transport != NULL)
        world->transport->class->close(world->transport);
    free(world->base.infos);
}

static void
mpi_close(LsWorld *base)
{
    release((MpiWorld *)base);
    free(base);
}

/* What it takes to meet the other ranks. */
static bool
reserve(MpiWorld *world, MPI_Comm from)
{
    int ranks = 1;
    MPI_Comm_size(from, &ranks);
    world->base.infos = calloc((size_t)ranks, sizeof *world->base.infos);
    world->transport = ls_transport_mpi_new(from);
    return world->base.infos != NULL && world->transport != NULL;
}

static lockstep_status
duplicate(MpiWorld *world, MPI_Comm from, bool whole)
{
    lockstep_status status = ls_mpi_check(MPI_Comm_dup(from, &world->communicator), "MPI_Comm_dup");
    if (status != LOCKSTEP_OK)
        return status;
    MPI_Comm_set_errhandler(world->communicator, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world->communicator, &world->base.rank);
    MPI_Comm_size(world->communicator, &world->base.ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &world->base.job_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->base.job_ranks);
    return choose_id(world, whole);
}

/* A rank without memory comes to the first call too, to say so. */
static lockstep_status
mpi_open(const lockstep_options *options, LsWorld **ret_world)
{
    MPI_Comm from = MPI_COMM_WORLD;
    if (options->mpi_comm != NULL)
        from = *(MPI_Comm *)options->mpi_comm;
    if (from == MPI_COMM_NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "the communicator is MPI_COMM_NULL");
    MpiWorld *world = calloc(1, sizeof *world), bare = {0};
    bool whole = world != NULL;
    if (!whole)
        world = &bare;
    world->base.class = &ls_world_mpi;
    world->communicator = MPI_COMM_NULL;
    whole = whole && reserve(world, from);
    atomic_fetch_add(&open_worlds, 1);
    lockstep_status status = duplicate(world, from, whole);
    if (status == LOCKSTEP_OK) {
        *ret_world = &world->base;
        return status;
    }
    release(world);
    if (world != &bare)
        free(world);
    return status;
}

static LsTransport *
mpi_transport(LsWorld *base, const LsTransportEvents *events)
{
    MpiWorld *world = (MpiWorld *)base;
    LsTransport *transport = world->transport;
    world->transport = NULL;
    ls_transport_mpi_use(transport, world->communicator, events);
    return transport;
}

static lockstep_status
mpi_send(LsWorld *world, int peer, const void *data, int size_bytes)
{
    return ls_mpi_check(
        MPI_Send(data, size_bytes, MPI_BYTE, peer, CLOCK_TAG, ls_world_mpi_communicator(world)),
        "MPI_Send");
}

static lockstep_status
mpi_receive(LsWorld *world, int peer, void *data, int size_bytes)
{
    return ls_mpi_check(MPI_Recv(data, size_bytes, MPI_BYTE, peer, CLOCK_TAG,
                                 ls_world_mpi_communicator(world), MPI_STATUS_IGNORE),
                        "MPI_Recv");
}

/* A message so short that it leaves at once, whoever receives it. */
static void
mpi_cry(const LsWorld *world)
{
    for (int peer = 0; peer < world->ranks; peer++) {
        if (peer != world->rank)
            MPI_Send(ls_failure_text(), LS_FAILURE_TEXT_MAX, MPI_BYTE, peer, CRY_TAG,
                     ls_world_mpi_communicator(world));
    }
}

static bool
mpi_hear(const LsWorld *world)
{
    char text[LS_FAILURE_TEXT_MAX];
    MPI_Comm communicator = ls_world_mpi_communicator(world);
    MPI_Status status;
    int there = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, CRY_TAG, communicator, &there, &status) != MPI_SUCCESS ||
        !there ||
        MPI_Recv(text, sizeof text, MPI_BYTE, status.MPI_SOURCE, CRY_TAG, communicator,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    text[sizeof text - 1] = '\0';
    ls_fail(LOCKSTEP_ERR_DEVICE, "rank %d: %s", status.MPI_SOURCE, text);
    return true;
}

const LsWorldClass ls_world_mpi = {
    .name = "mpi",
    .fits = mpi_fits,
    .check = check_threads,
    .open = mpi_open,
    .close = mpi_close,
    .transport = mpi_transport,
    .send = mpi_send,
    .receive = mpi_receive,
    .cry = mpi_cry,
    .hear = mpi_hear,
};
