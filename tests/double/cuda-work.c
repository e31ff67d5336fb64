/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's double: modules, launches, copies, streams, events.
 *
 * An image is PTX text: its entries give names and parameters. A kernel computes where the program
 * has a twin of it, `lockstep_twin_NAME(grid, block, params)`; else it only takes its time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda-private.h"

typedef struct Module {
    Function *functions;
} Module;

/* -- Modules -- */

/* Bytes of a parameter's type: .u64, .f32, .b8 ...[N] */
static int
get_param_bytes(const char *type)
{
    const char *array = strpbrk(type, "[,)");
    int bytes = atoi(type + 2) / 8;
    return array != NULL && *array == '[' ? bytes * atoi(array + 1) : bytes;
}

static void
parse_params(Function *function, const char *text)
{
    const char *end = strchr(text, ')');
    for (const char *at = text; at != NULL && end != NULL; at++) {
        at = strstr(at, ".param ");
        if (at == NULL || at > end || function->n_params == PARAMS_MAX)
            return;
        at += 7;
        while (*at == ' ')
            at++;
        if (strncmp(at, ".align", 6) == 0 && (at = strchr(at + 1, '.')) == NULL)
            return;
        function->param_bytes[function->n_params++] = get_param_bytes(at);
    }
}

static void
parse_image(Module *module, const char *text)
{
    for (const char *at = strstr(text, ".entry "); at != NULL; at = strstr(at, ".entry ")) {
        char symbol[192];
        Function *function = calloc(1, sizeof *function);
        at += 7;
        while (*at == ' ')
            at++;
        size_t length = strcspn(at, "( \n");
        snprintf(function->name, sizeof function->name, "%.*s", (int)length, at);
        if (strchr(at, '(') != NULL)
            parse_params(function, strchr(at, '('));
        snprintf(symbol, sizeof symbol, "lockstep_twin_%s", function->name);
        *(void **)(void *)&function->twin = dlsym(RTLD_DEFAULT, symbol);
        function->next = module->functions;
        module->functions = function;
    }
}

