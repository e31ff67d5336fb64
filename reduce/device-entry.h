/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/device-entry.h: a submitted tensor whose memory is a device's.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct LsPlane LsPlane;
struct LsEntry;
struct LsWork;

/* Part of the tensor's entry. */
typedef struct LsDeviceUse {
    bool on_device;
    void *ready;  /* CUevent: the input is there; NULL: at once */
    void *shadow; /* owned: host memory for what goes through the host; input, then output */
    void *output; /* the device's, while the shadow stands for it */
} LsDeviceUse;

/* On the submitting thread: checks the pointers, reserves what the tensor will need, marks the
 * present end of its stream. Any thread. plane: NULL as where it works on the host. */
lockstep_status ls_device_admit(LsPlane *plane, int rank, int ranks, const lockstep_tensor *tensor,
                                const struct LsWork *work, LsDeviceUse *ret_use);
/* What admit reserved. Any thread. */
void ls_device_release(LsPlane *plane, LsDeviceUse *use);

/* For what goes through the host: inputs into the shadows, which stand for them until store. */
lockstep_status ls_device_fetch(LsPlane *plane, struct LsEntry *const *entries, size_t n);
/* The output back to where it belongs. */
lockstep_status ls_device_store(LsPlane *plane, struct LsEntry *entry, int64_t bytes);
