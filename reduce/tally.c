/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/tally.c: counts submissions by name and compares what the ranks submitted, in Horovod's
 * order of checks (facts B8). Requests that are alike are kept once, with the set of their ranks,
 * so that a tensor costs a bit per rank.
 */
#include "reduce/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

#define VALUE_BYTES 200

/* One thing in which all ranks must agree. */
typedef struct Check {
    const char *field;
    bool (*concerns)(uint8_t operation);
    bool (*equal)(const LsRequest *a, const LsRequest *b);
    void (*text)(const LsRequest *request, char text[VALUE_BYTES]);
} Check;

static bool
concerns_all(uint8_t operation)
{
    return true;
}

static bool
concerns_data(uint8_t operation)
{
    return operation != LS_OPERATION_BARRIER;
}

static bool
concerns_reductions(uint8_t operation)
{
    return operation == LS_OPERATION_ALLREDUCE || operation == LS_OPERATION_REDUCESCATTER;
}

static bool
concerns_broadcast(uint8_t operation)
{
    return operation == LS_OPERATION_BROADCAST;
}

static bool
equal_dtype(const LsRequest *a, const LsRequest *b)
{
    return a->dtype == b->dtype;
}

static bool
equal_operation(const LsRequest *a, const LsRequest *b)
{
    return a->operation == b->operation;
}

/* What is gathered may differ in its first extent: the ranks tell each other when they move it. */
static bool
equal_shape(const LsRequest *a, const LsRequest *b)
{
    int32_t first = a->operation == LS_OPERATION_ALLGATHER ? 1 : 0;
    return a->ndim == b->ndim &&
           (a->ndim <= first || memcmp(a->shape + first, b->shape + first,
                                       (size_t)(a->ndim - first) * sizeof *a->shape) == 0);
}

static bool
equal_reduction(const LsRequest *a, const LsRequest *b)
{
    return a->reduction == b->reduction;
}

static bool
equal_root(const LsRequest *a, const LsRequest *b)
{
    return a->root == b->root;
}

static void
text_dtype(const LsRequest *request, char text[VALUE_BYTES])
{
    snprintf(text, VALUE_BYTES, "%s", ls_dtype_text(request->dtype));
}

static void
text_operation(const LsRequest *request, char text[VALUE_BYTES])
{
    snprintf(text, VALUE_BYTES, "%s", ls_operation_text(request->operation));
}

static void
text_shape(const LsRequest *request, char text[VALUE_BYTES])
{
    size_t used = (size_t)snprintf(text, VALUE_BYTES, "[");
    for (int32_t i = 0; i < request->ndim; i++) {
        if (used > VALUE_BYTES - 40) {
            used += (size_t)snprintf(text + used, VALUE_BYTES - used, ", ...");
            break;
        }
        used += (size_t)snprintf(text + used, VALUE_BYTES - used, "%s%" PRId64, i > 0 ? ", " : "",
                                 request->shape[i]);
    }
    snprintf(text + used, VALUE_BYTES - used, "]");
}

static void
text_reduction(const LsRequest *request, char text[VALUE_BYTES])
{
    snprintf(text, VALUE_BYTES, "%s", ls_reduction_text(request->reduction));
}

static void
text_root(const LsRequest *request, char text[VALUE_BYTES])
{
    snprintf(text, VALUE_BYTES, "%" PRId32, request->root);
}

/* In this order; the first that fails is told. */
static const Check checks[] = {
    {"dtype", concerns_all, equal_dtype, text_dtype},
    {"operation", concerns_all, equal_operation, text_operation},
    {"shape", concerns_data, equal_shape, text_shape},
    {"reduction", concerns_reductions, equal_reduction, text_reduction},
    {"root", concerns_broadcast, equal_root, text_root},
};

