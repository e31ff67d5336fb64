/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/message.c: requests and responses in memory: who owns what, and their words.
 */
#include "reduce/message.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

void
ls_request_clear(LsRequest *request)
{
    free(request->name);
    free(request->shape);
    *request = (LsRequest){0};
}

bool
ls_request_copy(const LsRequest *request, LsRequest *ret_copy)
{
    size_t bytes = (size_t)request->ndim * sizeof *request->shape;
    *ret_copy = *request;
    ret_copy->name = strdup(request->name);
    ret_copy->shape = malloc(bytes > 0 ? bytes : 1);
    if (ret_copy->name != NULL && ret_copy->shape != NULL) {
        if (bytes > 0)
            memcpy(ret_copy->shape, request->shape, bytes);
        return true;
    }
    ls_request_clear(ret_copy);
    return false;
}

void
ls_response_clear(LsResponse *response)
{
    for (size_t i = 0; i < response->n; i++)
        free(response->names[i]);
    free(response->names);
    free(response->counts);
    free(response->error);
    *response = (LsResponse){0};
}

void
ls_request_list_clear(LsRequestList *list)
{
    for (size_t i = 0; i < list->n; i++)
        ls_request_clear(&list->items[i]);
    free(list->items);
    free(list->failure);
    *list = (LsRequestList){0};
}

void
ls_response_list_clear(LsResponseList *list)
{
    for (size_t i = 0; i < list->n; i++)
        ls_response_clear(&list->items[i]);
    free(list->items);
    free(list->failure);
    *list = LS_RESPONSE_LIST_INIT;
}

/* Makes room for one more item. */
static bool
grow(void **items, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity)
        return true;
    size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
    void *grown = reallocarray(*items, wanted, item_bytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

bool
ls_request_list_take(LsRequestList *list, LsRequest *request)
{
    void *items = list->items;
    if (!grow(&items, list->n, &list->capacity, sizeof *list->items))
        return false;
    list->items = items;
    list->items[list->n++] = *request;
    *request = (LsRequest){0};
    return true;
}

bool
ls_response_list_take(LsResponseList *list, LsResponse *response)
{
    void *items = list->items;
    if (!grow(&items, list->n, &list->capacity, sizeof *list->items))
        return false;
    list->items = items;
    list->items[list->n++] = *response;
    *response = (LsResponse){0};
    return true;
}

bool
ls_response_list_fail(LsResponseList *list, const char *name, int32_t status, const char *error)
{
    LsResponse response = {.operation = LS_OPERATION_ERROR, .status = status};
    response.names = calloc(1, sizeof *response.names);
    response.counts = calloc(1, sizeof *response.counts);
    response.error = strdup(error);
    char *copy = strdup(name);
    if (response.names != NULL && response.counts != NULL && response.error != NULL &&
        copy != NULL) {
        response.names[0] = copy;
        response.n = 1;
        if (ls_response_list_take(list, &response))
            return true;
    } else {
        free(copy);
    }
    ls_response_clear(&response);
    return false;
}

bool
ls_shape_count(const int64_t *shape, int32_t ndim, int64_t *ret_count)
{
    int64_t product = 8; /* bytes of the widest element */
    bool empty = false;
    if (ndim < 0 || ndim > LS_NDIM_MAX)
        return false;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return false;
        if (shape[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, shape[i], &product))
            return false;
    }
    *ret_count = empty ? 0 : product / 8;
    return true;
}

bool
ls_operation_has_count(uint8_t operation)
{
    return operation != LS_OPERATION_ALLGATHER && operation != LS_OPERATION_BARRIER;
}

size_t
ls_dtype_bytes(uint8_t dtype)
{
    static const uint8_t bytes[] = {4, 8, 2, 2, 1, 1, 4, 8};
    _Static_assert(LOCKSTEP_INT64 == sizeof bytes - 1, "one size per lockstep_dtype");
    return dtype < sizeof bytes ? bytes[dtype] : 0;
}

const char *
ls_dtype_text(uint8_t dtype)
{
    static const char *const texts[] = {"float32", "float64", "float16", "bfloat16",
                                        "int8",    "uint8",   "int32",   "int64"};
    _Static_assert(LOCKSTEP_INT64 == sizeof texts / sizeof *texts - 1, "one text per dtype");
    return dtype < sizeof texts / sizeof *texts ? texts[dtype] : "unknown";
}

const char *
ls_operation_text(uint8_t operation)
{
    static const char *const texts[] = {
        [LS_OPERATION_ALLREDUCE] = "allreduce", [LS_OPERATION_ALLGATHER] = "allgather",
        [LS_OPERATION_BROADCAST] = "broadcast", [LS_OPERATION_JOIN] = "join",
        [LS_OPERATION_ADASUM] = "adasum",       [LS_OPERATION_ALLTOALL] = "alltoall",
        [LS_OPERATION_BARRIER] = "barrier",     [LS_OPERATION_REDUCESCATTER] = "reducescatter",
        [LS_OPERATION_ERROR] = "error",         [LS_OPERATION_REDUCE] = "reduce",
        [LS_OPERATION_SEND] = "send",           [LS_OPERATION_RECV] = "recv",
    };
    return operation < sizeof texts / sizeof *texts ? texts[operation] : "unknown";
}

const char *
ls_reduction_text(uint8_t reduction)
{
    static const char *const texts[] = {"sum", "average", "min", "max", "product"};
    _Static_assert(LOCKSTEP_PRODUCT == sizeof texts / sizeof *texts - 1, "one text per op");
    return reduction < sizeof texts / sizeof *texts ? texts[reduction] : "unknown";
}
