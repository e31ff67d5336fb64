/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/execute.c: Horovod's steps for host memory (facts: Horovod C2): one tensor is moved where
 * it lies; several are packed one behind another in the order of the response, moved as one, and
 * unpacked. What is squeezed goes tensor by tensor, unpacked (reduce/compress.h).
 */
#include "reduce/execute.h"

#include "capture/format.h"
#include "reduce/compress.h"
#include "reduce/device-run.h"
#include "reduce/failure.h"
#include "reduce/move.h"
#include "reduce/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct LsExecutor {
    LsExecutorConfig config;
    uint8_t *fusion; /* threshold bytes; the kernel gives pages as they are used */
    void *packed, *reduced; /* the fused buffer at hand: there, or in memory of the plane's */
    LsMover *mover;
    LsCompressor *compressor; /* NULL: nothing is squeezed */
    LsEntry **entries;        /* of the response at hand */
    size_t capacity;
    int64_t *lengths; /* allgather: two for each rank, its elements and the room in its output */
    int64_t *offsets; /* ranks + 1 */
    int64_t buffers;  /* executed so far; equal on all ranks */
    const LsBufferMark *mark; /* of the operation under way */
};

/* A stage of the plane: an operation inside that of the buffer. */
static void
on_stage(void *user, const char *text, int64_t start_ns, int64_t end_ns, int64_t bytes)
{
    LsExecutor *executor = user;
    uint32_t name = 0;
    if (executor->mark == NULL)
        return;
    LsBufferMark mark = *executor->mark;
    mark.bytes = bytes;
    ls_instrument_name(executor->config.instrument, text, &name);
    ls_instrument_operation_ended(executor->config.instrument, name, start_ns, end_ns, &mark);
}

static bool
open_compressor(LsExecutor *executor)
{
    const LsExecutorConfig *config = &executor->config;
    bool topk = config->compression == LS_COMPRESSION_TOPK;
    LsSqueeze squeeze = {topk ? LS_SQUEEZE_TOPK : LS_SQUEEZE_ONEBIT, config->topk_permille};
    if (config->world->ranks == 1 || (!topk && config->compression != LS_COMPRESSION_ONEBIT))
        return true;
    executor->compressor =
        ls_compressor_new(config->plane, config->world->rank, config->world->ranks, &squeeze);
    return executor->compressor != NULL;
}

LsExecutor *
ls_executor_new(const LsExecutorConfig *config)
{
    LsExecutor *executor = calloc(1, sizeof *executor);
    if (executor == NULL)
        return NULL;
    size_t ranks = (size_t)config->world->ranks;
    bool half = config->compression == LS_COMPRESSION_FLOAT16;
    LsMoverConfig mover = {.plane = config->plane,
                           .rank = config->world->rank,
                           .ranks = config->world->ranks,
                           .narrow = ranks > 1 &&
                                     (half || config->compression == LS_COMPRESSION_BFLOAT16),
                           .wire = half ? LOCKSTEP_FLOAT16 : LOCKSTEP_BFLOAT16};
    executor->config = *config;
    executor->fusion = malloc((size_t)config->fusion_threshold_bytes + 1);
    executor->packed = executor->reduced = executor->fusion;
    executor->mover = ls_mover_new(&mover);
    executor->lengths = calloc(2 * ranks, sizeof *executor->lengths);
    executor->offsets = calloc(ranks + 1, sizeof *executor->offsets);
    if (executor->fusion == NULL || executor->mover == NULL || executor->lengths == NULL ||
        executor->offsets == NULL || !open_compressor(executor)) {
        ls_executor_free(executor);
        return NULL;
    }
    config->plane->stage = on_stage;
    config->plane->user = executor;
    return executor;
}

void
ls_executor_free(LsExecutor *executor)
{
    if (executor->mover != NULL)
        ls_mover_free(executor->mover);
    if (executor->compressor != NULL)
        ls_compressor_free(executor->compressor);
    executor->config.plane->stage = NULL;
    free(executor->lengths);
    free(executor->offsets);
    free(executor->entries);
    free(executor->fusion);
    free(executor);
}

static void
copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0 && to != from)
        memcpy(to, from, bytes);
}

static bool
is_squeezed(const LsExecutor *executor, const LsResponse *response)
{
    return executor->compressor != NULL && response->operation == LS_OPERATION_ALLREDUCE &&
           response->dtype == LOCKSTEP_FLOAT32 && response->reduction <= LOCKSTEP_AVERAGE;
}

