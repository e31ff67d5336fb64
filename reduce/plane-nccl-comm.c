/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-nccl-comm.c: making, polling and aborting a communicator.
 *
 * A rank on which NCCL fails says so to the others by a message of its own (cry) before it goes on:
 * those that wait for it in NCCL hear that within a millisecond or so, abort theirs, and return the
 * same. After a failure nothing more is tried: the context is lost.
 */
#include "reduce/plane-nccl-comm.h"

#include "reduce/agree.h"
#include "reduce/failure.h"
#include "reduce/instrument.h"
#include "reduce/world.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define POLL_NS 1000000 /* between two looks for errors: they cost a call of MPI */
#define NAP_NS  50000

/* What the first rank tells of itself. */
typedef struct Invitation {
    LsNcclId id;
    int32_t version, status;
    char text[LS_FAILURE_TEXT_MAX];
} Invitation;

int
ls_nccl_type(lockstep_dtype dtype)
{
    static const int types[] = {
        [LOCKSTEP_FLOAT32] = LS_NCCL_FLOAT32, [LOCKSTEP_FLOAT64] = LS_NCCL_FLOAT64,
        [LOCKSTEP_FLOAT16] = LS_NCCL_FLOAT16, [LOCKSTEP_BFLOAT16] = LS_NCCL_BFLOAT16,
        [LOCKSTEP_INT8] = LS_NCCL_INT8,       [LOCKSTEP_UINT8] = LS_NCCL_UINT8,
        [LOCKSTEP_INT32] = LS_NCCL_INT32,     [LOCKSTEP_INT64] = LS_NCCL_INT64,
    };
    return types[dtype];
}

int
ls_nccl_op(lockstep_op op)
{
    static const int ops[] = {
        [LOCKSTEP_SUM] = LS_NCCL_SUM,      [LOCKSTEP_AVERAGE] = LS_NCCL_AVG,
        [LOCKSTEP_MIN] = LS_NCCL_MIN,      [LOCKSTEP_MAX] = LS_NCCL_MAX,
        [LOCKSTEP_PRODUCT] = LS_NCCL_PROD,
    };
    return ops[op];
}

bool
ls_comm_averages(const LsComm *comm)
{
    return comm->version >= LS_NCCL_VERSION_AVG;
}

/* The sentence; NCCL's own last one where it has any. */
static lockstep_status
describe(const LsComm *comm, LsNcclResult result, const char *call)
{
    const char *text = comm->nccl.ncclGetErrorString(result);
    const char *last =
        comm->nccl.ncclGetLastError != NULL ? comm->nccl.ncclGetLastError(comm->comm) : NULL;
    bool more = last != NULL && last[0] != '\0';
    return ls_fail(LOCKSTEP_ERR_DEVICE, "%s on device %d: %s (%d)%s%.300s", call,
                   comm->device->number, text != NULL ? text : "an error without a name", result,
                   more ? ": " : "", more ? last : "");
}

lockstep_status
ls_comm_open(LsComm *comm, LsDevice *device, const LsCommPeers *peers)
{
    memset(comm, 0, sizeof *comm);
    comm->device = device;
    comm->peers = *peers;
    atomic_init(&comm->abandoned, false);
    const char *missing = ls_nccl_load(&comm->nccl);
    if (missing != NULL)
        return ls_fail(LOCKSTEP_ERR_DEVICE, "NCCL cannot be used: %s", missing);
    LsNcclResult result = comm->nccl.ncclGetVersion(&comm->version);
    return result == LS_NCCL_SUCCESS ? LOCKSTEP_OK : describe(comm, result, "ncclGetVersion");
}

/* Ends what is under way. The sentence stays. */
static lockstep_status
give_up(LsComm *comm, lockstep_status status)
{
    comm->failed = true;
    if (comm->comm != NULL)
        comm->nccl.ncclCommAbort(comm->comm);
    comm->comm = NULL;
    return status;
}

/* A failure of this rank, which the others hear of. */
static lockstep_status
fail_here(LsComm *comm, LsNcclResult result, const char *call)
{
    lockstep_status status = describe(comm, result, call);
    comm->peers.world->class->cry(comm->peers.world);
    return give_up(comm, status);
}

void
ls_comm_fail(LsComm *comm)
{
    if (comm->failed)
        return;
    comm->peers.world->class->cry(comm->peers.world);
    give_up(comm, LOCKSTEP_ERR_DEVICE);
}

/* What ends a wait beside its own end. */
static lockstep_status
look_around(LsComm *comm)
{
    if (atomic_load(&comm->abandoned))
        return give_up(comm, ls_fail(LOCKSTEP_ERR_PEER_LOST, "a rank has died"));
    int64_t now = ls_instrument_now();
    if (now - comm->polled_ns < POLL_NS)
        return LOCKSTEP_OK;
    comm->polled_ns = now;
    comm->heard = comm->peers.world->class->hear(comm->peers.world);
    if (comm->heard)
        return give_up(comm, LOCKSTEP_ERR_DEVICE);
    return LOCKSTEP_OK;
}

