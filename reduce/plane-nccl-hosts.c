/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-nccl-hosts.c: hierarchical and hybrid on devices: NCCL inside the host, MPI between
 * hosts on memory of the host (facts: seeds 1.6, Horovod C2).
 *
 * hierarchical (Horovod since 0.14.1): reduce-scatter; every rank's part, and at its owner what the
 * ranks do not divide, to the host, through MPI, and back; allgather; the rest by a broadcast.
 * hybrid (Kurth et al. 2018): allreduce inside the host; up to four ranks carry a block each to the
 * host, through MPI, and back; broadcasts from them; what is too small, and hosts that differ: a
 * reduce to the first rank, its way, a broadcast (Horovod 0.13.6). Hosts are cut as by the forms of
 * the two on the host, which also do here all that is not an allreduce on the device.
 */
#include "reduce/plane-nccl-comm.h"

#include "reduce/average.h"
#include "reduce/device-run.h"
#include "reduce/failure.h"
#include "reduce/hosts-mpi.h"
#include "reduce/instrument.h"
#include "reduce/message.h"
#include "reduce/world-mpi.h"

#include <stdlib.h>

#define WIDE_VALUES 65536 /* of 16-bit averages that go between hosts at once */

typedef struct HostsPlane {
    LsPlane base;
    LsPlane *host; /* owned: the same on the host */
    LsHosts hosts;
    LsComm comm;   /* of the host's ranks */
    char *staging; /* owned: pinned, for what this rank carries between hosts */
    float *wide;   /* owned */
} HostsPlane;

static bool
hosts_fits(const LsWorld *world)
{
    return ls_plane_hierarchical.fits(world);
}

static lockstep_status
share(void *user, void *bytes, size_t n)
{
    return ls_mpi_broadcast(((HostsPlane *)user)->hosts.local, bytes, n, 0);
}

/* The most that one call can give this rank to carry. */
static size_t
staging_bytes(const LsHosts *hosts, size_t fusion_bytes)
{
    size_t blocks = (size_t)ls_hosts_blocks(hosts);
    size_t rest = 8 * ((size_t)LS_HOSTS_BLOCK * blocks + (size_t)hosts->local_ranks);
    if (!hosts->even)
        return hosts->local_rank == 0 ? fusion_bytes : 1;
    return fusion_bytes / blocks + rest;
}

static void
hosts_close(LsPlane *base)
{
    HostsPlane *plane = (HostsPlane *)base;
    LsCuContext previous = ls_device_enter(base->device);
    ls_comm_close(&plane->comm);
    if (plane->staging != NULL) { /* after a failure a copy there may still be on its way */
        base->device->cuda.cuStreamSynchronize(base->device->stream);
        base->device->cuda.cuMemFreeHost(plane->staging);
    }
    ls_device_leave(base->device, previous);
    ls_hosts_close(&plane->hosts);
    if (plane->host != NULL)
        plane->host->class->close(plane->host);
    free(plane->wide);
    free(plane);
}

static lockstep_status
open_device(HostsPlane *plane, const LsPlaneConfig *config)
{
    LsDevice *device = config->device;
    LsCommPeers peers = {plane->hosts.local_rank,
                         plane->hosts.local_ranks,
                         config->world,
                         config->transport,
                         share,
                         plane};
    size_t bytes = staging_bytes(&plane->hosts, device->fusion_bytes);
    lockstep_status status = ls_comm_open(&plane->comm, device, &peers);
    if (status != LOCKSTEP_OK)
        return status;
    LsCuContext previous = ls_device_enter(device);
    status = ls_device_check(
        device, device->cuda.cuMemHostAlloc((void **)&plane->staging, bytes, 0), "cuMemHostAlloc");
    ls_device_leave(device, previous);
    plane->wide = malloc(WIDE_VALUES * sizeof *plane->wide);
    if (status == LOCKSTEP_OK && plane->wide == NULL)
        status = ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    return status;
}

static lockstep_status
open_class(const LsPlaneClass *class, const LsPlaneClass *host, const LsPlaneConfig *config,
           LsPlane **ret_plane)
{
    HostsPlane *plane = calloc(1, sizeof *plane);
    if (plane == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    plane->base.class = class;
    plane->base.device = config->device;
    lockstep_status status = ls_hosts_open(&plane->hosts, config->world);
    if (status != LOCKSTEP_OK) {
        free(plane);
        return status;
    }
    status = host->open(config, &plane->host);
    if (status == LOCKSTEP_OK)
        status = open_device(plane, config);
    if (status == LOCKSTEP_OK)
        *ret_plane = &plane->base;
    else
        hosts_close(&plane->base);
    return status;
}

static lockstep_status
hosts_connect(LsPlane **base)
{
    HostsPlane *plane = (HostsPlane *)*base;
    lockstep_status status = ls_hosts_connect(&plane->hosts);
    return status == LOCKSTEP_OK ? plane->host->class->connect(&plane->host) : status;
}

static lockstep_status
hierarchical_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    return open_class(&ls_plane_hierarchical_device, &ls_plane_hierarchical, config, ret_plane);
}

