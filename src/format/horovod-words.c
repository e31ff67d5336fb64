/* SPDX-License-Identifier: Apache-2.0
 * format/horovod-words.c: what is Horovod's by its first bytes; its words for operations, types,
 * shapes. */
#include "format/horovod.h"

#include "format/horovod-private.h"

#include <string.h>

static bool
has(const uint8_t *data, size_t length, const char *text)
{
    return memmem(data, length, text, strlen(text)) != NULL;
}

/* A first event cut short: what there is of it begins as ours do. */
static bool
is_cut_event(const uint8_t *data, size_t length)
{
    static const char *const begins[] = {"{\"name\": \"", "{\"ph\": \""};
    if (memchr(data, '}', length))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++)
        if (memcmp(data, begins[i], MIN(length, strlen(begins[i]))) == 0)
            return true;
    return false;
}

static size_t
pass_space(const uint8_t *data, size_t length, size_t at)
{
    while (at < length && g_ascii_isspace(data[at]))
        at++;
    return at;
}

/* From the key of the object form to behind its value's bracket; `length` where the file ends
 * before. */
static bool
find_wrapped(const uint8_t *data, size_t length, size_t *ret_at)
{
    static const char key[] = "\"traceEvents\"";
    const uint8_t *found = memmem(data, length, key, sizeof key - 1);
    if (!found)
        return false;
    size_t at = pass_space(data, length, (size_t)(found - data) + sizeof key - 1);
    if (at < length && data[at] == ':')
        at = pass_space(data, length, at + 1);
    if (at < length && data[at] != '[')
        return false;
    *ret_at = MIN(at + 1, length);
    return true;
}

bool
ls_horovod_find_events(const uint8_t *data, size_t length, size_t *ret_at, bool *ret_wrapped)
{
    size_t at = pass_space(data, length, 0);
    *ret_wrapped = at < length && data[at] == '{';
    *ret_at = MIN(at + 1, length);
    if (*ret_wrapped)
        return find_wrapped(data, length, ret_at);
    return at == length || data[at] == '[';
}

bool
ls_horovod_probe(const uint8_t *data, size_t length)
{
    static const char *const signs[] = {"\"NEGOTIATE_", "\"CYCLE_START\"", "\"process_sort_index\"",
                                        "\"start_time_since_epoch_in_micros\"", "\"ENQUEUE_"};
    size_t at;
    bool wrapped;
    if (!ls_horovod_find_events(data, length, &at, &wrapped))
        return false;
    at = pass_space(data, length, at);
    if (wrapped && at < length && data[at] == ']')
        return true; /* what follows the list is no event */
    while (at < length && (g_ascii_isspace(data[at]) || data[at] == ']'))
        at++;
    if (at == length)
        return true; /* begun, and no event written yet */
    if (data[at] != '{' || has(data, length, "\"cat\""))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(signs); i++)
        if (has(data, length, signs[i]))
            return true;
    return is_cut_event(data + at, length - at);
}

uint8_t
ls_horovod_operation(const char *name)
{
    static const struct {
        const char *name;
        uint8_t operation;
    } operations[] = {
        {"ALLREDUCE", LS_OPERATION_ALLREDUCE}, {"ALLGATHER", LS_OPERATION_ALLGATHER},
        {"BROADCAST", LS_OPERATION_BROADCAST}, {"ADASUM", LS_OPERATION_ADASUM},
        {"ALLTOALL", LS_OPERATION_ALLTOALL},   {"REDUCESCATTER", LS_OPERATION_REDUCESCATTER},
        {"BARRIER", LS_OPERATION_BARRIER},     {"JOIN", LS_OPERATION_JOIN},
        {"ERROR", LS_OPERATION_ERROR}};
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++)
        if (strcmp(name, operations[i].name) == 0)
            return operations[i].operation;
    return LS_OPERATION_UNKNOWN;
}

int64_t
ls_horovod_bytes(const char *dtype, const char *shape, uint8_t *ret_dtype)
{
    static const struct {
        const char *name;
        uint8_t dtype;
        int64_t bytes;
    } words[] = {{"float32", 0, 4}, {"float64", 1, 8}, {"float16", 2, 2}, {"bfloat16", 3, 2},
                 {"int8", 4, 1},    {"uint8", 5, 1},   {"int32", 6, 4},   {"int64", 7, 8},
                 {"float", 0, 4},   {"double", 1, 8},  {"int16", 255, 2}, {"uint16", 255, 2},
                 {"bool", 255, 1}};
    int64_t bytes = -1;
    for (size_t i = 0; dtype && i < G_N_ELEMENTS(words); i++)
        if (strcmp(dtype, words[i].name) == 0) {
            *ret_dtype = words[i].dtype;
            bytes = words[i].bytes;
        }
    if (bytes < 0 || shape[0] != '[')
        return -1;
    for (const char *at = shape + 1; *at;) {
        at += strcspn(at, "0123456789-");
        if (!*at)
            break;
        char *end;
        int64_t extent = g_ascii_strtoll(at, &end, 10);
        if (end == at || extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) ||
            bytes > LS_AMOUNT_MAX)
            return -1;
        at = end;
    }
    return bytes;
}
