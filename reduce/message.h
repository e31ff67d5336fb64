/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/message.h: requests and responses, in memory and on the wire.
 *
 * Content after Horovod's (facts: request rank, type, dtype, name, root, shape; response type,
 * names, error text, sizes, shutdown flag); the encoding is our own: little-endian, every length
 * checked on reading, since a peer's bytes are input (message-wire.c says the bytes). Fuzzed. Libc
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsRequest {
    int32_t rank;
    uint8_t operation; /* LsOperation of capture/format.h */
    uint8_t dtype;     /* lockstep_dtype */
    uint8_t reduction; /* lockstep_op */
    int32_t root;      /* broadcast; else 0 */
    char *name;        /* owned */
    int64_t *shape;    /* owned, ndim */
    int32_t ndim;
    int32_t others;    /* it speaks also for so many ranks that follow `rank` */
    bool held;         /* not asked for yet: its group waits for another member here. Only told so
                        * that whoever looks for missing ranks does not take this one for missing */
    int64_t waited_ns; /* since its submission; 0: it is new */
} LsRequest;

typedef struct LsRequestList {
    LsRequest *items; /* owned */
    size_t n, capacity;
    bool shut_down;
    char *failure; /* owned or NULL: the rank cannot go on, saying this */
} LsRequestList;

/* One buffer to execute: one or more tensors of the same operation, dtype, reduction. */
typedef struct LsResponse {
    uint8_t operation; /* LS_OPERATION_ERROR: fail these tensors with `error` */
    uint8_t dtype;
    uint8_t reduction;
    int32_t root;
    int32_t status;    /* lockstep_status of an ERROR */
    char **names;      /* owned, in order of packing */
    int64_t *counts;   /* owned, elements of each */
    size_t n;
    char *error;       /* owned or NULL */
} LsResponse;

typedef struct LsResponseList {
    LsResponse *items; /* owned */
    size_t n, capacity;
    bool shut_down;
    uint8_t path;       /* LsCyclePath, the same on all ranks */
    int32_t clock_peer; /* >= 0: this pair of host leaders measures its clocks in this cycle; -1: none */
    char *failure;      /* owned or NULL: the control cannot go on; all ranks give up, saying this */
} LsResponseList;

/* Starts empty, with clock_peer -1. */
#define LS_RESPONSE_LIST_INIT ((LsResponseList){.clock_peer = -1})
/* More dimensions than this are refused. */
#define LS_NDIM_MAX 64

void ls_request_clear(LsRequest *request);
/* false: out of memory. */
bool ls_request_copy(const LsRequest *request, LsRequest *ret_copy);
void ls_response_clear(LsResponse *response);
void ls_request_list_clear(LsRequestList *list);   /* frees items, leaves an empty list */
void ls_response_list_clear(LsResponseList *list);

/* Appends and takes the item's memory; false (item untouched) when out of memory. */
bool ls_request_list_take(LsRequestList *list, LsRequest *request);
bool ls_response_list_take(LsResponseList *list, LsResponse *response);

/* Appends the failure of one tensor, all texts copied; false: out of memory, the list is as it was. */
bool ls_response_list_fail(LsResponseList *list, const char *name, int32_t status,
                           const char *error);

/* Encodes into a malloc'd block (*ret_data, caller frees). */
bool ls_request_list_encode(const LsRequestList *list, uint8_t **ret_data, size_t *ret_length);
bool ls_response_list_encode(const LsResponseList *list, uint8_t **ret_data, size_t *ret_length);
/* NULL, or one sentence saying what is wrong and at which byte (static or in `error`). The list is
 * left empty on failure. */
const char *ls_request_list_decode(const void *data, size_t length, LsRequestList *ret_list,
                                   char error[160]);
const char *ls_response_list_decode(const void *data, size_t length, LsResponseList *ret_list,
                                    char error[160]);

/* The product of the extents. false: more than LS_NDIM_MAX of them, one below 0, or the tensor's
 * bytes exceed an int64. */
bool ls_shape_count(const int64_t *shape, int32_t ndim, int64_t *ret_count);

/* Every rank hands in as many elements as the others: all but allgather and barrier. */
bool ls_operation_has_count(uint8_t operation);
/* Bytes of one element; 0 for an unknown dtype. */
size_t ls_dtype_bytes(uint8_t dtype);
const char *ls_dtype_text(uint8_t dtype);
const char *ls_operation_text(uint8_t operation); /* "allreduce" */
const char *ls_reduction_text(uint8_t reduction); /* "sum" */
