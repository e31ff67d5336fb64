/* SPDX-License-Identifier: Apache-2.0
 * samples/replay-workload.c: json-c reads the text; what is missing or cannot be is told by name.
 */
#include "samples/replay-workload.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERROR_BYTES 256
#define TIME_MAX_US INT64_C(3600000000)

static const struct {
    const char *name;
    lockstep_dtype dtype;
    size_t width;
} dtypes[] = {
    {"float64", LOCKSTEP_FLOAT64, 8},
    {"float32", LOCKSTEP_FLOAT32, 4},
    {"float16", LOCKSTEP_FLOAT16, 2},
    {"bfloat16", LOCKSTEP_BFLOAT16, 2},
};
#define N_DTYPES (sizeof dtypes / sizeof dtypes[0])

/* One object of the file, and what to call it in a complaint. */
typedef struct Place {
    struct json_object *object;
    const char *what;
    size_t index;
    char *error;
} Place;

static bool
complain(const Place *place, const char *key, const char *wanted)
{
    if (strcmp(place->what, "the workload") == 0)
        snprintf(place->error, ERROR_BYTES, "the workload's \"%s\" must be %s", key, wanted);
    else
        snprintf(place->error, ERROR_BYTES, "%s %zu: its \"%s\" must be %s", place->what,
                 place->index, key, wanted);
    return false;
}

static bool
take_number(const Place *place, const char *key, int64_t least, int64_t most, int64_t *ret_value)
{
    struct json_object *value = NULL;
    char wanted[80];

    if (json_object_object_get_ex(place->object, key, &value) &&
        json_object_is_type(value, json_type_int)) {
        *ret_value = json_object_get_int64(value);
        if (*ret_value >= least && *ret_value <= most)
            return true;
    }
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)least,
             (long long)most);
    return complain(place, key, wanted);
}

static bool
take_time(const Place *place, const char *key, int64_t *ret_ns)
{
    int64_t us = 0;

    if (!take_number(place, key, 0, TIME_MAX_US, &us))
        return false;
    *ret_ns = us * 1000;
    return true;
}

static bool
take_text(const Place *place, const char *key, char **ret_text)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(place->object, key, &value) ||
        !json_object_is_type(value, json_type_string) || json_object_get_string_len(value) == 0)
        return complain(place, key, "a text");
    *ret_text = strdup(json_object_get_string(value));
    return *ret_text != NULL || complain(place, key, "kept, but there is no memory");
}

/* Where the key is not there, *dtype (an index of dtypes) stays as it is. */
static bool
take_dtype(const Place *place, size_t *dtype)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(place->object, "dtype", &value) && *dtype < N_DTYPES)
        return true;
    for (size_t i = 0; value != NULL && i < N_DTYPES; i++)
        if (strcmp(json_object_get_string(value), dtypes[i].name) == 0) {
            *dtype = i;
            return true;
        }
    return complain(place, "dtype", "float64, float32, float16 or bfloat16");
}

/* *ret_items: n of them, zeroed. */
static bool
take_list(const Place *place, const char *key, size_t size, struct json_object **ret_list,
          void **ret_items, size_t *ret_n)
{
    if (!json_object_object_get_ex(place->object, key, ret_list) ||
        !json_object_is_type(*ret_list, json_type_array))
        return complain(place, key, "a list");
    *ret_n = json_object_array_length(*ret_list);
    *ret_items = calloc(*ret_n + 1, size);
    return *ret_items != NULL || complain(place, key, "kept, but there is no memory");
}

static bool
take_slow(const Place *place, Workload *workload)
{
    struct json_object *list = NULL;
    void *items = NULL;

    if (!take_list(place, "slow_ranks", sizeof *workload->slow, &list, &items, &workload->n_slow))
        return false;
    workload->slow = items;
    for (size_t i = 0; i < workload->n_slow; i++) {
        Place at = {json_object_array_get_idx(list, i), "slow rank", i, place->error};
        int64_t rank = 0, ms = 0;
        if (!take_number(&at, "rank", 0, INT32_MAX, &rank) ||
            !take_number(&at, "ms", 0, TIME_MAX_US / 1000, &ms))
            return false;
        workload->slow[i] = (SlowRank){(int)rank, ms * 1000000};
    }
    return true;
}

