/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/performance.c: table `performance`: operations per second, by phase and of the whole
 * job.
 *
 * `all` is the sustained rate: all operations of all ranks over all wall time from the first whole
 * step's start to the last one's end, input and checkpoints included. A phase's time is the mean
 * over ranks of the union of its spans within those steps, so its rate is the job's too. share is
 * time over the mean time in steps; phases may overlap communication, shares need not add up.
 * Processes that do not step together have no wall time in common: `all` is null then.
 */
#include "analysis/performance.h"

#include "base/stats.h"
#include "analysis/table-private.h"

#include <string.h>

enum { PHASE, OPERATIONS, TIME, FLOPS, SHARE };

static const LsColumn columns[] = {
    [PHASE] = {"phase", LS_COLUMN_TEXT}, [OPERATIONS] = {"operations", LS_COLUMN_INT},
    [TIME] = {"time_ns", LS_COLUMN_INT}, [FLOPS] = {"flops", LS_COLUMN_REAL},
    [SHARE] = {"share", LS_COLUMN_REAL},
};

/* The whole steps that pass the filters. */
typedef struct Window {
    LsIntervals *steps; /* per rank */
    size_t n_ranks;
    int64_t n_stepping; /* ranks that have any */
    int64_t first_ns, last_ns, step_ns, operations;
} Window;

static Window
find_window(const LsAnalysisInput *input, const LsScope *scope)
{
    Window window = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    size_t n_steps, step = 0;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    g_autoptr(GArray) items = g_array_new(false, false, sizeof(LsInterval));

    ls_trace_get_ranks(input->trace, &window.n_ranks);
    window.steps = g_new0(LsIntervals, window.n_ranks);
    for (size_t r = 0; r < window.n_ranks; r++) {
        g_array_set_size(items, 0);
        for (; step < n_steps && steps[step].rank == r; step++) {
            LsInterval item = {steps[step].start_ns, steps[step].end_ns};

            if (steps[step].cut || !ls_scope_has_step(scope, &steps[step]))
                continue;
            g_array_append_val(items, item);
            window.first_ns = MIN(window.first_ns, item.start_ns);
            window.last_ns = MAX(window.last_ns, item.end_ns);
            window.operations += steps[step].operations;
        }
        window.steps[r] =
            ls_intervals_union_of((const LsInterval *)(void *)items->data, items->len);
        window.step_ns += ls_intervals_length(&window.steps[r]);
        window.n_stepping += window.steps[r].n > 0;
    }
    return window;
}

/* When the ranks stepped, the lives of one rank taken together. */
typedef struct Extent {
    int32_t rank;
    LsInterval time;
} Extent;

/* Rows of steps come rank by rank, lives behind one another. */
static GArray *
list_extents(const LsScope *scope, const LsTrace *trace)
{
    size_t n_steps, n_ranks;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    GArray *extents = g_array_new(false, false, sizeof(Extent));

    for (size_t i = 0; i < n_steps; i++) {
        Extent *last = extents->len > 0 ? &g_array_index(extents, Extent, extents->len - 1) : NULL;
        int32_t rank = ranks[steps[i].rank].rank;

        if (steps[i].cut || !ls_scope_has_step(scope, &steps[i]))
            continue;
        if (last != NULL && rank >= 0 && last->rank == rank) {
            last->time.start_ns = MIN(last->time.start_ns, steps[i].start_ns);
            last->time.end_ns = MAX(last->time.end_ns, steps[i].end_ns);
            continue;
        }
        Extent extent = {rank, {steps[i].start_ns, steps[i].end_ns}};
        g_array_append_val(extents, extent);
    }
    return extents;
}

const char *
ls_performance_explain(const LsAnalysisInput *input, const LsScope *scope)
{
    size_t n_steps, n_ranks;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks), *first = NULL;
    g_autoptr(GArray) extents = list_extents(scope, input->trace);
    int64_t last_start_ns = INT64_MIN, first_end_ns = INT64_MAX;

    for (size_t i = 0; i < n_steps; i++) {
        const LsRank *rank = &ranks[steps[i].rank];

        if (!ls_scope_has_step(scope, &steps[i]))
            continue;
        first = first != NULL ? first : rank;
        if (rank->run != first->run)
            return "these are several runs";
        if (extents->len > 1 && rank->clock_method == LS_CLOCK_NONE)
            return "not all ranks are on one clock";
    }
    for (guint i = 0; i < extents->len; i++) {
        const LsInterval *time = &g_array_index(extents, Extent, i).time;

        last_start_ns = MAX(last_start_ns, time->start_ns);
        first_end_ns = MIN(first_end_ns, time->end_ns);
    }
    return last_start_ns < first_end_ns || extents->len == 0
               ? NULL
               : "the ranks step at different times, as processes of different jobs do";
}