static void
free_tallied(LsTallied *tallied)
{
    free(tallied->item.name);
    for (size_t i = 0; i < tallied->n_variants; i++) {
        ls_request_clear(&tallied->variants[i].request);
        ls_rank_set_clear(&tallied->variants[i].ranks);
    }
    free(tallied->variants);
    ls_rank_set_clear(&tallied->submitted);
    ls_rank_set_clear(&tallied->held);
    free(tallied);
}

void
ls_tally_init(LsTally *tally, int ranks, int needed)
{
    *tally = (LsTally){.ranks = ranks, .needed = needed};
}

void
ls_tally_clear(LsTally *tally)
{
    while (tally->roster.first != NULL)
        ls_tally_remove(tally, (LsTallied *)tally->roster.first);
    free(tally->ready);
    ls_tally_init(tally, tally->ranks, tally->needed);
}

bool
ls_tallied_has(const LsTallied *tallied, int rank)
{
    return ls_rank_set_has(&tallied->submitted, rank) || ls_rank_set_has(&tallied->held, rank);
}

void
ls_tally_remove(LsTally *tally, LsTallied *tallied)
{
    ls_roster_remove(&tally->roster, &tallied->item);
    free_tallied(tallied);
}

/* The variant that the request belongs to, a new one if it is like none; NULL: out of memory. */
static LsVariant *
find_variant(LsTally *tally, LsTallied *tallied, const LsRequest *request)
{
    for (size_t i = 0; i < tallied->n_variants; i++) {
        const LsRequest *other = &tallied->variants[i].request;
        bool alike = true;
        for (size_t k = 0; k < sizeof checks / sizeof *checks && alike; k++)
            alike = checks[k].equal(other, request);
        if (alike)
            return &tallied->variants[i];
    }
    LsVariant *grown =
        reallocarray(tallied->variants, tallied->n_variants + 1, sizeof *tallied->variants);
    if (grown == NULL)
        return NULL;
    tallied->variants = grown;
    LsVariant *variant = &grown[tallied->n_variants];
    *variant = (LsVariant){0};
    if (!ls_rank_set_init(&variant->ranks, tally->ranks))
        return NULL;
    tallied->n_variants++;
    return variant;
}

static LsTallied *
open_tallied(LsTally *tally, const char *name)
{
    LsTallied *tallied = calloc(1, sizeof *tallied);
    if (tallied == NULL)
        return NULL;
    tallied->item.name = strdup(name);
    if (tallied->item.name == NULL || !ls_rank_set_init(&tallied->submitted, tally->ranks) ||
        !ls_rank_set_init(&tallied->held, tally->ranks) ||
        !ls_roster_add(&tally->roster, &tallied->item)) {
        free_tallied(tallied);
        return NULL;
    }
    return tallied;
}

static bool
note_ready(LsTally *tally, LsTallied *tallied)
{
    if (tally->n_ready == tally->capacity) {
        size_t wanted = tally->capacity == 0 ? 16 : tally->capacity * 2;
        LsTallied **grown = reallocarray(tally->ready, wanted, sizeof *grown);
        if (grown == NULL)
            return false;
        tally->ready = grown;
        tally->capacity = wanted;
    }
    tally->ready[tally->n_ready++] = tallied;
    return true;
}

/* The ranks of the request belong to the set from now on. */
static void
add_ranks(LsRankSet *set, const LsRequest *request)
{
    for (int32_t i = 0; i <= request->others; i++)
        ls_rank_set_add(set, request->rank + i);
}

static bool
has_any(const LsRankSet *set, const LsRequest *request)
{
    for (int32_t i = 0; i <= request->others; i++)
        if (ls_rank_set_has(set, request->rank + i))
            return true;
    return false;
}

/* The ranks submitted it; takes the request. false: out of memory. */
static bool
count(LsTally *tally, LsTallied *tallied, LsRequest *request)
{
    LsVariant *variant = find_variant(tally, tallied, request);
    if (variant == NULL)
        return false;
    add_ranks(&variant->ranks, request);
    add_ranks(&tallied->submitted, request);
    if (variant->request.name == NULL)
        variant->request = *request;
    else
        ls_request_clear(request);
    *request = (LsRequest){0};
    return tallied->submitted.n < tally->needed || note_ready(tally, tallied);
}

