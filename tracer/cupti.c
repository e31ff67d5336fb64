/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscribing before anything else: up to CUDA 13.2 one tool holds CUPTI, and the activity calls
 * are not guarded by that, so where another holds it they are left alone. The clock is
 * CLOCK_MONOTONIC by a callback that is registered once in a process, before the first kind is
 * enabled; where that fails CUPTI's own (real time) is brought onto it when a buffer comes. A
 * thread of ours asks for complete buffers twice a second; the forced flush comes once, at the end,
 * since a kernel that it cuts is never told of again.
 */
#include "tracer/cupti.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cuda.h"
#include "capture/futex.h"
#include "capture/recorder.h"
#include "tracer/cupti-activity.h"
#include "tracer/cupti-buffer.h"
#include "tracer/tracer.h"

#define FLUSH_FIRST_NS                                                                             \
    INT64_C(50000000) /* then twice as long each time: short programs are seen, too */
#define FLUSH_EVERY_NS INT64_C(500000000)
#define STOP_WAIT_NS   INT64_C(2000000000)

static struct {
    LsCupti api;
    LsCuda cuda;
    uint32_t version;
    _Atomic bool is_on;
    bool has_push, is_real_time, has_described;
    _Atomic uint32_t stop, is_running; /* futexes */
    _Atomic int device;
    _Atomic bool has_end; /* the end was registered again, with CUDA up */
} cupti = {.device = -1};

static uint64_t
read_clock(void)
{
    return (uint64_t)ls_recorder_now();
}

static void
ignore(void *user, int domain, uint32_t call, const void *data)
{
}

/* -- Buffers -- */

static void
request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    ls_cupti_buffer_take(buffer, size);
    *max_records = 0;
}

/* How far behind our clock CUPTI's is; 0 where it uses ours. */
static int64_t
find_offset(void)
{
    if (!cupti.is_real_time)
        return 0;
    struct timespec now;
    int64_t before = ls_recorder_now();
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t after = ls_recorder_now();
    return before + (after - before) / 2 - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

/* `since_ns`: the first ones may be so old. */
static void
tell_dropped(uint64_t n, const char *who, int64_t since_ns)
{
    LsRecord record = {.kind = LS_RECORD_DROPPED, .args = {(int64_t)n}};
    static _Atomic int64_t last_ns;
    record.end_ns = ls_recorder_now();
    record.start_ns = atomic_exchange(&last_ns, record.end_ns);
    if (record.start_ns == 0)
        record.start_ns = since_ns < record.end_ns ? since_ns : record.end_ns;
    record.name = ls_recorder_name(who);
    if (n > 0)
        ls_recorder_write_late(&record, record.start_ns);
}

/* No lock is held here, so that CUPTI may be called; it may be CUPTI's thread or our own. */
static void
complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    size_t dropped = 0;
    if (buffer == NULL)
        return;
    int64_t since_ns = ls_cupti_buffer_taken_ns(buffer);
    if (ls_tracer_is_ours() && !ls_cupti_buffer_is_scratch(buffer)) {
        ls_cupti_activity_read(&cupti.api, buffer, valid, find_offset(), since_ns);
        int device = ls_cupti_activity_device();
        if (device >= 0)
            atomic_store(&cupti.device, device);
    }
    ls_cupti_buffer_give(buffer, valid);
    if (cupti.api.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == LS_CUPTI_SUCCESS)
        tell_dropped(dropped, "CUPTI", since_ns);
    tell_dropped(ls_cupti_buffer_refused(), "lockstep", since_ns);
    if (!atomic_exchange(&cupti.has_end, true))
        ls_tracer_register_end();
}

/* -- What the process runs on -- */

static void
describe_device(int device)
{
    char name[128] = "", uuid[48], bus[32] = "";
    LsCuUuid id;
    LsCuDevice handle;
    if (cupti.cuda.cuDeviceGet == NULL || cupti.cuda.cuDeviceGet(&handle, device) != 0 ||
        cupti.cuda.cuDeviceGetName(name, sizeof name, handle) != 0)
        return;
    ls_tracer_fact("gpu.model", "%s", name);
    ls_tracer_fact("device", "%d", device);
    if (strstr(name, "test double") != NULL)
        ls_tracer_fact("test_double", "1");
    if (cupti.cuda.cuDeviceGetPCIBusId(bus, sizeof bus, handle) == 0)
        ls_tracer_fact("gpu.bus", "%s", bus);
    if (cupti.cuda.cuDeviceGetUuid_v2(&id, handle) != 0)
        return;
    int used = snprintf(uuid, sizeof uuid, "GPU-");
    for (int i = 0; i < 16; i++)
        used += snprintf(uuid + used, sizeof uuid - (size_t)used, "%s%02x",
                         i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id.bytes[i]);
    ls_tracer_fact("gpu.uuid", "%s", uuid);
}

