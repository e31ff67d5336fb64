/* SPDX-License-Identifier: Apache-2.0
 *
 * index/warmup.c: the rule of metrics.md, "Per run": warm-up ends when a step uses no path that
 * the later steps do not use, makes no communicator or fusion buffer for the first time, and is
 * within 3 median absolute deviations of the later median. A run whose steps do not settle in its
 * first half has no warm-up that could be told from its noise: none is left out then. Each of
 * several runs warms up for itself.
 */
#include "index/warmup.h"

#include "base/stats.h"

#include <string.h>

#define DEVIATIONS 3
#define N_PATHS    4    /* idle, bypass, slow, mixed: 0 is idle */
#define WARMUP_MAX 1000 /* looking at each costs a sort of all later ones */

/* What one step did, over all ranks. */
typedef struct Trait {
    int64_t time_ns; /* the longest of the ranks */
    unsigned paths;  /* bit per LsCyclePath */
    bool first;      /* made or first used a communicator or a fusion buffer */
} Trait;

/* The trait of the step that the rank was in at this time; NULL outside of all. Rows come in order
 * of (rank, start), as everything that is looked up does, so `*cursor` only moves on. */
static Trait *
find_trait(const LsTrace *trace, Trait *traits, uint32_t rank, int64_t time_ns, size_t *cursor)
{
    size_t n_steps;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);

    while (*cursor < n_steps && (steps[*cursor].rank < rank ||
                                 (steps[*cursor].rank == rank && steps[*cursor].end_ns <= time_ns)))
        (*cursor)++;
    if (*cursor == n_steps || steps[*cursor].rank != rank || steps[*cursor].start_ns > time_ns)
        return NULL;
    return &traits[steps[*cursor].column];
}

static void
add_times_and_paths(const LsTrace *trace, Trait *traits)
{
    size_t n_steps, n_cycles, cursor = 0;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n_cycles);

    for (size_t i = 0; i < n_steps; i++) {
        Trait *trait = &traits[steps[i].column];

        trait->time_ns = MAX(trait->time_ns, steps[i].end_ns - steps[i].start_ns);
    }
    for (size_t i = 0; i < n_cycles; i++) {
        Trait *trait = find_trait(trace, traits, cycles[i].rank, cycles[i].start_ns, &cursor);

        if (trait != NULL && cycles[i].path > 0 && cycles[i].path < N_PATHS)
            trait->paths |= 1u << cycles[i].path;
    }
}

/* By name: whether a library was initialised meanwhile. Asked once a name, not once a span. */
static bool *
find_inits(const LsTrace *trace)
{
    uint32_t n = ls_strings_get_n(ls_trace_get_strings(trace));
    bool *inits = g_new(bool, n);

    for (uint32_t i = 0; i < n; i++)
        inits[i] = g_str_has_prefix(ls_trace_get_string(trace, i), "INIT_");
    return inits;
}

/* A communicator is made by its first call; the timeline of Horovod marks making it and the fusion
 * buffer by activities whose name begins with INIT_. */
static void
add_firsts(const LsTrace *trace, Trait *traits)
{
    size_t n_calls, n_tracks, cursor = 0;
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    g_autoptr(GHashTable) known = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_autofree bool *inits = find_inits(trace);

    for (size_t i = 0; i < n_calls; i++) {
        Trait *trait;

        if (i > 0 && calls[i].rank != calls[i - 1].rank)
            g_hash_table_remove_all(known);
        if (!g_hash_table_add(known, GUINT_TO_POINTER(calls[i].communicator)))
            continue;
        trait = find_trait(trace, traits, calls[i].rank, calls[i].start_ns, &cursor);
        if (trait != NULL)
            trait->first = true;
    }
    for (size_t t = 0; t < n_tracks; t++)
        for (uint32_t l = 0; l < tracks[t].n_lanes && tracks[t].kind == LS_TRACK_TENSOR; l++)
            for (size_t i = 0; i < tracks[t].lanes[l].n; i++) {
                const LsSpans *lane = &tracks[t].lanes[l];
                size_t fresh = 0;
                Trait *trait;

                if (!inits[lane->name[i]])
                    continue;
                trait = find_trait(trace, traits, tracks[t].rank, lane->start_ns[i], &fresh);
                if (trait != NULL)
                    trait->first = true;
            }
}

/* Whether each path of the step is one that at least half of the later ones take. */
static bool
has_usual_paths(const Trait *traits, size_t step, size_t n)
{
    for (unsigned path = 0; path < N_PATHS; path++) {
        size_t users = 0;

        if (!(traits[step].paths & 1u << path))
            continue;
        for (size_t i = step + 1; i < n; i++)
            users += (traits[i].paths >> path) & 1u;
        if (2 * users < n - step - 1)
            return false;
    }
    return true;
}

static bool
is_settled(const Trait *traits, size_t step, size_t n, int64_t *scratch)
{
    size_t n_later = n - step - 1;
    int64_t median_ns;

    if (traits[step].first || !has_usual_paths(traits, step, n))
        return false;
    for (size_t i = 0; i < n_later; i++)
        scratch[i] = traits[step + 1 + i].time_ns;
    median_ns = ls_stats_median(scratch, n_later);
    return ABS(traits[step].time_ns - median_ns) <=
           DEVIATIONS * ls_stats_deviation(scratch, n_later, median_ns);
}

/* Of one run's whole steps, in order, how many are warm-up. */
static size_t
count_warmup(const Trait *traits, size_t n, int64_t *scratch)
{
    size_t warmup = 0, most = MIN(n / 2, (size_t)WARMUP_MAX);

    if (n == 0)
        return 0;
    while (warmup < most && !is_settled(traits, warmup, n, scratch))
        warmup++;
    return warmup < most || is_settled(traits, warmup, n, scratch) ? warmup : 0;
}

/* The warm-up ends with its last whole step: one that is cut before it is warm-up too. */
static void
mark_run(const Trait *traits, LsStepState *states, size_t n)
{
    g_autofree Trait *whole = g_new(Trait, n);
    g_autofree int64_t *scratch = g_new(int64_t, n);
    size_t n_whole = 0, warmup;

    for (size_t i = 0; i < n; i++)
        if (!states[i].cut)
            whole[n_whole++] = traits[i];
    warmup = count_warmup(whole, n_whole, scratch);
    for (size_t i = 0; i < n && warmup > 0; i++) {
        states[i].warmup = true;
        warmup -= !states[i].cut;
    }
}

LsStepState *
ls_warmup_find(const LsTrace *trace, size_t *ret_n)
{
    size_t n = ls_trace_count_steps(trace), n_steps, n_ranks, first = 0;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    LsStepState *states = g_new0(LsStepState, n);
    g_autofree Trait *traits = g_new0(Trait, n);

    *ret_n = n;
    for (size_t i = 0; i < n_steps; i++) {
        LsStepState *state = &states[steps[i].column];

        state->number = steps[i].number;
        state->run = ranks[steps[i].rank].run;
        state->cut |= steps[i].cut;
    }
    add_times_and_paths(trace, traits);
    add_firsts(trace, traits);
    while (first < n) {
        size_t end = first + 1;

        while (end < n && states[end].run == states[first].run)
            end++;
        mark_run(&traits[first], &states[first], end - first);
        first = end;
    }
    return states;
}
