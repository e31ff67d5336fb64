/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/message-wire.c: requests and responses as bytes. All numbers little-endian.
 *
 *   text       length u32, bytes (none of them 0)
 *   requests   "LKQ1", flags u8 (1 shut down, 2 failure), [failure text], number u32, request ...
 *   request    rank i32, operation u8, dtype u8, reduction u8, ndim u8, root i32,
 *              flags u8 (1 held, 2 others, 4 waited), [others i32], [waited i64], name text,
 *              extent i64 ... (ndim)
 *   responses  "LKR1", flags u8 (1 shut down, 2 failure), path u8, clock peer i32,
 *              [failure text], number u32, response ...
 *   response   operation u8, dtype u8, reduction u8, flags u8 (1 error), root i32, status i32,
 *              [error text], tensors u32, { count i64, name text } ...
 *
 * A reader allocates for what can still follow in the bytes at hand, never for what a length
 * claims. The first fault ends the reading; every field of a list that was read is a valid value.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/message.h"

#include "capture/format.h"
#include "reduce/lockstep.h"

#define REQUESTS_MAGIC     0x31514b4cu
#define RESPONSES_MAGIC    0x31524b4cu
#define REQUEST_BYTES_MIN  17u
#define RESPONSE_BYTES_MIN 16u
#define TENSOR_BYTES_MIN   12u
#define FLAG_SHUT_DOWN     1u
#define FLAG_FAILURE       2u
#define FLAG_ERROR         1u
#define FLAG_HELD          1u
#define FLAG_OTHERS        2u
#define FLAG_WAITED        4u
#define ERROR_BYTES        160

typedef struct Writer {
    uint8_t *data;
    size_t length, capacity;
    bool failed; /* out of memory */
} Writer;

typedef struct Reader {
    const uint8_t *data;
    size_t length, at;
    const char *what; /* "request list" */
    char *error;
    bool failed;
} Reader;

static void
put(Writer *writer, const void *data, size_t length)
{
    if (writer->failed || length == 0)
        return;
    if (length > writer->capacity - writer->length) {
        size_t wanted = writer->capacity * 2 + length + 64;
        uint8_t *grown = realloc(writer->data, wanted);
        writer->failed = grown == NULL;
        if (grown == NULL)
            return;
        writer->data = grown;
        writer->capacity = wanted;
    }
    memcpy(writer->data + writer->length, data, length);
    writer->length += length;
}

static void
put_number(Writer *writer, uint64_t value, size_t bytes)
{
    uint8_t text[8];
    for (size_t i = 0; i < bytes; i++)
        text[i] = (uint8_t)(value >> 8 * i);
    put(writer, text, bytes);
}

static void
put_text(Writer *writer, const char *text)
{
    size_t length = strlen(text);
    if (length > UINT32_MAX) {
        writer->failed = true;
        return;
    }
    put_number(writer, length, 4);
    put(writer, text, length);
}

static bool
finish(Writer *writer, size_t number, uint8_t **ret_data, size_t *ret_length)
{
    if (writer->failed || number > UINT32_MAX) {
        free(writer->data);
        *ret_data = NULL;
        *ret_length = 0;
        return false;
    }
    *ret_data = writer->data;
    *ret_length = writer->length;
    return true;
}

static void
put_request(Writer *writer, const LsRequest *request)
{
    bool others = request->others > 0, waited = request->waited_ns > 0;
    put_number(writer, (uint32_t)request->rank, 4);
    put_number(writer, request->operation, 1);
    put_number(writer, request->dtype, 1);
    put_number(writer, request->reduction, 1);
    put_number(writer, (uint32_t)request->ndim, 1);
    put_number(writer, (uint32_t)request->root, 4);
    put_number(writer,
               (request->held ? FLAG_HELD : 0) | (others ? FLAG_OTHERS : 0) |
                   (waited ? FLAG_WAITED : 0),
               1);
    if (others)
        put_number(writer, (uint32_t)request->others, 4);
    if (waited)
        put_number(writer, (uint64_t)request->waited_ns, 8);
    put_text(writer, request->name);
    for (int32_t k = 0; k < request->ndim; k++)
        put_number(writer, (uint64_t)request->shape[k], 8);
}

