/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/groups-cycles.c: when and in which cycle the groups of a figure were ready and sent. Other
 * ranks' uses of the same names and occurrences say when a group was ready there; it was reported
 * in the first cycle that began after that, and sent in the last that began before it was agreed.
 */
#include "layout/groups-private.h"

#include <string.h>

#define AT LS_GROUPS_AT

void
ls_groups_widen(int64_t *first, int64_t *last, int64_t value)
{
    if (value == LS_TIME_NONE)
        return;
    if (first && (*first == LS_TIME_NONE || value < *first))
        *first = value;
    if (last && (*last == LS_TIME_NONE || value > *last))
        *last = value;
}

/* The rank's cycles: the first that began at or after the time, or the last before it; -1. */
static int64_t
find_cycle(const LsTrace *trace, uint32_t rank, int64_t time_ns, bool after)
{
    size_t n, low = 0, high;
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n);
    high = n;
    while (low < high) { /* the first that is not before (rank, time) */
        size_t middle = low + (high - low) / 2;
        const LsCycle *cycle = &cycles[middle];
        bool before =
            cycle->rank != rank ? cycle->rank < rank : cycle->start_ns < time_ns + (after ? 0 : 1);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    if (time_ns == LS_TIME_NONE)
        return -1;
    if (after)
        return low < n && cycles[low].rank == rank ? cycles[low].number : -1;
    return low > 0 && cycles[low - 1].rank == rank ? cycles[low - 1].number : -1;
}

/* The control tree has no common cycles: numbers of other ranks mean nothing here. */
static bool
has_common_cycles(const LsTrace *trace)
{
    size_t n;
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n);
    return n > 0 && strcmp(ls_trace_get_string(trace, cycles[0].control), "tree") != 0;
}

/* times[section * n_ranks + rank]: when the last of the section was ready there. */
static int64_t *
find_ready(const LsGroupsFigure *figure, const LsTrace *trace, size_t n_ranks)
{
    g_autoptr(GHashTable) members =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    int64_t *times = g_new(int64_t, figure->sections->len * n_ranks);
    size_t n, n_lives;
    const LsUse *uses = ls_trace_get_uses(trace, &n);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_lives);
    for (size_t i = 0; i < figure->sections->len * n_ranks; i++)
        times[i] = LS_TIME_NONE;
    for (guint i = 0; i < figure->members->len; i++) {
        const LsFigureMember *member = AT(figure->members, LsFigureMember, i);
        int64_t *key = g_new(int64_t, 1);
        *key = (int64_t)member->tensor << 32 | member->occurrence;
        g_hash_table_insert(members, key, GUINT_TO_POINTER(member->section));
    }
    for (size_t i = 0; i < n; i++) {
        int64_t key = (int64_t)uses[i].tensor << 32 | uses[i].occurrence;
        gpointer section;
        if (ranks[uses[i].rank].run == ranks[figure->rank].run &&
            g_hash_table_lookup_extended(members, &key, NULL, &section))
            ls_groups_widen(NULL, &times[GPOINTER_TO_UINT(section) * n_ranks + uses[i].rank],
                            uses[i].gate_ns);
    }
    return times;
}

static void
add_ready(LsGroupsFigure *figure, const LsTrace *trace)
{
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    g_autofree int64_t *times = find_ready(figure, trace, n_ranks);
    bool common = has_common_cycles(trace);
    for (guint s = 0; s < figure->sections->len; s++) {
        LsFigureSection *section = AT(figure->sections, LsFigureSection, s);
        section->first_ready = section->last_ready = figure->ready->len;
        for (uint32_t r = 0; r < n_ranks; r++) {
            LsFigureReady ready = {r, times[s * n_ranks + r], -1};
            if (ready.ready_ns == LS_TIME_NONE || ranks[r].clock_method == LS_CLOCK_NONE)
                continue;
            if (common || r == figure->rank)
                ready.cycle = find_cycle(trace, r, ready.ready_ns, true);
            g_array_append_val(figure->ready, ready);
            section->n_ready++;
            if (ready.ready_ns > AT(figure->ready, LsFigureReady, section->last_ready)->ready_ns)
                section->last_ready = figure->ready->len - 1;
            if (ready.cycle < 0)
                continue;
            section->last_ready_cycle = MAX(section->last_ready_cycle, ready.cycle);
            section->first_ready_cycle = section->first_ready_cycle < 0
                                             ? ready.cycle
                                             : MIN(section->first_ready_cycle, ready.cycle);
            if (r == figure->rank)
                section->ready_cycle = ready.cycle;
        }
    }
}

