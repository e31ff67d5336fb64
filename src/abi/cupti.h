/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/cupti.h: CUPTI's activity interface: its calls, and where the fields of its records lie.
 *
 * Records have grown with every release (CUDA 11.0 to 13.x), each a prefix of the next. Only the
 * prefix that all share is described, by offsets; nobody steps from record to record by a size: the
 * library's own cuptiActivityGetNextRecord does. (The header of one release was found to be off by
 * 8 bytes from the library it came with.)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int LsCuptiResult;
enum {
    LS_CUPTI_SUCCESS = 0,
    LS_CUPTI_ERROR_INVALID_PARAMETER = 1,
    LS_CUPTI_ERROR_INVALID_OPERATION = 7,
    LS_CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    LS_CUPTI_ERROR_NOT_INITIALIZED = 15,
    LS_CUPTI_ERROR_INVALID_KIND = 21,
    LS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS = 39,
    LS_CUPTI_ERROR_UNKNOWN = 999,
};

typedef enum LsCuptiKind {
    LS_CUPTI_MEMCPY = 1,
    LS_CUPTI_MEMSET = 2,
    LS_CUPTI_KERNEL = 3, /* serialises the device: not for us, but its records look alike */
    LS_CUPTI_DRIVER = 4,
    LS_CUPTI_RUNTIME = 5,
    LS_CUPTI_CONCURRENT_KERNEL = 10,
    LS_CUPTI_OVERHEAD = 17,
    LS_CUPTI_MEMCPY2 = 22, /* peer to peer */
    LS_CUPTI_SYNCHRONIZATION = 38,
    LS_CUPTI_EXTERNAL_CORRELATION = 39,
    LS_CUPTI_N_KINDS = 64,
} LsCuptiKind;

/* Every record begins with its kind, a 32-bit number. */
enum {
    LS_CUPTI_AT_KIND = 0,

    LS_CUPTI_KERNEL_START = 16,
    LS_CUPTI_KERNEL_END = 24,
    LS_CUPTI_KERNEL_COMPLETED = 32,
    LS_CUPTI_KERNEL_DEVICE = 40,
    LS_CUPTI_KERNEL_CONTEXT = 44,
    LS_CUPTI_KERNEL_STREAM = 48,
    LS_CUPTI_KERNEL_GRID = 52,  /* three int32 */
    LS_CUPTI_KERNEL_BLOCK = 64, /* three int32 */
    LS_CUPTI_KERNEL_CORRELATION = 92,
    LS_CUPTI_KERNEL_GRID_ID = 96,
    LS_CUPTI_KERNEL_NAME = 104,  /* const char * of the library's own */
    LS_CUPTI_KERNEL_LEAST = 144, /* bytes of the oldest of them, Kernel4 */
    LS_CUPTI_KERNEL_BYTES_13_0 = 216,

    LS_CUPTI_MEMCPY_COPY_KIND = 4, /* uint8 */
    LS_CUPTI_MEMCPY_SOURCE = 5,    /* uint8 */
    LS_CUPTI_MEMCPY_TARGET = 6,    /* uint8 */
    LS_CUPTI_MEMCPY_BYTES = 8,
    LS_CUPTI_MEMCPY_START = 16,
    LS_CUPTI_MEMCPY_END = 24,
    LS_CUPTI_MEMCPY_DEVICE = 32,
    LS_CUPTI_MEMCPY_CONTEXT = 36,
    LS_CUPTI_MEMCPY_STREAM = 40,
    LS_CUPTI_MEMCPY_CORRELATION = 44,
    LS_CUPTI_MEMCPY_BYTES_13_0 = 96,

    LS_CUPTI_PEER_CORRELATION = 60, /* the rest as MEMCPY */
    LS_CUPTI_PEER_SOURCE_DEVICE = 44,

    LS_CUPTI_MEMSET_VALUE = 4,
    LS_CUPTI_MEMSET_BYTES = 8,
    LS_CUPTI_MEMSET_START = 16,
    LS_CUPTI_MEMSET_END = 24,
    LS_CUPTI_MEMSET_DEVICE = 32,
    LS_CUPTI_MEMSET_CONTEXT = 36,
    LS_CUPTI_MEMSET_STREAM = 40,
    LS_CUPTI_MEMSET_CORRELATION = 44,
    LS_CUPTI_MEMSET_BYTES_13_0 = 88,