bool
ls_request_list_encode(const LsRequestList *list, uint8_t **ret_data, size_t *ret_length)
{
    Writer writer = {0};
    put_number(&writer, REQUESTS_MAGIC, 4);
    put_number(&writer, (list->shut_down ? FLAG_SHUT_DOWN : 0) | (list->failure ? FLAG_FAILURE : 0),
               1);
    if (list->failure != NULL)
        put_text(&writer, list->failure);
    put_number(&writer, list->n, 4);
    for (size_t i = 0; i < list->n; i++)
        put_request(&writer, &list->items[i]);
    return finish(&writer, list->n, ret_data, ret_length);
}

static void
put_response(Writer *writer, const LsResponse *response)
{
    put_number(writer, response->operation, 1);
    put_number(writer, response->dtype, 1);
    put_number(writer, response->reduction, 1);
    put_number(writer, response->error != NULL ? FLAG_ERROR : 0, 1);
    put_number(writer, (uint32_t)response->root, 4);
    put_number(writer, (uint32_t)response->status, 4);
    if (response->error != NULL)
        put_text(writer, response->error);
    put_number(writer, response->n, 4);
    for (size_t i = 0; i < response->n; i++) {
        put_number(writer, (uint64_t)response->counts[i], 8);
        put_text(writer, response->names[i]);
    }
}

bool
ls_response_list_encode(const LsResponseList *list, uint8_t **ret_data, size_t *ret_length)
{
    Writer writer = {0};
    put_number(&writer, RESPONSES_MAGIC, 4);
    put_number(&writer, (list->shut_down ? FLAG_SHUT_DOWN : 0) | (list->failure ? FLAG_FAILURE : 0),
               1);
    put_number(&writer, list->path, 1);
    put_number(&writer, (uint32_t)list->clock_peer, 4);
    if (list->failure != NULL)
        put_text(&writer, list->failure);
    put_number(&writer, list->n, 4);
    for (size_t i = 0; i < list->n; i++)
        put_response(&writer, &list->items[i]);
    return finish(&writer, list->n, ret_data, ret_length);
}

/* The first fault is kept. */
__attribute__((format(printf, 3, 4))) static void
fail(Reader *reader, size_t at, const char *format, ...)
{
    char text[ERROR_BYTES];
    va_list args;
    if (reader->failed)
        return;
    reader->failed = true;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(reader->error, ERROR_BYTES, "%s: byte %zu: %.100s", reader->what, at, text);
}

static uint64_t
get_number(Reader *reader, size_t bytes, const char *field)
{
    uint64_t value = 0;
    if (reader->failed)
        return 0;
    if (bytes > reader->length - reader->at) {
        fail(reader, reader->at, "%s needs %zu bytes, %zu are left", field, bytes,
             reader->length - reader->at);
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)reader->data[reader->at++] << 8 * i;
    return value;
}

/* A number that must not exceed `max`. */
static uint64_t
get_bounded(Reader *reader, size_t bytes, uint64_t max, const char *field)
{
    size_t at = reader->at;
    uint64_t value = get_number(reader, bytes, field);
    if (value > max) {
        fail(reader, at, "%s is %" PRIu64 ", at most %" PRIu64 " was expected", field, value, max);
        return 0;
    }
    return value;
}

/* How many items of at least item_bytes each follow. */
static size_t
get_items(Reader *reader, size_t item_bytes, const char *field)
{
    size_t at = reader->at;
    uint64_t n = get_number(reader, 4, field);
    if (!reader->failed && n > (reader->length - reader->at) / item_bytes) {
        fail(reader, at, "%" PRIu64 " %s are claimed, %zu bytes are left", n, field,
             reader->length - reader->at);
        return 0;
    }
    return (size_t)n;
}

static void *
get_room(Reader *reader, size_t n, size_t item_bytes)
{
    void *room = calloc(n > 0 ? n : 1, item_bytes);
    if (room == NULL)
        fail(reader, reader->at, "out of memory");
    return room;
}

