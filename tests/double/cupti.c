/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's double: subscription, kinds, external correlation, clock; records go to cupti-buffer.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti-private.h"

#define EXTERNAL_DEPTH 32

Cupti cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct External {
    int n;
    struct {
        int kind;
        uint64_t id;
    } ids[EXTERNAL_DEPTH];
} External;
static __thread External external;

static const DoubleTable *
find_table(void)
{
    if (cupti.table == NULL)
        cupti.table = double_find_table();
    return cupti.table;
}

/* Without a driver everything but a few calls is error 999, as measured of the real one. */
#define NEED_DRIVER()                                                                              \
    if (find_table() == NULL)                                                                      \
    return LS_CUPTI_ERROR_UNKNOWN

static uint64_t
read_clock(void)
{
    LsCuptiClock clock = atomic_load(&cupti.clock);
    return clock != NULL ? clock() : (uint64_t)double_now(CLOCK_REALTIME);
}

static bool
is_enabled(int kind)
{
    return (atomic_load(&cupti.kinds) >> kind & 1) != 0;
}

/* -- What libcuda tells -- */

static void
tell_enter(uint32_t call, uint32_t correlation)
{
    if (!is_enabled(LS_CUPTI_EXTERNAL_CORRELATION))
        return;
    for (int i = 0; i < external.n && i < EXTERNAL_DEPTH; i++) {
        uint8_t record[LS_CUPTI_EXTERNAL_BYTES] = {0};
        put32(record, LS_CUPTI_AT_KIND, LS_CUPTI_EXTERNAL_CORRELATION);
        put32(record, LS_CUPTI_EXTERNAL_KIND, (uint32_t)external.ids[i].kind);
        put64(record, LS_CUPTI_EXTERNAL_ID, external.ids[i].id);
        put32(record, LS_CUPTI_EXTERNAL_CORRELATION_ID, correlation);
        buffer_add(record, sizeof record, double_settings()->late_external != 0);
    }
}

static void
tell_api(uint32_t call, uint64_t start, uint64_t end, uint32_t correlation, int status)
{
    if (!is_enabled(LS_CUPTI_DRIVER) ||
        (call < CALLS_MAX && atomic_load(&cupti.is_muted[call]) != 0))
        return;
    uint8_t record[LS_CUPTI_API_BYTES] = {0};
    put32(record, LS_CUPTI_AT_KIND, LS_CUPTI_DRIVER);
    put32(record, LS_CUPTI_API_CALL, call);
    put64(record, LS_CUPTI_API_START, start);
    put64(record, LS_CUPTI_API_END, end);
    put32(record, LS_CUPTI_API_PROCESS, (uint32_t)getpid());
    put32(record, LS_CUPTI_API_THREAD,
          cupti.thread_type == LS_CUPTI_THREAD_ID_SYSTEM ? (uint32_t)syscall(SYS_gettid)
                                                         : (uint32_t)(uintptr_t)pthread_self());
    put32(record, LS_CUPTI_API_CORRELATION, correlation);
    put32(record, LS_CUPTI_API_STATUS, (uint32_t)status);
    buffer_add(record, sizeof record, false);
}