/* Copied into one buffer. */
static bool
is_packed(const LsExecutor *executor, const LsResponse *response)
{
    return response->n > 1 && response->operation == LS_OPERATION_ALLREDUCE &&
           !is_squeezed(executor, response);
}

/* Where the buffer is packed, and from where it is unpacked. */
static void
place(LsExecutor *executor, const LsResponse *response, const LsBufferMark *mark)
{
    LsPlane *plane = executor->config.plane;
    executor->packed = executor->reduced = executor->fusion;
    if (is_packed(executor, response) && plane->class->lend != NULL &&
        ls_mover_is_direct(executor->mover, (lockstep_dtype)response->dtype,
                           (lockstep_op)response->reduction))
        plane->class->lend(plane, (size_t)mark->bytes, &executor->packed, &executor->reduced);
}

static void
pack(LsExecutor *executor, size_t n, const LsBufferMark *mark)
{
    int64_t start = ls_instrument_now();
    uint8_t *at = executor->packed;
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
    const uint8_t *at = executor->reduced;
    for (size_t i = 0; i < n; i++) {
        const LsEntry *entry = executor->entries[i];
        size_t bytes = (size_t)entry->count * ls_dtype_bytes((uint8_t)entry->dtype);
        copy(entry->output, at, bytes);
        at += bytes;
    }
    ls_instrument_unpack(executor->config.instrument, start, mark);
}

static lockstep_status
run_allreduce(LsExecutor *executor, const LsResponse *response, int64_t count)
{
    bool fused = response->n > 1;
    const LsEntry *first = executor->entries[0];
    return ls_mover_allreduce(executor->mover, fused ? executor->packed : first->input,
                              fused ? executor->reduced : first->output, count,
                              (lockstep_dtype)response->dtype, (lockstep_op)response->reduction);
}

static lockstep_status
run_reduce_scatter(LsExecutor *executor, const LsResponse *response)
{
    lockstep_status status = LOCKSTEP_OK;
    for (size_t i = 0; i < response->n && status == LOCKSTEP_OK; i++) {
        const LsEntry *entry = executor->entries[i];
        status = ls_mover_reduce_scatter(executor->mover, entry->input, entry->output, entry->rows,
                                         entry->rows > 0 ? entry->count / entry->rows : 0,
                                         entry->dtype, (lockstep_op)response->reduction);
    }
    return status;
}

static lockstep_status
run_broadcast(LsExecutor *executor, const LsResponse *response, size_t bytes)
{
    LsPlane *plane = executor->config.plane;
    const LsEntry *entry = executor->entries[0];
    if (response->root == executor->config.world->rank)
        copy(entry->output, entry->input, bytes);
    return plane->class->broadcast(plane, entry->output, bytes, response->root);
}

/* Everybody's elements and room. Returns the elements of all, -1 if that is more than can be. */
static lockstep_status
exchange_lengths(LsExecutor *executor, const LsEntry *entry, int64_t *ret_total)
{
    LsPlane *plane = executor->config.plane;
    int rank = executor->config.world->rank, ranks = executor->config.world->ranks;
    for (int r = 0; r <= ranks; r++)
        executor->offsets[r] = r * 2 * (int64_t)sizeof *executor->lengths;
    executor->lengths[2 * rank] = entry->count;
    executor->lengths[2 * rank + 1] = entry->capacity;
    lockstep_status status = plane->class->allgather(plane, executor->lengths, executor->offsets);
    *ret_total = 0;
    for (int r = 0; r < ranks && *ret_total >= 0 && status == LOCKSTEP_OK; r++) {
        if (__builtin_add_overflow(*ret_total, executor->lengths[2 * r], ret_total) ||
            *ret_total > INT64_MAX / 8)
            *ret_total = -1;
    }
    return status;
}

/* The rank whose output is too small for all; -1: none. */
static int
find_narrow(const LsExecutor *executor, int64_t total)
{
    for (int rank = 0; rank < executor->config.world->ranks; rank++) {
        if (total < 0 || executor->lengths[2 * rank + 1] < total)
            return rank;
    }
    return -1;
}

/* Every rank comes to the same verdict: the failure is the tensor's alone. run: on a device, or
 * NULL. */
