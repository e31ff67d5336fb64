/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/device.c: the CUDA driver, as the planes on a device use it.
 *
 * Moments of the stream are events with times. A buffer begins on an idle stream, so that its first
 * event is reached a few microseconds after it is asked for, and no event later than the host sees
 * that it was: that ties the device's clock to the host's anew for each buffer, and no drift
 * matters. Waiting is polling: after 50 us in naps that grow to 0.25 ms, since a kernel of NCCL
 * whose peer is gone never ends and the driver's own wait could not be left.
 */
#include "reduce/device.h"

#include "reduce/failure.h"
#include "reduce/instrument.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPIN_NS    50000
#define NAP_NS     20000
#define NAP_NS_MAX 250000
#define ALIGNMENT  256

lockstep_status
ls_device_check(const LsDevice *device, LsCuResult result, const char *call)
{
    const char *text = NULL;
    if (result == LS_CUDA_SUCCESS)
        return LOCKSTEP_OK;
    if (device->cuda.cuGetErrorString(result, &text) != LS_CUDA_SUCCESS || text == NULL)
        text = "an error that the driver has no words for";
    return ls_fail(LOCKSTEP_ERR_DEVICE, "%.*s on device %d: %s (%d)", (int)strcspn(call, "("), call,
                   device->number, text, result);
}
#define CHECK(device, call) ls_device_check(device, (device)->cuda.call, #call)

LsCuContext
ls_device_enter(const LsDevice *device)
{
    LsCuContext previous = NULL;
    if (device->cuda.cuCtxGetCurrent(&previous) != LS_CUDA_SUCCESS)
        previous = NULL;
    if (previous != device->context)
        device->cuda.cuCtxSetCurrent(device->context);
    return previous;
}

void
ls_device_leave(const LsDevice *device, LsCuContext previous)
{
    if (previous != device->context)
        device->cuda.cuCtxSetCurrent(previous);
}

/* -- Opening -- */

static lockstep_status
load(LsDevice *device)
{
    const char *missing = ls_cuda_load(&device->cuda);
    if (missing != NULL)
        return ls_fail(LOCKSTEP_ERR_DEVICE, "CUDA's driver cannot be used: %s", missing);
    LsCuResult result = device->cuda.cuInit(0);
    if (result != LS_CUDA_SUCCESS)
        return ls_fail(LOCKSTEP_ERR_DEVICE, "no CUDA device can be used: cuInit gives %d", result);
    return LOCKSTEP_OK;
}

