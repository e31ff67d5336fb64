/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/step.c: table `steps`: each step of each rank cut by the sets of index/activity.
 */
#include "analysis/scope.h"
#include "analysis/table-private.h"

enum {
    STEP,
    RANK,
    START,
    STEP_TIME,
    COMPUTE,
    COMMUNICATION,
    HIDDEN,
    EXPOSED,
    WAITED_FOR,
    EXPOSED_WAIT,
    EXPOSED_TRANSFER,
    IDLE,
    IO,
    FUSION,
    NEGOTIATION_EXPOSURE,
    SAMPLES,
    OPERATIONS,
    WARMUP,
    CUT,
};

static const LsColumn columns[] = {
    [STEP] = {"step", LS_COLUMN_INT},
    [RANK] = {"rank", LS_COLUMN_INT},
    [START] = {"start_ns", LS_COLUMN_INT},
    [STEP_TIME] = {"step_ns", LS_COLUMN_INT},
    [COMPUTE] = {"compute_ns", LS_COLUMN_INT},
    [COMMUNICATION] = {"communication_ns", LS_COLUMN_INT},
    [HIDDEN] = {"hidden_ns", LS_COLUMN_INT},
    [EXPOSED] = {"exposed_ns", LS_COLUMN_INT},
    [WAITED_FOR] = {"waited_for_ns", LS_COLUMN_INT},
    [EXPOSED_WAIT] = {"exposed_wait_ns", LS_COLUMN_INT},
    [EXPOSED_TRANSFER] = {"exposed_transfer_ns", LS_COLUMN_INT},
    [IDLE] = {"idle_ns", LS_COLUMN_INT},
    [IO] = {"io_ns", LS_COLUMN_INT},
    [FUSION] = {"fusion_ns", LS_COLUMN_INT},
    [NEGOTIATION_EXPOSURE] = {"negotiation_exposure_ns", LS_COLUMN_INT},
    [SAMPLES] = {"samples", LS_COLUMN_INT},
    [OPERATIONS] = {"operations", LS_COLUMN_INT},
    [WARMUP] = {"warmup", LS_COLUMN_BOOL},
    [CUT] = {"cut", LS_COLUMN_BOOL},
};

/* Columns that are the length of one set within the step. */
static const struct Measure {
    size_t column;
    LsActivityKind kind;
    bool needs_compute;
} measures[] = {
    {COMMUNICATION, LS_ACTIVITY_COMMUNICATION, false},
    {IO, LS_ACTIVITY_IO, false},
    {FUSION, LS_ACTIVITY_FUSION, false},
    {COMPUTE, LS_ACTIVITY_COMPUTE, true},
    {HIDDEN, LS_ACTIVITY_HIDDEN, true},
    {EXPOSED, LS_ACTIVITY_EXPOSED, true},
    {WAITED_FOR, LS_ACTIVITY_WAITED_FOR, true},
    {EXPOSED_TRANSFER, LS_ACTIVITY_EXPOSED_TRANSFER, true},
};

/* Compute, communication, copies and I/O of the rank: what is not idle. */
static LsIntervals
find_busy(const LsActivity *activity, uint32_t rank)
{
    LsIntervals a = ls_intervals_union(ls_activity_get(activity, rank, LS_ACTIVITY_COMPUTE),
                                       ls_activity_get(activity, rank, LS_ACTIVITY_COMMUNICATION));
    LsIntervals b = ls_intervals_union(ls_activity_get(activity, rank, LS_ACTIVITY_COPIES),
                                       ls_activity_get(activity, rank, LS_ACTIVITY_IO));
    LsIntervals busy = ls_intervals_union(&a, &b);

    ls_intervals_clear(&a);
    ls_intervals_clear(&b);
    return busy;
}

static void
set_measures(LsTable *table, const LsActivity *activity, const LsStep *step, bool is_whole,
             const LsIntervals *busy)
{
    bool computes = ls_activity_has_compute(activity, step->rank);

    for (size_t i = 0; i < G_N_ELEMENTS(measures); i++)
        if (computes || !measures[i].needs_compute)
            ls_table_set_int(
                table, measures[i].column,
                ls_intervals_length_within(ls_activity_get(activity, step->rank, measures[i].kind),
                                           step->start_ns, step->end_ns));
    if (!computes)
        return;
    if (is_whole)
        ls_table_set_int(table, EXPOSED_WAIT,
                         ls_intervals_length_within(
                             ls_activity_get(activity, step->rank, LS_ACTIVITY_EXPOSED_WAIT),
                             step->start_ns, step->end_ns));
    ls_table_set_int(table, IDLE,
                     step->end_ns - step->start_ns -
                         ls_intervals_length_within(busy, step->start_ns, step->end_ns));
    if (ls_activity_has_submissions(activity))
        ls_table_set_int(
            table, NEGOTIATION_EXPOSURE,
            ls_intervals_length_within(
                ls_activity_get(activity, step->rank, LS_ACTIVITY_NEGOTIATION_EXPOSURE),
                step->start_ns, step->end_ns));
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("steps", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    size_t n_steps, n_ranks;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);
    LsIntervals busy = {NULL, 0};
    bool is_whole = ls_trace_count_missing(input->trace) == 0;

    for (size_t i = 0; i < n_steps; i++) {
        const LsStep *step = &steps[i];

        if (i == 0 || step->rank != steps[i - 1].rank) {
            ls_intervals_clear(&busy);
            busy = find_busy(input->activity, step->rank);
        }
        if (!ls_scope_has_step(scope, step))
            continue;
        ls_table_add_row(table);
        ls_table_set_int(table, STEP, step->number);
        set_count(table, RANK, ranks[step->rank].rank, 0);
        ls_table_set_int(table, START, step->start_ns);
        ls_table_set_int(table, STEP_TIME, step->end_ns - step->start_ns);
        set_measures(table, input->activity, step, is_whole, &busy);
        set_count(table, SAMPLES, step->samples, 1);
        set_count(table, OPERATIONS, step->operations, 1);
        ls_table_set_bool(table, WARMUP, ls_scope_is_warmup(scope, step));
        ls_table_set_bool(table, CUT, step->cut);
    }
    ls_intervals_clear(&busy);
    return table;
}

const LsAnalysis ls_analysis_steps = {"steps",
                                      "each step of each rank, and what its time went into", run};
