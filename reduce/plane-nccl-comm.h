/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-nccl-comm.h: one communicator of NCCL, and how it fails.
 *
 * NCCL is loaded at open; the communicator is made at first use. It is a non-blocking one where
 * NCCL has them (2.14), so that neither its making nor its kernels can hold the communication
 * thread when another rank fails or dies: all waiting is polling, and what cannot end is aborted.
 */
#pragma once

#include "abi/nccl.h"
#include "reduce/device.h"
#include "reduce/plane.h"

#include <stdatomic.h>

/* How the ranks of a communicator reach each other without it. */
typedef struct LsCommPeers {
    int rank, ranks;        /* in the communicator */
    const LsWorld *world;   /* borrowed: all ranks of the context, who agree and hear of failures */
    LsTransport *transport; /* borrowed: theirs */
    /* Collective in the communicator: the first rank's bytes to all. */
    lockstep_status (*share)(void *user, void *bytes, size_t n);
    void *user;
} LsCommPeers;

typedef struct LsComm {
    LsNccl nccl;
    LsDevice *device; /* borrowed */
    LsCommPeers peers;
    LsNcclComm comm; /* NULL: not yet, or no more */
    int version;
    bool failed;
    bool heard; /* it was another rank that failed */
    atomic_bool abandoned;
    int64_t polled_ns; /* when errors were last looked for */
} LsComm;

/* On failure there is nothing to close. */
lockstep_status ls_comm_open(LsComm *comm, LsDevice *device, const LsCommPeers *peers);
void ls_comm_close(LsComm *comm);
/* Collective at first, a stage of the plane's; then nothing. */
lockstep_status ls_comm_ready(LsComm *comm, LsPlane *plane);
/* After a call of NCCL: waits until it is enqueued. */
lockstep_status ls_comm_check(LsComm *comm, LsNcclResult result, const char *call);
/* For ls_device_await(): a failure of NCCL, of another rank, or a death. */
lockstep_status ls_comm_poll(LsComm *comm);
/* Something else has failed on this rank: as if it were NCCL. */
void ls_comm_fail(LsComm *comm);
/* A rank has died. Any thread. */
void ls_comm_abandon(LsComm *comm);
/* Whether NCCL averages floats by itself. */
bool ls_comm_averages(const LsComm *comm);

int ls_nccl_type(lockstep_dtype dtype);
int ls_nccl_op(lockstep_op op);