DOUBLE_API LsCuResult
cuModuleLoadData(LsCuModule *module, const void *image)
{
    const char *text = image;
    if (current_device() < 0)
        return LS_CUDA_ERROR_INVALID_CONTEXT;
    if (text[0] != '/' && text[0] != '.' && text[0] != '\n')
        return LS_CUDA_ERROR_INVALID_IMAGE; /* a cubin or fat binary: for real devices */
    if (strstr(text, ".version") == NULL || strstr(text, ".target") == NULL)
        return LS_CUDA_ERROR_INVALID_PTX;
    Module *loaded = calloc(1, sizeof *loaded);
    parse_image(loaded, text);
    *module = loaded;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuModuleUnload(LsCuModule module)
{
    /* Names of its kernels may be in records still: it is forgotten, not freed. */
    return module != NULL ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_HANDLE;
}

DOUBLE_API LsCuResult
cuModuleGetFunction(LsCuFunction *ret_function, LsCuModule module, const char *name)
{
    Function *function = ((Module *)module)->functions;
    while (function != NULL && strcmp(function->name, name) != 0)
        function = function->next;
    *ret_function = function;
    return function != NULL ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_NOT_FOUND;
}

/* -- Kernels -- */

static void
run_kernel(Work *work)
{
    const Function *function = work->function;
    if (function->twin != NULL)
        function->twin(work->activity.grid, work->activity.block, work->param_at);
    double_sleep(double_settings()->kernel_us * 1000);
}

static bool
copy_params(Work *work, void **parameters)
{
    const Function *function = work->function;
    size_t used = 0;
    for (int i = 0; i < function->n_params; i++) {
        size_t bytes = (size_t)function->param_bytes[i];
        used = (used + 7) / 8 * 8;
        if (parameters == NULL || parameters[i] == NULL || used + bytes > PARAMS_BYTES)
            return false;
        work->param_at[i] = work->params + used;
        memcpy(work->params + used, parameters[i], bytes);
        used += bytes;
    }
    return true;
}

DOUBLE_API LsCuResult
cuLaunchKernel(LsCuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
               LsCuStream handle, void **parameters, void **extra)
{
    Call call = call_begin(LS_CUPTI_CALL_LAUNCH_KERNEL);
    Stream *stream = stream_find(handle);
    if (function == NULL || stream == NULL || current_device() < 0)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    Work *work = work_new(LS_CUPTI_CONCURRENT_KERNEL, &call);
    DoubleActivity *activity = &work->activity;
    work->function = function;
    work->run = run_kernel;
    activity->name = work->function->name;
    memcpy(activity->grid, (unsigned[]){grid_x, grid_y, grid_z}, sizeof activity->grid);
    memcpy(activity->block, (unsigned[]){block_x, block_y, block_z}, sizeof activity->block);
    if (!copy_params(work, parameters)) {
        free(work);
        return call_end(&call, LS_CUDA_ERROR_INVALID_VALUE);
    }
    double_count(1, "kernel.%s", activity->name);
    stream_add(stream, work);
    return call_end(&call, LS_CUDA_SUCCESS);
}

static void
run_host(Work *work)
{
    work->host(work->user);
}

LsCuResult
launch_work(LsCuStream handle, const char *name, unsigned blocks, unsigned threads,
            void (*function)(void *), void *user, const DoublePlace *after, DoublePlace *ret_place)
{
    Call call = call_begin(LS_CUPTI_CALL_LAUNCH_KERNEL_EX);
    Stream *stream = stream_find(handle);
    if (stream == NULL || current_device() < 0)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    Work *work = work_new(LS_CUPTI_CONCURRENT_KERNEL, &call);
    work->activity.name = name;
    memcpy(work->activity.grid, (unsigned[]){blocks, 1, 1}, sizeof work->activity.grid);
    memcpy(work->activity.block, (unsigned[]){threads, 1, 1}, sizeof work->activity.block);
    work->run = run_host;
    work->host = function;
    work->user = user;
    work_depends(work, *after);
    double_count(1, "kernel.nccl");
    *ret_place = stream_add(stream, work);
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuLaunchHostFunc(LsCuStream handle, void (*function)(void *), void *user)
{
    Call call = call_begin(LS_CUPTI_CALL_LAUNCH_HOST_FUNC);
    Stream *stream = stream_find(handle);
    if (stream == NULL || function == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    Work *work = work_new(0, &call);
    work->run = run_host;
    work->host = function;
    work->user = user;
    stream_add(stream, work);
    return call_end(&call, LS_CUDA_SUCCESS);
}

/* -- Copies and fills -- */

static void
run_copy(Work *work)
{
    memmove(work->target, work->source, work->activity.bytes);
}

static LsCuResult
copy(uint32_t number, const char *key, void *target, const void *source, size_t bytes,
     LsCuStream handle, const uint8_t kinds[3], bool is_waited)
{
    Call call = call_begin(number);
    Stream *stream = stream_find(handle);
    if (stream == NULL || target == NULL || source == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_VALUE);
    Work *work = work_new(LS_CUPTI_MEMCPY, &call);
    work->activity.bytes = bytes;
    work->activity.copy_kind = kinds[0];
    work->activity.source = kinds[1];
    work->activity.target = kinds[2];
    work->run = run_copy;
    work->target = target;
    work->source = source;
    double_count(1, "copy.%s", key);
    double_count((int64_t)bytes, "copy.%s.bytes", key);
    DoublePlace place = stream_add(stream, work);
    if (is_waited)
        place_wait(place);
    return call_end(&call, LS_CUDA_SUCCESS);
}

#define HOST_OF(pointer) ((void *)(uintptr_t)(pointer))
static const uint8_t to_device[] = {1, 2, 3}, to_host[] = {2, 3, 2}, on_device[] = {8, 3, 3};

DOUBLE_API LsCuResult
cuMemcpyHtoD_v2(LsCuPointer target, const void *source, size_t bytes)
{
    return copy(LS_CUPTI_CALL_MEMCPY_HTOD, "HtoD", HOST_OF(target), source, bytes, NULL, to_device,
                true);
}

DOUBLE_API LsCuResult
cuMemcpyDtoH_v2(void *target, LsCuPointer source, size_t bytes)
{
    return copy(LS_CUPTI_CALL_MEMCPY_DTOH, "DtoH", target, HOST_OF(source), bytes, NULL, to_host,
                true);
}

DOUBLE_API LsCuResult
cuMemcpyHtoDAsync_v2(LsCuPointer target, const void *source, size_t bytes, LsCuStream stream)
{
    return copy(LS_CUPTI_CALL_MEMCPY_HTOD_ASYNC, "HtoD", HOST_OF(target), source, bytes, stream,
                to_device, false);
}

DOUBLE_API LsCuResult
cuMemcpyDtoHAsync_v2(void *target, LsCuPointer source, size_t bytes, LsCuStream stream)
{
    return copy(LS_CUPTI_CALL_MEMCPY_DTOH_ASYNC, "DtoH", target, HOST_OF(source), bytes, stream,
                to_host, false);
}

DOUBLE_API LsCuResult
cuMemcpyDtoDAsync_v2(LsCuPointer target, LsCuPointer source, size_t bytes, LsCuStream stream)
{
    return copy(LS_CUPTI_CALL_MEMCPY_DTOD_ASYNC, "DtoD", HOST_OF(target), HOST_OF(source), bytes,
                stream, on_device, false);
}

static void
run_fill(Work *work)
{
    const DoubleActivity *activity = &work->activity;
    for (size_t i = 0; i < activity->bytes / work->fill_bytes; i++)
        memcpy((char *)work->target + i * work->fill_bytes, &activity->value, work->fill_bytes);
}

static LsCuResult
fill(uint32_t number, LsCuPointer target, unsigned value, uint32_t fill_bytes, size_t n,
     LsCuStream handle)
{
    Call call = call_begin(number);
    Stream *stream = stream_find(handle);
    if (stream == NULL || !memory_is_ours(target))
        return call_end(&call, LS_CUDA_ERROR_INVALID_VALUE);
    Work *work = work_new(LS_CUPTI_MEMSET, &call);
    work->activity.bytes = n * fill_bytes;
    work->activity.value = value;
    work->fill_bytes = fill_bytes;
    work->run = run_fill;
    work->target = HOST_OF(target);
    double_count(1, "memset");
    stream_add(stream, work);
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuMemsetD8Async(LsCuPointer target, unsigned char value, size_t n, LsCuStream stream)
{
    return fill(LS_CUPTI_CALL_MEMSET_D8_ASYNC, target, value, 1, n, stream);
}

DOUBLE_API LsCuResult
cuMemsetD32Async(LsCuPointer target, unsigned value, size_t n, LsCuStream stream)
{
    return fill(LS_CUPTI_CALL_MEMSET_D32_ASYNC, target, value, 4, n, stream);
}

/* -- Waiting -- */

static void
tell_sync(const Call *call, int type, uint32_t stream, uint32_t event)
{
    if (call->tool != NULL)
        call->tool->sync(type, call->start, tool_now(call->tool), call->correlation, 1, stream,
                         event);
    double_count(1, "sync.%d", type);
}

static DoublePlace
last_place(Stream *stream)
{
    pthread_mutex_lock(&driver.lock);
    DoublePlace place = {stream, stream->asked};
    pthread_mutex_unlock(&driver.lock);
    return place;
}

DOUBLE_API LsCuResult
cuCtxSynchronize(void)
{
    Call call = call_begin(LS_CUPTI_CALL_CTX_SYNCHRONIZE);
    for (int i = 0; i < STREAMS_MAX; i++) {
        pthread_mutex_lock(&driver.lock);
        Stream *stream = driver.streams[i];
        DoublePlace place = {stream, stream != NULL ? stream->asked : 0};
        pthread_mutex_unlock(&driver.lock);
        place_wait(place);
    }
    tell_sync(&call, LS_CUPTI_SYNC_CONTEXT_WAIT, 0, 0);
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuStreamCreate(LsCuStream *stream, unsigned flags)
{
    *stream = driver.is_initialized ? stream_open((flags & LS_CU_STREAM_NON_BLOCKING) == 0) : NULL;
    return *stream != NULL ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_OUT_OF_MEMORY;
}

DOUBLE_API LsCuResult
cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return current_device() >= 0 ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_CONTEXT;
}

DOUBLE_API LsCuResult
cuStreamCreateWithPriority(LsCuStream *ret_stream, unsigned flags, int priority)
{
    LsCuResult result = cuStreamCreate(ret_stream, flags);
    if (result == LS_CUDA_SUCCESS)
        ((Stream *)*ret_stream)->priority = priority;
    double_count(1, "stream.priority.%d", priority);
    return result;
}

DOUBLE_API LsCuResult
cuStreamGetPriority(LsCuStream handle, int *priority)
{
    const Stream *stream = stream_find(handle);
    if (stream == NULL)
        return LS_CUDA_ERROR_INVALID_HANDLE;
    *priority = stream->priority;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuStreamDestroy_v2(LsCuStream handle)
{
    Stream *stream = stream_find(handle);
    if (stream == NULL || stream->is_default)
        return LS_CUDA_ERROR_INVALID_HANDLE;
    stream_close(stream);
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuStreamSynchronize(LsCuStream handle)
{
    Call call = call_begin(LS_CUPTI_CALL_STREAM_SYNCHRONIZE);
    Stream *stream = stream_find(handle);
    if (stream == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    place_wait(last_place(stream));
    tell_sync(&call, LS_CUPTI_SYNC_STREAM_WAIT, stream->id, 0);
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuStreamQuery(LsCuStream handle)
{
    Call call = call_begin(LS_CUPTI_CALL_STREAM_QUERY);
    Stream *stream = stream_find(handle);
    if (stream == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    DoublePlace place = last_place(stream);
    pthread_mutex_lock(&driver.lock);
    bool is_done = place_is_done(place);
    pthread_mutex_unlock(&driver.lock);
    return call_end(&call, is_done ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_NOT_READY);
}

DOUBLE_API LsCuResult
cuEventCreate(LsCuEvent *ret_event, unsigned flags)
{
    Event *event = calloc(1, sizeof *event);
    pthread_mutex_lock(&driver.lock);
    event->id = ++driver.n_events;
    pthread_mutex_unlock(&driver.lock);
    *ret_event = event;
    return LS_CUDA_SUCCESS;
}

DOUBLE_API LsCuResult
cuEventDestroy_v2(LsCuEvent event)
{
    /* Work that is under way may still stamp it: a few bytes stay. */
    return event != NULL ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_HANDLE;
}

static void
run_stamp(Work *work)
{
    Event *event = work->user;
    pthread_mutex_lock(&driver.lock);
    event->time_ns = double_now(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&driver.lock);
}

DOUBLE_API LsCuResult
cuEventRecord(LsCuEvent handle, LsCuStream stream_handle)
{
    Call call = call_begin(LS_CUPTI_CALL_EVENT_RECORD);
    Event *event = handle;
    Stream *stream = stream_find(stream_handle);
    if (event == NULL || stream == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    Work *work = work_new(0, &call);
    work->run = run_stamp;
    work->user = event;
    DoublePlace place = stream_add(stream, work);
    pthread_mutex_lock(&driver.lock);
    event->stream = place.stream;
    event->number = place.number;
    event->is_recorded = true;
    pthread_mutex_unlock(&driver.lock);
    return call_end(&call, LS_CUDA_SUCCESS);
}

static DoublePlace
event_place(const Event *event)
{
    pthread_mutex_lock(&driver.lock);
    DoublePlace place = {event->is_recorded ? event->stream : NULL, event->number};
    pthread_mutex_unlock(&driver.lock);
    return place;
}

DOUBLE_API LsCuResult
cuStreamWaitEvent(LsCuStream handle, LsCuEvent event, unsigned flags)
{
    Call call = call_begin(LS_CUPTI_CALL_STREAM_WAIT_EVENT);
    Stream *stream = stream_find(handle);
    if (stream == NULL || event == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    Work *work = work_new(0, &call);
    work_depends(work, event_place(event));
    stream_add(stream, work);
    tell_sync(&call, LS_CUPTI_SYNC_STREAM_WAIT_EVENT, stream->id, ((const Event *)event)->id);
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuEventSynchronize(LsCuEvent event)
{
    Call call = call_begin(LS_CUPTI_CALL_EVENT_SYNCHRONIZE);
    if (event == NULL)
        return call_end(&call, LS_CUDA_ERROR_INVALID_HANDLE);
    place_wait(event_place(event));
    tell_sync(&call, LS_CUPTI_SYNC_EVENT_WAIT, 0, ((const Event *)event)->id);
    return call_end(&call, LS_CUDA_SUCCESS);
}

DOUBLE_API LsCuResult
cuEventQuery(LsCuEvent event)
{
    Call call = call_begin(LS_CUPTI_CALL_EVENT_QUERY);
    DoublePlace place = event_place(event);
    pthread_mutex_lock(&driver.lock);
    bool is_done = place_is_done(place);
    pthread_mutex_unlock(&driver.lock);
    return call_end(&call, is_done ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_NOT_READY);
}

DOUBLE_API LsCuResult
cuEventElapsedTime(float *ms, LsCuEvent start, LsCuEvent end)
{
    const Event *a = start, *b = end;
    place_wait(event_place(a));
    place_wait(event_place(b));
    pthread_mutex_lock(&driver.lock);
    *ms = (float)((double)(b->time_ns - a->time_ns) / 1e6);
    bool is_good = a->is_recorded && b->is_recorded;
    pthread_mutex_unlock(&driver.lock);
    return is_good ? LS_CUDA_SUCCESS : LS_CUDA_ERROR_INVALID_HANDLE;
}
