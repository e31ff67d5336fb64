/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/match.c: which calls of different ranks are one collective.
 *
 * Numbered calls are sorted by (communicator, number) and need no clock. Calls without a number are
 * sorted by what they are (operation, name, bytes, set of tensors) and by their end: ends of one
 * collective agree, the next alike comes later. A group takes each rank once, and only calls that
 * were under way together, as they must have been when none can leave before the last has entered
 * (metrics.md, "Pairing across ranks"). Ranks whose clock could not be placed stay alone there.
 */
#include "merge/match.h"

#include "capture/format.h"

/* Calls of an operation that one rank may leave early need not overlap; nor may they be far apart.
 */
#define APART_MAX_NS INT64_C(100000000)

typedef struct Item {
    uint32_t call;
    uint32_t rank;
    uint64_t what;  /* of a call without a number: hash of what it is */
    int64_t end_ns; /* its start if it has not ended */
} Item;

typedef struct Match {
    LsBuilder *builder;
    LsCall *calls;
    const LsRank *ranks;
    size_t n_calls, n_ranks;
    uint32_t world;
    GArray *buffers, *refs;
    size_t inferred, unequal_operation, unequal_bytes;
    const LsCall *unequal[2]; /* the first pair that does not agree */
} Match;

static uint64_t
mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    return hash * 0xbf58476d1ce4e5b9u;
}

static uint64_t
hash_call(const LsCall *call, uint64_t tensors)
{
    uint64_t hash = mix(call->communicator, call->operation);

    hash = mix(hash, call->name);
    hash = mix(hash, (uint64_t)call->bytes);
    return mix(hash, tensors);
}

/* Of each call the sum over its tensors, so that their order does not matter. */
static uint64_t *
hash_tensors(const Match *match)
{
    uint64_t *hashes = g_new0(uint64_t, match->n_calls);
    size_t n;
    const LsUse *uses = ls_builder_get_uses(match->builder, &n);

    for (size_t i = 0; i < n; i++)
        if (uses[i].call < match->n_calls)
            hashes[uses[i].call] += mix(1, uses[i].tensor);
    return hashes;
}

