/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane.c: the table of planes.
 */
#include "reduce/plane.h"

#include "reduce/failure.h"
#include "reduce/instrument.h"
#include "reduce/world.h"

#include <string.h>

/* In the order in which "auto" tries them. */
static const LsPlaneClass *const classes[] = {
    &ls_plane_self,
#if LS_HAVE_MPI
    &ls_plane_shared,
    &ls_plane_mpi,
    &ls_plane_ring,
    &ls_plane_halving,
    &ls_plane_hierarchical,
    &ls_plane_hybrid,
    &ls_plane_server,
#endif
    &ls_plane_nccl,
#if LS_HAVE_MPI
    &ls_plane_hierarchical_device,
    &ls_plane_hybrid_device,
#endif
};

const LsPlaneClass *
ls_plane_find(const char *name, const LsWorld *world, bool on_device)
{
    bool automatic = strcmp(name, "auto") == 0, elsewhere = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        bool named = automatic || strcmp(classes[i]->name, name) == 0;
        if (named && (classes[i]->device != NULL) != on_device) {
            elsewhere = true;
            continue;
        }
        if (named && classes[i]->fits(world))
            return classes[i];
        if (named && !automatic) {
            ls_fail(LOCKSTEP_ERR_SETTINGS,
                    "setting plane: '%s' does not work for %d ranks in a %s world", name,
                    world->ranks, world->class->name);
            return NULL;
        }
    }
    if (elsewhere)
        ls_fail(LOCKSTEP_ERR_SETTINGS, "setting memory: plane '%s' is not for tensors on %s", name,
                on_device ? "a device" : "the host");
    else
        ls_fail(LOCKSTEP_ERR_SETTINGS, "setting plane: this library has no plane '%s'", name);
    return NULL;
}

int64_t
ls_plane_stage(const LsPlane *plane, const char *text, int64_t start_ns, int64_t bytes)
{
    int64_t now = ls_instrument_now();
    if (plane->stage != NULL)
        plane->stage(plane->user, text, start_ns, now, bytes);
    return now;
}