static lockstep_status
run_allgather(LsExecutor *executor, LsDeviceRun *run, LsBufferMark *mark, bool *ret_failed)
{
    LsPlane *plane = executor->config.plane;
    LsEntry *entry = executor->entries[0];
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)entry->dtype), total;
    lockstep_status status = exchange_lengths(executor, entry, &total);
    int narrow = status == LOCKSTEP_OK ? find_narrow(executor, total) : -1;
    if (narrow >= 0) {
        char text[LS_FAILURE_TEXT_MAX];
        snprintf(text, sizeof text,
                 "tensor %.200s: the ranks gather %lld elements, the output of rank %d has room "
                 "for %lld",
                 entry->name->text, (long long)total, narrow,
                 (long long)executor->lengths[2 * narrow + 1]);
        ls_queue_finish(executor->config.queue, entry, mark->number, LOCKSTEP_ERR_ARGUMENT, text);
        *ret_failed = true;
    }
    if (narrow >= 0 || status != LOCKSTEP_OK)
        return status;
    executor->offsets[0] = 0;
    for (int rank = 0; rank < executor->config.world->ranks; rank++) {
        executor->offsets[rank + 1] = executor->offsets[rank] + executor->lengths[2 * rank] * width;
        if (entry->ret_counts != NULL)
            entry->ret_counts[rank] = executor->lengths[2 * rank];
    }
    mark->bytes = total * width;
    if (entry->count > 0 && (run == NULL || !entry->use.on_device))
        memmove((uint8_t *)entry->output + executor->offsets[executor->config.world->rank],
                entry->input, (size_t)(entry->count * width));
    if (run != NULL)
        return ls_device_allgather(run, entry, (LsSpot){entry->output, entry->use.on_device},
                                   executor->offsets);
    return plane->class->allgather(plane, entry->output, executor->offsets);
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

static const char *
operation_text(const LsExecutor *executor, const LsResponse *response)
{
    const LsPlaneClass *class = executor->config.plane->class;
    if (is_squeezed(executor, response))
        return executor->config.compression == LS_COMPRESSION_ONEBIT ? "ONEBIT_ALLREDUCE"
                                                                     : "TOPK_ALLREDUCE";
    switch (response->operation) {
    case LS_OPERATION_ALLREDUCE:
        return executor->packed == executor->fusion ? class->allreduce_text : class->lent_text;
    case LS_OPERATION_REDUCESCATTER:
        return class->reduce_scatter_text;
    case LS_OPERATION_ALLGATHER:
        return class->allgather_text;
    case LS_OPERATION_BROADCAST:
        return class->broadcast_text;
    default:
        return "BARRIER";
    }
}

/* The plane's part of one buffer. */
static lockstep_status
move(LsExecutor *executor, const LsResponse *response, LsBufferMark *mark, bool *ret_failed)
{
    int64_t width = (int64_t)ls_dtype_bytes(response->dtype);
    if (is_squeezed(executor, response))
        return ls_compressor_allreduce(executor->compressor, executor->entries, response->n,
                                       response->reduction == LOCKSTEP_AVERAGE, &mark->wire);
    if (response->operation == LS_OPERATION_ALLREDUCE) {
        mark->wire =
            ls_mover_wire(executor->mover, mark->bytes / width, (lockstep_dtype)response->dtype,
                          (lockstep_op)response->reduction);
        return run_allreduce(executor, response, mark->bytes / width);
    }
    if (response->operation == LS_OPERATION_REDUCESCATTER)
        return run_reduce_scatter(executor, response);
    if (response->operation == LS_OPERATION_BROADCAST && response->n == 1)
        return run_broadcast(executor, response, (size_t)mark->bytes);
    if (response->operation == LS_OPERATION_ALLGATHER && response->n == 1)
        return run_allgather(executor, NULL, mark, ret_failed);
    if (response->operation == LS_OPERATION_BARRIER)
        return LOCKSTEP_OK; /* that the ranks agreed on it is all there is */
    return ls_fail(LOCKSTEP_ERR_INTERNAL, "the ranks agreed on an operation %d of %zu tensors",
                   response->operation, response->n);
}

/* Of a tensor that went through the host. */
static int64_t
output_bytes(const LsExecutor *executor, const LsEntry *entry, const LsResponse *response,
             const LsBufferMark *mark)
{
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)entry->dtype);
    int rank = executor->config.world->rank, ranks = executor->config.world->ranks;
    if (response->operation == LS_OPERATION_ALLGATHER)
        return mark->bytes;
    if (response->operation != LS_OPERATION_REDUCESCATTER || entry->rows == 0)
        return entry->count * width;
    int64_t rows = entry->rows / ranks + (rank < entry->rows % ranks);
    return rows * (entry->count / entry->rows) * width;
}