static int
compare_numbered(const void *a, const void *b, void *user)
{
    const Match *match = user;
    const Item *x = a, *y = b;
    const LsCall *call_x = &match->calls[x->call], *call_y = &match->calls[y->call];
    const LsRank *rank_x = &match->ranks[x->rank], *rank_y = &match->ranks[y->rank];

    if (rank_x->run != rank_y->run)
        return rank_x->run < rank_y->run ? -1 : 1;
    if (call_x->communicator != call_y->communicator)
        return call_x->communicator < call_y->communicator ? -1 : 1;
    if (call_x->sequence != call_y->sequence)
        return call_x->sequence < call_y->sequence ? -1 : 1;
    if (rank_x->incarnation != rank_y->incarnation)
        return rank_x->incarnation < rank_y->incarnation ? -1 : 1;
    if (rank_x->rank != rank_y->rank)
        return (uint32_t)rank_x->rank < (uint32_t)rank_y->rank ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

static int
compare_unnumbered(const void *a, const void *b)
{
    const Item *x = a, *y = b;

    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int
compare_ranks(const void *a, const void *b, void *user)
{
    const Match *match = user;
    const LsRank *x = &match->ranks[((const Item *)a)->rank];
    const LsRank *y = &match->ranks[((const Item *)b)->rank];

    if (x->rank != y->rank)
        return (uint32_t)x->rank < (uint32_t)y->rank ? -1 : 1;
    return x->incarnation < y->incarnation ? -1 : x->incarnation > y->incarnation;
}

/* Operations whose ranks all give the same number of bytes. */
static bool
has_equal_bytes(uint8_t operation)
{
    return operation == LS_OPERATION_ALLREDUCE || operation == LS_OPERATION_ADASUM ||
           operation == LS_OPERATION_BROADCAST || operation == LS_OPERATION_REDUCE ||
           operation == LS_OPERATION_REDUCESCATTER;
}

static void
check_agreement(Match *match, const LsCall *first, const LsCall *other)
{
    bool operation = first->operation != LS_OPERATION_UNKNOWN &&
                     other->operation != LS_OPERATION_UNKNOWN &&
                     first->operation != other->operation;
    bool bytes = !operation && first->bytes >= 0 && other->bytes >= 0 &&
                 first->bytes != other->bytes && has_equal_bytes(first->operation);

    if ((operation || bytes) && match->unequal[0] == NULL) {
        match->unequal[0] = first;
        match->unequal[1] = other;
    }
    match->unequal_operation += operation;
    match->unequal_bytes += bytes;
}

static void
add_buffer(Match *match, Item *items, size_t n, bool exact)
{
    uint32_t ranks = match->calls[items[0].call].ranks;
    uint32_t expected = MAX(ranks > 0 ? ranks : match->world, (uint32_t)n);
    LsBuffer buffer = {match->refs->len, (uint32_t)n, expected, exact};

    g_qsort_with_data(items, (gint)n, sizeof *items, compare_ranks, match);
    for (size_t i = 0; i < n; i++) {
        match->calls[items[i].call].buffer = match->buffers->len;
        g_array_append_val(match->refs, items[i].call);
        if (i > 0)
            check_agreement(match, &match->calls[items[0].call], &match->calls[items[i].call]);
    }
    if (!exact && n > 1)
        match->inferred++;
    g_array_append_val(match->buffers, buffer);
}

/* Where the ranks restarted, a rank comes once a life: [0, n) is one number of one communicator. */
static bool
has_rank_twice(const Match *match, const Item *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (match->ranks[items[i].rank].incarnation != match->ranks[items[0].rank].incarnation)
            for (size_t k = 0; k < i; k++)
                if (match->ranks[items[k].rank].rank == match->ranks[items[i].rank].rank)
                    return true;
    return false;
}

static void
add_numbered(Match *match, Item *items, size_t n)
{
    bool lives = has_rank_twice(match, items, n);
    size_t first = 0;

    for (size_t i = 1; i <= n; i++) {
        const LsRank *rank = i < n ? &match->ranks[items[i].rank] : NULL;
        const LsRank *before = &match->ranks[items[i - 1].rank];

        if (rank != NULL && (!lives || rank->incarnation == before->incarnation) &&
            (rank->rank != before->rank || rank->rank < 0))
            continue;
        add_buffer(match, items + first, i - first, true);
        first = i;
    }
}

static void
match_numbered(Match *match, Item *items, size_t n)
{
    size_t first = 0;

    g_qsort_with_data(items, (gint)n, sizeof *items, compare_numbered, match);
    for (size_t i = 1; i <= n; i++) {
        const LsCall *a = &match->calls[items[first].call];
        const LsCall *b = i < n ? &match->calls[items[i].call] : NULL;

        if (b != NULL && a->communicator == b->communicator && a->sequence == b->sequence &&
            match->ranks[items[i].rank].run == match->ranks[items[first].rank].run)
            continue;
        add_numbered(match, items + first, i - first);
        first = i;
    }
}

static int64_t
get_slack_ns(const Match *match, const Item *a, const Item *b)
{
    return match->ranks[a->rank].clock_uncertainty_ns + match->ranks[b->rank].clock_uncertainty_ns;
}

/* Whether the item can be of the same collective as all of [0, n): another rank, under way
 * together. */
static bool
fits(const Match *match, const Item *items, size_t n, const Item *item)
{
    const LsCall *call = &match->calls[item->call];

    for (size_t i = 0; i < n; i++) {
        const LsCall *other = &match->calls[items[i].call];
        int64_t slack_ns;

        if (items[i].rank == item->rank || items[i].what != item->what ||
            match->ranks[items[i].rank].rank == match->ranks[item->rank].rank ||
            match->ranks[items[i].rank].run != match->ranks[item->rank].run ||
            match->ranks[items[i].rank].clock_method == LS_CLOCK_NONE ||
            match->ranks[item->rank].clock_method == LS_CLOCK_NONE)
            return false;
        slack_ns = get_slack_ns(match, &items[i], item);
        if (call->operation == LS_OPERATION_BROADCAST || call->operation == LS_OPERATION_REDUCE)
            slack_ns += APART_MAX_NS;
        if (call->start_ns > items[i].end_ns + slack_ns ||
            other->start_ns > item->end_ns + slack_ns)
            return false;
    }
    return true;
}

static void
match_unnumbered(Match *match, Item *items, size_t n)
{
    g_autofree uint64_t *tensors = hash_tensors(match);
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        const LsCall *call = &match->calls[items[i].call];

        items[i].what = hash_call(call, tensors[items[i].call]);
    }
    if (n > 0)
        qsort(items, n, sizeof *items, compare_unnumbered);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && fits(match, items + first, i - first, &items[i]))
            continue;
        add_buffer(match, items + first, i - first, false);
        first = i;
    }
}

