/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/launch.c: table `launches`: each NCCL operation whose kernel was recorded: who launched
 * it, when, in which NVTX range, and how long the device had it waiting.
 */
#include "analysis/scope.h"
#include "analysis/table-private.h"

enum { RANK, COMMUNICATOR, SEQUENCE, OPERATION, BYTES, KERNEL, RANGE, LAUNCH, START, END, WAITED };

static const LsColumn columns[] = {
    [RANK] = {"rank", LS_COLUMN_INT},         [COMMUNICATOR] = {"communicator", LS_COLUMN_INT},
    [SEQUENCE] = {"sequence", LS_COLUMN_INT}, [OPERATION] = {"operation", LS_COLUMN_TEXT},
    [BYTES] = {"bytes", LS_COLUMN_INT},       [KERNEL] = {"kernel", LS_COLUMN_TEXT},
    [RANGE] = {"range", LS_COLUMN_TEXT},      [LAUNCH] = {"launch_ns", LS_COLUMN_INT},
    [START] = {"start_ns", LS_COLUMN_INT},    [END] = {"end_ns", LS_COLUMN_INT},
    [WAITED] = {"queued_ns", LS_COLUMN_INT},
};

static void
add_row(LsTable *table, const LsTrace *trace, const LsCall *call, int64_t rank)
{
    ls_table_add_row(table);
    set_count(table, RANK, rank, 0);
    ls_table_set_int(table, COMMUNICATOR, call->communicator);
    set_count(table, SEQUENCE, call->sequence, 0);
    ls_table_set_text(table, OPERATION, ls_trace_get_string(trace, call->name));
    set_count(table, BYTES, call->bytes, 0);
    ls_table_set_text(table, KERNEL, ls_trace_get_string(trace, call->kernel));
    if (call->range != 0)
        ls_table_set_text(table, RANGE, ls_trace_get_string(trace, call->range));
    set_ns(table, LAUNCH, call->launch_ns);
    ls_table_set_int(table, START, call->start_ns);
    ls_table_set_int(table, END, call->end_ns);
    if (call->launch_ns != LS_TIME_NONE)
        ls_table_set_int(table, WAITED, call->start_ns - call->launch_ns);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("launches", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    size_t n, n_ranks;
    const LsCall *calls = ls_trace_get_calls(input->trace, &n);
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);

    for (size_t i = 0; i < n; i++)
        if (calls[i].kernel != 0 && ls_scope_has(scope, calls[i].rank, calls[i].start_ns))
            add_row(table, input->trace, &calls[i], ranks[calls[i].rank].rank);
    return table;
}

const LsAnalysis ls_analysis_launches = {
    "launches", "each NCCL operation with the kernel, the launch and the range that it belongs to",
    run};
