/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/negotiation.c: why a tensor waited between its submission on a rank and the agreement of
 * all (metrics.md, "Per tensor and step").
 *
 * The time is cut once, in this order: gate (its own group was not complete here), slowest rank
 * (some rank had not submitted it, or its group), and of what remains behind (the loop executed
 * another buffer), sleep (the loop slept), protocol. Each moment goes to the first cause that
 * holds, so the parts add up exactly.
 */
#include "analysis/negotiation.h"

#include <stdlib.h>

struct LsNegotiations {
    const LsTrace *trace;
    uint32_t *order; /* rows of uses by tensor, occurrence */
    LsOccurrence *occurrences;
    size_t n_occurrences, n_ranks;
    LsIntervals *behind, *sleep; /* per rank; sleep is without behind */
    size_t n_submitting;         /* rank numbers that submit or execute anything */
    bool aligned;
};

/* Ticks of a foreign timeline that come in one cycle carry no order (facts: Horovod A4): within its
 * default cycle time the last one is not known. */
#define TICK_DOUBT_NS 1000000

typedef struct Order {
    const LsUse *uses;
    const LsRank *ranks;
} Order;

/* Counts of one run, or one life, have nothing to do with those of another. */
static int
compare_use(const void *a, const void *b, void *user)
{
    const Order *order = user;
    const LsUse *x = &order->uses[*(const uint32_t *)a];
    const LsUse *y = &order->uses[*(const uint32_t *)b];
    const LsRank *rank_x = &order->ranks[x->rank], *rank_y = &order->ranks[y->rank];

    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    if (x->occurrence != y->occurrence)
        return x->occurrence < y->occurrence ? -1 : 1;
    if (rank_x->run != rank_y->run)
        return rank_x->run < rank_y->run ? -1 : 1;
    if (rank_x->incarnation != rank_y->incarnation)
        return rank_x->incarnation < rank_y->incarnation ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Of a clock that could not be placed nothing can be told. */
static int64_t
get_doubt(const LsRank *rank)
{
    if (rank->clock_method == LS_CLOCK_NONE)
        return LS_TIME_MAX;
    return rank->clock_uncertainty_ns + (rank->recorded ? 0 : TICK_DOUBT_NS);
}

static void
find_last(LsOccurrence *occurrence, const LsUse *uses, const LsRank *ranks)
{
    size_t last = 0;

    for (size_t i = 1; i < occurrence->n; i++)
        if (uses[occurrence->uses[i]].submit_ns > uses[occurrence->uses[last]].submit_ns)
            last = i;
    const LsUse *late = &uses[occurrence->uses[last]];

    for (size_t i = 0; i < occurrence->n; i++) {
        const LsUse *use = &uses[occurrence->uses[i]];

        if (i != last && late->submit_ns - use->submit_ns <=
                             get_doubt(&ranks[use->rank]) + get_doubt(&ranks[late->rank]))
            return;
    }
    occurrence->last = (int)last;
}

static void
measure(const LsNegotiations *negotiations, LsOccurrence *occurrence, const LsUse *uses,
        const LsRank *ranks)
{
    size_t submitted = 0;

    occurrence->first_submit_ns = occurrence->last_submit_ns = LS_TIME_NONE;
    occurrence->last_ready_ns = LS_TIME_NONE;
    occurrence->last = -1;
    if (!negotiations->aligned)
        return;
    for (size_t i = 0; i < occurrence->n; i++) {
        const LsUse *use = &uses[occurrence->uses[i]];

        if (use->submit_ns == LS_TIME_NONE)
            continue;
        if (submitted++ == 0 || use->submit_ns < occurrence->first_submit_ns)
            occurrence->first_submit_ns = use->submit_ns;
        occurrence->last_submit_ns = MAX(occurrence->last_submit_ns, use->submit_ns);
        occurrence->last_ready_ns =
            MAX(occurrence->last_ready_ns, MAX(use->submit_ns, use->gate_ns));
    }
    occurrence->complete = submitted == occurrence->n && submitted >= negotiations->n_submitting;
    if (occurrence->complete && occurrence->n > 1)
        find_last(occurrence, uses, ranks);
}

static bool
are_together(const LsUse *a, const LsUse *b, const LsRank *ranks)
{
    return a->tensor == b->tensor && a->occurrence == b->occurrence &&
           ranks[a->rank].run == ranks[b->rank].run;
}

/* Where the ranks restarted, a rank comes once a life; else lives that differ are those of one job,
 * in which not every rank had left a file before. */
static bool
has_rank_twice(const LsUse *uses, const uint32_t *rows, size_t n, const LsRank *ranks)
{
    for (size_t i = 1; i < n; i++)
        if (ranks[uses[rows[i]].rank].incarnation != ranks[uses[rows[0]].rank].incarnation)
            for (size_t k = 0; k < i; k++)
                if (ranks[uses[rows[k]].rank].rank == ranks[uses[rows[i]].rank].rank)
                    return true;
    return false;
}

/* Of the rows from `rows` on, how many are one negotiation. */
static size_t
count_together(const LsUse *uses, const uint32_t *rows, size_t left, const LsRank *ranks)
{
    size_t n = 1, life = 1;

    while (n < left && are_together(&uses[rows[0]], &uses[rows[n]], ranks))
        n++;
    if (!has_rank_twice(uses, rows, n, ranks))
        return n;
    while (life < n &&
           ranks[uses[rows[life]].rank].incarnation == ranks[uses[rows[0]].rank].incarnation)
        life++;
    return life;
}

static void
group_uses(LsNegotiations *negotiations, const LsUse *uses, size_t n_uses, const LsRank *ranks)
{
    GArray *occurrences = g_array_new(false, true, sizeof(LsOccurrence));
    size_t first = 0;

    negotiations->order = g_new(uint32_t, n_uses);
    for (size_t i = 0; i < n_uses; i++)
        negotiations->order[i] = (uint32_t)i;
    if (n_uses > 0)
        qsort_r(negotiations->order, n_uses, sizeof(uint32_t), compare_use, &(Order){uses, ranks});
    while (first < n_uses) {
        const LsUse *use = &uses[negotiations->order[first]];
        LsOccurrence occurrence = {
            .tensor = use->tensor,
            .occurrence = use->occurrence,
            .uses = &negotiations->order[first],
            .n = count_together(uses, &negotiations->order[first], n_uses - first, ranks)};

        measure(negotiations, &occurrence, uses, ranks);
        g_array_append_val(occurrences, occurrence);
        first += occurrence.n;
    }
    negotiations->n_occurrences = occurrences->len;
    negotiations->occurrences = (LsOccurrence *)(void *)g_array_free(occurrences, false);
}

/* When each rank's loop executed a buffer (pack to unpack), and when it slept besides. */
static void
find_loop(LsNegotiations *negotiations)
{
    size_t n_calls, n_sleeps, call = 0, sleep = 0;
    const LsCall *calls = ls_trace_get_calls(negotiations->trace, &n_calls);
    const LsSleep *sleeps = ls_trace_get_sleeps(negotiations->trace, &n_sleeps);
    g_autoptr(GArray) items = g_array_new(false, false, sizeof(LsInterval));

    for (size_t r = 0; r < negotiations->n_ranks; r++) {
        LsIntervals slept;

        g_array_set_size(items, 0);
        for (; call < n_calls && calls[call].rank == r; call++) {
            const LsCall *row = &calls[call];
            bool packed = row->pack_start_ns != LS_TIME_NONE;
            LsInterval busy = {packed ? row->pack_start_ns : row->start_ns,
                               MAX(row->end_ns, row->unpack_end_ns)};

            g_array_append_val(items, busy);
        }
        negotiations->behind[r] =
            ls_intervals_union_of((const LsInterval *)(void *)items->data, items->len);
        g_array_set_size(items, 0);
        for (; sleep < n_sleeps && sleeps[sleep].rank == r; sleep++) {
            LsInterval nap = {sleeps[sleep].start_ns, sleeps[sleep].end_ns};

            g_array_append_val(items, nap);
        }
        slept = ls_intervals_union_of((const LsInterval *)(void *)items->data, items->len);
        negotiations->sleep[r] = ls_intervals_subtract(&slept, &negotiations->behind[r]);
        ls_intervals_clear(&slept);
    }
}

/* Ranks that submit, and whether all of them are here and on one clock. */
static void
find_submitting(LsNegotiations *negotiations, const LsUse *uses, size_t n_uses, const LsRank *ranks)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
    bool one_clock = true;
    size_t n_calls;
    const LsCall *calls = ls_trace_get_calls(negotiations->trace, &n_calls);

    for (size_t i = 0; i < n_uses; i++) {
        if (uses[i].submit_ns == LS_TIME_NONE)
            continue;
        one_clock = one_clock && ranks[uses[i].rank].clock_method != LS_CLOCK_NONE;
        g_hash_table_add(numbers, GINT_TO_POINTER(ranks[uses[i].rank].rank));
    }
    /* Who executes has submitted, and if no record says when, it may have been the last. */
    for (size_t i = 0; i < n_calls; i++)
        g_hash_table_add(numbers, GINT_TO_POINTER(ranks[calls[i].rank].rank));
    negotiations->n_submitting = g_hash_table_size(numbers);
    negotiations->aligned = (one_clock || negotiations->n_submitting < 2) &&
                            ls_trace_count_missing(negotiations->trace) == 0;
}