    LS_CUPTI_SYNC_TYPE = 4,
    LS_CUPTI_SYNC_START = 8,
    LS_CUPTI_SYNC_END = 16,
    LS_CUPTI_SYNC_CORRELATION = 24,
    LS_CUPTI_SYNC_CONTEXT = 28,
    LS_CUPTI_SYNC_STREAM = 32,
    LS_CUPTI_SYNC_EVENT = 36,
    LS_CUPTI_SYNC_BYTES_13_0 = 56,

    LS_CUPTI_API_CALL = 4,
    LS_CUPTI_API_START = 8,
    LS_CUPTI_API_END = 16,
    LS_CUPTI_API_PROCESS = 24,
    LS_CUPTI_API_THREAD = 28,
    LS_CUPTI_API_CORRELATION = 32,
    LS_CUPTI_API_STATUS = 36,
    LS_CUPTI_API_BYTES = 40,

    LS_CUPTI_OVERHEAD_KIND = 4,
    LS_CUPTI_OVERHEAD_START = 24,
    LS_CUPTI_OVERHEAD_END = 32,
    LS_CUPTI_OVERHEAD_CORRELATION = 40, /* since Overhead2 */
    LS_CUPTI_OVERHEAD_DATA = 48,        /* since Overhead3, CUDA 12.4: ours to free */
    LS_CUPTI_OVERHEAD_BYTES_13_0 = 56,

    LS_CUPTI_EXTERNAL_KIND = 4,
    LS_CUPTI_EXTERNAL_ID = 8,
    LS_CUPTI_EXTERNAL_CORRELATION_ID = 16,
    LS_CUPTI_EXTERNAL_BYTES = 24,
};

enum {
    LS_CUPTI_OVERHEAD_COMPILER = 1,
    LS_CUPTI_OVERHEAD_BUFFER_FLUSH = 1 << 16,
    LS_CUPTI_OVERHEAD_INSTRUMENTATION = 2 << 16,
    LS_CUPTI_OVERHEAD_RESOURCE = 3 << 16,
    LS_CUPTI_OVERHEAD_MODULE_LOAD = 4 << 16,
    LS_CUPTI_OVERHEAD_LAZY_LOAD = 5 << 16,
    LS_CUPTI_OVERHEAD_COMMAND_FULL = 6 << 16,
    LS_CUPTI_OVERHEAD_BUFFER_REQUEST = 7 << 16,
    LS_CUPTI_OVERHEAD_UVM_INIT = 8 << 16,

    LS_CUPTI_SYNC_EVENT_WAIT = 1,
    LS_CUPTI_SYNC_STREAM_WAIT_EVENT = 2,
    LS_CUPTI_SYNC_STREAM_WAIT = 3,
    LS_CUPTI_SYNC_CONTEXT_WAIT = 4,

    LS_CUPTI_EXTERNAL_CUSTOM2 = 5,
    LS_CUPTI_FLUSH_FORCED = 1,
    LS_CUPTI_ATTRIBUTE_ZEROED_BUFFER = 5,
    LS_CUPTI_THREAD_ID_SYSTEM = 1,
    LS_CUPTI_DOMAIN_DRIVER = 1,
    LS_CUPTI_DOMAIN_RUNTIME = 2,
};

/* Numbers of driver calls (cbid): those that a training program makes all the time and that cost
 * nothing, and those that the test double records. */
enum {
    LS_CUPTI_CALL_DEVICE_GET_ATTRIBUTE = 9,
    LS_CUPTI_CALL_CTX_SYNCHRONIZE = 17,
    LS_CUPTI_CALL_FUNC_GET_ATTRIBUTE = 85,
    LS_CUPTI_CALL_EVENT_RECORD = 119,
    LS_CUPTI_CALL_EVENT_QUERY = 120,
    LS_CUPTI_CALL_EVENT_SYNCHRONIZE = 121,
    LS_CUPTI_CALL_STREAM_QUERY = 125,
    LS_CUPTI_CALL_STREAM_SYNCHRONIZE = 126,
    LS_CUPTI_CALL_MEMSET_D8_ASYNC = 216,
    LS_CUPTI_CALL_MEMSET_D32_ASYNC = 220,
    LS_CUPTI_CALL_MEM_ALLOC = 243,
    LS_CUPTI_CALL_MEM_FREE = 245,
    LS_CUPTI_CALL_MEMCPY_HTOD = 276,
    LS_CUPTI_CALL_MEMCPY_HTOD_ASYNC = 277,
    LS_CUPTI_CALL_MEMCPY_DTOH = 278,
    LS_CUPTI_CALL_MEMCPY_DTOH_ASYNC = 279,
    LS_CUPTI_CALL_MEMCPY_DTOD_ASYNC = 281,
    LS_CUPTI_CALL_STREAM_WAIT_EVENT = 295,
    LS_CUPTI_CALL_CTX_SET_CURRENT = 303,
    LS_CUPTI_CALL_CTX_GET_CURRENT = 304,
    LS_CUPTI_CALL_LAUNCH_KERNEL = 307,
    LS_CUPTI_CALL_POINTER_GET_ATTRIBUTE = 310,
    LS_CUPTI_CALL_LAUNCH_HOST_FUNC = 527,
    LS_CUPTI_CALL_LAUNCH_KERNEL_EX = 652,
    LS_CUPTI_CALL_KERNEL_GET_ATTRIBUTE = 686,
};