static size_t
make_record(const DoubleActivity *activity, uint8_t record[RECORD_MAX])
{
    memset(record, 0, RECORD_MAX);
    put32(record, LS_CUPTI_AT_KIND, (uint32_t)activity->kind);
    if (activity->kind == LS_CUPTI_CONCURRENT_KERNEL) {
        put32(record, LS_CUPTI_KERNEL_DEVICE, activity->device);
        put32(record, LS_CUPTI_KERNEL_CONTEXT, activity->context);
        put32(record, LS_CUPTI_KERNEL_STREAM, activity->stream);
        memcpy(record + LS_CUPTI_KERNEL_GRID, activity->grid, sizeof activity->grid);
        memcpy(record + LS_CUPTI_KERNEL_BLOCK, activity->block, sizeof activity->block);
        put32(record, LS_CUPTI_KERNEL_CORRELATION, activity->correlation);
        memcpy(record + LS_CUPTI_KERNEL_NAME, &activity->name, sizeof activity->name);
        return LS_CUPTI_KERNEL_BYTES_13_0;
    }
    put64(record, LS_CUPTI_MEMCPY_BYTES, activity->bytes);
    put32(record, LS_CUPTI_MEMCPY_DEVICE, activity->device);
    put32(record, LS_CUPTI_MEMCPY_CONTEXT, activity->context);
    put32(record, LS_CUPTI_MEMCPY_STREAM, activity->stream);
    put32(record, LS_CUPTI_MEMCPY_CORRELATION, activity->correlation);
    if (activity->kind == LS_CUPTI_MEMSET) {
        put32(record, LS_CUPTI_MEMSET_VALUE, activity->value);
        return LS_CUPTI_MEMSET_BYTES_13_0;
    }
    record[LS_CUPTI_MEMCPY_COPY_KIND] = activity->copy_kind;
    record[LS_CUPTI_MEMCPY_SOURCE] = activity->source;
    record[LS_CUPTI_MEMCPY_TARGET] = activity->target;
    return LS_CUPTI_MEMCPY_BYTES_13_0;
}

/* The record is there from the begin, its end is 0 until it has one. */
static uint64_t
tell_begin(const DoubleActivity *activity, uint64_t start)
{
    uint8_t record[RECORD_MAX];
    const DoubleSettings *settings = double_settings();
    if (!is_enabled(activity->kind))
        return 0;
    uint64_t n = atomic_fetch_add(&cupti.device_records, 1) + 1;
    if (settings->drop > 0 && n % (uint64_t)settings->drop == 0) {
        buffer_drop(activity->kind);
        return 0;
    }
    size_t bytes = make_record(activity, record);
    put64(record, LS_CUPTI_KERNEL_START, start); /* at 16 in all three, as the end at 24 */
    return buffer_begin(record, bytes);
}

static void
tell_end(uint64_t where, const DoubleActivity *activity, uint64_t start, uint64_t end)
{
    const DoubleSettings *settings = double_settings();
    if (where == 0)
        return;
    if (activity->kind == LS_CUPTI_CONCURRENT_KERNEL && settings->untimed > 0 &&
        (atomic_fetch_add(&cupti.kernels, 1) + 1) % (uint64_t)settings->untimed == 0) {
        double_count(1, "untimed");
        start = end = 0;
    }
    buffer_end(where, start, end);
}

static void
tell_sync(int type, uint64_t start, uint64_t end, uint32_t correlation, uint32_t context,
          uint32_t stream, uint32_t event)
{
    uint8_t record[LS_CUPTI_SYNC_BYTES_13_0] = {0};
    if (!is_enabled(LS_CUPTI_SYNCHRONIZATION))
        return;
    put32(record, LS_CUPTI_AT_KIND, LS_CUPTI_SYNCHRONIZATION);
    put32(record, LS_CUPTI_SYNC_TYPE, (uint32_t)type);
    put64(record, LS_CUPTI_SYNC_START, start);
    put64(record, LS_CUPTI_SYNC_END, end);
    put32(record, LS_CUPTI_SYNC_CORRELATION, correlation);
    put32(record, LS_CUPTI_SYNC_CONTEXT, context);
    put32(record, LS_CUPTI_SYNC_STREAM, stream);
    put32(record, LS_CUPTI_SYNC_EVENT, event);
    buffer_add(record, sizeof record, false);
}