LsNegotiations *
ls_negotiations_new(const LsAnalysisInput *input)
{
    LsNegotiations *negotiations = g_new0(LsNegotiations, 1);
    size_t n_uses;
    const LsUse *uses = ls_trace_get_uses(input->trace, &n_uses);
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &negotiations->n_ranks);

    negotiations->trace = input->trace;
    negotiations->behind = g_new0(LsIntervals, negotiations->n_ranks);
    negotiations->sleep = g_new0(LsIntervals, negotiations->n_ranks);
    find_submitting(negotiations, uses, n_uses, ranks);
    find_loop(negotiations);
    group_uses(negotiations, uses, n_uses, ranks);
    return negotiations;
}

void
ls_negotiations_free(LsNegotiations *negotiations)
{
    if (negotiations == NULL)
        return;
    for (size_t r = 0; r < negotiations->n_ranks; r++) {
        ls_intervals_clear(&negotiations->behind[r]);
        ls_intervals_clear(&negotiations->sleep[r]);
    }
    g_free(negotiations->behind);
    g_free(negotiations->sleep);
    g_free(negotiations->order);
    g_free(negotiations->occurrences);
    g_free(negotiations);
}

const LsOccurrence *
ls_negotiations_get(const LsNegotiations *negotiations, size_t *ret_n)
{
    *ret_n = negotiations->n_occurrences;
    return negotiations->occurrences;
}