/* A phase by its name, over all ranks. */
typedef struct Phase {
    uint32_t name;
    int64_t operations, time_ns;
} Phase;

/* The operations of the phase's spans that touch a step of their rank; the spans into `items`. */
static void
collect_lane(const LsTrace *trace, const LsSpans *spans, const LsIntervals *steps, Phase *phase,
             GArray *items)
{
    size_t n_rows;
    const LsPhase *rows = ls_trace_get_phases(trace, &n_rows);

    for (size_t i = 0; i < spans->n; i++) {
        LsInterval item = {spans->start_ns[i], spans->end_ns[i]};

        if (spans->name[i] != phase->name)
            continue;
        g_array_append_val(items, item);
        if (spans->ref[i] < n_rows &&
            ls_intervals_length_within(steps, item.start_ns, item.end_ns) > 0)
            phase->operations += rows[spans->ref[i]].operations;
    }
}

/* Total length over ranks of the phase's spans within the steps; its operations. */
static void
measure_phase(const LsTrace *trace, const Window *window, Phase *phase)
{
    size_t n_tracks, track = 0;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    g_autoptr(GArray) items = g_array_new(false, false, sizeof(LsInterval));

    for (size_t r = 0; r < window->n_ranks; r++) {
        LsIntervals all, within;

        g_array_set_size(items, 0);
        for (; track < n_tracks && tracks[track].rank == r; track++)
            for (uint32_t lane = 0; lane < tracks[track].n_lanes; lane++)
                if (tracks[track].kind == LS_TRACK_PHASES)
                    collect_lane(trace, &tracks[track].lanes[lane], &window->steps[r], phase,
                                 items);
        all = ls_intervals_union_of((const LsInterval *)(void *)items->data, items->len);
        within = ls_intervals_intersect(&all, &window->steps[r]);
        phase->time_ns += ls_intervals_length(&within);
        ls_intervals_clear(&within);
        ls_intervals_clear(&all);
    }
}

static int64_t
measure_communication(const LsAnalysisInput *input, const Window *window)
{
    int64_t time_ns = 0;

    for (uint32_t r = 0; r < window->n_ranks; r++) {
        LsIntervals within = ls_intervals_intersect(
            ls_activity_get(input->activity, r, LS_ACTIVITY_COMMUNICATION), &window->steps[r]);

        time_ns += ls_intervals_length(&within);
        ls_intervals_clear(&within);
    }
    return time_ns;
}

static void
add_row(LsTable *table, const char *phase, int64_t operations, int64_t time_ns, int64_t step_ns)
{
    ls_table_add_row(table);
    ls_table_set_text(table, PHASE, phase);
    set_count(table, OPERATIONS, operations, 1);
    set_ns(table, TIME, time_ns);
    if (operations > 0 && time_ns > 0)
        ls_table_set_real(table, FLOPS, (double)operations * 1e9 / (double)time_ns);
    if (step_ns > 0 && time_ns != LS_TIME_NONE)
        ls_table_set_real(table, SHARE, (double)time_ns / (double)step_ns);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    static const char *const names[] = {"input",         "forward",   "backward",
                                        "communication", "optimizer", "checkpoint"};
    const LsStrings *strings = ls_trace_get_strings(input->trace);
    LsTable *table = ls_table_new("performance", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    Window window = find_window(input, scope);
    int64_t n = window.n_stepping, step_ns = ls_stats_mean(window.step_ns, n), all = 0;

    const char *reason = ls_performance_explain(input, scope);

    for (size_t i = 0; i < G_N_ELEMENTS(names) && n > 0; i++) {
        Phase phase = {.name = ls_strings_find(strings, names[i])};

        if (strcmp(names[i], "communication") == 0)
            phase.time_ns = measure_communication(input, &window);
        else if (phase.name != LS_NONE)
            measure_phase(input->trace, &window, &phase);
        all += phase.operations;
        if (phase.time_ns > 0)
            add_row(table, names[i], phase.operations, ls_stats_mean(phase.time_ns, n), step_ns);
    }
    if (n > 0)
        add_row(table, "all", window.operations > 0 ? window.operations : all,
                reason == NULL ? window.last_ns - window.first_ns : LS_TIME_NONE, step_ns);
    for (size_t r = 0; r < window.n_ranks; r++)
        ls_intervals_clear(&window.steps[r]);
    g_free(window.steps);
    return table;
}

const LsAnalysis ls_analysis_performance = {"performance",
                                            "operations per second, by phase and sustained", run};