/* The number of a device, from the text of the setting or from the local rank. */
static lockstep_status
choose_number(LsDevice *device, const char *ordinal, int local_rank)
{
    int count = 0;
    char *end = NULL;
    lockstep_status status =
        ls_device_check(device, device->cuda.cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (status != LOCKSTEP_OK)
        return status;
    if (count < 1)
        return ls_fail(LOCKSTEP_ERR_DEVICE, "there is no CUDA device");
    long number = ordinal[0] != '\0' ? strtol(ordinal, &end, 10) : local_rank % count;
    if ((end != NULL && *end != '\0') || number < 0 || number >= count)
        return ls_fail(LOCKSTEP_ERR_SETTINGS,
                       "setting device: '%.40s' is not one of the %d devices, 0 to %d", ordinal,
                       count, count - 1);
    return CHECK(device, cuDeviceGet(&device->number, (int)number));
}

/* The program's context where it has one here, so that its pointers and streams are ours too. */
static lockstep_status
choose_context(LsDevice *device, const char *ordinal, int local_rank, LsCuContext current)
{
    if (ordinal[0] == '\0' && current != NULL) {
        device->context = current;
        LsCuContext previous = ls_device_enter(device);
        lockstep_status found = CHECK(device, cuCtxGetDevice(&device->number));
        ls_device_leave(device, previous);
        return found;
    }
    lockstep_status status = choose_number(device, ordinal, local_rank);
    if (status == LOCKSTEP_OK)
        status = CHECK(device, cuDevicePrimaryCtxRetain(&device->context, device->number));
    device->retained = status == LOCKSTEP_OK;
    return status;
}

/* With the context current. */
static lockstep_status
open_stream(LsDevice *device, size_t fusion_bytes)
{
    int least = 0;
    lockstep_status status = CHECK(device, cuCtxGetStreamPriorityRange(&least, &device->priority));
    if (status == LOCKSTEP_OK)
        status = CHECK(device, cuStreamCreateWithPriority(
                                   &device->stream, LS_CU_STREAM_NON_BLOCKING, device->priority));
    for (int i = 0; i < LS_DEVICE_MARKS_MAX && status == LOCKSTEP_OK; i++)
        status = CHECK(device, cuEventCreate(&device->marks[i].event, 0));
    device->fusion_bytes = (fusion_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (status == LOCKSTEP_OK)
        status = CHECK(device, cuMemAlloc_v2(&device->fusion, device->fusion_bytes));
    return status;
}

LsCuContext
ls_device_get_current(void)
{
    LsCuda cuda = {0};
    LsCuContext current = NULL;
    if (ls_cuda_load(&cuda) != NULL || cuda.cuInit(0) != LS_CUDA_SUCCESS ||
        cuda.cuCtxGetCurrent(&current) != LS_CUDA_SUCCESS)
        return NULL;
    return current;
}

lockstep_status
ls_device_open(const char *ordinal, int local_rank, size_t fusion_bytes, LsCuContext current,
               LsDevice **ret_device)
{
    LsDevice *device = calloc(1, sizeof *device);
    if (device == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    pthread_mutex_init(&device->lock, NULL);
    lockstep_status status = load(device);
    if (status == LOCKSTEP_OK)
        status = choose_context(device, ordinal, local_rank, current);
    if (status == LOCKSTEP_OK) {
        LsCuContext previous = ls_device_enter(device);
        status = open_stream(device, fusion_bytes);
        ls_device_leave(device, previous);
    }
    if (status == LOCKSTEP_OK)
        *ret_device = device;
    else
        ls_device_close(device);
    return status;
}

void
ls_device_close(LsDevice *device)
{
    if (device == NULL)
        return;
    LsCuContext previous = device->context != NULL ? ls_device_enter(device) : NULL;
    if (device->stream != NULL) {
        device->cuda.cuStreamSynchronize(device->stream);
        device->cuda.cuStreamDestroy_v2(device->stream);
    }
    for (int i = 0; i < LS_DEVICE_MARKS_MAX; i++) {
        if (device->marks[i].event != NULL)
            device->cuda.cuEventDestroy_v2(device->marks[i].event);
    }
    for (size_t i = 0; i < device->n_spare; i++)
        device->cuda.cuEventDestroy_v2(device->spare[i]);
    if (device->fusion != 0)
        device->cuda.cuMemFree_v2(device->fusion);
    if (device->context != NULL)
        ls_device_leave(device, previous);
    if (device->retained)
        device->cuda.cuDevicePrimaryCtxRelease_v2(device->number);
    pthread_mutex_destroy(&device->lock);
    free(device->spare);
    free(device);
}

/* -- Inputs -- */

const char *
ls_device_refuse(const LsDevice *device, const void *pointer)
{
    unsigned type = 0;
    int number = -1;
    LsCuPointer at = (LsCuPointer)(uintptr_t)pointer;
    if (device->cuda.cuPointerGetAttribute(&type, LS_CU_POINTER_MEMORY_TYPE, at) !=
            LS_CUDA_SUCCESS ||
        type != LS_CU_MEMORY_DEVICE)
        return "is not memory of a device";
    if (device->cuda.cuPointerGetAttribute(&number, LS_CU_POINTER_DEVICE, at) == LS_CUDA_SUCCESS &&
        number != device->number)
        return "lies on another device than this context's";
    return NULL;
}

/* Room in `spare` for every event there is, so that giving one back cannot fail. */
static bool
reserve(LsDevice *device)
{
    if (device->n_ready < device->spare_capacity)
        return true;
    size_t capacity = device->spare_capacity == 0 ? 64 : 2 * device->spare_capacity;
    LsCuEvent *spare = realloc(device->spare, capacity * sizeof *spare);
    if (spare == NULL)
        return false;
    device->spare = spare;
    device->spare_capacity = capacity;
    return true;
}

static lockstep_status
take_event(LsDevice *device, LsCuEvent *ret_event)
{
    lockstep_status status = LOCKSTEP_OK;
    pthread_mutex_lock(&device->lock);
    if (device->n_spare > 0) {
        *ret_event = device->spare[--device->n_spare];
    } else if (!reserve(device)) {
        status = ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    } else {
        status = CHECK(device, cuEventCreate(ret_event, LS_CU_EVENT_DISABLE_TIMING));
        device->n_ready += status == LOCKSTEP_OK;
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

lockstep_status
ls_device_get_ready(LsDevice *device, LsCuStream stream, LsCuEvent *ret_event)
{
    LsCuEvent event = NULL;
    LsCuContext previous = ls_device_enter(device);
    lockstep_status status = take_event(device, &event);
    if (status == LOCKSTEP_OK) {
        status = CHECK(device, cuEventRecord(event, stream));
        if (status != LOCKSTEP_OK)
            ls_device_forget(device, event);
    }
    ls_device_leave(device, previous);
    if (status == LOCKSTEP_OK)
        *ret_event = event;
    return status;
}

void
ls_device_forget(LsDevice *device, LsCuEvent event)
{
    if (event == NULL)
        return;
    pthread_mutex_lock(&device->lock);
    device->spare[device->n_spare++] = event;
    pthread_mutex_unlock(&device->lock);
}

/* -- A buffer -- */

lockstep_status
ls_device_begin(LsDevice *device)
{
    device->cuda.cuCtxSetCurrent(device->context);
    device->n_marks = 0;
    lockstep_status status = ls_device_mark(device, 0, NULL, 0);
    device->begin_ns = ls_instrument_now();
    return status;
}

lockstep_status
ls_device_mark(LsDevice *device, int kind, const char *text, int64_t bytes)
{
    if (device->n_marks == LS_DEVICE_MARKS_MAX)
        device->n_marks--; /* what there is no room for is part of the last */
    LsDeviceMark *mark = &device->marks[device->n_marks++];
    *mark = (LsDeviceMark){mark->event, kind, text, bytes};
    return CHECK(device, cuEventRecord(mark->event, device->stream));
}

lockstep_status
ls_device_follow(LsDevice *device, LsCuEvent event)
{
    if (event == NULL)
        return LOCKSTEP_OK;
    return CHECK(device, cuStreamWaitEvent(device->stream, event, 0));
}

lockstep_status
ls_device_copy(LsDevice *device, void *to, bool to_device, const void *from, bool from_device,
               size_t bytes)
{
    LsCuPointer target = (LsCuPointer)(uintptr_t)to, source = (LsCuPointer)(uintptr_t)from;
    if (bytes == 0 || to == from)
        return LOCKSTEP_OK;
    if (to_device && from_device)
        return CHECK(device, cuMemcpyDtoDAsync_v2(target, source, bytes, device->stream));
    if (to_device)
        return CHECK(device, cuMemcpyHtoDAsync_v2(target, from, bytes, device->stream));
    return CHECK(device, cuMemcpyDtoHAsync_v2(to, source, bytes, device->stream));
}

static void
nap(int64_t *ns)
{
    struct timespec time = {0, (long)*ns};
    nanosleep(&time, NULL);
    if (*ns < NAP_NS_MAX)
        *ns += *ns / 2;
}

/* From the first mark to mark i. */
static int64_t
elapsed_ns(const LsDevice *device, int i)
{
    float ms = 0;
    if (i == 0 || device->cuda.cuEventElapsedTime(&ms, device->marks[0].event,
                                                  device->marks[i].event) != LS_CUDA_SUCCESS)
        return 0;
    return (int64_t)((double)ms * 1e6);
}

/* The last mark has been reached. */
static void
tie_clocks(LsDevice *device)
{
    int64_t latest = ls_instrument_now() - elapsed_ns(device, device->n_marks - 1);
    if (device->begin_ns > latest)
        device->begin_ns = latest;
}

lockstep_status
ls_device_await(LsDevice *device, lockstep_status (*poll)(void *user), void *user)
{
    LsCuEvent event = device->marks[device->n_marks - 1].event;
    int64_t start = ls_instrument_now(), pause = NAP_NS;
    for (;;) {
        LsCuResult result = device->cuda.cuEventQuery(event);
        if (result == LS_CUDA_SUCCESS) {
            tie_clocks(device);
            return LOCKSTEP_OK;
        }
        if (result != LS_CUDA_ERROR_NOT_READY)
            return ls_device_check(device, result, "cuEventQuery");
        lockstep_status status = poll != NULL ? poll(user) : LOCKSTEP_OK;
        if (status != LOCKSTEP_OK)
            return status;
        if (ls_instrument_now() - start > SPIN_NS)
            nap(&pause);
    }
}

int64_t
ls_device_time(const LsDevice *device, int i)
{
    return device->begin_ns + elapsed_ns(device, i);
}
