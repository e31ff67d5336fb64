/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's double: initialisation with its injection, devices, contexts, memory.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda-private.h"

Driver driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static __thread int device_of_thread = -1;
static pthread_once_t init_once = PTHREAD_ONCE_INIT;

typedef struct Memory {
    struct Memory *next;
    void *at;
    size_t bytes;
    bool is_host;
    int device;
} Memory;
static Memory *memories;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

/* -- Calls, as CUPTI hears of them -- */

Call
call_begin(uint32_t number)
{
    Call call = {.number = number, .tool = atomic_load(&driver.tool)};
    call.correlation = atomic_fetch_add(&driver.correlations, 1) + 1;
    if (call.tool != NULL)
        call.tool->enter(number, call.correlation);
    call.start = tool_now(call.tool);
    return call;
}

int
call_end(const Call *call, int status)
{
    if (call->tool != NULL)
        call->tool->api(call->number, call->start, tool_now(call->tool), call->correlation, status);
    double_count(1, "api.%u", call->number);
    return status;
}

int
current_device(void)
{
    return device_of_thread;
}

/* -- Initialisation -- */

static void
inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*initialize)(void);
    if (path == NULL || path[0] == '\0')
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    *(void **)(void *)&initialize = dlsym(library, "InitializeInjection");
    if (initialize != NULL)
        double_count(1, "injection.returned.%d", initialize());
}

static void
initialize(void)
{
    double_sleep(double_settings()->init_us * 1000);
    driver.is_initialized = true;
    stream_open(true);
    inject();
}

DOUBLE_API LsCuResult
cuInit(unsigned flags)
{
    pthread_once(&init_once, initialize);
    return flags == 0 ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_VALUE;
}

