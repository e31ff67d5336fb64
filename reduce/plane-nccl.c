/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-nccl.c: NCCL's collectives on the memory of devices (facts: Horovod C2, C3).
 *
 * What Horovod's NCCL operations do: AVERAGE by NCCL's own where it has it (2.10), equal parts by
 * AllGather and ReduceScatter, unequal ones by a group of broadcasts or reduces. MIN and MAX are
 * NCCL's, which of a number and a NaN may give the number. Averages of integers, and all averages
 * with an older NCCL, go through the host, whose sums have more bits (reduce/average.h).
 */
#include "reduce/plane-nccl-comm.h"

#include "reduce/device-run.h"
#include "reduce/failure.h"
#include "reduce/world.h"

#include <stdlib.h>
#include <string.h>

typedef struct NcclPlane {
    LsPlane base;
    LsComm comm;
} NcclPlane;

static bool
nccl_fits(const LsWorld *world)
{
    return true;
}

/* Through the control's transport: it is idle while a cycle's tensors are carried out. */
static lockstep_status
share(void *user, void *bytes, size_t n)
{
    LsTransport *transport = user;
    LsAction action = {.kind = LS_ACTION_BROADCAST, .data = bytes, .length = n};
    LsResult result;
    if (!transport->class->perform(transport, &action, &result))
        return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
    if (result.n_parts != 1 || result.parts[0].length != n)
        return ls_fail(LOCKSTEP_ERR_INTERNAL, "rank 0 runs another version of the library");
    memmove(bytes, result.parts[0].data, n);
    return LOCKSTEP_OK;
}

static lockstep_status
nccl_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    NcclPlane *plane = calloc(1, sizeof *plane);
    if (plane == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    plane->base.class = &ls_plane_nccl;
    plane->base.device = config->device;
    LsCommPeers peers = {
        config->world->rank, config->world->ranks, config->world, config->transport, share,
        config->transport};
    lockstep_status status = ls_comm_open(&plane->comm, config->device, &peers);
    if (status == LOCKSTEP_OK)
        *ret_plane = &plane->base;
    else
        free(plane);
    return status;
}

static void
nccl_close(LsPlane *base)
{
    NcclPlane *plane = (NcclPlane *)base;
    LsCuContext previous = ls_device_enter(base->device);
    ls_comm_close(&plane->comm);
    ls_device_leave(base->device, previous);
    free(plane);
}

/* -- On the device -- */

static lockstep_status
nccl_ready(LsPlane *base)
{
    return ls_comm_ready(&((NcclPlane *)base)->comm, base);
}

static lockstep_status
nccl_poll(LsPlane *base)
{
    return ls_comm_poll(&((NcclPlane *)base)->comm);
}

static void
nccl_fail(LsPlane *base)
{
    ls_comm_fail(&((NcclPlane *)base)->comm);
}

static bool
nccl_averages(const LsPlane *base)
{
    return ls_comm_averages(&((const NcclPlane *)base)->comm);
}

static void
nccl_abandon(LsPlane *base)
{
    ls_comm_abandon(&((NcclPlane *)base)->comm);
}

static lockstep_status
nccl_allreduce(LsPlane *base, const void *input, void *output, int64_t count, lockstep_dtype dtype,
               lockstep_op op)
{
    LsComm *comm = &((NcclPlane *)base)->comm;
    return ls_comm_check(comm,
                         comm->nccl.ncclAllReduce(input, output, (size_t)count, ls_nccl_type(dtype),
                                                  ls_nccl_op(op), comm->comm, base->device->stream),
                         "ncclAllReduce");
}

static lockstep_status
nccl_broadcast(LsPlane *base, void *data, size_t size_bytes, int root)
{
    LsComm *comm = &((NcclPlane *)base)->comm;
    return ls_comm_check(comm,
                         comm->nccl.ncclBroadcast(data, data, size_bytes, LS_NCCL_UINT8, root,
                                                  comm->comm, base->device->stream),
                         "ncclBroadcast");
}

/* Ends a group whose calls gave `result`: the first fault counts. */
static lockstep_status
end_group(LsComm *comm, LsNcclResult result, const char *call)
{
    LsNcclResult ended = comm->nccl.ncclGroupEnd();
    bool good = result == LS_NCCL_SUCCESS || result == LS_NCCL_IN_PROGRESS;
    return ls_comm_check(comm, good ? ended : result, call);
}

static lockstep_status
nccl_allgather(LsPlane *base, void *const *parts, const int64_t *bytes, bool together)
{
    LsComm *comm = &((NcclPlane *)base)->comm;
    const LsNccl *nccl = &comm->nccl;
    LsCuStream stream = base->device->stream;
    if (together)
        return ls_comm_check(comm,
                             nccl->ncclAllGather(parts[comm->peers.rank], parts[0],
                                                 (size_t)bytes[0], LS_NCCL_UINT8, comm->comm,
                                                 stream),
                             "ncclAllGather");
    LsNcclResult result = nccl->ncclGroupStart();
    for (int rank = 0; rank < comm->peers.ranks && result == LS_NCCL_SUCCESS; rank++) {
        if (bytes[rank] > 0)
            result = nccl->ncclBroadcast(parts[rank], parts[rank], (size_t)bytes[rank],
                                         LS_NCCL_UINT8, rank, comm->comm, stream);
        if (result == LS_NCCL_IN_PROGRESS)
            result = LS_NCCL_SUCCESS;
    }
    return end_group(comm, result, "a group of ncclBroadcast");
}

