/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/group.c: table `groups`: tensors that are reduced only together, and what that costs
 * them.
 *
 * Members of a group meet again in each occurrence: the uses of one (group, occurrence) on one rank
 * give the inner wait (last - first submission), over the ranks the spread of being ready.
 */
#include "analysis/negotiation.h"
#include "analysis/scope.h"
#include "base/stats.h"
#include "analysis/table-private.h"

#include <stdlib.h>

enum { GROUP, TENSORS, BYTES, COUNT, INNER_WAIT, READY_SPREAD, AGREED, BUFFERS };

static const LsColumn columns[] = {
    [GROUP] = {"group", LS_COLUMN_TEXT},
    [TENSORS] = {"tensors", LS_COLUMN_INT},
    [BYTES] = {"bytes", LS_COLUMN_INT},
    [COUNT] = {"count", LS_COLUMN_INT},
    [INNER_WAIT] = {"inner_wait_ns", LS_COLUMN_INT},
    [READY_SPREAD] = {"ready_spread_ns", LS_COLUMN_INT},
    [AGREED] = {"agreed_ns", LS_COLUMN_INT},
    [BUFFERS] = {"buffers", LS_COLUMN_INT},
};

typedef struct Sum {
    GHashTable *tensors, *buffers; /* name -> bytes; buffer of any use */
    int64_t count, n_inner, inner_ns, n_spread, spread_ns, n_agreed, agreed_ns;
} Sum;

/* By group, occurrence, rank. */
static int
compare(const void *a, const void *b)
{
    const LsUse *x = *(const LsUse *const *)a, *y = *(const LsUse *const *)b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->occurrence != y->occurrence)
        return x->occurrence < y->occurrence ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Members on one rank: returns when the last was submitted, LS_TIME_NONE if one is unknown. */
static int64_t
add_rank(Sum *sum, const LsAnalysisInput *input, const LsScope *scope, const LsUse **uses, size_t n)
{
    size_t n_steps, n_calls;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    const LsCall *calls = ls_trace_get_calls(input->trace, &n_calls);
    int64_t first_ns = INT64_MAX, last_ns = LS_TIME_NONE;
    bool known = true;

    for (size_t i = 0; i < n; i++) {
        uint32_t step = LS_NONE;

        g_hash_table_insert(sum->tensors, GUINT_TO_POINTER(uses[i]->tensor),
                            GSIZE_TO_POINTER((size_t)MAX(uses[i]->bytes, 0)));
        if (uses[i]->call < n_calls && calls[uses[i]->call].buffer != LS_NONE)
            g_hash_table_add(sum->buffers, GUINT_TO_POINTER(calls[uses[i]->call].buffer));
        if (uses[i]->submit_ns == LS_TIME_NONE) {
            known = false;
            continue;
        }
        first_ns = MIN(first_ns, uses[i]->submit_ns);
        last_ns = MAX(last_ns, uses[i]->submit_ns);
        step = ls_scope_find_step(scope, uses[i]->rank, uses[i]->submit_ns);
        if (step != LS_NONE && uses[i]->agreed_ns != LS_TIME_NONE) {
            sum->n_agreed++;
            sum->agreed_ns += uses[i]->agreed_ns - steps[step].start_ns;
        }
    }
    if (!known)
        return LS_TIME_NONE;
    sum->n_inner++;
    sum->inner_ns += last_ns - first_ns;
    return last_ns;
}

/* One occurrence on all ranks. */
static void
add_occurrence(Sum *sum, const LsAnalysisInput *input, const LsScope *scope, const LsUse **uses,
               size_t n, bool aligned)
{
    int64_t first_ns = INT64_MAX, last_ns = LS_TIME_NONE;
    bool known = aligned;
    size_t ranks = 0;

    for (size_t i = 0, m; i < n; i += m) {
        int64_t ready_ns;

        for (m = 1; i + m < n && uses[i + m]->rank == uses[i]->rank;)
            m++;
        ready_ns = add_rank(sum, input, scope, &uses[i], m);
        known = known && ready_ns != LS_TIME_NONE;
        first_ns = MIN(first_ns, ready_ns);
        last_ns = MAX(last_ns, ready_ns);
        ranks++;
    }
    sum->count++;
    if (known && ranks > 1) {
        sum->n_spread++;
        sum->spread_ns += last_ns - first_ns;
    }
}

static void
add_row(LsTable *table, const LsTrace *trace, uint32_t group, const Sum *sum)
{
    GHashTableIter iter;
    void *value;
    int64_t bytes = 0;

    g_hash_table_iter_init(&iter, sum->tensors);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        bytes += (int64_t)GPOINTER_TO_SIZE(value);
    ls_table_add_row(table);
    ls_table_set_text(table, GROUP, ls_trace_get_string(trace, group));
    ls_table_set_int(table, TENSORS, g_hash_table_size(sum->tensors));
    ls_table_set_int(table, BYTES, bytes);
    ls_table_set_int(table, COUNT, sum->count);
    if (sum->n_inner > 0)
        ls_table_set_int(table, INNER_WAIT, ls_stats_mean(sum->inner_ns, sum->n_inner));
    if (sum->n_spread > 0)
        ls_table_set_int(table, READY_SPREAD, ls_stats_mean(sum->spread_ns, sum->n_spread));
    if (sum->n_agreed > 0)
        ls_table_set_int(table, AGREED, ls_stats_mean(sum->agreed_ns, sum->n_agreed));
    if (g_hash_table_size(sum->buffers) > 0)
        ls_table_set_int(table, BUFFERS, g_hash_table_size(sum->buffers));
}

static void
add_group(LsTable *table, const LsAnalysisInput *input, const LsScope *scope, const LsUse **uses,
          size_t n, bool aligned)
{
    Sum sum = {.tensors = g_hash_table_new(g_direct_hash, g_direct_equal),
               .buffers = g_hash_table_new(g_direct_hash, g_direct_equal)};

    for (size_t i = 0, m; i < n; i += m) {
        for (m = 1; i + m < n && uses[i + m]->occurrence == uses[i]->occurrence;)
            m++;
        add_occurrence(&sum, input, scope, &uses[i], m, aligned);
    }
    add_row(table, input->trace, uses[0]->group, &sum);
    g_hash_table_unref(sum.tensors);
    g_hash_table_unref(sum.buffers);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("groups", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    g_autoptr(LsNegotiations) negotiations = ls_negotiations_new(input);
    g_autoptr(GPtrArray) grouped = g_ptr_array_new();
    size_t n_uses;
    const LsUse *uses = ls_trace_get_uses(input->trace, &n_uses);

    for (size_t i = 0; i < n_uses; i++)
        if (uses[i].group != LS_NONE && ls_scope_has(scope, uses[i].rank, uses[i].submit_ns))
            g_ptr_array_add(grouped, (void *)(uintptr_t)&uses[i]);
    if (grouped->len > 0)
        qsort(grouped->pdata, grouped->len, sizeof(void *), compare);
    for (size_t i = 0, n; i < grouped->len; i += n) {
        const LsUse **first = (const LsUse **)(void *)&grouped->pdata[i];

        for (n = 1; i + n < grouped->len && first[n]->group == first[0]->group;)
            n++;
        add_group(table, input, scope, first, n, ls_negotiations_is_aligned(negotiations));
    }
    return table;
}

const LsAnalysis ls_analysis_groups = {
    "groups", "tensors that are reduced only together, and what they wait for each other", run};