LsTallyVerdict
ls_tally_add(LsTally *tally, LsRequest *request, LsTallied **ret_tallied)
{
    LsTallied *tallied = (LsTallied *)ls_roster_find(&tally->roster, request->name);
    bool first = tallied == NULL;
    if (first)
        tallied = open_tallied(tally, request->name);
    if (tallied == NULL)
        return LS_TALLY_NO_MEMORY;
    *ret_tallied = tallied;
    if (request->held) {
        add_ranks(&tallied->held, request);
        ls_request_clear(request);
    } else if (has_any(&tallied->submitted, request)) {
        return LS_TALLY_TWICE;
    } else if (!count(tally, tallied, request)) {
        if (first && tallied->submitted.n == 0)
            ls_tally_remove(tally, tallied);
        return LS_TALLY_NO_MEMORY;
    }
    return first ? LS_TALLY_FIRST : LS_TALLY_COUNTED;
}

/* The ranks whose value equals this request's. */
static bool
gather_ranks(const LsTallied *tallied, const Check *check, const LsRequest *request, int ranks,
             char text[LS_RANK_TEXT_BYTES])
{
    LsRankSet set;
    if (!ls_rank_set_init(&set, ranks))
        return false;
    for (size_t i = 0; i < tallied->n_variants; i++)
        if (check->equal(&tallied->variants[i].request, request))
            ls_rank_set_unite(&set, &tallied->variants[i].ranks);
    ls_rank_set_text(&set, false, text);
    ls_rank_set_clear(&set);
    return true;
}

/* The variant of the lowest rank among those that differ from `from` (NULL: among all). */
static const LsVariant *
lowest(const LsTallied *tallied, const Check *check, const LsRequest *from)
{
    const LsVariant *found = NULL;
    for (size_t i = 0; i < tallied->n_variants; i++) {
        const LsVariant *variant = &tallied->variants[i];
        if (from != NULL && check->equal(&variant->request, from))
            continue;
        if (found == NULL || ls_rank_set_first(&variant->ranks) < ls_rank_set_first(&found->ranks))
            found = variant;
    }
    return found;
}

/* The sentence of a disagreement: malloc'd; NULL: out of memory. */
static char *
mismatch_text(const LsTallied *tallied, const Check *check, const LsRequest *a, const LsRequest *b,
              int ranks)
{
    char a_value[VALUE_BYTES], a_ranks[LS_RANK_TEXT_BYTES];
    char b_value[VALUE_BYTES], b_ranks[LS_RANK_TEXT_BYTES];
    char *text;
    check->text(a, a_value);
    check->text(b, b_value);
    if (!gather_ranks(tallied, check, a, ranks, a_ranks) ||
        !gather_ranks(tallied, check, b, ranks, b_ranks) ||
        asprintf(&text, "tensor '%.200s': %s is %s on %s but %s on %s", a->name, check->field,
                 a_value, a_ranks, b_value, b_ranks) < 0)
        return NULL;
    return text;
}

/* What is wrong although all agree; NULL if nothing. false: out of memory. */
static bool
impossible_text(const LsRequest *request, int ranks, char **ret_text)
{
    *ret_text = NULL;
    if (request->operation == LS_OPERATION_REDUCESCATTER && request->ndim == 0)
        return asprintf(ret_text, "tensor '%.200s': a scalar cannot be scattered", request->name) >=
               0;
    if (request->operation == LS_OPERATION_BROADCAST && request->root >= ranks)
        return asprintf(ret_text, "tensor '%.200s': root is %" PRId32 ", the last rank is %d",
                        request->name, request->root, ranks - 1) >= 0;
    return true;
}

