/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/tensor.c: table `tensors`: the life of each tensor, mean over its occurrences and ranks.
 *
 * The parts of the negotiation are means over the same uses as the whole, and what rounding leaves
 * goes to the protocol, so gate + slowest rank + behind + sleep + protocol = negotiation to the
 * nanosecond.
 */
#include "analysis/negotiation.h"
#include "analysis/scope.h"
#include "base/stats.h"
#include "analysis/table-private.h"

#include <string.h>

enum {
    TENSOR,
    BYTES,
    COUNT,
    NEGOTIATION,
    GATE,
    SLOWEST_RANK,
    BEHIND,
    SLEEP,
    PROTOCOL,
    QUEUE,
    PACK,
    OPERATION,
    UNPACK,
    SPREAD,
    GROUP,
    MOST_OFTEN_LAST_RANK,
    TIMES_LAST,
};

static const LsColumn columns[] = {
    [TENSOR] = {"tensor", LS_COLUMN_TEXT},
    [BYTES] = {"bytes", LS_COLUMN_INT},
    [COUNT] = {"count", LS_COLUMN_INT},
    [NEGOTIATION] = {"negotiation_ns", LS_COLUMN_INT},
    [GATE] = {"gate_ns", LS_COLUMN_INT},
    [SLOWEST_RANK] = {"slowest_rank_ns", LS_COLUMN_INT},
    [BEHIND] = {"behind_ns", LS_COLUMN_INT},
    [SLEEP] = {"sleep_ns", LS_COLUMN_INT},
    [PROTOCOL] = {"protocol_ns", LS_COLUMN_INT},
    [QUEUE] = {"queue_ns", LS_COLUMN_INT},
    [PACK] = {"pack_ns", LS_COLUMN_INT},
    [OPERATION] = {"operation_ns", LS_COLUMN_INT},
    [UNPACK] = {"unpack_ns", LS_COLUMN_INT},
    [SPREAD] = {"spread_ns", LS_COLUMN_INT},
    [GROUP] = {"group", LS_COLUMN_TEXT},
    [MOST_OFTEN_LAST_RANK] = {"most_often_last_rank", LS_COLUMN_INT},
    [TIMES_LAST] = {"times_last", LS_COLUMN_INT},
};

/* Sums over the uses of one tensor. */
typedef struct Sum {
    uint32_t tensor, group;
    int64_t bytes, count;
    int64_t n_negotiated, n_executed, n_queued, n_spread;
    int64_t negotiation_ns, queue_ns, pack_ns, operation_ns, unpack_ns, spread_ns;
    LsNegotiation parts;
} Sum;

static int64_t
get_length(int64_t start_ns, int64_t end_ns)
{
    return start_ns == LS_TIME_NONE || end_ns == LS_TIME_NONE ? 0 : end_ns - start_ns;
}

static void
add_call(Sum *sum, const LsUse *use, const LsCall *call)
{
    bool packed = call->pack_start_ns != LS_TIME_NONE;

    if (call->open)
        return;
    sum->n_executed++;
    sum->pack_ns += get_length(call->pack_start_ns, call->pack_end_ns);
    sum->operation_ns += call->end_ns - call->start_ns;
    sum->unpack_ns += get_length(call->unpack_start_ns, call->unpack_end_ns);
    if (use->agreed_ns == LS_TIME_NONE)
        return;
    sum->n_queued++;
    sum->queue_ns += (packed ? call->pack_start_ns : call->start_ns) - use->agreed_ns;
}

static void
add_use(Sum *sum, const LsNegotiations *negotiations, const LsOccurrence *occurrence,
        const LsUse *use)
{
    LsNegotiation parts;

    sum->bytes = MAX(sum->bytes, use->bytes);
    if (use->group != LS_NONE)
        sum->group = use->group;
    if (!ls_negotiations_split(negotiations, occurrence, use, &parts))
        return;
    sum->n_negotiated++;
    sum->negotiation_ns += MAX(use->agreed_ns - use->submit_ns, 0);
    sum->parts.gate_ns += parts.gate_ns;
    sum->parts.slowest_rank_ns += parts.slowest_rank_ns;
    sum->parts.behind_ns += parts.behind_ns;
    sum->parts.sleep_ns += parts.sleep_ns;
    sum->parts.protocol_ns += parts.protocol_ns;
}

/* When the use is first known: what decides in which step it is. */
static int64_t
get_time(const LsUse *use)
{
    if (use->submit_ns != LS_TIME_NONE)
        return use->submit_ns;
    return use->agreed_ns != LS_TIME_NONE ? use->agreed_ns : use->done_ns;
}

