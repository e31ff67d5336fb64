/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/collective.c: table `collectives`: each executed buffer split into waiting for the last
 * rank and moving bytes, with and without trust in clocks (metrics.md, "Per collective").
 *
 * Without clocks the ends stand in for them: D = end - arrival, wait = D - min D, transfer = the
 * shortest call. On one clock waits are differences of arrivals. Both are told; where they disagree
 * by more than the clocks' uncertainty and the spread of the ends, neither is believed.
 */
#include "analysis/collective.h"

#include "analysis/operation.h"
#include "base/stats.h"
#include "analysis/table-private.h"

static const char *const verdict_names[] = {"ok", "tie", "inconclusive", "incomplete", "bound"};

/* What is gathered over the arrivals first. */
typedef struct Extent {
    int64_t first_arrival_ns, last_arrival_ns, last_start_ns, shortest_ns, longest_ns;
    int64_t first_end_ns, last_end_ns, median_end_ns;
    int64_t uncertainty_ns; /* the two largest of the ranks together */
    int latest, shortest;   /* indices: by clock, by D */
    size_t n_ended;
} Extent;

static void
measure_ends(const LsArrival *items, size_t n, Extent *extent)
{
    g_autofree int64_t *ends_ns = g_new(int64_t, n);

    for (size_t i = 0; i < n; i++) {
        int64_t stay_ns = items[i].end_ns - items[i].arrival_ns;

        if (items[i].open)
            continue;
        ends_ns[extent->n_ended++] = items[i].end_ns;
        if (stay_ns < extent->shortest_ns) {
            extent->shortest_ns = stay_ns;
            extent->shortest = (int)i;
        }
        extent->longest_ns = MAX(extent->longest_ns, stay_ns);
        extent->first_end_ns = MIN(extent->first_end_ns, items[i].end_ns);
        extent->last_end_ns = MAX(extent->last_end_ns, items[i].end_ns);
    }
    extent->median_end_ns = ls_stats_median(ends_ns, extent->n_ended);
}

static Extent
measure_extent(const LsArrival *items, size_t n, const LsRank *ranks)
{
    Extent extent = {.first_arrival_ns = INT64_MAX,
                     .last_arrival_ns = INT64_MIN,
                     .last_start_ns = INT64_MIN,
                     .shortest_ns = INT64_MAX,
                     .longest_ns = INT64_MIN,
                     .first_end_ns = INT64_MAX,
                     .last_end_ns = INT64_MIN,
                     .latest = -1,
                     .shortest = -1};
    int64_t worst_ns = 0, second_ns = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t doubt_ns = ranks[items[i].rank].clock_uncertainty_ns;

        if (items[i].arrival_ns > extent.last_arrival_ns) {
            extent.last_arrival_ns = items[i].arrival_ns;
            extent.latest = (int)i;
        }
        extent.first_arrival_ns = MIN(extent.first_arrival_ns, items[i].arrival_ns);
        extent.last_start_ns = MAX(extent.last_start_ns, items[i].start_ns);
        second_ns = MAX(second_ns, MIN(worst_ns, doubt_ns));
        worst_ns = MAX(worst_ns, doubt_ns);
    }
    extent.uncertainty_ns = worst_ns + second_ns;
    measure_ends(items, n, &extent);
    return extent;
}

/* -- What follows from it -- */

static LsVerdict
judge(const LsCollective *collective, const Extent *extent, size_t n, bool aligned, bool mutual)
{
    if (collective->ranks < collective->ranks_expected || collective->ranks_expected == 0 ||
        extent->n_ended < n)
        return LS_VERDICT_INCOMPLETE;
    if (!mutual)
        return LS_VERDICT_BOUND;
    if (aligned && ABS(collective->wait_max_ns - collective->wait_max_aligned_ns) >
                       extent->uncertainty_ns + extent->last_end_ns - extent->first_end_ns)
        return LS_VERDICT_INCONCLUSIVE;
    return n > 1 && collective->last < 0 ? LS_VERDICT_TIE : LS_VERDICT_OK;
}

static void
set_bandwidth(LsCollective *collective, const LsCall *calls, const LsArrival *items, size_t n)
{
    const LsOperationTrait *trait = ls_operation_get(calls[items[0].call].operation);
    double share = 1.0 - 1.0 / MAX(collective->ranks_expected, 1u);

    collective->bus_bytes_per_s = -1;
    for (size_t i = 0; i < n; i++)
        if (!calls[items[i].call].device_timed) {
            collective->bus_reason = "the bars of its calls are the host's, not the device's or "
                                     "the data plane's own";
            return;
        }
    if (collective->ranks_expected == 1)
        collective->bus_reason = "one rank alone moves nothing over a bus";
    else if (collective->verdict == LS_VERDICT_INCOMPLETE)
        collective->bus_reason = "not all ranks were recorded: the shortest call is not known";
    else if (calls[items[0].call].bytes < 0)
        collective->bus_reason = "the bytes were not recorded";
    else if (collective->transfer_ns == LS_TIME_NONE || collective->transfer_ns <= 0)
        collective->bus_reason = "its duration is not known";
    else
        collective->bus_bytes_per_s = (double)calls[items[0].call].bytes * 1e9 /
                                      (double)collective->transfer_ns *
                                      (trait->factor > 0 ? trait->factor * share : 1.0);
}