/* Fills in error and status if the tensor cannot be executed. false: out of memory. */
static bool
check_tallied(const LsTally *tally, const LsTallied *tallied, LsResponse *response)
{
    const LsRequest *first = &lowest(tallied, NULL, NULL)->request;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && tallied->n_variants > 1; i++) {
        const LsVariant *other = lowest(tallied, &checks[i], first);
        if (!checks[i].concerns(first->operation) || other == NULL)
            continue;
        response->status = LOCKSTEP_ERR_MISMATCH;
        response->error = mismatch_text(tallied, &checks[i], first, &other->request, tally->ranks);
        return response->error != NULL;
    }
    response->status = LOCKSTEP_ERR_ARGUMENT;
    return impossible_text(first, tally->ranks, &response->error);
}

static bool
answer(const LsTally *tally, LsTallied *tallied, LsResponse *response)
{
    LsRequest *request = &tallied->variants[0].request;
    int64_t count = 0;
    *response = (LsResponse){.operation = request->operation, .dtype = request->dtype};
    if (concerns_reductions(request->operation))
        response->reduction = request->reduction;
    if (concerns_broadcast(request->operation))
        response->root = request->root;
    if (!check_tallied(tally, tallied, response))
        return false;
    if (response->error != NULL)
        *response = (LsResponse){
            .operation = LS_OPERATION_ERROR, .status = response->status, .error = response->error};
    else
        response->status = LOCKSTEP_OK;
    response->names = calloc(1, sizeof *response->names);
    response->counts = calloc(1, sizeof *response->counts);
    char *name = strdup(request->name);
    if (response->names == NULL || response->counts == NULL || name == NULL) {
        free(name);
        return false;
    }
    if (response->error == NULL && ls_operation_has_count(request->operation))
        ls_shape_count(request->shape, request->ndim, &count);
    response->names[0] = name;
    response->counts[0] = count;
    response->n = 1;
    return true;
}

bool
ls_tally_answer(LsTally *tally, LsResponseList *list)
{
    for (size_t i = 0; i < tally->n_ready; i++) {
        LsResponse response = {0};
        if (!answer(tally, tally->ready[i], &response) || !ls_response_list_take(list, &response)) {
            ls_response_clear(&response);
            return false;
        }
        ls_tally_remove(tally, tally->ready[i]);
        tally->ready[i] = NULL;
    }
    tally->n_ready = 0;
    return true;
}

/* One request for each run of the variant's ranks. */
static bool
append_runs(const LsTallied *tallied, const LsVariant *variant, bool held, int64_t now_ns,
            LsRequestList *list)
{
    int first, n;
    for (int rank = 0; ls_rank_set_run(&variant->ranks, rank, &first, &n); rank = first + n) {
        LsRequest copy;
        if (!ls_request_copy(&variant->request, &copy))
            return false;
        copy.rank = first;
        copy.others = n - 1;
        copy.held = held;
        copy.waited_ns = now_ns - tallied->clock.first_ns;
        if (!ls_request_list_take(list, &copy)) {
            ls_request_clear(&copy);
            return false;
        }
    }
    return true;
}

bool
ls_tally_report(const LsTallied *tallied, int64_t now_ns, LsRequestList *list)
{
    for (size_t i = 0; i < tallied->n_variants; i++)
        if (!append_runs(tallied, &tallied->variants[i], true, now_ns, list))
            return false;
    return true;
}

bool
ls_tally_forward(LsTally *tally, int64_t now_ns, LsRequestList *list)
{
    for (size_t i = 0; i < tally->n_ready; i++) {
        const LsTallied *tallied = tally->ready[i];
        for (size_t k = 0; k < tallied->n_variants; k++)
            if (!append_runs(tallied, &tallied->variants[k], false, now_ns, list))
                return false;
        ls_tally_remove(tally, tally->ready[i]);
        tally->ready[i] = NULL;
    }
    tally->n_ready = 0;
    return true;
}
