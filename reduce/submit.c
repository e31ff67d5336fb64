/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/submit.c: checks what a program hands in, and puts it into the queue.
 */
#include "reduce/context.h"
#include "capture/format.h"
#include "reduce/failure.h"

#include <stddef.h>

/* What a tensor of the first header has. What came after it is read only where it is. */
#define TENSOR_FIRST_SIZE offsetof(lockstep_tensor, memory)

/* What can be said of a tensor on this rank alone. NULL: nothing is wrong. */
static const char *
find_fault(const lockstep_tensor *tensor)
{
    int64_t count;
    if (tensor->name == NULL || tensor->name[0] == '\0')
        return "it has no name";
    if (ls_dtype_bytes((uint8_t)tensor->dtype) == 0 || (int)tensor->dtype != (uint8_t)tensor->dtype)
        return "its dtype is unknown";
    if (tensor->count < 0)
        return "its count is below 0";
    if (!ls_shape_count(&tensor->count, 1, &count))
        return "its bytes are more than 63 bits can count";
    if (tensor->shape != NULL &&
        (tensor->ndim < 0 || !ls_shape_count(tensor->shape, tensor->ndim, &count) ||
         count != tensor->count))
        return "the product of its shape is not its count";
    if (tensor->count > 0 && tensor->output == NULL)
        return "its output is NULL";
    return NULL;
}

/* NULL, or what is wrong with the input and with who learns of the end. */
static const char *
find_lack(const lockstep_tensor *tensor, bool reads, bool handles)
{
    if (reads && tensor->count > 0 && tensor->input == NULL)
        return "its input is NULL";
    if (!handles && tensor->callback == NULL)
        return "neither ret_handle nor a callback is given, so nobody could learn that it is done";
    return NULL;
}

/* In part; of a tensor without another fault. */
static bool
overlaps_itself(const lockstep_tensor *tensor)
{
    uintptr_t in = (uintptr_t)tensor->input, out = (uintptr_t)tensor->output;
    uintptr_t bytes = (uintptr_t)tensor->count * ls_dtype_bytes((uint8_t)tensor->dtype);
    return in != out && in != 0 && (in > out ? in - out : out - in) < bytes;
}

/* n tensors that are handed in alike. reads: the input of this rank counts. */
static lockstep_status
submit(lockstep_context *context, const lockstep_tensor *const *tensors, size_t n,
       const LsWork *work, bool reads, lockstep_handle *ret_handles)
{
    for (size_t i = 0; ret_handles != NULL && i < n; i++)
        ret_handles[i] = 0;
    bool given = context != NULL && tensors != NULL;
    for (size_t i = 0; given && i < n; i++)
        given = tensors[i] != NULL;
    if (!given)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "context or tensor is NULL");
    for (size_t i = 0; i < n; i++) {
        const lockstep_tensor *tensor = tensors[i];
        if (tensor->size < TENSOR_FIRST_SIZE)
            return ls_fail(LOCKSTEP_ERR_ARGUMENT,
                           "tensor->size is %zu, which is less than the %zu that lockstep_tensor "
                           "had at first",
                           tensor->size, TENSOR_FIRST_SIZE);
        const char *fault = find_fault(tensor);
        if (fault == NULL && work->operation == LS_OPERATION_ALLREDUCE && overlaps_itself(tensor))
            fault = "its input and output overlap in part: they must be one, or apart";
        if (fault == NULL)
            fault = find_lack(tensor, reads, ret_handles != NULL);
        if (fault != NULL)
            return ls_fail(LOCKSTEP_ERR_ARGUMENT, "tensor %.200s: %s",
                           tensor->name != NULL && tensor->name[0] != '\0' ? tensor->name : "\"\"",
                           fault);
    }
    return n > 0 ? ls_queue_submit(context->queue, tensors, n, work, ret_handles) : LOCKSTEP_OK;
}

static lockstep_status
reduce(lockstep_context *context, const lockstep_tensor *const *tensors, size_t n,
       uint8_t operation, lockstep_op op, lockstep_handle *ret_handles)
{
    LsWork work = {.operation = operation, .reduction = (uint8_t)op};
    if ((int)op >= LOCKSTEP_SUM && op <= LOCKSTEP_PRODUCT)
        return submit(context, tensors, n, &work, true, ret_handles);
    for (size_t i = 0; ret_handles != NULL && i < n; i++)
        ret_handles[i] = 0;
    return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_%s: there is no operation %d",
                   operation == LS_OPERATION_ALLREDUCE ? "allreduce" : "reduce_scatter", (int)op);
}

LOCKSTEP_API lockstep_status
lockstep_allreduce(lockstep_context *context, const lockstep_tensor *tensor, lockstep_op op,
                   lockstep_handle *ret_handle)
{
    return reduce(context, &tensor, 1, LS_OPERATION_ALLREDUCE, op, ret_handle);
}