static char *
get_text(Reader *reader, const char *field)
{
    size_t length = get_items(reader, 1, field), at = reader->at;
    if (reader->failed)
        return NULL;
    const uint8_t *zero = memchr(reader->data + at, 0, length);
    if (zero != NULL) {
        fail(reader, (size_t)(zero - reader->data), "a zero among the %s", field);
        return NULL;
    }
    char *text = get_room(reader, length + 1, 1);
    if (text == NULL)
        return NULL;
    memcpy(text, reader->data + at, length);
    reader->at += length;
    return text;
}

static uint8_t
get_operation(Reader *reader, bool response)
{
    size_t at = reader->at;
    uint8_t operation = (uint8_t)get_number(reader, 1, "operation");
    switch (operation) {
    case LS_OPERATION_ALLREDUCE:
    case LS_OPERATION_ALLGATHER:
    case LS_OPERATION_BROADCAST:
    case LS_OPERATION_BARRIER:
    case LS_OPERATION_REDUCESCATTER:
        return operation;
    case LS_OPERATION_ERROR:
        if (response)
            return operation;
        break;
    }
    fail(reader, at, "operation %u (%s) is not one that can be asked for", operation,
         ls_operation_text(operation));
    return 0;
}

static void
get_shape(Reader *reader, LsRequest *request)
{
    size_t at = reader->at;
    int64_t count;
    request->shape = get_room(reader, (size_t)request->ndim, sizeof *request->shape);
    for (int32_t i = 0; i < request->ndim && !reader->failed; i++)
        request->shape[i] = (int64_t)get_number(reader, 8, "extent");
    if (!reader->failed && !ls_shape_count(request->shape, request->ndim, &count))
        fail(reader, at, "a shape with an extent below 0 or more than 2^63 bytes");
}

static void
get_request(Reader *reader, LsRequest *request)
{
    request->rank = (int32_t)get_bounded(reader, 4, INT32_MAX, "rank");
    request->operation = get_operation(reader, false);
    request->dtype = (uint8_t)get_bounded(reader, 1, LOCKSTEP_INT64, "dtype");
    request->reduction = (uint8_t)get_bounded(reader, 1, LOCKSTEP_PRODUCT, "reduction");
    request->ndim = (int32_t)get_bounded(reader, 1, LS_NDIM_MAX, "number of extents");
    request->root = (int32_t)get_bounded(reader, 4, INT32_MAX, "root");
    size_t at = reader->at;
    uint64_t flags = get_bounded(reader, 1, FLAG_HELD | FLAG_OTHERS | FLAG_WAITED, "flags");
    request->held = (flags & FLAG_HELD) != 0;
    if ((flags & FLAG_OTHERS) != 0)
        request->others =
            (int32_t)get_bounded(reader, 4, (uint64_t)(INT32_MAX - request->rank), "others");
    if ((flags & FLAG_WAITED) != 0)
        request->waited_ns = (int64_t)get_bounded(reader, 8, INT64_MAX, "time waited");
    if (((flags & FLAG_OTHERS) != 0) != (request->others > 0) ||
        ((flags & FLAG_WAITED) != 0) != (request->waited_ns > 0))
        fail(reader, at, "a flag announces a number that is 0");
    request->name = get_text(reader, "bytes of a name");
    if (!reader->failed)
        get_shape(reader, request);
}

static void
get_tensors(Reader *reader, LsResponse *response)
{
    size_t n = get_items(reader, TENSOR_BYTES_MIN, "tensors");
    if (reader->failed)
        return;
    response->names = get_room(reader, n, sizeof *response->names);
    response->counts = get_room(reader, n, sizeof *response->counts);
    for (size_t i = 0; i < n && !reader->failed; i++) {
        response->counts[i] = (int64_t)get_bounded(reader, 8, INT64_MAX / 8, "count");
        response->names[i] = get_text(reader, "bytes of a name");
        response->n = i + 1; /* a name that failed is NULL; clearing copes */
    }
}