static void
add_occurrence(Sum *sum, const LsAnalysisInput *input, const LsScope *scope,
               const LsNegotiations *negotiations, const LsOccurrence *occurrence,
               GHashTable *times_last)
{
    size_t n_uses, n_calls;
    const LsUse *uses = ls_trace_get_uses(input->trace, &n_uses);
    const LsCall *calls = ls_trace_get_calls(input->trace, &n_calls);
    bool shown = false;

    for (size_t i = 0; i < occurrence->n; i++) {
        const LsUse *use = &uses[occurrence->uses[i]];

        if (!ls_scope_has(scope, use->rank, get_time(use)))
            continue;
        shown = true;
        add_use(sum, negotiations, occurrence, use);
        if (use->call < n_calls)
            add_call(sum, use, &calls[use->call]);
    }
    sum->count += shown; /* one that was begun and never agreed counts too */
    if (!shown || !occurrence->complete || occurrence->n < 2)
        return;
    sum->n_spread++;
    sum->spread_ns += occurrence->last_submit_ns - occurrence->first_submit_ns;
    if (occurrence->last >= 0) {
        void *key = GUINT_TO_POINTER(uses[occurrence->uses[occurrence->last]].rank);
        size_t before = GPOINTER_TO_SIZE(g_hash_table_lookup(times_last, key));

        g_hash_table_insert(times_last, key, GSIZE_TO_POINTER(before + 1));
    }
}

static void
set_last(LsTable *table, const LsRank *ranks, GHashTable *times_last)
{
    GHashTableIter iter;
    void *key, *value;
    uint32_t best = LS_NONE;
    size_t times = 0;

    g_hash_table_iter_init(&iter, times_last);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        size_t n = GPOINTER_TO_SIZE(value);

        if (n > times || (n == times && GPOINTER_TO_UINT(key) < best)) {
            times = n;
            best = GPOINTER_TO_UINT(key);
        }
    }
    if (best == LS_NONE)
        return;
    set_count(table, MOST_OFTEN_LAST_RANK, ranks[best].rank, 0);
    ls_table_set_int(table, TIMES_LAST, (int64_t)times);
}

static void
set_negotiation(LsTable *table, const Sum *sum, bool aligned)
{
    int64_t n = sum->n_negotiated, whole_ns = ls_stats_mean(sum->negotiation_ns, n);
    int64_t gate_ns = ls_stats_mean(sum->parts.gate_ns, n);
    int64_t slowest_ns = ls_stats_mean(sum->parts.slowest_rank_ns, n);
    int64_t behind_ns = ls_stats_mean(sum->parts.behind_ns, n);
    int64_t sleep_ns = ls_stats_mean(sum->parts.sleep_ns, n);

    if (n == 0)
        return;
    ls_table_set_int(table, NEGOTIATION, whole_ns);
    ls_table_set_int(table, GATE, gate_ns);
    if (aligned)
        ls_table_set_int(table, SLOWEST_RANK, slowest_ns);
    ls_table_set_int(table, BEHIND, behind_ns);
    ls_table_set_int(table, SLEEP, sleep_ns);
    ls_table_set_int(table, PROTOCOL, whole_ns - gate_ns - slowest_ns - behind_ns - sleep_ns);
}

static void
add_row(LsTable *table, const LsTrace *trace, const Sum *sum, bool aligned, GHashTable *times_last)
{
    size_t n_ranks;

    ls_table_add_row(table);
    ls_table_set_text(table, TENSOR, ls_trace_get_string(trace, sum->tensor));
    set_count(table, BYTES, sum->bytes, 0);
    ls_table_set_int(table, COUNT, sum->count);
    set_negotiation(table, sum, aligned);
    if (sum->n_queued > 0)
        ls_table_set_int(table, QUEUE, ls_stats_mean(sum->queue_ns, sum->n_queued));
    if (sum->n_executed > 0) {
        ls_table_set_int(table, PACK, ls_stats_mean(sum->pack_ns, sum->n_executed));
        ls_table_set_int(table, OPERATION, ls_stats_mean(sum->operation_ns, sum->n_executed));
        ls_table_set_int(table, UNPACK, ls_stats_mean(sum->unpack_ns, sum->n_executed));
    }
    if (sum->n_spread > 0)
        ls_table_set_int(table, SPREAD, ls_stats_mean(sum->spread_ns, sum->n_spread));
    if (sum->group != LS_NONE)
        ls_table_set_text(table, GROUP, ls_trace_get_string(trace, sum->group));
    set_last(table, ls_trace_get_ranks(trace, &n_ranks), times_last);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("tensors", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    g_autoptr(LsNegotiations) negotiations = ls_negotiations_new(input);
    g_autoptr(GHashTable) times_last = g_hash_table_new(g_direct_hash, g_direct_equal);
    size_t n, i = 0;
    const LsOccurrence *occurrences = ls_negotiations_get(negotiations, &n);

    while (i < n) {
        Sum sum = {.tensor = occurrences[i].tensor, .group = LS_NONE, .bytes = -1};

        g_hash_table_remove_all(times_last);
        for (; i < n && occurrences[i].tensor == sum.tensor; i++)
            add_occurrence(&sum, input, scope, negotiations, &occurrences[i], times_last);
        if (sum.count > 0)
            add_row(table, input->trace, &sum, ls_negotiations_is_aligned(negotiations),
                    times_last);
    }
    return table;
}

const LsAnalysis ls_analysis_tensors = {
    "tensors", "the life of each tensor: negotiation and its causes, queue, pack, operation", run};