lockstep_status
ls_comm_poll(LsComm *comm)
{
    LsNcclResult error = LS_NCCL_SUCCESS;
    int64_t before = comm->polled_ns;
    lockstep_status status = look_around(comm);
    if (status != LOCKSTEP_OK || comm->polled_ns == before || comm->comm == NULL)
        return status;
    LsNcclResult result = comm->nccl.ncclCommGetAsyncError(comm->comm, &error);
    if (result != LS_NCCL_SUCCESS)
        return fail_here(comm, result, "ncclCommGetAsyncError");
    if (error != LS_NCCL_SUCCESS && error != LS_NCCL_IN_PROGRESS)
        return fail_here(comm, error, "NCCL's communicator");
    return LOCKSTEP_OK;
}

lockstep_status
ls_comm_check(LsComm *comm, LsNcclResult result, const char *call)
{
    struct timespec time = {0, NAP_NS};
    while (result == LS_NCCL_IN_PROGRESS) {
        lockstep_status status = look_around(comm);
        if (status != LOCKSTEP_OK)
            return status;
        LsNcclResult state = LS_NCCL_SUCCESS;
        LsNcclResult asked = comm->nccl.ncclCommGetAsyncError(comm->comm, &state);
        result = asked != LS_NCCL_SUCCESS ? asked : state;
        if (result == LS_NCCL_IN_PROGRESS)
            nanosleep(&time, NULL);
    }
    return result == LS_NCCL_SUCCESS ? LOCKSTEP_OK : fail_here(comm, result, call);
}

/* The first rank makes an id; all learn it, or why there is none. */
static lockstep_status
invite(LsComm *comm, LsNcclId *ret_id)
{
    Invitation invitation = {.version = comm->version};
    if (comm->peers.rank == 0) {
        LsNcclResult result = comm->nccl.ncclGetUniqueId(&invitation.id);
        if (result != LS_NCCL_SUCCESS) {
            invitation.status = describe(comm, result, "ncclGetUniqueId");
            snprintf(invitation.text, sizeof invitation.text, "%s", ls_failure_text());
        }
    }
    lockstep_status status = comm->peers.share(comm->peers.user, &invitation, sizeof invitation);
    if (status != LOCKSTEP_OK)
        return status;
    invitation.text[sizeof invitation.text - 1] = '\0';
    if (invitation.status < 0)
        return ls_fail((lockstep_status)invitation.status, "%s", invitation.text);
    if (invitation.version != comm->version)
        return ls_fail(LOCKSTEP_ERR_DEVICE,
                       "NCCL is version %d on rank %d of the communicator, %d on its first",
                       comm->version, comm->peers.rank, invitation.version);
    *ret_id = invitation.id;
    return LOCKSTEP_OK;
}

static lockstep_status
join(LsComm *comm, const LsNcclId *id)
{
    LsNcclConfig config = {sizeof config, LS_NCCL_CONFIG_MAGIC, LS_NCCL_CONFIG_VERSION, 0};
    const LsCommPeers *peers = &comm->peers;
    if (comm->nccl.ncclCommInitRankConfig != NULL && comm->version >= (int)LS_NCCL_CONFIG_VERSION)
        return ls_comm_check(
            comm,
            comm->nccl.ncclCommInitRankConfig(&comm->comm, peers->ranks, *id, peers->rank, &config),
            "ncclCommInitRankConfig");
    return ls_comm_check(comm,
                         comm->nccl.ncclCommInitRank(&comm->comm, peers->ranks, *id, peers->rank),
                         "ncclCommInitRank");
}

/* All ranks together. */
static lockstep_status
make(LsComm *comm)
{
    LsNcclId id;
    if (comm->failed)
        return ls_fail(LOCKSTEP_ERR_DEVICE, "NCCL has failed before");
    lockstep_status status = ls_agree(comm->peers.transport, invite(comm, &id));
    if (status != LOCKSTEP_OK)
        return give_up(comm, status);
    status = join(comm, &id);
    if (atomic_load(&comm->abandoned))
        return status; /* there is nobody to agree with */
    status = ls_agree(comm->peers.transport, comm->heard ? LOCKSTEP_OK : status);
    return status == LOCKSTEP_OK ? status : give_up(comm, status);
}

lockstep_status
ls_comm_ready(LsComm *comm, LsPlane *plane)
{
    int64_t start = ls_instrument_now();
    if (comm->comm != NULL)
        return LOCKSTEP_OK;
    comm->device->cuda.cuCtxSetCurrent(comm->device->context);
    lockstep_status status = make(comm);
    ls_plane_stage(plane, "INIT_NCCL", start, 0);
    return status;
}

void
ls_comm_abandon(LsComm *comm)
{
    atomic_store(&comm->abandoned, true);
}

/* Where NCCL can, all ranks first finish what is on its way; then each frees its own. */
void
ls_comm_close(LsComm *comm)
{
    if (comm->comm == NULL)
        return;
    LsNcclResult result = LS_NCCL_SUCCESS;
    if (comm->nccl.ncclCommFinalize != NULL)
        result = comm->nccl.ncclCommFinalize(comm->comm);
    if (ls_comm_check(comm, result, "ncclCommFinalize") == LOCKSTEP_OK)
        comm->nccl.ncclCommDestroy(comm->comm);
    comm->comm = NULL;
}
