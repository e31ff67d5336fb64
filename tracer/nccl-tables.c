/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/nccl-tables.c: what all versions of NCCL's table share: which events are asked for, and
 * the calls that are the same in each.
 */
#include "tracer/nccl-tables.h"

#include <sys/statvfs.h>

#include "tracer/nccl-event.h"
#include "tracer/sampler.h"
#include "tracer/tracer.h"

#define SHM_LEAST (1ull << 30)

int
ls_nccl_stop(void *handle)
{
    ls_nccl_event_stop(handle);
    return 0;
}

int
ls_nccl_state(void *handle, int state, LsNcclState *arguments)
{
    if (state == LS_NCCL_STATE_KERNEL_CHANNEL_STOP && arguments != NULL)
        ls_nccl_event_channel_stop(handle, (int64_t)arguments->kernel_channel.device_ns);
    return 0;
}

int
ls_nccl_finalize(void *context)
{
    return 0; /* events of the communicator may still come: it stays */
}

/* Channel events need shared memory of NCCL's own: with little of it NCCL crashes. */
static int
find_mask(int version)
{
    int mask = LS_NCCL_EVENT_COLL | LS_NCCL_EVENT_P2P;
    struct statvfs shm;
    if (version >= 5)
        mask |= LS_NCCL_EVENT_GROUP_API | LS_NCCL_EVENT_COLL_API | LS_NCCL_EVENT_P2P_API |
                LS_NCCL_EVENT_KERNEL_LAUNCH;
    else
        mask |= LS_NCCL_EVENT_GROUP;
    if (ls_tracer_settings()->nccl_proxy != 0)
        mask |= LS_NCCL_EVENT_PROXY_OP;
    if (ls_tracer_settings()->nccl_channels == 0)
        return mask;
    if (statvfs("/dev/shm", &shm) != 0 ||
        (unsigned long long)shm.f_bavail * shm.f_frsize < SHM_LEAST)
        ls_tracer_note(1, "less than 1 GiB is free in /dev/shm: channels of NCCL are not recorded");
    else
        mask |= LS_NCCL_EVENT_KERNEL_CHANNEL;
    return mask;
}

int
ls_nccl_open(void **ret_context, int *mask, uint64_t hash, const char *name, int n_nodes,
             int n_ranks, int rank, int version)
{
    *ret_context = NULL;
    *mask = 0;
    if (!ls_tracer_start() || ls_tracer_settings()->nccl == 0)
        return 1;
    ls_tracer_register_end();
    ls_sampler_start();
    *ret_context = ls_nccl_comm_open(hash, name, n_nodes, n_ranks, rank, version);
    if (*ret_context == NULL)
        return 1;
    *mask = find_mask(version);
    return 0;
}