DOUBLE_API LsCuResult
cuDriverGetVersion(int *version)
{
    *version = 13000;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuGetErrorString(LsCuResult error, const char **text)
{
    *text = error == LS_CUDA_SUCCESS ? "no error" : "error of the CPU test double";
    return LS_CUDA_SUCCESS;
}

/* -- Devices -- */

static bool
is_device(LsCuDevice device)
{
    return driver.is_initialized && device >= 0 && device < double_settings()->devices;
}

DOUBLE_API LsCuResult
cuDeviceGetCount(int *count)
{
    if (!driver.is_initialized)
        return LS_CUDA_ERROR_NOT_INITIALIZED;
    *count = (int)double_settings()->devices;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuDeviceGet(LsCuDevice *device, int ordinal)
{
    if (!driver.is_initialized)
        return LS_CUDA_ERROR_NOT_INITIALIZED;
    *device = ordinal;
    return is_device(ordinal) ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_DEVICE;
}

DOUBLE_API LsCuResult
cuDeviceGetName(char *name, int size, LsCuDevice device)
{
    if (!is_device(device))
        return LS_CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)size, "%s", DOUBLE_NAME);
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuDeviceGetUuid_v2(LsCuUuid *uuid, LsCuDevice device)
{
    if (!is_device(device))
        return LS_CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "test double", 11);
    memset(uuid->bytes + 11, device, 5);
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuDeviceGetPCIBusId(char *text, int size, LsCuDevice device)
{
    if (!is_device(device))
        return LS_CUDA_ERROR_INVALID_DEVICE;
    snprintf(text, (size_t)size, "0000:%02x:00.0", device + 1);
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuDeviceGetAttribute(int *value, int attribute, LsCuDevice device)
{
    if (!is_device(device))
        return LS_CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == LS_CU_DEVICE_CAPABILITY_MAJOR  ? 9
             : attribute == LS_CU_DEVICE_MULTIPROCESSORS ? 4
                                                         : 0;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuDeviceTotalMem_v2(size_t *bytes, LsCuDevice device)
{
    *bytes = (size_t)1 << 32;
    return is_device(device) ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_DEVICE;
}

/* -- Contexts: the primary one of each device; the handle is its number + 1 -- */

DOUBLE_API LsCuResult
cuDevicePrimaryCtxRetain(LsCuContext *context, LsCuDevice device)
{
    if (!is_device(device))
        return driver.is_initialized ? LS_CUDA_ERROR_INVALID_DEVICE : LS_CUDA_ERROR_NOT_INITIALIZED;
    *context = (LsCuContext)(uintptr_t)(device + 1);
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuDevicePrimaryCtxRelease_v2(LsCuDevice device)
{
    return is_device(device) ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_DEVICE;
}

DOUBLE_API LsCuResult
cuCtxSetCurrent(LsCuContext context)
{
    Call call = call_begin(LS_CUPTI_CALL_CTX_SET_CURRENT);
    int device = (int)(uintptr_t)context - 1;
    if (context != NULL && !is_device(device))
        return call_end(&call, LS_CUDA_ERROR_INVALID_CONTEXT);
    device_of_thread = device;
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuCtxGetCurrent(LsCuContext *context)
{
    *context = (LsCuContext)(uintptr_t)(device_of_thread + 1);
    return driver.is_initialized ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_NOT_INITIALIZED;
}

DOUBLE_API LsCuResult
cuCtxGetDevice(LsCuDevice *device)
{
    *device = device_of_thread;
    return device_of_thread >= 0 ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_CONTEXT;
}

/* -- Memory: the host's, with a list of what belongs to whom -- */

static void *
allocate(size_t bytes, bool is_host)
{
    Memory *memory = calloc(1, sizeof *memory);
    if (posix_memalign(&memory->at, 256, bytes) != 0) {
        free(memory);
        return NULL;
    }
    memory->bytes = bytes;
    memory->is_host = is_host;
    memory->device = device_of_thread;
    pthread_mutex_lock(&memory_lock);
    memory->next = memories;
    memories = memory;
    pthread_mutex_unlock(&memory_lock);
    return memory->at;
}

static bool
release(void *at, bool is_host)
{
    pthread_mutex_lock(&memory_lock);
    Memory **link = &memories;
    while (*link != NULL && ((*link)->at != at || (*link)->is_host != is_host))
        link = &(*link)->next;
    Memory *memory = *link;
    if (memory != NULL)
        *link = memory->next;
    pthread_mutex_unlock(&memory_lock);
    if (memory == NULL)
        return false;
    free(memory->at);
    free(memory);
    return true;
}

static const Memory *
find_memory(const void *at)
{
    const Memory *memory;
    pthread_mutex_lock(&memory_lock);
    for (memory = memories; memory != NULL; memory = memory->next) {
        if ((const char *)at >= (const char *)memory->at &&
            (const char *)at < (const char *)memory->at + memory->bytes)
            break;
    }
    pthread_mutex_unlock(&memory_lock);
    return memory;
}

DOUBLE_API LsCuResult
cuMemAlloc_v2(LsCuPointer *pointer, size_t bytes)
{
    static _Atomic int64_t n_asked;
    Call call = call_begin(LS_CUPTI_CALL_MEM_ALLOC);
    if (device_of_thread < 0)
        return call_end(&call, LS_CUDA_ERROR_INVALID_CONTEXT);
    int64_t first = double_settings()->alloc_fail;
    bool is_full = first > 0 && atomic_fetch_add(&n_asked, 1) + 1 >= first;
    void *at = bytes > 0 && !is_full ? allocate(bytes, false) : NULL;
    *pointer = (LsCuPointer)(uintptr_t)at;
    return call_end(&call, bytes == 0   ? LS_CUDA_ERROR_INVALID_VALUE
                           : at == NULL ? LS_CUDA_ERROR_OUT_OF_MEMORY
                                        : LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuMemFree_v2(LsCuPointer pointer)
{
    if (pointer != 0)
        cuCtxSynchronize(); /* as the real one does */
    Call call = call_begin(LS_CUPTI_CALL_MEM_FREE);
    bool is_good = pointer == 0 || release((void *)(uintptr_t)pointer, false);
    return call_end(&call, is_good ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_VALUE);
}

DOUBLE_API LsCuResult
cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    *pointer = allocate(bytes, true);
    return *pointer != NULL ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_OUT_OF_MEMORY;
}

DOUBLE_API LsCuResult
cuMemFreeHost(void *pointer)
{
    return release(pointer, true) ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_VALUE;
}

bool
memory_is_ours(LsCuPointer pointer)
{
    return find_memory((const void *)(uintptr_t)pointer) != NULL;
}

DOUBLE_API LsCuResult
cuPointerGetAttribute(void *value, int attribute, LsCuPointer pointer)
{
    const Memory *memory = find_memory((const void *)(uintptr_t)pointer);
    if (memory != NULL && attribute == LS_CU_POINTER_DEVICE) {
        *(int *)value = memory->device;
        return LS_CUDA_SUCCESS;
    }
    if (memory == NULL || attribute != LS_CU_POINTER_MEMORY_TYPE)
        return LS_CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)value = memory->is_host ? LS_CU_MEMORY_HOST : LS_CU_MEMORY_DEVICE;
    return LS_CUDA_SUCCESS;
}

/* -- The other libraries of the double -- */

static void
set_tool(const DoubleTool *tool)
{
    atomic_store(&driver.tool, tool);
}

static int
is_initialized(void)
{
    return driver.is_initialized;
}

static int
is_device_memory(const void *pointer)
{
    const Memory *memory = find_memory(pointer);
    return memory != NULL && !memory->is_host;
}

static uint64_t
device_clock(void)
{
    const DoubleSettings *settings = double_settings();
    int64_t now = double_now(CLOCK_MONOTONIC);
    return (uint64_t)(now + settings->offset_ns +
                      (int64_t)((__int128)now * settings->drift_ppb / 1000000000));
}

DOUBLE_API LsCuResult
cuGetExportTable(const void **table, const LsCuUuid *id)
{
    static const LsCuUuid ours = DOUBLE_TABLE_ID;
    static const DoubleTable functions = {sizeof functions, set_tool,       launch_work,
                                          device_clock,     is_initialized, is_device_memory};
    if (memcmp(id, &ours, sizeof ours) != 0)
        return LS_CUDA_ERROR_NOT_FOUND;
    *table = &functions;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    static const char *const endings[] = {"_v2", ""};
    *function = NULL;
    for (size_t i = 0; i < 2 && *function == NULL; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", symbol, endings[i]);
        *function = dlsym(RTLD_DEFAULT, name);
        if (*function == NULL) {
            void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
            *function = self != NULL ? dlsym(self, name) : NULL;
        }
    }
    if (status != NULL)
        *status = *function != NULL ? 0 : 1;
    return *function != NULL ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_NOT_FOUND;
}