bool
ls_negotiations_split(const LsNegotiations *negotiations, const LsOccurrence *occurrence,
                      const LsUse *use, LsNegotiation *ret_parts)
{
    int64_t submit_ns = use->submit_ns, agreed_ns = use->agreed_ns, gate_ns, ready_ns;

    if (submit_ns == LS_TIME_NONE || agreed_ns == LS_TIME_NONE)
        return false;
    agreed_ns = MAX(agreed_ns, submit_ns);
    gate_ns = CLAMP(use->gate_ns, submit_ns, agreed_ns); /* LS_TIME_NONE is the smallest number */
    ready_ns = CLAMP(occurrence->last_ready_ns, gate_ns, agreed_ns);
    ret_parts->gate_ns = gate_ns - submit_ns;
    ret_parts->slowest_rank_ns = ready_ns - gate_ns;
    ret_parts->behind_ns =
        ls_intervals_length_within(&negotiations->behind[use->rank], ready_ns, agreed_ns);
    ret_parts->sleep_ns =
        ls_intervals_length_within(&negotiations->sleep[use->rank], ready_ns, agreed_ns);
    ret_parts->protocol_ns = agreed_ns - ready_ns - ret_parts->behind_ns - ret_parts->sleep_ns;
    return true;
}

bool
ls_negotiations_is_aligned(const LsNegotiations *negotiations)
{
    return negotiations->aligned;
}
