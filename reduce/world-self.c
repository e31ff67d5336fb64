/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/world-self.c: this process alone. The template of a world: every row of the class, and
 * nothing to carry.
 */
#include "reduce/world.h"
#include "reduce/failure.h"
#include "reduce/transport-memory.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct SelfWorld {
    LsWorld base;
    LsMemory *memory;
} SelfWorld;

static atomic_int opened; /* contexts of this process so far, for their ids */

static bool
self_fits(const lockstep_options *options)
{
    return options->alone || options->mpi_comm == NULL;
}

static lockstep_status
self_open(const lockstep_options *options, LsWorld **ret_world)
{
    SelfWorld *world = calloc(1, sizeof *world);
    LsRankInfo *infos = calloc(1, sizeof *infos);
    if (world != NULL && infos != NULL)
        world->memory = ls_memory_new(1, NULL);
    if (world == NULL || world->memory == NULL) {
        free(infos);
        free(world);
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    }
    world->base.class = &ls_world_self;
    world->base.infos = infos;
    world->base.ranks = world->base.job_ranks = 1;
    world->base.communicator = atomic_fetch_add(&opened, 1);
    *ret_world = &world->base;
    return LOCKSTEP_OK;
}

static void
self_close(LsWorld *base)
{
    SelfWorld *world = (SelfWorld *)base;
    ls_memory_free(world->memory);
    free(world->base.infos);
    free(world);
}

/* No events: a rank alone sends nothing, and this transport's time is not the machine's. */
static LsTransport *
self_transport(LsWorld *base, const LsTransportEvents *events)
{
    return ls_memory_transport(((SelfWorld *)base)->memory, 0, NULL);
}

static lockstep_status
self_send(LsWorld *world, int peer, const void *data, int size_bytes)
{
    return ls_fail(LOCKSTEP_ERR_INTERNAL, "a rank alone has no peer %d", peer);
}

static lockstep_status
self_receive(LsWorld *world, int peer, void *data, int size_bytes)
{
    return ls_fail(LOCKSTEP_ERR_INTERNAL, "a rank alone has no peer %d", peer);
}

static void
self_cry(const LsWorld *world)
{
}

static bool
self_hear(const LsWorld *world)
{
    return false;
}

const LsWorldClass ls_world_self = {
    .name = "self",
    .fits = self_fits,
    .open = self_open,
    .close = self_close,
    .transport = self_transport,
    .send = self_send,
    .receive = self_receive,
    .cry = self_cry,
    .hear = self_hear,
};