static lockstep_status
run_on_host(LsExecutor *executor, const LsResponse *response, uint32_t name, LsBufferMark *mark,
            bool *ret_failed)
{
    LsPlane *plane = executor->config.plane;
    LsInstrument *instrument = executor->config.instrument;
    bool packed = is_packed(executor, response);
    if (plane->device != NULL) {
        lockstep_status fetched = ls_device_fetch(plane, executor->entries, response->n);
        if (fetched != LOCKSTEP_OK)
            return fetched;
    }
    if (packed)
        pack(executor, response->n, mark);
    int64_t start = ls_instrument_operation_begin(instrument, name, mark);
    lockstep_status status = move(executor, response, mark, ret_failed);
    ls_instrument_operation_end(instrument, name, start, mark);
    if (mark->wire > 0)
        ls_instrument_wire(instrument, mark->number, mark->wire);
    if (packed && status == LOCKSTEP_OK)
        unpack(executor, response->n, mark);
    for (size_t i = 0; i < response->n && !*ret_failed && status == LOCKSTEP_OK; i++) {
        LsEntry *entry = executor->entries[i];
        if (entry->use.on_device)
            status = ls_device_store(plane, entry, output_bytes(executor, entry, response, mark));
    }
    return status;
}

static lockstep_status
run_on_device(LsExecutor *executor, const LsResponse *response, uint32_t name, LsBufferMark *mark,
              bool *ret_failed)
{
    LsPlane *plane = executor->config.plane;
    LsEntry *first = executor->entries[0];
    lockstep_op op = (lockstep_op)response->reduction;
    LsDeviceRun run = {.plane = plane,
                       .rank = executor->config.world->rank,
                       .ranks = executor->config.world->ranks,
                       .instrument = executor->config.instrument,
                       .mark = mark,
                       .name = name};
    lockstep_status status = plane->class->device->ready(plane);
    if (status != LOCKSTEP_OK)
        return status;
    if (response->operation == LS_OPERATION_ALLREDUCE)
        return ls_device_allreduce(&run, executor->entries, response->n, op);
    if (response->operation == LS_OPERATION_BROADCAST && response->n == 1)
        return ls_device_broadcast(&run, first, (size_t)mark->bytes, response->root);
    if (response->operation == LS_OPERATION_ALLGATHER && response->n == 1)
        return run_allgather(executor, &run, mark, ret_failed);
    if (response->operation != LS_OPERATION_REDUCESCATTER)
        return ls_fail(LOCKSTEP_ERR_INTERNAL, "the ranks agreed on an operation %d of %zu tensors",
                       response->operation, response->n);
    for (size_t i = 0; i < response->n && status == LOCKSTEP_OK; i++)
        status = ls_device_reduce_scatter(&run, executor->entries[i], op);
    return status;
}

static lockstep_status
run_buffer(LsExecutor *executor, const LsResponse *response, LsBufferMark *mark)
{
    LsPlane *plane = executor->config.plane;
    bool failed = false;
    bool direct = plane->device != NULL &&
                  ls_device_does(plane, response->operation, (lockstep_dtype)response->dtype,
                                 (lockstep_op)response->reduction);
    uint32_t name = 0;
    if (!direct)
        place(executor, response, mark);
    ls_instrument_name(executor->config.instrument, operation_text(executor, response), &name);
    executor->mark = mark;
    lockstep_status status = direct ? run_on_device(executor, response, name, mark, &failed)
                                    : run_on_host(executor, response, name, mark, &failed);
    executor->mark = NULL;
    if (status != LOCKSTEP_OK && plane->device != NULL)
        plane->class->device->fail(plane);
    if (status == LOCKSTEP_OK && !failed)
        ls_queue_finish_all(executor->config.queue, executor->entries, response->n, mark->number);
    return status;
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
    return run_buffer(executor, response, &mark);
}

/* Agreement is one moment for all responses of the cycle; what follows is their way through the
 * plane, one after another. */
static void
record_agreed(LsExecutor *executor, const LsResponseList *responses, int64_t cycle)
{
    int64_t now = ls_instrument_now();
    int64_t buffer = executor->buffers;
    if (!ls_instrument_active())
        return;
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
    lockstep_status status = LOCKSTEP_OK;
    record_agreed(executor, responses, cycle);
    for (size_t i = 0; i < responses->n && status == LOCKSTEP_OK; i++) {
        if (ls_queue_state(executor->config.queue).ended)
            return LOCKSTEP_OK;
        status = run_response(executor, &responses->items[i]);
    }
    return status;
}
