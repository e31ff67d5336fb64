/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/device-entry.c: what a tensor on a device needs from its submission to its end.
 *
 * What could fail for want of memory is reserved by the submitting thread, which can be told; once
 * the ranks have agreed on a tensor, a rank that dropped out would hold up the others.
 */
#include "reduce/device-entry.h"

#include "capture/format.h"
#include "reduce/device-run.h"
#include "reduce/device.h"
#include "reduce/failure.h"
#include "reduce/message.h"
#include "reduce/plane.h"
#include "reduce/queue.h"

#include <stdlib.h>

/* A struct of an older header ends before `memory`. */
static lockstep_memory
memory_of(const lockstep_tensor *tensor)
{
    return tensor->size >= sizeof *tensor ? tensor->memory : LOCKSTEP_HOST;
}

static lockstep_status
check_pointers(const LsDevice *device, int rank, const lockstep_tensor *tensor, const LsWork *work)
{
    bool reads = work->operation != LS_OPERATION_BROADCAST || work->root == rank;
    const char *lack = NULL, *which = "input";
    if (tensor->count > 0 && reads)
        lack = ls_device_refuse(device, tensor->input);
    if (lack == NULL && tensor->count + work->capacity > 0 && tensor->output != NULL) {
        which = "output";
        lack = ls_device_refuse(device, tensor->output);
    }
    if (lack == NULL)
        return LOCKSTEP_OK;
    return ls_fail(LOCKSTEP_ERR_ARGUMENT, "tensor %.200s: its %s %s", tensor->name, which, lack);
}

/* Bytes of the output, at most. */
static size_t
output_room(int ranks, const lockstep_tensor *tensor, const LsWork *work)
{
    size_t width = ls_dtype_bytes((uint8_t)tensor->dtype);
    if (work->operation == LS_OPERATION_ALLGATHER)
        return (size_t)work->capacity * width;
    return (size_t)tensor->count * width;
}

static lockstep_status
reserve(LsPlane *plane, int ranks, const lockstep_tensor *tensor, const LsWork *work,
        LsDeviceUse *use)
{
    size_t width = ls_dtype_bytes((uint8_t)tensor->dtype);
    if (ls_device_does(plane, work->operation, tensor->dtype, (lockstep_op)work->reduction))
        return LOCKSTEP_OK;
    use->shadow = malloc((size_t)tensor->count * width + output_room(ranks, tensor, work) + 1);
    if (use->shadow == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY,
                       "tensor %.200s: no host memory for its way through the host", tensor->name);
    return LOCKSTEP_OK;
}

lockstep_status
ls_device_admit(LsPlane *plane, int rank, int ranks, const lockstep_tensor *tensor,
                const LsWork *work, LsDeviceUse *ret_use)
{
    LsCuEvent ready = NULL;
    *ret_use = (LsDeviceUse){0};
    if (memory_of(tensor) == LOCKSTEP_HOST)
        return LOCKSTEP_OK;
    if (memory_of(tensor) != LOCKSTEP_DEVICE)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "tensor %.200s: there is no memory %d", tensor->name,
                       (int)memory_of(tensor));
    if (plane == NULL || plane->device == NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT,
                       "tensor %.200s: it lies on a device, and plane %s moves memory of the host: "
                       "choose plane=nccl, or memory=device with plane hierarchical or hybrid",
                       tensor->name, plane != NULL ? plane->class->name : "self");
    lockstep_status status = check_pointers(plane->device, rank, tensor, work);
    if (status == LOCKSTEP_OK)
        status = reserve(plane, ranks, tensor, work, ret_use);
    if (status == LOCKSTEP_OK)
        status = ls_device_get_ready(plane->device, tensor->stream, &ready);
    if (status != LOCKSTEP_OK) {
        ls_device_release(plane, ret_use);
        return status;
    }
    ret_use->on_device = true;
    ret_use->ready = ready;
    return LOCKSTEP_OK;
}

void
ls_device_release(LsPlane *plane, LsDeviceUse *use)
{
    if (use->ready != NULL)
        ls_device_forget(plane->device, use->ready);
    free(use->shadow);
    *use = (LsDeviceUse){0};
}

static lockstep_status
poll_plane(void *user)
{
    LsPlane *plane = user;
    return plane->class->device->poll(plane);
}

/* A mark, and until it is reached. */
static lockstep_status
await(LsPlane *plane)
{
    lockstep_status status = ls_device_mark(plane->device, LS_DEVICE_NOTHING, NULL, 0);
    return status == LOCKSTEP_OK ? ls_device_await(plane->device, poll_plane, plane) : status;
}

lockstep_status
ls_device_fetch(LsPlane *plane, LsEntry *const *entries, size_t n)
{
    LsDevice *device = plane->device;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= entries[i]->use.on_device;
    if (!any)
        return LOCKSTEP_OK;
    lockstep_status status = ls_device_begin(device);
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++)
        status = ls_device_follow(device, entries[i]->use.ready);
    if (status == LOCKSTEP_OK)
        status = await(plane);
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++) {
        LsEntry *entry = entries[i];
        size_t bytes = (size_t)entry->count * ls_dtype_bytes((uint8_t)entry->dtype);
        if (!entry->use.on_device)
            continue;
        if (entry->input != NULL)
            status = ls_device_copy(device, entry->use.shadow, false, entry->input, true, bytes);
        entry->use.output = entry->output;
        entry->input = entry->use.shadow;
        entry->output = (char *)entry->use.shadow + bytes;
    }
    return status == LOCKSTEP_OK ? await(plane) : status;
}

lockstep_status
ls_device_store(LsPlane *plane, LsEntry *entry, int64_t bytes)
{
    LsDevice *device = plane->device;
    lockstep_status status = ls_device_begin(device);
    if (status == LOCKSTEP_OK)
        status =
            ls_device_copy(device, entry->use.output, true, entry->output, false, (size_t)bytes);
    return status == LOCKSTEP_OK ? await(plane) : status;
}
