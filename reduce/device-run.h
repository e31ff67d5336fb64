/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/device-run.h: one buffer's way over a plane on a device: into the fused buffer, through
 * the plane, out again, and the records of it with the device's times.
 *
 * Tensors may lie on the host or on the device, on each rank as it likes: the calls of the plane
 * are the same.
 */
#pragma once

#include "reduce/instrument.h"
#include "reduce/plane.h"
#include "reduce/queue.h"

/* Kinds of a stream's marks (reduce/device.h). */
typedef enum LsDeviceKind {
    LS_DEVICE_NOTHING,
    LS_DEVICE_WAIT,      /* for inputs */
    LS_DEVICE_IN,        /* copied into the fused buffer */
    LS_DEVICE_STAGE,     /* of the plane; its name is the mark's */
    LS_DEVICE_OPERATION, /* of the plane, the whole */
    LS_DEVICE_OUT,       /* copied out of the fused buffer */
} LsDeviceKind;

typedef struct LsDeviceRun {
    LsPlane *plane;
    int rank, ranks;
    LsInstrument *instrument; /* NULL: nothing is recorded */
    const LsBufferMark *mark;
    uint32_t name;     /* of the operation's records */
    int64_t opened_ns; /* start of the open record */
} LsDeviceRun;

/* Memory, and where it is. */
typedef struct LsSpot {
    void *at;
    bool on_device;
} LsSpot;

/* Whether the plane does this on the device; else it goes through the host's memory. */
bool ls_device_does(const LsPlane *plane, uint8_t operation, lockstep_dtype dtype, lockstep_op op);

/* Several tensors fit into the fused buffer together. */
lockstep_status ls_device_allreduce(LsDeviceRun *run, LsEntry *const *entries, size_t n,
                                    lockstep_op op);
lockstep_status ls_device_broadcast(LsDeviceRun *run, const LsEntry *entry, size_t bytes, int root);
/* offsets: ranks + 1, in bytes; data: the whole. entry, of data on a device: its input is this
 * rank's part; else, and where it is NULL, the part is in its place. */
lockstep_status ls_device_allgather(LsDeviceRun *run, const LsEntry *entry, LsSpot data,
                                    const int64_t *offsets);
lockstep_status ls_device_reduce_scatter(LsDeviceRun *run, const LsEntry *entry, lockstep_op op);
/* As LsPlaneClass.reduce_scatter: offsets in elements. */
lockstep_status ls_device_reduce_parts(LsDeviceRun *run, LsSpot data, const int64_t *offsets,
                                       lockstep_dtype dtype, lockstep_op op);
