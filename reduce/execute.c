/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/execute.c: Horovod's steps for host memory (facts: Horovod C2): one tensor is moved where
 * it lies; several are packed one behind another in the order of the response, moved as one, and
 * unpacked. An average is summed in a wider type, piece by piece (reduce/average.h).
 */
#include "reduce/execute.h"

#include "capture/format.h"
#include "reduce/average.h"
#include "reduce/failure.h"

#include <stdlib.h>
#include <string.h>

#define WIDE_BYTES (1024 * 1024)

struct LsExecutor {
    LsExecutorConfig config;
    uint8_t *fusion;   /* threshold bytes; the kernel gives pages as they are used */
    void *wide;        /* WIDE_BYTES */
    LsEntry **entries; /* of the response at hand */
    size_t capacity;
    int64_t buffers; /* executed so far; equal on all ranks */
    uint32_t allreduce_name, broadcast_name;
};

LsExecutor *
ls_executor_new(const LsExecutorConfig *config)
{
    LsExecutor *executor = calloc(1, sizeof *executor);
    if (executor == NULL)
        return NULL;
    executor->config = *config;
    executor->fusion = malloc((size_t)config->fusion_threshold_bytes + 1);
    executor->wide = malloc(WIDE_BYTES);
    if (executor->fusion != NULL && executor->wide != NULL)
        return executor;
    ls_executor_free(executor);
    return NULL;
}

void
ls_executor_free(LsExecutor *executor)
{
    free(executor->entries);
    free(executor->wide);
    free(executor->fusion);
    free(executor);
}

static lockstep_status
allreduce_wide(LsExecutor *executor, const void *input, void *output, int64_t count,
               lockstep_dtype dtype, LsWide wide)
{
    LsPlane *plane = executor->config.plane;
    int ranks = executor->config.world->ranks;
    size_t bytes = ls_dtype_bytes((uint8_t)dtype);
    int64_t room = (int64_t)(WIDE_BYTES / (ls_dtype_bytes((uint8_t)wide.dtype) * wide.per_element));
    lockstep_status status = LOCKSTEP_OK;
    for (int64_t at = 0; at < count && status == LOCKSTEP_OK; at += room) {
        size_t n = (size_t)(count - at < room ? count - at : room);
        const uint8_t *from = (const uint8_t *)input + (size_t)at * bytes;
        ls_average_widen(dtype, from, executor->wide, n, ranks);
        status = plane->class->allreduce(plane, executor->wide, executor->wide,
                                         (int64_t)(n * wide.per_element), wide.dtype, LOCKSTEP_SUM);
        if (status == LOCKSTEP_OK)
            ls_average_narrow(dtype, executor->wide, (uint8_t *)output + (size_t)at * bytes, n,
                              ranks);
    }
    return status;
}

static lockstep_status
allreduce(LsExecutor *executor, const void *input, void *output, int64_t count,
          lockstep_dtype dtype, lockstep_op op)
{
    LsPlane *plane = executor->config.plane;
    LsWide wide = ls_average_wide(dtype);
    if (op != LOCKSTEP_AVERAGE)
        return plane->class->allreduce(plane, input, output, count, dtype, op);
    if (wide.per_element > 0)
        return allreduce_wide(executor, input, output, count, dtype, wide);
    lockstep_status status =
        plane->class->allreduce(plane, input, output, count, dtype, LOCKSTEP_SUM);
    if (status == LOCKSTEP_OK)
        ls_average_divide(dtype, output, (size_t)count, executor->config.world->ranks);
    return status;
}

static void
copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0 && to != from)
        memcpy(to, from, bytes);
}

static void
pack(LsExecutor *executor, size_t n, const LsBufferMark *mark)
{
    int64_t start = ls_instrument_now();
    uint8_t *at = executor->fusion;
    for (size_t i = 0; i < n; i++) {
        const LsEntry *entry = executor->entries[i];
        size_t bytes = (size_t)entry->count * ls_dtype_bytes((uint8_t)entry->dtype);
        copy(at, entry->input, bytes);
        at += bytes;
    }
    ls_instrument_pack(executor->config.instrument, start, mark);
}

static void
unpack(LsExecutor *executor, size_t n, const LsBufferMark *mark)
{
    int64_t start = ls_instrument_now();
    const uint8_t *at = executor->fusion;
    for (size_t i = 0; i < n; i++) {
        const LsEntry *entry = executor->entries[i];
        size_t bytes = (size_t)entry->count * ls_dtype_bytes((uint8_t)entry->dtype);
        copy(entry->output, at, bytes);
        at += bytes;
    }
    ls_instrument_unpack(executor->config.instrument, start, mark);
}

static lockstep_status
run_allreduce(LsExecutor *executor, const LsResponse *response, int64_t count,
              const LsBufferMark *mark)
{
    bool fused = response->n > 1;
    const LsEntry *first = executor->entries[0];
    uint32_t name = executor->allreduce_name;
    if (fused)
        pack(executor, response->n, mark);
    int64_t start = ls_instrument_operation_begin(executor->config.instrument, name, mark);
    lockstep_status status = allreduce(
        executor, fused ? executor->fusion : first->input, fused ? executor->fusion : first->output,
        count, (lockstep_dtype)response->dtype, (lockstep_op)response->reduction);
    ls_instrument_operation_end(executor->config.instrument, name, start, mark);
    if (fused && status == LOCKSTEP_OK)
        unpack(executor, response->n, mark);
    return status;
}