static G_GNUC_PRINTF(3, 4) void add_finding(const Match *match, LsSeverity severity,
                                            const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    ls_builder_add_finding(match->builder, severity, NULL, -1, -1, text);
}

static void
add_findings(const Match *match)
{
    const LsCall *a = match->unequal[0], *b = match->unequal[1];

    if (match->inferred > 0)
        add_finding(match, LS_NOTE,
                    "%zu of %u collectives were paired across ranks by name, size and time, since "
                    "the recording does not number them.",
                    match->inferred, match->buffers->len);
    if (match->unequal_operation > 0)
        add_finding(
            match, LS_WARNING,
            "%zu calls have the number of a collective with another operation, the first on "
            "rank %d against rank %d, number %" G_GINT64_FORMAT ".",
            match->unequal_operation, match->ranks[b->rank].rank, match->ranks[a->rank].rank,
            a->sequence);
    if (match->unequal_bytes > 0)
        add_finding(
            match, LS_WARNING,
            "%zu calls differ in size from the same collective on another rank; one of them, "
            "number %" G_GINT64_FORMAT ", has %" G_GINT64_FORMAT
            " bytes on rank %d and %" G_GINT64_FORMAT " on rank %d.",
            match->unequal_bytes, a->sequence, a->bytes, match->ranks[a->rank].rank, b->bytes,
            match->ranks[b->rank].rank);
}

typedef struct Order {
    uint32_t buffer;
    int64_t start_ns;
} Order;

static int
compare_starts(const void *a, const void *b)
{
    const Order *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* Buffers in the order of their first start, as a reader counts them. */
static void
sort_buffers(Match *match)
{
    const uint32_t *refs = (const uint32_t *)(void *)match->refs->data;
    LsBuffer *buffers = (LsBuffer *)(void *)match->buffers->data;
    size_t n = match->buffers->len;
    g_autofree LsBuffer *old = g_memdup2(buffers, n * sizeof *old);
    g_autofree Order *order = g_new(Order, n);

    for (size_t i = 0; i < n; i++) {
        order[i] = (Order){(uint32_t)i, INT64_MAX};
        for (uint32_t k = 0; k < old[i].n_calls; k++)
            order[i].start_ns =
                MIN(order[i].start_ns, match->calls[refs[old[i].first_call_ref + k]].start_ns);
    }
    qsort(order, n, sizeof *order, compare_starts);
    for (size_t i = 0; i < n; i++) {
        buffers[i] = old[order[i].buffer];
        for (uint32_t k = 0; k < buffers[i].n_calls; k++)
            match->calls[refs[buffers[i].first_call_ref + k]].buffer = (uint32_t)i;
    }
}

void
ls_match_calls(LsBuilder *builder)
{
    Match match = {.builder = builder};
    g_autofree Item *items = NULL;
    size_t n_numbered = 0, n_others = 0;

    match.calls = ls_builder_get_calls(builder, &match.n_calls);
    if (match.n_calls == 0)
        return;
    match.ranks = ls_builder_get_ranks(builder, &match.n_ranks);
    for (size_t i = 0; i < match.n_ranks; i++)
        match.world =
            (uint32_t)MAX((int64_t)match.world, MAX(match.ranks[i].rank + 1, match.ranks[i].world));
    match.buffers = g_array_new(FALSE, FALSE, sizeof(LsBuffer));
    match.refs = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    items = g_new(Item, match.n_calls);
    for (size_t i = 0; i < match.n_calls; i++) {
        const LsCall *call = &match.calls[i];
        Item *item;

        if (call->is_inner)
            continue;
        /* Numbered ones from the front, the others from the back. */
        item = call->sequence >= 0 ? &items[n_numbered++] : &items[match.n_calls - ++n_others];
        *item = (Item){(uint32_t)i, call->rank, 0,
                       call->end_ns != LS_TIME_NONE ? call->end_ns : call->start_ns};
    }
    match_numbered(&match, items, n_numbered);
    match_unnumbered(&match, items + match.n_calls - n_others, n_others);
    sort_buffers(&match);
    add_findings(&match);
    ls_builder_set_buffers(builder, (const LsBuffer *)(void *)match.buffers->data,
                           match.buffers->len, (const uint32_t *)(void *)match.refs->data,
                           match.refs->len);
    g_array_unref(match.buffers);
    g_array_unref(match.refs);
}
