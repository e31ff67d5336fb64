/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL 2.27: a type of one byte, no events of the program's calls or of launches.
 */
#include <unistd.h>

#include "tracer/nccl-event.h"
#include "tracer/nccl-tables.h"

int
ls_nccl_v4_init(void **ret_context, int *mask, const char *comm_name, uint64_t comm_hash,
                int n_nodes, int n_ranks, int rank, LsNcclLogger logger)
{
    return ls_nccl_open(ret_context, mask, comm_hash, comm_name, n_nodes, n_ranks, rank, 4);
}

int
ls_nccl_v4_start(void *context, void **ret_handle, LsNcclEventV4 *event)
{
    LsNcclStart start = {.parent = event->parent};
    *ret_handle = NULL;
    switch (event->type) {
    case LS_NCCL_EVENT_GROUP:
        start.kind = LS_NCCL_KIND_GROUP;
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
        return 0;
    }
    *ret_handle = ls_nccl_event_start(context, &start);
    return 0;
}
