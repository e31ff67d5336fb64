/* SPDX-License-Identifier: Apache-2.0
 *
 * index/warmup.c: the rule of metrics.md, "Per run": warm-up ends when a step uses no path that
 * the later steps do not use, makes no communicator or fusion buffer for the first time, and is
 * within 3 median absolute deviations of the later median. A run whose steps do not settle in its
 * first half has no warm-up that could be told from its noise: none is left out then.
 */
#include "index/warmup.h"

#include "base/stats.h"

#include <stdlib.h>
#include <string.h>

#define DEVIATIONS 3
#define N_PATHS    4    /* idle, bypass, slow, mixed: 0 is idle */
#define WARMUP_MAX 1000 /* looking at each costs a sort of all later ones */

/* What one step number did, over all ranks. */
typedef struct Trait {
    int64_t time_ns; /* the longest of the ranks */
    unsigned paths;  /* bit per LsCyclePath */
    bool first;      /* made or first used a communicator or a fusion buffer */
} Trait;

static int
compare_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

GArray *
ls_warmup_list_steps(const LsTrace *trace)
{
    size_t n_steps;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    g_autoptr(GHashTable) cut = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    GArray *numbers = g_array_new(false, false, sizeof(int64_t));

    for (size_t i = 0; i < n_steps; i++)
        if (steps[i].cut)
            g_hash_table_add(cut, (void *)(uintptr_t)&steps[i].number);
    for (size_t i = 0; i < n_steps; i++)
        if (!g_hash_table_contains(cut, &steps[i].number) &&
            g_hash_table_add(seen, (void *)(uintptr_t)&steps[i].number))
            g_array_append_val(numbers, steps[i].number);
    g_array_sort(numbers, compare_number);
    return numbers;
}

/* The trait of the step that the rank was in at this time; NULL outside of all. Rows come in order
 * of (rank, start), as everything that is looked up does, so `*cursor` only moves on. */
static Trait *
find_trait(const LsTrace *trace, const GArray *numbers, Trait *traits, uint32_t rank,
           int64_t time_ns, size_t *cursor)
{
    size_t n_steps;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    const int64_t *found;

    while (*cursor < n_steps && (steps[*cursor].rank < rank ||
                                 (steps[*cursor].rank == rank && steps[*cursor].end_ns <= time_ns)))
        (*cursor)++;
    if (*cursor == n_steps || steps[*cursor].rank != rank || steps[*cursor].start_ns > time_ns)
        return NULL;
    found = bsearch(&steps[*cursor].number, numbers->data, numbers->len, sizeof(int64_t),
                    compare_number);
    return found == NULL ? NULL : &traits[found - (const int64_t *)(void *)numbers->data];
}

static void
add_times_and_paths(const LsTrace *trace, const GArray *numbers, Trait *traits)
{
    size_t n_steps, n_cycles, cursor = 0;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n_cycles);

    for (size_t i = 0; i < n_steps; i++) {
        const int64_t *found =
            bsearch(&steps[i].number, numbers->data, numbers->len, sizeof(int64_t), compare_number);

        if (found == NULL)
            continue;
        Trait *trait = &traits[found - (const int64_t *)(void *)numbers->data];

        trait->time_ns = MAX(trait->time_ns, steps[i].end_ns - steps[i].start_ns);
    }
    for (size_t i = 0; i < n_cycles; i++) {
        Trait *trait =
            find_trait(trace, numbers, traits, cycles[i].rank, cycles[i].start_ns, &cursor);

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
add_firsts(const LsTrace *trace, const GArray *numbers, Trait *traits)
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
        trait = find_trait(trace, numbers, traits, calls[i].rank, calls[i].start_ns, &cursor);
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
                trait =
                    find_trait(trace, numbers, traits, tracks[t].rank, lane->start_ns[i], &fresh);
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

size_t
ls_warmup_find(const LsTrace *trace, const GArray *numbers)
{
    size_t n = numbers->len, warmup = 0, most = MIN(n / 2, (size_t)WARMUP_MAX);
    g_autofree Trait *traits = g_new0(Trait, n);
    g_autofree int64_t *scratch = g_new(int64_t, n);

    if (n == 0)
        return 0;
    add_times_and_paths(trace, numbers, traits);
    add_firsts(trace, numbers, traits);
    while (warmup < most && !is_settled(traits, warmup, n, scratch))
        warmup++;
    return warmup < most || is_settled(traits, warmup, n, scratch) ? warmup : 0;
}