static lockstep_status
hybrid_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    return open_class(&ls_plane_hybrid_device, &ls_plane_hybrid, config, ret_plane);
}

static lockstep_status
hosts_ready(LsPlane *base)
{
    return ls_comm_ready(&((HostsPlane *)base)->comm, base);
}

static lockstep_status
hosts_poll(LsPlane *base)
{
    return ls_comm_poll(&((HostsPlane *)base)->comm);
}

static void
hosts_fail(LsPlane *base)
{
    ls_comm_fail(&((HostsPlane *)base)->comm);
}

static void
hosts_abandon(LsPlane *base)
{
    ls_comm_abandon(&((HostsPlane *)base)->comm);
}

/* As an average of averages, where every host has as many ranks. */
static bool
hosts_average(const LsPlane *base)
{
    const HostsPlane *plane = (const HostsPlane *)base;
    return plane->hosts.even && ls_comm_averages(&plane->comm);
}

/* -- Between hosts -- */

/* 16-bit floats as 32-bit ones, in pieces. */
static lockstep_status
average_wide(HostsPlane *plane, uint16_t *data, int64_t count, lockstep_dtype dtype)
{
    const LsHosts *hosts = &plane->hosts;
    lockstep_status status = LOCKSTEP_OK;
    for (int64_t at = 0; at < count && status == LOCKSTEP_OK; at += WIDE_VALUES) {
        size_t n = (size_t)(count - at < WIDE_VALUES ? count - at : WIDE_VALUES);
        ls_average_widen(dtype, data + at, plane->wide, n, hosts->hosts);
        status = ls_mpi_allreduce(&hosts->ops, hosts->cross, plane->wide, plane->wide, (int64_t)n,
                                  LOCKSTEP_FLOAT32, LOCKSTEP_SUM);
        ls_average_narrow(dtype, plane->wide, data + at, n, hosts->hosts);
    }
    return status;
}

static lockstep_status
reduce_between(HostsPlane *plane, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    const LsHosts *hosts = &plane->hosts;
    bool averages = op == LOCKSTEP_AVERAGE;
    if (averages && ls_average_wide(dtype).per_element > 0)
        return average_wide(plane, (uint16_t *)(void *)plane->staging, count, dtype);
    lockstep_status status = ls_mpi_allreduce(&hosts->ops, hosts->cross, plane->staging,
                                              plane->staging, count, dtype, op);
    if (status == LOCKSTEP_OK && averages)
        ls_average_divide(dtype, plane->staging, (size_t)count, hosts->hosts);
    return status;
}

static lockstep_status
poll_plane(void *user)
{
    return hosts_poll(user);
}

static lockstep_status
stage(HostsPlane *plane, const char *text, int64_t bytes)
{
    return ls_device_mark(plane->base.device, LS_DEVICE_STAGE, text, bytes);
}

/* `count` elements at `data`: to the host, between hosts, and back. */
static lockstep_status
cross(HostsPlane *plane, void *data, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    LsDevice *device = plane->base.device;
    int64_t bytes = count * (int64_t)ls_dtype_bytes((uint8_t)dtype);
    if (count == 0 || plane->hosts.hosts == 1)
        return LOCKSTEP_OK;
    lockstep_status status =
        ls_device_copy(device, plane->staging, false, data, true, (size_t)bytes);
    if (status == LOCKSTEP_OK)
        status = stage(plane, "MEMCPY_IN_HOST_BUFFER", bytes);
    if (status == LOCKSTEP_OK)
        status = ls_device_await(device, poll_plane, &plane->base);
    int64_t start = ls_instrument_now();
    if (status == LOCKSTEP_OK)
        status = reduce_between(plane, count, dtype, op);
    ls_plane_stage(&plane->base, "MPI_ALLREDUCE", start, bytes);
    if (status == LOCKSTEP_OK)
        status = ls_device_mark(device, LS_DEVICE_NOTHING, NULL, 0);
    if (status == LOCKSTEP_OK)
        status = ls_device_copy(device, data, true, plane->staging, false, (size_t)bytes);
    return status == LOCKSTEP_OK ? stage(plane, "MEMCPY_OUT_HOST_BUFFER", bytes) : status;
}

