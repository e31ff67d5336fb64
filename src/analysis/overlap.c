/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/overlap.c: table `overlap`: how much communication is hidden behind compute, per rank
 * over its whole recording. Lengths of unions, never sums of durations; the ratio is that of HTA
 * (|K and C| / |K|). Without compute there is no exposure to speak of: null, not 100 %.
 */
#include "analysis/table-private.h"

enum { RANK, WINDOW, COMPUTE, COMMUNICATION, HIDDEN, EXPOSED, RATIO };

static const LsColumn columns[] = {
    [RANK] = {"rank", LS_COLUMN_INT},
    [WINDOW] = {"window_ns", LS_COLUMN_INT},
    [COMPUTE] = {"compute_ns", LS_COLUMN_INT},
    [COMMUNICATION] = {"communication_ns", LS_COLUMN_INT},
    [HIDDEN] = {"hidden_ns", LS_COLUMN_INT},
    [EXPOSED] = {"exposed_ns", LS_COLUMN_INT},
    [RATIO] = {"overlap_ratio", LS_COLUMN_REAL},
};

/* First start and last end of each rank's spans; the end below the start: it has none. */
static LsInterval *
find_windows(const LsTrace *trace, size_t n_ranks)
{
    size_t n_tracks;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    LsInterval *windows = g_new(LsInterval, n_ranks);

    for (size_t r = 0; r < n_ranks; r++)
        windows[r] = (LsInterval){INT64_MAX, INT64_MIN};
    for (size_t t = 0; t < n_tracks; t++)
        for (uint32_t l = 0; l < tracks[t].n_lanes; l++) {
            const LsSpans *lane = &tracks[t].lanes[l];
            LsInterval *window = &windows[tracks[t].rank];

            if (lane->n == 0)
                continue; /* a lane is sorted and disjoint: its last span ends last */
            window->start_ns = MIN(window->start_ns, lane->start_ns[0]);
            window->end_ns = MAX(window->end_ns, lane->end_ns[lane->n - 1]);
        }
    return windows;
}

static void
add_row(LsTable *table, const LsAnalysisInput *input, uint32_t rank, int32_t number,
        const LsInterval *window)
{
    const LsActivity *activity = input->activity;
    int64_t communication_ns =
        ls_intervals_length(ls_activity_get(activity, rank, LS_ACTIVITY_COMMUNICATION));
    int64_t hidden_ns = ls_intervals_length(ls_activity_get(activity, rank, LS_ACTIVITY_HIDDEN));

    ls_table_add_row(table);
    set_count(table, RANK, number, 0);
    ls_table_set_int(table, WINDOW, window->end_ns - window->start_ns);
    ls_table_set_int(table, COMMUNICATION, communication_ns);
    if (!ls_activity_has_compute(activity, rank))
        return;
    ls_table_set_int(table, COMPUTE,
                     ls_intervals_length(ls_activity_get(activity, rank, LS_ACTIVITY_COMPUTE)));
    ls_table_set_int(table, HIDDEN, hidden_ns);
    ls_table_set_int(table, EXPOSED,
                     ls_intervals_length(ls_activity_get(activity, rank, LS_ACTIVITY_EXPOSED)));
    if (communication_ns > 0)
        ls_table_set_real(table, RATIO, (double)hidden_ns / (double)communication_ns);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("overlap", columns, G_N_ELEMENTS(columns));
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);
    g_autofree LsInterval *windows = find_windows(input->trace, n_ranks);

    for (size_t r = 0; r < n_ranks; r++)
        if ((input->rank_shown == NULL || input->rank_shown[r]) &&
            windows[r].start_ns <= windows[r].end_ns)
            add_row(table, input, (uint32_t)r, ranks[r].rank, &windows[r]);
    return table;
}

const LsAnalysis ls_analysis_overlap = {
    "overlap", "communication hidden behind compute and exposed, per rank", run};