/* What CUPTI itself cost, as it says; the data pointer is the reader's to free. */
void
cupti_tell_overhead(uint32_t kind, uint64_t start, uint64_t end)
{
    uint8_t record[LS_CUPTI_OVERHEAD_BYTES_13_0] = {0};
    if (!is_enabled(LS_CUPTI_OVERHEAD))
        return;
    put32(record, LS_CUPTI_AT_KIND, LS_CUPTI_OVERHEAD);
    put32(record, LS_CUPTI_OVERHEAD_KIND, kind);
    put64(record, LS_CUPTI_OVERHEAD_START, start);
    put64(record, LS_CUPTI_OVERHEAD_END, end);
    void *data = malloc(12);
    memcpy(record + LS_CUPTI_OVERHEAD_DATA, &data, sizeof data);
    buffer_add(record, sizeof record, false);
    double_count(1, "overhead");
}

uint64_t
cupti_now(void)
{
    return read_clock();
}

/* -- The interface -- */

DOUBLE_API LsCuptiResult
cuptiGetVersion(uint32_t *version)
{
    *version = (uint32_t)double_settings()->cupti_version;
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiGetTimestamp(uint64_t *ns)
{
    *ns = read_clock();
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiSubscribe(void **subscriber, LsCuptiCallback callback, void *user)
{
    NEED_DRIVER();
    pthread_mutex_lock(&cupti.lock);
    bool is_taken = cupti.is_subscribed || double_settings()->held != 0;
    if (!is_taken) {
        cupti.is_subscribed = true;
        *subscriber = &cupti;
    }
    pthread_mutex_unlock(&cupti.lock);
    return is_taken ? LS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS : LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiSubscribe_v2(void **subscriber, LsCuptiCallback callback, void *user,
                  LsCuptiSubscriber *parameters)
{
    LsCuptiResult result = cuptiSubscribe(subscriber, callback, user);
    if (result == LS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS && parameters != NULL &&
        parameters->old_name != NULL && parameters->old_size >= 64)
        snprintf(parameters->old_name, parameters->old_size, "another tool of the double");
    return result;
}

DOUBLE_API LsCuptiResult
cuptiUnsubscribe(void *subscriber)
{
    cupti.is_subscribed = false;
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityRegisterCallbacks(LsCuptiRequest request, LsCuptiComplete complete)
{
    cupti.request = request;
    cupti.complete = complete;
    return LS_CUPTI_SUCCESS; /* without a driver, too */
}

DOUBLE_API LsCuptiResult
cuptiActivityRegisterTimestampCallback(LsCuptiClock clock)
{
    NEED_DRIVER();
    if (atomic_load(&cupti.kinds) != 0)
        return LS_CUPTI_ERROR_INVALID_OPERATION;
    double_count(1, "clock.registered");
    atomic_store(&cupti.clock, clock);
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityEnable(int kind)
{
    static const DoubleTool tool = {read_clock, tell_api, tell_enter,
                                    tell_begin, tell_end, tell_sync};
    static const uint64_t known =
        1u << LS_CUPTI_MEMCPY | 1u << LS_CUPTI_MEMSET | 1u << LS_CUPTI_KERNEL |
        1u << LS_CUPTI_DRIVER | 1u << LS_CUPTI_RUNTIME | 1u << LS_CUPTI_CONCURRENT_KERNEL |
        1u << LS_CUPTI_OVERHEAD | 1u << LS_CUPTI_MEMCPY2 | UINT64_C(1) << LS_CUPTI_SYNCHRONIZATION |
        UINT64_C(1) << LS_CUPTI_EXTERNAL_CORRELATION;
    NEED_DRIVER();
    if (kind < 0 || kind >= 64 || (known >> kind & 1) == 0)
        return LS_CUPTI_ERROR_INVALID_KIND;
    double_count(1, "enabled.%d", kind);
    atomic_fetch_or(&cupti.kinds, UINT64_C(1) << kind);
    buffer_start();
    cupti.table->set_tool(&tool);
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityDisable(int kind)
{
    NEED_DRIVER();
    if (kind < 0 || kind >= 64)
        return LS_CUPTI_ERROR_INVALID_KIND;
    atomic_fetch_and(&cupti.kinds, ~(UINT64_C(1) << kind));
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityEnableDriverApi(uint32_t call, uint8_t enable)
{
    NEED_DRIVER();
    if (call >= CALLS_MAX)
        return LS_CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&cupti.is_muted[call], enable == 0);
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    NEED_DRIVER();
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    NEED_DRIVER();
    if (attribute == LS_CUPTI_ATTRIBUTE_ZEROED_BUFFER && *size >= 1)
        cupti.has_zeroed_buffers = *(const uint8_t *)value != 0;
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    NEED_DRIVER();
    if (external.n < EXTERNAL_DEPTH) {
        external.ids[external.n].kind = kind;
        external.ids[external.n].id = id;
    }
    external.n++;
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
    NEED_DRIVER();
    if (external.n == 0)
        return LS_CUPTI_ERROR_INVALID_OPERATION;
    external.n--;
    if (last != NULL)
        *last = external.n < EXTERNAL_DEPTH ? external.ids[external.n].id : 0;
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiSetThreadIdType(int type)
{
    NEED_DRIVER();
    cupti.thread_type = type;
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiGetCallbackName(int domain, uint32_t call, const char **name)
{
    static const struct {
        uint32_t call;
        const char *name;
    } names[] = {
        {LS_CUPTI_CALL_CTX_SYNCHRONIZE, "cuCtxSynchronize"},
        {LS_CUPTI_CALL_EVENT_RECORD, "cuEventRecord"},
        {LS_CUPTI_CALL_EVENT_QUERY, "cuEventQuery"},
        {LS_CUPTI_CALL_EVENT_SYNCHRONIZE, "cuEventSynchronize"},
        {LS_CUPTI_CALL_STREAM_QUERY, "cuStreamQuery"},
        {LS_CUPTI_CALL_STREAM_SYNCHRONIZE, "cuStreamSynchronize"},
        {LS_CUPTI_CALL_MEMSET_D8_ASYNC, "cuMemsetD8Async"},
        {LS_CUPTI_CALL_MEMSET_D32_ASYNC, "cuMemsetD32Async"},
        {LS_CUPTI_CALL_MEM_ALLOC, "cuMemAlloc_v2"},
        {LS_CUPTI_CALL_MEM_FREE, "cuMemFree_v2"},
        {LS_CUPTI_CALL_MEMCPY_HTOD, "cuMemcpyHtoD_v2"},
        {LS_CUPTI_CALL_MEMCPY_HTOD_ASYNC, "cuMemcpyHtoDAsync_v2"},
        {LS_CUPTI_CALL_MEMCPY_DTOH, "cuMemcpyDtoH_v2"},
        {LS_CUPTI_CALL_MEMCPY_DTOH_ASYNC, "cuMemcpyDtoHAsync_v2"},
        {LS_CUPTI_CALL_MEMCPY_DTOD_ASYNC, "cuMemcpyDtoDAsync_v2"},
        {LS_CUPTI_CALL_STREAM_WAIT_EVENT, "cuStreamWaitEvent"},
        {LS_CUPTI_CALL_CTX_SET_CURRENT, "cuCtxSetCurrent"},
        {LS_CUPTI_CALL_LAUNCH_KERNEL, "cuLaunchKernel"},
        {LS_CUPTI_CALL_LAUNCH_KERNEL_EX, "cuLaunchKernelEx"},
        {LS_CUPTI_CALL_LAUNCH_HOST_FUNC, "cuLaunchHostFunc"},
    };
    for (size_t i = 0; domain == LS_CUPTI_DOMAIN_DRIVER && i < sizeof names / sizeof names[0];
         i++) {
        if (names[i].call == call) {
            *name = names[i].name;
            return LS_CUPTI_SUCCESS;
        }
    }
    return LS_CUPTI_ERROR_INVALID_PARAMETER;
}