static lockstep_status
nccl_reduce_scatter(LsPlane *base, void *const *parts, const int64_t *counts, bool together,
                    void *output, lockstep_dtype dtype, lockstep_op op)
{
    LsComm *comm = &((NcclPlane *)base)->comm;
    const LsNccl *nccl = &comm->nccl;
    LsCuStream stream = base->device->stream;
    int type = ls_nccl_type(dtype), operation = ls_nccl_op(op);
    if (together)
        return ls_comm_check(comm,
                             nccl->ncclReduceScatter(parts[0], output, (size_t)counts[0], type,
                                                     operation, comm->comm, stream),
                             "ncclReduceScatter");
    LsNcclResult result = nccl->ncclGroupStart();
    for (int rank = 0; rank < comm->peers.ranks && result == LS_NCCL_SUCCESS; rank++) {
        if (counts[rank] > 0)
            result =
                nccl->ncclReduce(parts[rank], rank == comm->peers.rank ? output : NULL,
                                 (size_t)counts[rank], type, operation, rank, comm->comm, stream);
        if (result == LS_NCCL_IN_PROGRESS)
            result = LS_NCCL_SUCCESS;
    }
    return end_group(comm, result, "a group of ncclReduce");
}

static const LsDeviceClass nccl_device = {
    .ready = nccl_ready,
    .poll = nccl_poll,
    .fail = nccl_fail,
    .averages = nccl_averages,
    .allreduce = nccl_allreduce,
    .broadcast = nccl_broadcast,
    .allgather = nccl_allgather,
    .reduce_scatter = nccl_reduce_scatter,
};

/* -- On the host: what goes through it (reduce/move.h), and lengths -- */

static LsDeviceRun
run_of(LsPlane *base)
{
    const LsCommPeers *peers = &((NcclPlane *)base)->comm.peers;
    return (LsDeviceRun){.plane = base, .rank = peers->rank, .ranks = peers->ranks};
}

static lockstep_status
host_allreduce(LsPlane *base, const void *input, void *output, int64_t count, lockstep_dtype dtype,
               lockstep_op op)
{
    LsEntry entry = {.input = input, .output = output, .count = count, .dtype = dtype};
    LsEntry *const entries[] = {&entry};
    LsDeviceRun run = run_of(base);
    lockstep_status status = nccl_ready(base);
    return status == LOCKSTEP_OK ? ls_device_allreduce(&run, entries, 1, op) : status;
}

static lockstep_status
host_broadcast(LsPlane *base, void *data, size_t size_bytes, int root)
{
    LsEntry entry = {.input = data, .output = data};
    LsDeviceRun run = run_of(base);
    lockstep_status status = nccl_ready(base);
    return status == LOCKSTEP_OK ? ls_device_broadcast(&run, &entry, size_bytes, root) : status;
}

static lockstep_status
host_allgather(LsPlane *base, void *data, const int64_t *offsets)
{
    LsDeviceRun run = run_of(base);
    lockstep_status status = nccl_ready(base);
    return status == LOCKSTEP_OK ? ls_device_allgather(&run, NULL, (LsSpot){data, false}, offsets)
                                 : status;
}

/* Offsets in elements; this rank's part stays in its place. */
static lockstep_status
host_reduce_scatter(LsPlane *base, void *data, const int64_t *offsets, lockstep_dtype dtype,
                    lockstep_op op)
{
    LsDeviceRun run = run_of(base);
    lockstep_status status = nccl_ready(base);
    if (status != LOCKSTEP_OK)
        return status;
    return ls_device_reduce_parts(&run, (LsSpot){data, false}, offsets, dtype, op);
}

static lockstep_status
host_alltoall(LsPlane *base, const void *send, const int64_t *send_offsets, void *receive,
              const int64_t *receive_offsets)
{
    return ls_fail(LOCKSTEP_ERR_INTERNAL, "plane nccl has no alltoall");
}

const LsPlaneClass ls_plane_nccl = {
    .name = "nccl",
    .allreduce_text = "NCCL_ALLREDUCE",
    .broadcast_text = "NCCL_BCAST",
    .allgather_text = "NCCL_ALLGATHER",
    .reduce_scatter_text = "NCCL_REDUCESCATTER",
    .fits = nccl_fits,
    .open = nccl_open,
    .close = nccl_close,
    .allreduce = host_allreduce,
    .broadcast = host_broadcast,
    .allgather = host_allgather,
    .reduce_scatter = host_reduce_scatter,
    .alltoall = host_alltoall,
    .device = &nccl_device,
    .abandon = nccl_abandon,
};
