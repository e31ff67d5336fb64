/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL 2.28 (v5) and later (v6): the program's calls and the launches of kernels are events, too.
 */
#include <unistd.h>

#include "tracer/nccl-event.h"
#include "tracer/nccl-tables.h"

int
ls_nccl_v5_init(void **ret_context, uint64_t comm_id, int *mask, const char *comm_name, int n_nodes,
                int n_ranks, int rank, LsNcclLogger logger)
{
    return ls_nccl_open(ret_context, mask, comm_id, comm_name, n_nodes, n_ranks, rank, 5);
}

static LsNcclStart
describe(const LsNcclEventV5 *event)
{
    LsNcclStart start = {.kind = LS_NCCL_KIND_GROUP, .parent = event->parent};
    switch (event->type) {
    case LS_NCCL_EVENT_COLL_API:
        start.kind = LS_NCCL_KIND_CALL;
        start.func = event->coll_api.func;
        start.type = event->coll_api.type;
        start.count = event->coll_api.count;
        break;
    case LS_NCCL_EVENT_P2P_API:
        start.kind = LS_NCCL_KIND_CALL;
        start.func = event->p2p_api.func;
        start.type = event->p2p_api.type;
        start.count = event->p2p_api.count;
        break;
    case LS_NCCL_EVENT_COLL:
        start.kind = LS_NCCL_KIND_COLL;
        start.sequence = event->coll.sequence;
        start.func = event->coll.func;
        start.type = event->coll.type;
        start.count = event->coll.count;
        break;
    case LS_NCCL_EVENT_P2P:
        start.kind = LS_NCCL_KIND_P2P;
        start.func = event->p2p.func;
        start.type = event->p2p.type;
        start.count = event->p2p.count;
        start.peer = event->p2p.peer;
        break;
    case LS_NCCL_EVENT_KERNEL_LAUNCH:
        start.kind = LS_NCCL_KIND_LAUNCH;
        break;
    case LS_NCCL_EVENT_PROXY_OP:
        start.kind = LS_NCCL_KIND_PROXY;
        if (event->proxy_op.pid != getpid())
            start.parent = NULL; /* another process's number */
        start.channel = event->proxy_op.channel;
        start.peer = event->proxy_op.peer;
        start.bytes = (int64_t)event->proxy_op.n_steps * event->proxy_op.chunk_bytes;
        start.is_send = event->proxy_op.is_send != 0;
        break;
    case LS_NCCL_EVENT_KERNEL_CHANNEL:
        start.kind = LS_NCCL_KIND_CHANNEL;
        start.channel = event->kernel_channel.channel;
        start.device_ns = (int64_t)event->kernel_channel.device_ns;
        break;
    default:
        break;
    }
    return start;
}

int
ls_nccl_v5_start(void *context, void **ret_handle, LsNcclEventV5 *event)
{
    const uint64_t known = LS_NCCL_EVENT_GROUP | LS_NCCL_EVENT_COLL | LS_NCCL_EVENT_P2P |
                           LS_NCCL_EVENT_PROXY_OP | LS_NCCL_EVENT_KERNEL_CHANNEL |
                           LS_NCCL_EVENT_GROUP_API | LS_NCCL_EVENT_COLL_API |
                           LS_NCCL_EVENT_P2P_API | LS_NCCL_EVENT_KERNEL_LAUNCH;
    *ret_handle = NULL;
    if ((event->type & known) == 0 || (event->type & (event->type - 1)) != 0)
        return 0;
    LsNcclStart start = describe(event);
    *ret_handle = ls_nccl_event_start(context, &start);
    return 0;
}