/* The step of the rank that came last, or of the first rank that was in one at its arrival. */
static uint32_t
find_step(const LsScope *scope, const LsArrival *items, size_t n, int last)
{
    uint32_t step = LS_NONE;

    if (last >= 0)
        step = ls_scope_find_step(scope, items[last].rank, items[last].arrival_ns);
    for (size_t i = 0; i < n && step == LS_NONE; i++)
        step = ls_scope_find_step(scope, items[i].rank, items[i].arrival_ns);
    return step;
}

static void
measure_aligned(LsCollective *collective, const Extent *extent, bool mutual)
{
    collective->wait_max_aligned_ns = extent->last_arrival_ns - extent->first_arrival_ns;
    if (extent->n_ended == 0)
        return;
    collective->transfer_aligned_ns = MAX(extent->median_end_ns - extent->last_start_ns, 0);
    if (mutual)
        collective->early_ns =
            MAX(extent->last_arrival_ns - extent->first_end_ns - extent->uncertainty_ns, 0);
}

bool
ls_collective_knows_world(const LsTrace *trace)
{
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);

    for (size_t r = 0; r < n_ranks; r++)
        if (ranks[r].world > 0)
            return true;
    return false;
}

LsCollective
ls_collective_measure(const LsAnalysisInput *input, const LsScope *scope, uint32_t buffer)
{
    size_t n, n_rows;
    const LsArrival *items = ls_activity_get_arrivals(input->activity, buffer, &n);
    const LsCall *calls = ls_trace_get_calls(input->trace, &n_rows);
    const LsBuffer *row = &ls_trace_get_buffers(input->trace, &n_rows)[buffer];
    bool alike = ls_activity_is_alike(input->activity, buffer);
    bool aligned = alike && ls_activity_is_aligned(input->activity, buffer);
    Extent extent = measure_extent(items, n, ls_trace_get_ranks(input->trace, &n_rows));
    bool mutual = n > 0 && ls_operation_get(calls[items[0].call].operation)->mutual;
    LsCollective collective = {
        .step = find_step(scope, items, n, aligned ? extent.latest : extent.shortest),
        .ranks = (uint32_t)n,
        .ranks_expected = MAX(row->ranks_expected, (uint32_t)n),
        .start_ns = LS_TIME_NONE,
        .end_ns = extent.n_ended > 0 ? extent.last_end_ns : LS_TIME_NONE,
        .transfer_ns = LS_TIME_NONE,
        .wait_max_ns = LS_TIME_NONE,
        .transfer_aligned_ns = LS_TIME_NONE,
        .wait_max_aligned_ns = LS_TIME_NONE,
        .last = -1,
    };

    if (n == 0)
        return collective;
    if (n == 1 && !ls_collective_knows_world(input->trace))
        collective.ranks_expected = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t call_ns = items[i].end_ns - items[i].start_ns;

        if (collective.start_ns == LS_TIME_NONE || items[i].start_ns < collective.start_ns)
            collective.start_ns = items[i].start_ns;
        if (!items[i].open &&
            (collective.transfer_ns == LS_TIME_NONE || call_ns < collective.transfer_ns))
            collective.transfer_ns = call_ns;
    }
    if (alike && extent.n_ended > 0 && (n > 1 || collective.ranks_expected == 1))
        collective.wait_max_ns = extent.longest_ns - extent.shortest_ns;
    if (aligned && (n > 1 || collective.ranks_expected == 1))
        measure_aligned(&collective, &extent, mutual);
    if (n > 1 && alike)
        collective.last = aligned ? ls_activity_get_last(input->activity, buffer) : extent.shortest;
    collective.verdict = judge(&collective, &extent, n, aligned, mutual);
    set_bandwidth(&collective, calls, items, n);
    if (!alike)
        collective.verdict = LS_VERDICT_INCOMPLETE;
    return collective;
}