/* -- Inside the host -- */

/* To local rank `root`, at `output` there. */
static lockstep_status
reduce_to(HostsPlane *plane, const void *input, void *output, int64_t count, lockstep_dtype dtype,
          lockstep_op op, int root)
{
    LsComm *comm = &plane->comm;
    lockstep_status status =
        ls_comm_check(comm,
                      comm->nccl.ncclReduce(input, plane->hosts.local_rank == root ? output : NULL,
                                            (size_t)count, ls_nccl_type(dtype), ls_nccl_op(op),
                                            root, comm->comm, plane->base.device->stream),
                      "ncclReduce");
    int64_t bytes = count * (int64_t)ls_dtype_bytes((uint8_t)dtype);
    return status == LOCKSTEP_OK ? stage(plane, "NCCL_REDUCE", bytes) : status;
}

static lockstep_status
broadcast_from(HostsPlane *plane, void *data, int64_t bytes, int root)
{
    LsComm *comm = &plane->comm;
    lockstep_status status =
        ls_comm_check(comm,
                      comm->nccl.ncclBroadcast(data, data, (size_t)bytes, LS_NCCL_UINT8, root,
                                               comm->comm, plane->base.device->stream),
                      "ncclBroadcast");
    return status == LOCKSTEP_OK ? stage(plane, "NCCL_BCAST", bytes) : status;
}

static lockstep_status
scatter(HostsPlane *plane, const void *input, void *own, int64_t each, lockstep_dtype dtype,
        lockstep_op op)
{
    LsComm *comm = &plane->comm;
    lockstep_status status = ls_comm_check(
        comm,
        comm->nccl.ncclReduceScatter(input, own, (size_t)each, ls_nccl_type(dtype), ls_nccl_op(op),
                                     comm->comm, plane->base.device->stream),
        "ncclReduceScatter");
    int64_t bytes = each * plane->hosts.local_ranks * (int64_t)ls_dtype_bytes((uint8_t)dtype);
    return status == LOCKSTEP_OK ? stage(plane, "NCCL_REDUCESCATTER", bytes) : status;
}

static lockstep_status
gather(HostsPlane *plane, const void *own, void *output, int64_t each, lockstep_dtype dtype)
{
    LsComm *comm = &plane->comm;
    lockstep_status status =
        ls_comm_check(comm,
                      comm->nccl.ncclAllGather(own, output, (size_t)each, ls_nccl_type(dtype),
                                               comm->comm, plane->base.device->stream),
                      "ncclAllGather");
    int64_t bytes = each * plane->hosts.local_ranks * (int64_t)ls_dtype_bytes((uint8_t)dtype);
    return status == LOCKSTEP_OK ? stage(plane, "NCCL_ALLGATHER", bytes) : status;
}

static lockstep_status
hierarchical_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                       lockstep_dtype dtype, lockstep_op op)
{
    HostsPlane *plane = (HostsPlane *)base;
    const LsHosts *hosts = &plane->hosts;
    LsHostsCut cut = ls_hosts_cut(hosts, count);
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)dtype);
    int64_t whole = cut.each * hosts->local_ranks * width;
    char *own = (char *)output + cut.each * hosts->local_rank * width,
         *rest = (char *)output + whole;
    lockstep_status status = LOCKSTEP_OK;
    if (cut.each > 0)
        status = scatter(plane, input, own, cut.each, dtype, op);
    if (status == LOCKSTEP_OK && cut.rest > 0)
        status =
            reduce_to(plane, (const char *)input + whole, rest, cut.rest, dtype, op, cut.owner);
    if (status == LOCKSTEP_OK)
        status = cross(plane, own, cut.each + (hosts->local_rank == cut.owner ? cut.rest : 0),
                       dtype, op);
    if (status == LOCKSTEP_OK && cut.each > 0)
        status = gather(plane, own, output, cut.each, dtype);
    if (status == LOCKSTEP_OK && cut.rest > 0)
        status = broadcast_from(plane, rest, cut.rest * width, cut.owner);
    return status;
}

static lockstep_status
run_small(HostsPlane *plane, const void *input, void *output, int64_t count, lockstep_dtype dtype,
          lockstep_op op)
{
    lockstep_status status = reduce_to(plane, input, output, count, dtype, op, 0);
    if (status == LOCKSTEP_OK)
        status = cross(plane, output, plane->hosts.local_rank == 0 ? count : 0, dtype, op);
    if (status == LOCKSTEP_OK)
        status = broadcast_from(plane, output, count * (int64_t)ls_dtype_bytes((uint8_t)dtype), 0);
    return status;
}