typedef struct LsCuptiSubscriber {
    size_t size;
    const char *name;
    char *old_name; /* who holds it; at least 64 bytes */
    size_t old_size;
} LsCuptiSubscriber;

typedef void (*LsCuptiRequest)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*LsCuptiComplete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid);
typedef uint64_t (*LsCuptiClock)(void);
typedef void (*LsCuptiCallback)(void *user, int domain, uint32_t call, const void *data);

/* LS_ABI_FUNCTION(name, arguments, is_optional); each returns an LsCuptiResult. */
#define LS_CUPTI_FUNCTIONS(LS_ABI_FUNCTION)                                                        \
    LS_ABI_FUNCTION(cuptiGetVersion, (uint32_t * version), 0)                                      \
    LS_ABI_FUNCTION(cuptiGetTimestamp, (uint64_t * ns), 0)                                         \
    LS_ABI_FUNCTION(cuptiSubscribe, (void **subscriber, LsCuptiCallback callback, void *user), 0)  \
    LS_ABI_FUNCTION(                                                                               \
        cuptiSubscribe_v2,                                                                         \
        (void **subscriber, LsCuptiCallback callback, void *user, LsCuptiSubscriber *parameters),  \
        1)                                                                                         \
    LS_ABI_FUNCTION(cuptiUnsubscribe, (void *subscriber), 0)                                       \
    LS_ABI_FUNCTION(cuptiActivityRegisterCallbacks,                                                \
                    (LsCuptiRequest request, LsCuptiComplete complete), 0)                         \
    LS_ABI_FUNCTION(cuptiActivityRegisterTimestampCallback, (LsCuptiClock clock), 1)               \
    LS_ABI_FUNCTION(cuptiActivityEnable, (int kind), 0)                                            \
    LS_ABI_FUNCTION(cuptiActivityDisable, (int kind), 0)                                           \
    LS_ABI_FUNCTION(cuptiActivityEnableDriverApi, (uint32_t call, uint8_t enable), 1)              \
    LS_ABI_FUNCTION(cuptiActivityEnableAllSyncRecords, (uint8_t enable), 1)                        \
    LS_ABI_FUNCTION(cuptiActivityGetNextRecord,                                                    \
                    (uint8_t * buffer, size_t valid, uint8_t * *record), 0)                        \
    LS_ABI_FUNCTION(cuptiActivityGetNumDroppedRecords,                                             \
                    (void *context, uint32_t stream, size_t *dropped), 0)                          \
    LS_ABI_FUNCTION(cuptiActivityFlushAll, (uint32_t flags), 0)                                    \
    LS_ABI_FUNCTION(cuptiActivitySetAttribute, (int attribute, size_t *size, void *value), 1)      \
    LS_ABI_FUNCTION(cuptiActivityPushExternalCorrelationId, (int kind, uint64_t id), 1)            \
    LS_ABI_FUNCTION(cuptiActivityPopExternalCorrelationId, (int kind, uint64_t *last), 1)          \
    LS_ABI_FUNCTION(cuptiSetThreadIdType, (int type), 1)                                           \
    LS_ABI_FUNCTION(cuptiGetCallbackName, (int domain, uint32_t call, const char **name), 1)

typedef struct LsCupti {
#define LS_ABI_FUNCTION(name, arguments, is_optional) LsCuptiResult(*name) arguments;
    LS_CUPTI_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
} LsCupti;

/* Loads the CUPTI that the process has, else the newest that is there. Returns NULL, or a word on
 * what failed (static text). */
const char *ls_cupti_load(LsCupti *ret_cupti);

/* Fields of a record, which need not be aligned. */
static inline uint64_t
ls_cupti_get64(const uint8_t *record, size_t offset)
{
    uint64_t value;
    memcpy(&value, record + offset, sizeof value);
    return value;
}

static inline uint32_t
ls_cupti_get32(const uint8_t *record, size_t offset)
{
    uint32_t value;
    memcpy(&value, record + offset, sizeof value);
    return value;
}