static lockstep_status
run_broadcast(LsExecutor *executor, const LsResponse *response, const LsBufferMark *mark)
{
    LsPlane *plane = executor->config.plane;
    const LsEntry *entry = executor->entries[0];
    uint32_t name = executor->broadcast_name;
    int64_t start = ls_instrument_operation_begin(executor->config.instrument, name, mark);
    if (response->root == executor->config.world->rank)
        copy(entry->output, entry->input, (size_t)mark->bytes);
    lockstep_status status =
        plane->class->broadcast(plane, entry->output, (size_t)mark->bytes, response->root);
    ls_instrument_operation_end(executor->config.instrument, name, start, mark);
    return status;
}

/* Finds the response's tensors in the queue. Those of an error need not be here. */
static lockstep_status
find_entries(LsExecutor *executor, const LsResponse *response)
{
    if (response->n > executor->capacity) {
        LsEntry **entries = realloc(executor->entries, response->n * sizeof *entries);
        if (entries == NULL)
            return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory for a buffer of %zu tensors",
                           response->n);
        executor->entries = entries;
        executor->capacity = response->n;
    }
    for (size_t i = 0; i < response->n; i++) {
        executor->entries[i] = ls_queue_find(executor->config.queue, response->names[i]);
        if (executor->entries[i] == NULL && response->operation != LS_OPERATION_ERROR)
            return ls_fail(LOCKSTEP_ERR_INTERNAL,
                           "the ranks agreed on tensor %s, which was not submitted on rank %d",
                           response->names[i], executor->config.world->rank);
    }
    return LOCKSTEP_OK;
}

static void
fail_tensors(LsExecutor *executor, const LsResponse *response)
{
    lockstep_status status = response->status < 0 ? response->status : LOCKSTEP_ERR_INTERNAL;
    const char *text = response->error != NULL ? response->error : lockstep_status_text(status);
    ls_instrument_error(executor->config.instrument, status, text);
    for (size_t i = 0; i < response->n; i++) {
        if (executor->entries[i] != NULL)
            ls_queue_finish(executor->config.queue, executor->entries[i], -1, status, text);
    }
}

static lockstep_status
run_response(LsExecutor *executor, const LsResponse *response)
{
    lockstep_status status = find_entries(executor, response);
    if (status != LOCKSTEP_OK || response->n == 0)
        return status;
    if (response->operation == LS_OPERATION_ERROR) {
        fail_tensors(executor, response);
        return LOCKSTEP_OK;
    }
    int64_t count = 0;
    for (size_t i = 0; i < response->n; i++)
        count += executor->entries[i]->count;
    LsBufferMark mark = {
        .number = executor->buffers++,
        .bytes = count * (int64_t)ls_dtype_bytes(response->dtype),
        .tensors = (int64_t)response->n,
        .code = ls_instrument_code(response->operation, response->dtype, response->reduction)};
    if (response->n > 1 && mark.bytes > executor->config.fusion_threshold_bytes)
        return ls_fail(LOCKSTEP_ERR_INTERNAL, "a fused buffer of %lld bytes is over the threshold",
                       (long long)mark.bytes);
    if (response->operation == LS_OPERATION_ALLREDUCE)
        status = run_allreduce(executor, response, count, &mark);
    else if (response->operation == LS_OPERATION_BROADCAST && response->n == 1)
        status = run_broadcast(executor, response, &mark);
    else
        status =
            ls_fail(LOCKSTEP_ERR_INTERNAL, "the ranks agreed on an operation %d of %zu tensors",
                    response->operation, response->n);
    for (size_t i = 0; i < response->n && status == LOCKSTEP_OK; i++)
        ls_queue_finish(executor->config.queue, executor->entries[i], mark.number, LOCKSTEP_OK,
                        NULL);
    return status;
}

/* Agreement is one moment for all responses of the cycle; what follows is their way through the
 * plane, one after another. */
static void
record_agreed(LsExecutor *executor, const LsResponseList *responses, int64_t cycle)
{
    int64_t now = ls_instrument_now();
    int64_t buffer = executor->buffers;
    for (size_t i = 0; i < responses->n; i++) {
        const LsResponse *response = &responses->items[i];
        if (response->operation == LS_OPERATION_ERROR || response->n == 0)
            continue;
        for (size_t k = 0; k < response->n; k++) {
            const LsEntry *entry = ls_queue_find(executor->config.queue, response->names[k]);
            if (entry != NULL)
                ls_instrument_agreed(executor->config.instrument, entry->record_name, now,
                                     entry->occurrence, cycle, buffer, (int64_t)k);
        }
        buffer++;
    }
}

lockstep_status
ls_executor_run(LsExecutor *executor, const LsResponseList *responses, int64_t cycle)
{
    const LsPlaneClass *class = executor->config.plane->class;
    lockstep_status status = LOCKSTEP_OK;
    ls_instrument_name(executor->config.instrument, class->allreduce_text,
                       &executor->allreduce_name);
    ls_instrument_name(executor->config.instrument, class->broadcast_text,
                       &executor->broadcast_name);
    record_agreed(executor, responses, cycle);
    for (size_t i = 0; i < responses->n && status == LOCKSTEP_OK; i++) {
        if (ls_queue_state(executor->config.queue).ended)
            return LOCKSTEP_OK;
        status = run_response(executor, &responses->items[i]);
    }
    return status;
}