static void
get_response(Reader *reader, LsResponse *response)
{
    response->operation = get_operation(reader, true);
    response->dtype = (uint8_t)get_bounded(reader, 1, LOCKSTEP_INT64, "dtype");
    response->reduction = (uint8_t)get_bounded(reader, 1, LOCKSTEP_PRODUCT, "reduction");
    size_t at = reader->at;
    uint64_t flags = get_bounded(reader, 1, FLAG_ERROR, "flags");
    if ((response->operation == LS_OPERATION_ERROR) != (flags == FLAG_ERROR))
        fail(reader, at, "a text of an error and the operation error go together");
    response->root = (int32_t)get_bounded(reader, 4, INT32_MAX, "root");
    response->status = (int32_t)get_number(reader, 4, "status");
    if (flags == FLAG_ERROR)
        response->error = get_text(reader, "bytes of an error");
    if (!reader->failed)
        get_tensors(reader, response);
}

static void
get_magic(Reader *reader, uint32_t magic)
{
    uint32_t value = (uint32_t)get_number(reader, 4, "magic");
    if (value != magic)
        fail(reader, 0, "magic is %08" PRIx32 ", %08" PRIx32 " was expected", value, magic);
}

static void
get_end(Reader *reader)
{
    if (reader->at != reader->length)
        fail(reader, reader->at, "%zu bytes follow the end", reader->length - reader->at);
}

const char *
ls_request_list_decode(const void *data, size_t length, LsRequestList *ret_list,
                       char error[ERROR_BYTES])
{
    Reader reader = {.data = data, .length = length, .what = "request list", .error = error};
    *ret_list = (LsRequestList){0};
    get_magic(&reader, REQUESTS_MAGIC);
    uint64_t flags = get_bounded(&reader, 1, FLAG_SHUT_DOWN | FLAG_FAILURE, "flags");
    ret_list->shut_down = (flags & FLAG_SHUT_DOWN) != 0;
    if ((flags & FLAG_FAILURE) != 0)
        ret_list->failure = get_text(&reader, "bytes of a failure");
    size_t n = get_items(&reader, REQUEST_BYTES_MIN, "requests");
    if (!reader.failed && n > 0)
        ret_list->items = get_room(&reader, n, sizeof *ret_list->items);
    ret_list->capacity = ret_list->items != NULL ? n : 0;
    while (!reader.failed && ret_list->n < n)
        get_request(&reader, &ret_list->items[ret_list->n++]);
    get_end(&reader);
    if (reader.failed)
        ls_request_list_clear(ret_list);
    return reader.failed ? error : NULL;
}

static void
get_responses(Reader *reader, LsResponseList *list)
{
    get_magic(reader, RESPONSES_MAGIC);
    uint64_t flags = get_bounded(reader, 1, FLAG_SHUT_DOWN | FLAG_FAILURE, "flags");
    list->shut_down = (flags & FLAG_SHUT_DOWN) != 0;
    list->path = (uint8_t)get_bounded(reader, 1, LS_PATH_MIXED, "path");
    list->clock_peer = (int32_t)get_number(reader, 4, "clock peer");
    if ((flags & FLAG_FAILURE) != 0)
        list->failure = get_text(reader, "bytes of a failure");
    size_t n = get_items(reader, RESPONSE_BYTES_MIN, "responses");
    if (!reader->failed && n > 0)
        list->items = get_room(reader, n, sizeof *list->items);
    list->capacity = list->items != NULL ? n : 0;
    while (!reader->failed && list->n < n)
        get_response(reader, &list->items[list->n++]);
    get_end(reader);
}

const char *
ls_response_list_decode(const void *data, size_t length, LsResponseList *ret_list,
                        char error[ERROR_BYTES])
{
    Reader reader = {.data = data, .length = length, .what = "response list", .error = error};
    *ret_list = LS_RESPONSE_LIST_INIT;
    get_responses(&reader, ret_list);
    if (reader.failed)
        ls_response_list_clear(ret_list);
    return reader.failed ? error : NULL;
}