static lockstep_status
hybrid_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                 lockstep_dtype dtype, lockstep_op op)
{
    HostsPlane *plane = (HostsPlane *)base;
    const LsHosts *hosts = &plane->hosts;
    LsComm *comm = &plane->comm;
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)dtype);
    if (ls_hosts_is_small(hosts, count))
        return run_small(plane, input, output, count, dtype, op);
    lockstep_status status =
        ls_comm_check(comm,
                      comm->nccl.ncclAllReduce(input, output, (size_t)count, ls_nccl_type(dtype),
                                               ls_nccl_op(op), comm->comm, base->device->stream),
                      "ncclAllReduce");
    if (status == LOCKSTEP_OK)
        status = stage(plane, "NCCL_ALLREDUCE", count * width);
    for (int block = 0; block < ls_hosts_blocks(hosts) && status == LOCKSTEP_OK; block++) {
        int64_t first = ls_hosts_block_start(hosts, count, block);
        int64_t length = ls_hosts_block_start(hosts, count, block + 1) - first;
        if (ls_hosts_carrier(hosts, block) == hosts->local_rank)
            status = cross(plane, (char *)output + first * width, length, dtype, op);
    }
    for (int block = 0; block < ls_hosts_blocks(hosts) && status == LOCKSTEP_OK && hosts->hosts > 1;
         block++) {
        int64_t first = ls_hosts_block_start(hosts, count, block);
        int64_t length = ls_hosts_block_start(hosts, count, block + 1) - first;
        status = broadcast_from(plane, (char *)output + first * width, length * width,
                                ls_hosts_carrier(hosts, block));
    }
    return status;
}

/* -- On the host -- */

/* The form on the host, which tells its stages as ours. */
static LsPlane *
host_of(LsPlane *base)
{
    LsPlane *host = ((HostsPlane *)base)->host;
    host->stage = base->stage;
    host->user = base->user;
    return host;
}

static lockstep_status
host_allreduce(LsPlane *base, const void *input, void *output, int64_t count, lockstep_dtype dtype,
               lockstep_op op)
{
    LsPlane *host = host_of(base);
    return host->class->allreduce(host, input, output, count, dtype, op);
}

static lockstep_status
host_broadcast(LsPlane *base, void *data, size_t size_bytes, int root)
{
    LsPlane *host = host_of(base);
    return host->class->broadcast(host, data, size_bytes, root);
}

static lockstep_status
host_allgather(LsPlane *base, void *data, const int64_t *offsets)
{
    LsPlane *host = host_of(base);
    return host->class->allgather(host, data, offsets);
}

static lockstep_status
host_reduce_scatter(LsPlane *base, void *data, const int64_t *offsets, lockstep_dtype dtype,
                    lockstep_op op)
{
    LsPlane *host = host_of(base);
    return host->class->reduce_scatter(host, data, offsets, dtype, op);
}

static lockstep_status
host_alltoall(LsPlane *base, const void *send, const int64_t *send_offsets, void *receive,
              const int64_t *receive_offsets)
{
    LsPlane *host = host_of(base);
    return host->class->alltoall(host, send, send_offsets, receive, receive_offsets);
}

#define DEVICE(name)                                                                               \
    static const LsDeviceClass name##_device = {.ready = hosts_ready,                              \
                                                .poll = hosts_poll,                                \
                                                .fail = hosts_fail,                                \
                                                .averages = hosts_average,                         \
                                                .allreduce = name##_allreduce}
DEVICE(hierarchical);
DEVICE(hybrid);

#define HOST_FUNCTIONS                                                                             \
    .broadcast_text = "MPI_BCAST", .allgather_text = "RING_ALLGATHER",                             \
    .reduce_scatter_text = "RING_REDUCESCATTER", .fits = hosts_fits, .connect = hosts_connect,     \
    .close = hosts_close, .allreduce = host_allreduce, .broadcast = host_broadcast,                \
    .allgather = host_allgather, .reduce_scatter = host_reduce_scatter, .alltoall = host_alltoall, \
    .abandon = hosts_abandon

const LsPlaneClass ls_plane_hierarchical_device = {
    .name = "hierarchical",
    .allreduce_text = "HIERARCHICAL_ALLREDUCE",
    .open = hierarchical_open,
    .device = &hierarchical_device,
    HOST_FUNCTIONS,
};

const LsPlaneClass ls_plane_hybrid_device = {
    .name = "hybrid",
    .allreduce_text = "HYBRID_ALLREDUCE",
    .open = hybrid_open,
    .device = &hybrid_device,
    HOST_FUNCTIONS,
};
