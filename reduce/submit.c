/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/submit.c: checks what a program hands in, and puts it into the queue.
 */
#include "reduce/context.h"
#include "capture/format.h"
#include "reduce/failure.h"

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

static lockstep_status
submit(lockstep_context *context, const lockstep_tensor *tensor, const LsWork *work, bool reads,
       lockstep_handle *ret_handle)
{
    if (ret_handle != NULL)
        *ret_handle = 0;
    if (context == NULL || tensor == NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "context or tensor is NULL");
    if (tensor->size < sizeof *tensor)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT,
                       "tensor->size is %zu, which is less than the %zu of lockstep_tensor",
                       tensor->size, sizeof *tensor);
    const char *fault = find_fault(tensor);
    if (fault == NULL && reads && tensor->count > 0 && tensor->input == NULL)
        fault = "its input is NULL";
    if (fault == NULL && ret_handle == NULL && tensor->callback == NULL)
        fault = "neither ret_handle nor a callback is given, so nobody could learn that it is done";
    if (fault != NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "tensor %.200s: %s",
                       tensor->name != NULL ? tensor->name : "", fault);
    return ls_queue_submit(context->queue, tensor, work, ret_handle);
}

LOCKSTEP_API lockstep_status
lockstep_allreduce(lockstep_context *context, const lockstep_tensor *tensor, lockstep_op op,
                   lockstep_handle *ret_handle)
{
    LsWork work = {LS_OPERATION_ALLREDUCE, (uint8_t)op, 0};
    if ((int)op < LOCKSTEP_SUM || op > LOCKSTEP_PRODUCT) {
        if (ret_handle != NULL)
            *ret_handle = 0;
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_allreduce: there is no operation %d",
                       (int)op);
    }
    return submit(context, tensor, &work, true, ret_handle);
}

LOCKSTEP_API lockstep_status
lockstep_broadcast(lockstep_context *context, const lockstep_tensor *tensor, int root,
                   lockstep_handle *ret_handle)
{
    LsWork work = {LS_OPERATION_BROADCAST, 0, root};
    if (context != NULL && (root < 0 || root >= context->world->ranks)) {
        if (ret_handle != NULL)
            *ret_handle = 0;
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_broadcast: there is no rank %d among %d",
                       root, context->world->ranks);
    }
    bool reads = context != NULL && root == context->world->rank;
    return submit(context, tensor, &work, reads, ret_handle);
}

LOCKSTEP_API lockstep_status
lockstep_wait(lockstep_context *context, lockstep_handle handle, int timeout_ms)
{
    if (context == NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_wait: context is NULL");
    return ls_queue_wait(context->queue, handle, timeout_ms);
}