bool
ls_collective_is_shown(const LsAnalysisInput *input, const LsScope *scope, uint32_t buffer,
                       const LsCollective *collective)
{
    size_t n, n_steps;
    const LsArrival *items = ls_activity_get_arrivals(input->activity, buffer, &n);
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    bool rank_shown = false;

    for (size_t i = 0; i < n && !rank_shown; i++)
        rank_shown = ls_scope_has_rank(scope, items[i].rank);
    if (!rank_shown || ls_scope_has_all_steps(scope))
        return rank_shown;
    return collective->step != LS_NONE && steps[collective->step].number >= input->step_first &&
           steps[collective->step].number <= input->step_last;
}

/* -- The table -- */

enum {
    ID,
    STEP,
    COMMUNICATOR,
    OPERATION,
    BYTES,
    TENSORS,
    RANKS,
    RANKS_EXPECTED,
    START,
    END,
    TRANSFER,
    TRANSFER_ALIGNED,
    WAIT_MAX,
    WAIT_MAX_ALIGNED,
    LAST_RANK,
    VERDICT,
    BUS,
    WIRE,
};

static const LsColumn columns[] = {
    [ID] = {"id", LS_COLUMN_INT},
    [STEP] = {"step", LS_COLUMN_INT},
    [COMMUNICATOR] = {"communicator", LS_COLUMN_TEXT},
    [OPERATION] = {"operation", LS_COLUMN_TEXT},
    [BYTES] = {"bytes", LS_COLUMN_INT},
    [TENSORS] = {"tensors", LS_COLUMN_INT},
    [RANKS] = {"ranks", LS_COLUMN_INT},
    [RANKS_EXPECTED] = {"ranks_expected", LS_COLUMN_INT},
    [START] = {"start_ns", LS_COLUMN_INT},
    [END] = {"end_ns", LS_COLUMN_INT},
    [TRANSFER] = {"transfer_ns", LS_COLUMN_INT},
    [TRANSFER_ALIGNED] = {"transfer_aligned_ns", LS_COLUMN_INT},
    [WAIT_MAX] = {"wait_max_ns", LS_COLUMN_INT},
    [WAIT_MAX_ALIGNED] = {"wait_max_aligned_ns", LS_COLUMN_INT},
    [LAST_RANK] = {"last_rank", LS_COLUMN_INT},
    [VERDICT] = {"verdict", LS_COLUMN_TEXT},
    [BUS] = {"bus_bytes_per_s", LS_COLUMN_REAL},
    [WIRE] = {"wire_bytes", LS_COLUMN_INT}, /* as they travelled; null: as they are */
};

static void
add_row(LsTable *table, const LsAnalysisInput *input, uint32_t buffer,
        const LsCollective *collective)
{
    size_t n;
    const LsArrival *items = ls_activity_get_arrivals(input->activity, buffer, &n);
    const LsCall *call = &ls_trace_get_calls(input->trace, &n)[items[0].call];
    const LsStep *steps = ls_trace_get_steps(input->trace, &n);
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n);

    ls_table_add_row(table);
    ls_table_set_int(table, ID, buffer);
    if (collective->step != LS_NONE)
        ls_table_set_int(table, STEP, steps[collective->step].number);
    if (call->communicator != 0)
        ls_table_set_text(table, COMMUNICATOR,
                          ls_trace_get_string(input->trace, call->communicator));
    ls_table_set_text(table, OPERATION, ls_operation_get(call->operation)->name);
    set_count(table, BYTES, call->bytes, 0);
    set_count(table, WIRE, call->wire_bytes, 1);
    set_count(table, TENSORS, call->tensors, 1);
    ls_table_set_int(table, RANKS, collective->ranks);
    set_count(table, RANKS_EXPECTED, collective->ranks_expected, 1);
    set_ns(table, START, collective->start_ns);
    set_ns(table, END, collective->end_ns);
    set_ns(table, TRANSFER, collective->transfer_ns);
    set_ns(table, TRANSFER_ALIGNED, collective->transfer_aligned_ns);
    set_ns(table, WAIT_MAX, collective->wait_max_ns);
    set_ns(table, WAIT_MAX_ALIGNED, collective->wait_max_aligned_ns);
    if (collective->last >= 0)
        set_count(table, LAST_RANK, ranks[items[collective->last].rank].rank, 0);
    ls_table_set_text(table, VERDICT, verdict_names[collective->verdict]);
    if (collective->bus_bytes_per_s >= 0)
        ls_table_set_real(table, BUS, collective->bus_bytes_per_s);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("collectives", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    size_t n_buffers;

    ls_trace_get_buffers(input->trace, &n_buffers);
    for (uint32_t b = 0; b < n_buffers; b++) {
        LsCollective collective = ls_collective_measure(input, scope, b);

        if (collective.ranks > 0 && ls_collective_is_shown(input, scope, b, &collective))
            add_row(table, input, b, &collective);
    }
    return table;
}

const LsAnalysis ls_analysis_collectives = {
    "collectives", "each executed buffer: waiting for the last rank, and moving bytes", run};