LOCKSTEP_API lockstep_status
lockstep_allreduce_group(lockstep_context *context, const lockstep_tensor *const *tensors, size_t n,
                         lockstep_op op, lockstep_handle *ret_handles)
{
    return reduce(context, tensors, n, LS_OPERATION_ALLREDUCE, op, ret_handles);
}

LOCKSTEP_API lockstep_status
lockstep_broadcast(lockstep_context *context, const lockstep_tensor *tensor, int root,
                   lockstep_handle *ret_handle)
{
    LsWork work = {.operation = LS_OPERATION_BROADCAST, .root = root};
    if (context != NULL && (root < 0 || root >= context->world->ranks)) {
        if (ret_handle != NULL)
            *ret_handle = 0;
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_broadcast: there is no rank %d among %d",
                       root, context->world->ranks);
    }
    bool reads = context != NULL && root == context->world->rank;
    return submit(context, &tensor, 1, &work, reads, ret_handle);
}

LOCKSTEP_API lockstep_status
lockstep_allgather(lockstep_context *context, const lockstep_tensor *tensor,
                   const lockstep_gather *gather, lockstep_handle *ret_handle)
{
    if (ret_handle != NULL)
        *ret_handle = 0;
    if (gather == NULL || gather->size < sizeof *gather)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT,
                       "lockstep_allgather: gather is NULL or its size less than the %zu of "
                       "lockstep_gather",
                       sizeof *gather);
    if (gather->capacity < 0 || gather->capacity > INT64_MAX / 8 ||
        (gather->capacity > 0 && tensor != NULL && tensor->output == NULL))
        return ls_fail(
            LOCKSTEP_ERR_ARGUMENT,
            "lockstep_allgather: a capacity of %lld elements does not go with the output",
            (long long)gather->capacity);
    LsWork work = {.operation = LS_OPERATION_ALLGATHER,
                   .capacity = gather->capacity,
                   .ret_counts = gather->ret_counts};
    return submit(context, &tensor, 1, &work, true, ret_handle);
}

/* Whether the rank's share of the output overlaps the input: pieces of one would come out before
 * the other is read. */
static bool
overlaps(const lockstep_context *context, const lockstep_tensor *tensor)
{
    size_t width = ls_dtype_bytes((uint8_t)tensor->dtype);
    int64_t rows = tensor->shape == NULL ? tensor->count : tensor->ndim > 0 ? tensor->shape[0] : 0;
    if (rows <= 0 || tensor->count <= 0)
        return false;
    int64_t own = lockstep_share(context, rows, context->world->rank) * (tensor->count / rows);
    uintptr_t in = (uintptr_t)tensor->input, out = (uintptr_t)tensor->output;
    return own > 0 && in < out + (size_t)own * width && out < in + (size_t)tensor->count * width;
}

LOCKSTEP_API lockstep_status
lockstep_reduce_scatter(lockstep_context *context, const lockstep_tensor *tensor, lockstep_op op,
                        lockstep_handle *ret_handle)
{
    if (context != NULL && tensor != NULL && tensor->size >= TENSOR_FIRST_SIZE &&
        find_fault(tensor) == NULL && overlaps(context, tensor)) {
        if (ret_handle != NULL)
            *ret_handle = 0;
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "tensor %.200s: its output overlaps its input",
                       tensor->name);
    }
    return reduce(context, &tensor, 1, LS_OPERATION_REDUCESCATTER, op, ret_handle);
}

LOCKSTEP_API int64_t
lockstep_share(const lockstep_context *context, int64_t rows, int rank)
{
    int ranks = lockstep_size(context);
    if (rows < 0 || rank < 0 || rank >= ranks)
        return -1;
    return rows / ranks + (rank < rows % ranks);
}

LOCKSTEP_API lockstep_status
lockstep_barrier(lockstep_context *context, const char *name, lockstep_handle *ret_handle)
{
    const lockstep_tensor nothing = {.size = sizeof nothing, .name = name}, *tensor = &nothing;
    LsWork work = {.operation = LS_OPERATION_BARRIER};
    return submit(context, &tensor, 1, &work, false, ret_handle);
}

LOCKSTEP_API lockstep_status
lockstep_wait(lockstep_context *context, lockstep_handle handle, int timeout_ms)
{
    if (context == NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_wait: context is NULL");
    if (timeout_ms != 0 && ls_queue_is_calling())
        return ls_fail(
            LOCKSTEP_ERR_ARGUMENT,
            "lockstep_wait: called from a callback, which holds up all that it could wait for");
    return ls_queue_wait(context->queue, handle, timeout_ms);
}