static void
add_sent(LsGroupsFigure *figure, const LsTrace *trace)
{
    g_autoptr(GHashTable) starts = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < figure->members->len; i++) {
        const LsFigureMember *member = AT(figure->members, LsFigureMember, i);
        LsFigureSection *section = AT(figure->sections, LsFigureSection, member->section);
        int64_t cycle = find_cycle(trace, figure->rank, member->agreed_ns, false);
        if (member->start_ns != LS_TIME_NONE)
            g_hash_table_add(starts, (void *)(uintptr_t)&member->start_ns);
        if (cycle < 0)
            continue;
        section->sent_last_cycle = MAX(section->sent_last_cycle, cycle);
        section->sent_first_cycle =
            section->sent_first_cycle < 0 ? cycle : MIN(section->sent_first_cycle, cycle);
    }
    figure->buffers = g_hash_table_size(starts);
}

static void
add_cycles(LsGroupsFigure *figure, const LsTrace *trace)
{
    size_t n;
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n);
    for (size_t i = 0; i < n; i++) {
        LsFigureCycle cycle = {cycles[i].number, cycles[i].start_ns, cycles[i].end_ns,
                               cycles[i].responses > 0};
        if (cycles[i].rank == figure->rank && cycle.end_ns >= figure->start_ns &&
            cycle.start_ns <= figure->end_ns)
            g_array_append_val(figure->cycles, cycle);
    }
}

static void
add_phases(LsGroupsFigure *figure, const LsTrace *trace)
{
    size_t n_tracks;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    for (size_t t = 0; t < n_tracks; t++) {
        if (tracks[t].kind != LS_TRACK_PHASES || tracks[t].rank != figure->rank)
            continue;
        for (uint32_t l = 0; l < tracks[t].n_lanes; l++) {
            const LsSpans *lane = &tracks[t].lanes[l];
            for (size_t i = 0; i < lane->n; i++) {
                LsFigurePhase phase = {lane->name[i], lane->start_ns[i], lane->end_ns[i]};
                if (phase.end_ns >= figure->start_ns && phase.start_ns <= figure->end_ns)
                    g_array_append_val(figure->phases, phase);
            }
        }
    }
}

/* Who was last most often. */
static void
find_last_rank(LsGroupsFigure *figure, const LsTrace *trace)
{
    size_t n_ranks;
    ls_trace_get_ranks(trace, &n_ranks);
    g_autofree guint *counts = g_new0(guint, n_ranks);
    figure->last_rank = LS_NONE;
    for (guint s = 0; s < figure->sections->len; s++) {
        const LsFigureSection *section = AT(figure->sections, LsFigureSection, s);
        if (section->n_ready > 1)
            counts[AT(figure->ready, LsFigureReady, section->last_ready)->rank]++;
    }
    for (uint32_t r = 0; r < n_ranks; r++)
        if (counts[r] > figure->last_counts) {
            figure->last_counts = counts[r];
            figure->last_rank = r;
        }
}

void
ls_groups_figure_add_cycles(LsGroupsFigure *figure, const LsTrace *trace)
{
    add_ready(figure, trace);
    add_sent(figure, trace);
    add_cycles(figure, trace);
    add_phases(figure, trace);
    find_last_rank(figure, trace);
}
