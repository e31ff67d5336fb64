/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/fusion.c: Horovod's FuseResponses (facts B7). The first response that is left opens a
 * buffer and looks along the others: one of its kind that fits joins; one that does not join is
 * skipped, as long as the buffer and all that was skipped together stay within the threshold (mixed
 * types arrive interleaved); else the search ends. Skipped ones keep their order.
 */
#include "reduce/fusion.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"

/* Tensors that a buffer has room for at first. */
#define FIRST_CAPACITY 16

static bool
can_fuse(uint8_t operation)
{
    return operation == LS_OPERATION_ALLREDUCE || operation == LS_OPERATION_REDUCESCATTER;
}

/* Sizes come from peers: they stop at the largest number instead of wrapping around. */
static int64_t
add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Of the tensors, padded; 0 where the operation has no buffer that could be shared. */
static int64_t
get_bytes(const LsResponse *response, const LsFusionRule *rule)
{
    int64_t bytes = 0, width = (int64_t)ls_dtype_bytes(response->dtype);
    int64_t padding = response->operation == LS_OPERATION_REDUCESCATTER ? 1 : rule->padding_bytes;
    if (!can_fuse(response->operation))
        return 0;
    for (size_t i = 0; i < response->n; i++) {
        int64_t own;
        if (__builtin_mul_overflow(response->counts[i], width, &own))
            return INT64_MAX;
        if (padding > 1 && own % padding != 0)
            own = add(own, padding - own % padding);
        bytes = add(bytes, own);
    }
    return bytes;
}

/* INT64_MAX stands for all that is too large, under any threshold. */
static bool
fits(int64_t bytes, const LsFusionRule *rule)
{
    return bytes <= rule->threshold_bytes && bytes < INT64_MAX;
}

static bool
same_kind(const LsResponse *a, const LsResponse *b)
{
    return a->operation == b->operation && a->dtype == b->dtype && a->reduction == b->reduction;
}

/* Appends b's tensors to a, which has room for them. */
static void
append(LsResponse *a, LsResponse *b)
{
    memcpy(a->names + a->n, b->names, b->n * sizeof *b->names);
    memcpy(a->counts + a->n, b->counts, b->n * sizeof *b->counts);
    a->n += b->n;
    b->n = 0;
    ls_response_clear(b);
}

/* Room in `head` for n tensors in all. */
static bool
reserve(LsResponse *head, size_t n)
{
    char **names = reallocarray(head->names, n, sizeof *names);
    if (names == NULL)
        return false;
    head->names = names;
    int64_t *counts = reallocarray(head->counts, n, sizeof *counts);
    if (counts == NULL)
        return false;
    head->counts = counts;
    return true;
}

/* Marks with `head` in owner[] those that join items[head]; returns how many tensors they hold with
 * it. */
static size_t
search(const LsResponseList *list, size_t head, const LsFusionRule *rule, const int64_t *bytes,
       size_t *owner)
{
    const LsResponse *first = &list->items[head];
    int64_t size = bytes[head], skipped = 0;
    size_t tensors = first->n;
    for (size_t i = head + 1; i < list->n; i++) {
        if (owner[i] != i)
            continue;
        if (same_kind(first, &list->items[i]) && fits(add(size, bytes[i]), rule)) {
            owner[i] = head;
            size = add(size, bytes[i]);
            tensors += list->items[i].n;
            continue;
        }
        skipped = add(skipped, bytes[i]);
        if (!fits(add(size, skipped), rule))
            break;
    }
    return tensors;
}

/* owner[i]: the index of the response that opens the buffer of response i (itself: it opens one).
 * All memory is reserved here, so that joining cannot fail half-way. */
static bool
plan(LsResponseList *list, const LsFusionRule *rule, const int64_t *bytes, size_t *owner)
{
    for (size_t i = 0; i < list->n; i++)
        owner[i] = i;
    for (size_t i = 0; i < list->n; i++) {
        if (owner[i] != i || !can_fuse(list->items[i].operation))
            continue;
        size_t tensors = search(list, i, rule, bytes, owner);
        if (tensors > list->items[i].n && !reserve(&list->items[i], tensors))
            return false;
    }
    return true;
}

bool
ls_fuse(LsResponseList *list, const LsFusionRule *rule)
{
    bool done = false;
    if (rule->threshold_bytes <= 0 || list->n < 2)
        return true;
    int64_t *bytes = calloc(list->n, sizeof *bytes);
    size_t *owner = calloc(list->n, sizeof *owner);
    if (bytes == NULL || owner == NULL)
        goto out;
    for (size_t i = 0; i < list->n; i++)
        bytes[i] = get_bytes(&list->items[i], rule);
    if (!plan(list, rule, bytes, owner))
        goto out;
    /* An item's new place lies before its old one: `kept` never passes i, nor an owner's item. */
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (owner[i] == i) {
            owner[i] = kept;
            list->items[kept++] = list->items[i];
        } else {
            append(&list->items[owner[owner[i]]], &list->items[i]);
        }
    }
    list->n = kept;
    done = true;
out:
    free(bytes);
    free(owner);
    return done;
}

/* An empty response of the tensor's kind at the end of the list, with room for `capacity`. */
static bool
open_next(LsResponseList *list, const LsResponse *kind, size_t capacity)
{
    LsResponse next = {
        .operation = kind->operation, .dtype = kind->dtype, .reduction = kind->reduction};
    if (reserve(&next, capacity) && ls_response_list_take(list, &next))
        return true;
    ls_response_clear(&next);
    return false;
}

bool
ls_fuse_next(LsResponseList *list, LsFilling *filling, const LsFusionRule *rule,
             const LsResponse *one)
{
    int64_t bytes = get_bytes(one, rule);
    bool fuses = rule->threshold_bytes > 0 && can_fuse(one->operation);
    bool joins = fuses && filling->capacity > 0 && fits(add(filling->bytes, bytes), rule);
    char *name = strdup(one->names[0]);
    if (name == NULL)
        return false;
    if (!joins) {
        *filling = (LsFilling){fuses ? FIRST_CAPACITY : 1, 0};
        if (!open_next(list, one, filling->capacity))
            goto err;
    }
    LsResponse *last = &list->items[list->n - 1];
    if (last->n == filling->capacity) {
        filling->capacity *= 2;
        if (!reserve(last, filling->capacity))
            goto err;
    }
    last->names[last->n] = name;
    last->counts[last->n++] = one->counts[0];
    filling->bytes = add(filling->bytes, bytes);
    return true;
err:
    free(name);
    return false;
}