static bool
take_tensors(const Place *place, size_t dtype, Workload *workload)
{
    struct json_object *list = NULL;
    void *items = NULL;

    if (!take_list(place, "tensors", sizeof *workload->tensors, &list, &items, &workload->n))
        return false;
    workload->tensors = items;
    for (size_t i = 0; i < workload->n; i++) {
        Place at = {json_object_array_get_idx(list, i), "tensor", i, place->error};
        WorkloadTensor *tensor = &workload->tensors[i];
        size_t type = dtype;
        int64_t bytes = 0;
        if (!take_text(&at, "name", &tensor->name) || !take_text(&at, "layer", &tensor->layer) ||
            !take_time(&at, "backward_us", &tensor->backward_ns) || !take_dtype(&at, &type) ||
            !take_number(&at, "bytes", 1, INT64_C(1) << 40, &bytes))
            return false;
        if (bytes % (int64_t)dtypes[type].width != 0)
            return complain(&at, "bytes", "whole elements of its type");
        tensor->dtype = dtypes[type].dtype;
        tensor->count = bytes / (int64_t)dtypes[type].width;
    }
    return workload->n > 0 || complain(place, "tensors", "a list of at least one");
}

static bool
take_workload(const Place *place, Workload *workload)
{
    struct json_object *jitter = NULL;
    size_t dtype = N_DTYPES;
    int64_t version = 0;

    if (!take_number(place, "workload", 1, 1, &version) ||
        !take_text(place, "name", &workload->name) || !take_dtype(place, &dtype) ||
        !take_number(place, "samples", 0, INT32_MAX, &workload->samples) ||
        !take_number(place, "operations", 0, INT64_C(1) << 60, &workload->operations) ||
        !take_time(place, "input_us", &workload->input_ns) ||
        !take_time(place, "forward_us", &workload->forward_ns) ||
        !take_time(place, "optimizer_us", &workload->optimizer_ns))
        return false;
    bool given = json_object_object_get_ex(place->object, "jitter", &jitter);
    if (given)
        workload->jitter = json_object_get_double(jitter);
    if (given && ((!json_object_is_type(jitter, json_type_double) &&
                   !json_object_is_type(jitter, json_type_int)) ||
                  !(workload->jitter >= 0 && workload->jitter <= 10)))
        return complain(place, "jitter", "a number from 0 to 10");
    return take_slow(place, workload) && take_tensors(place, dtype, workload);
}

/* json-c's own words for a file that ends too early are "continue". */
static void
describe_refusal(struct json_object *object, char error[ERROR_BYTES])
{
    const char *why = object == NULL ? json_util_get_last_err() : NULL;
    if (object != NULL)
        snprintf(error, ERROR_BYTES, "it is no JSON object");
    else if (why != NULL && strstr(why, ": continue") != NULL)
        snprintf(error, ERROR_BYTES, "its JSON ends before it is complete");
    else
        snprintf(error, ERROR_BYTES, "it is no JSON: %s", why == NULL ? "unknown" : why);
    error[strcspn(error, "\n")] = '\0';
}

Workload *
workload_read(const char *path, char error[ERROR_BYTES])
{
    struct json_object *object = NULL;
    if (access(path, R_OK) != 0) {
        snprintf(error, ERROR_BYTES, "%s", strerror(errno));
        return NULL;
    }
    object = json_object_from_file(path);
    Place place = {object, "the workload", 0, error};
    Workload *workload = NULL;

    if (object == NULL || !json_object_is_type(object, json_type_object)) {
        describe_refusal(object, error);
    } else {
        workload = calloc(1, sizeof *workload);
        if (workload == NULL)
            snprintf(error, ERROR_BYTES, "out of memory");
        else if (!take_workload(&place, workload)) {
            workload_free(workload);
            workload = NULL;
        }
    }
    json_object_put(object);
    return workload;
}

void
workload_free(Workload *workload)
{
    if (workload == NULL)
        return;
    for (size_t i = 0; workload->tensors != NULL && i < workload->n; i++) {
        free(workload->tensors[i].name);
        free(workload->tensors[i].layer);
    }
    free(workload->tensors);
    free(workload->slow);
    free(workload->name);
    free(workload);
}

void
workload_scale(Workload *workload, double times, double bytes)
{
    int64_t *parts[] = {&workload->input_ns, &workload->forward_ns, &workload->optimizer_ns};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i] = (int64_t)((double)*parts[i] / times);
    for (size_t i = 0; i < workload->n_slow; i++)
        workload->slow[i].late_ns = (int64_t)((double)workload->slow[i].late_ns / times);
    for (size_t i = 0; i < workload->n; i++) {
        WorkloadTensor *tensor = &workload->tensors[i];
        tensor->backward_ns = (int64_t)((double)tensor->backward_ns / times);
        tensor->count = (int64_t)((double)tensor->count / bytes);
        if (tensor->count < 1)
            tensor->count = 1;
    }
}

size_t
workload_get_width(lockstep_dtype dtype)
{
    for (size_t i = 0; i < N_DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].width;
    return 0;
}

int64_t
workload_get_bytes(const Workload *workload)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < workload->n; i++)
        bytes +=
            workload->tensors[i].count * (int64_t)workload_get_width(workload->tensors[i].dtype);
    return bytes;
}