static void
describe(void)
{
    int device = atomic_load(&cupti.device), version = 0;
    if (device < 0 || cupti.has_described)
        return;
    cupti.has_described = true;
    if (ls_cuda_load(&cupti.cuda) != NULL)
        return;
    if (cupti.cuda.cuDriverGetVersion(&version) == 0)
        ls_tracer_fact("cuda.driver", "%d.%d", version / 1000, version % 1000 / 10);
    describe_device(device);
}

/* -- Starting -- */

static bool
subscribe(void)
{
    static void *subscriber;
    char holder[128] = "";
    LsCuptiSubscriber parameters = {sizeof parameters, "Lockstep", holder, sizeof holder};
    int status = cupti.api.cuptiSubscribe_v2 != NULL
                     ? cupti.api.cuptiSubscribe_v2(&subscriber, ignore, NULL, &parameters)
                     : cupti.api.cuptiSubscribe(&subscriber, ignore, NULL);
    holder[sizeof holder - 1] = '\0';
    if (status == LS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS)
        ls_tracer_note(1,
                       "CUPTI is held by another tool%s%s; kernels and copies are not recorded, "
                       "the rest is",
                       holder[0] != '\0' ? ": " : "", holder);
    else if (status != LS_CUPTI_SUCCESS)
        ls_tracer_note(
            1, "CUPTI cannot be used here (error %d); kernels and copies are not recorded", status);
    return status == LS_CUPTI_SUCCESS;
}

static void
set_clock(void)
{
    int status = cupti.api.cuptiActivityRegisterTimestampCallback != NULL
                     ? cupti.api.cuptiActivityRegisterTimestampCallback(read_clock)
                     : LS_CUPTI_ERROR_UNKNOWN;
    cupti.is_real_time = status != LS_CUPTI_SUCCESS;
    ls_tracer_fact("cupti.clock", "%s", cupti.is_real_time ? "realtime" : "monotonic");
    /* Whether it is the clock that we think. */
    uint64_t theirs = 0;
    int64_t before = ls_recorder_now() - find_offset();
    if (cupti.api.cuptiGetTimestamp(&theirs) == LS_CUPTI_SUCCESS) {
        int64_t after = ls_recorder_now() - find_offset();
        const int64_t slack = cupti.is_real_time ? 100000 : 0;
        if ((int64_t)theirs < before - slack || (int64_t)theirs > after + slack)
            ls_tracer_note(1,
                           "CUPTI's clock is %lld ns away from ours; times of kernels are suspect",
                           (long long)((int64_t)theirs - after));
    }
}

/* Calls that a training program makes all the time and that say nothing. */
static void
mute(void)
{
    static const uint32_t calls[] = {
        LS_CUPTI_CALL_DEVICE_GET_ATTRIBUTE,  LS_CUPTI_CALL_FUNC_GET_ATTRIBUTE,
        LS_CUPTI_CALL_EVENT_QUERY,           LS_CUPTI_CALL_STREAM_QUERY,
        LS_CUPTI_CALL_CTX_SET_CURRENT,       LS_CUPTI_CALL_CTX_GET_CURRENT,
        LS_CUPTI_CALL_POINTER_GET_ATTRIBUTE, LS_CUPTI_CALL_KERNEL_GET_ATTRIBUTE};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (cupti.api.cuptiActivityEnableDriverApi != NULL)
            cupti.api.cuptiActivityEnableDriverApi(calls[i], 0);
    }
    if (cupti.api.cuptiActivityEnableAllSyncRecords != NULL)
        cupti.api.cuptiActivityEnableAllSyncRecords(0);
}

static bool
enable(void)
{
    static const struct {
        int kind;
        const char *what;
    } kinds[] = {
        {LS_CUPTI_CONCURRENT_KERNEL, "kernels"},
        {LS_CUPTI_MEMCPY, "copies"},
        {LS_CUPTI_MEMCPY2, "copies between devices"},
        {LS_CUPTI_MEMSET, "fills"},
        {LS_CUPTI_SYNCHRONIZATION, "waits"},
        {LS_CUPTI_OVERHEAD, "its own cost"},
        {LS_CUPTI_DRIVER, "calls of the driver"},
        {LS_CUPTI_EXTERNAL_CORRELATION, "which kernel is whose"},
    };
    bool is_any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int status = cupti.api.cuptiActivityEnable(kinds[i].kind);
        is_any |= status == LS_CUPTI_SUCCESS;
        if (status != LS_CUPTI_SUCCESS)
            ls_tracer_note(i == 0, "CUPTI does not tell of %s here (error %d)", kinds[i].what,
                           status);
        else if (kinds[i].kind == LS_CUPTI_EXTERNAL_CORRELATION)
            cupti.has_push = cupti.api.cuptiActivityPushExternalCorrelationId != NULL &&
                             cupti.api.cuptiActivityPopExternalCorrelationId != NULL;
    }
    return is_any;
}

static void *
run(void *user)
{
    int64_t pause = FLUSH_FIRST_NS;
    ls_recorder_count_thread(1);
    ls_recorder_set_thread_name("lockstep flush");
    ls_cupti_activity_is_own_thread();
    while (atomic_load(&cupti.stop) == 0) {
        ls_futex_wait(&cupti.stop, 0, pause);
        pause = 2 * pause < FLUSH_EVERY_NS ? 2 * pause : FLUSH_EVERY_NS;
        if (atomic_load(&cupti.stop) != 0 || !ls_tracer_is_ours() || ls_recorder_is_abandoned())
            break;
        cupti.api.cuptiActivityFlushAll(0);
        describe();
    }
    /* The last: what is complete, in its own right; then the rest, unfinished or not. */
    if (ls_tracer_is_ours()) {
        cupti.api.cuptiActivityFlushAll(0);
        cupti.api.cuptiActivityFlushAll(LS_CUPTI_FLUSH_FORCED);
        describe();
    }
    atomic_store(&cupti.is_running, 0);
    ls_futex_wake(&cupti.is_running);
    ls_recorder_count_thread(-1);
    return NULL;
}

void
ls_cupti_start(void)
{
    const LsTracerSettings *settings = ls_tracer_settings();
    if (settings->kernels == 0 || settings->cupti == 0 || atomic_load(&cupti.is_on))
        return;
    const char *missing = ls_cupti_load(&cupti.api);
    if (missing != NULL) {
        ls_tracer_note(1, "CUPTI is not there (%s); kernels and copies are not recorded", missing);
        return;
    }
    cupti.api.cuptiGetVersion(&cupti.version);
    ls_tracer_fact("cupti.version", "%u", cupti.version);
    if (!subscribe())
        return;
    if (cupti.api.cuptiSetThreadIdType != NULL)
        cupti.api.cuptiSetThreadIdType(LS_CUPTI_THREAD_ID_SYSTEM);
    set_clock();
    uint8_t is_zero = 1;
    size_t size = sizeof is_zero;
    if (cupti.api.cuptiActivitySetAttribute != NULL)
        cupti.api.cuptiActivitySetAttribute(LS_CUPTI_ATTRIBUTE_ZEROED_BUFFER, &size, &is_zero);
    ls_cupti_buffer_open(cupti.version);
    if (cupti.api.cuptiActivityRegisterCallbacks(request, complete) != LS_CUPTI_SUCCESS)
        return;
    mute();
    atomic_store(&cupti.is_on, enable());
    atomic_store(&cupti.is_running, 1);
    if (!ls_tracer_start_thread(run))
        atomic_store(&cupti.is_running, 0);
}

/* -- Ending -- */

void
ls_cupti_stop(void)
{
    int64_t end = ls_recorder_now() + STOP_WAIT_NS;
    if (!atomic_exchange(&cupti.is_on, false))
        return;
    atomic_store(&cupti.stop, 1);
    ls_futex_wake(&cupti.stop);
    while (atomic_load(&cupti.is_running) != 0 && ls_recorder_now() < end)
        ls_futex_wait(&cupti.is_running, 1, 10000000);
    if (atomic_load(&cupti.is_running) != 0)
        ls_tracer_note(1,
                       "CUPTI did not hand over its last records in time; they are not recorded");
}

/* -- Joining -- */

void
ls_cupti_push(int64_t launch)
{
    if (atomic_load_explicit(&cupti.is_on, memory_order_relaxed) && cupti.has_push)
        cupti.api.cuptiActivityPushExternalCorrelationId(LS_CUPTI_EXTERNAL_CUSTOM2,
                                                         (uint64_t)launch);
}

void
ls_cupti_pop(void)
{
    uint64_t last;
    if (atomic_load_explicit(&cupti.is_on, memory_order_relaxed) && cupti.has_push)
        cupti.api.cuptiActivityPopExternalCorrelationId(LS_CUPTI_EXTERNAL_CUSTOM2, &last);
}

int
ls_cupti_device(void)
{
    return atomic_load(&cupti.device);
}
