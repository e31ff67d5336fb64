/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/align-wall.c: readings of the wall clock beside the process's own, the last resort.
 *
 * It assumes that the hosts' wall clocks agree. Hosts kept by NTP do so within a few milliseconds
 * on a local network; nothing in a trace can prove it, so the bound holds an allowance for it, and
 * a finding says so. A process's own clock against its wall clock is a line through the medians of
 * the first and the last third of its readings (a wall clock that was stepped moves a median
 * little); the largest distance of a reading from the line is part of the bound.
 */
#include "merge/align-private.h"

#define NTP_ALLOWANCE_NS INT64_C(10000000)

static int
compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int
compare_pairs(const void *a, const void *b)
{
    return compare_int64(&((const LsClockPair *)a)->local_ns, &((const LsClockPair *)b)->local_ns);
}

/* Middle in time and median offset of some readings. */
static LsKnot
summarize(const LsClockPair *pairs, size_t n)
{
    g_autofree int64_t *offsets = g_new(int64_t, n);
    int64_t local_ns = pairs[n / 2].local_ns;

    for (size_t i = 0; i < n; i++)
        offsets[i] = pairs[i].wall_ns - pairs[i].local_ns;
    qsort(offsets, n, sizeof *offsets, compare_int64);
    return (LsKnot){local_ns, local_ns + offsets[n / 2], 0};
}

/* The process's clock to its wall clock. */
static LsClockmap *
make_wall_map(const LsProcess *process)
{
    size_t n = process->clock_pairs->len, third = (n + 2) / 3;
    g_autofree LsClockPair *pairs = g_memdup2(process->clock_pairs->data, n * sizeof *pairs);
    LsClockmap *map = NULL, *bounded;
    LsKnot knots[2];
    int64_t bound_ns = 0;
    size_t n_knots = 1;

    if (n == 0)
        return NULL;
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    knots[0] = summarize(pairs, n < 6 ? n : third);
    knots[1] = summarize(pairs + n - third, third);
    if (n >= 6 && knots[1].local_ns > knots[0].local_ns)
        map = ls_clockmap_new(knots, n_knots = 2, NULL);
    if (map == NULL) {
        knots[0] = summarize(pairs, n);
        map = ls_clockmap_new(knots, n_knots = 1, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t miss_ns = pairs[i].wall_ns - ls_clockmap_map(map, pairs[i].local_ns);

        bound_ns = MAX(bound_ns, ABS(miss_ns) + MAX(pairs[i].uncertainty_ns, 0));
    }
    ls_clockmap_free(map);
    knots[0].bound_ns = knots[1].bound_ns = bound_ns;
    bounded = ls_clockmap_new(knots, n_knots, NULL);
    return bounded;
}

/* Wall time to the process's clock: the map's knots, turned round. */
static LsClockmap *
turn_round(const LsClockmap *map, int64_t first_ns, int64_t last_ns)
{
    int64_t apart_ns = MAX(last_ns - first_ns, 1000000000);
    LsKnot knots[2];

    for (int i = 0; i < 2; i++) {
        int64_t local_ns = first_ns + i * apart_ns;

        knots[i] = (LsKnot){ls_clockmap_map(map, local_ns), local_ns,
                            ls_clockmap_get_worst_ns(map, first_ns, last_ns) + NTP_ALLOWANCE_NS};
    }
    return ls_clockmap_new(knots, 2, NULL);
}

/* The placed process of the best method that has readings. */
static bool
find_base(const LsAlign *align, size_t *ret_process)
{
    bool found = false;

    for (size_t i = 0; i < align->n; i++) {
        if (!ls_align_is_placed(align, i) || align->processes[i]->clock_pairs->len == 0)
            continue;
        if (!found || align->placements[i].method < align->placements[*ret_process].method)
            *ret_process = i;
        found = true;
    }
    return found;
}

static bool
place(LsAlign *align)
{
    g_autoptr(LsClockmap) base_map = NULL, wall_to_base = NULL;
    const LsRank *rank;
    size_t base = 0;

    if (!find_base(align, &base))
        return false;
    rank = &align->processes[base]->rank;
    base_map = make_wall_map(align->processes[base]);
    wall_to_base = turn_round(base_map, rank->first_ns == LS_TIME_NONE ? 0 : rank->first_ns,
                              rank->last_ns == LS_TIME_NONE ? 0 : rank->last_ns);
    for (size_t i = 0; wall_to_base != NULL && i < align->n; i++) {
        g_autoptr(LsClockmap) to_wall = NULL;

        if (ls_align_is_placed(align, i))
            continue;
        to_wall = make_wall_map(align->processes[i]);
        if (to_wall == NULL)
            continue;
        ls_align_set(align, i, base, LS_CLOCK_WALL, ls_clockmap_new_chain(to_wall, wall_to_base));
        return true;
    }
    return false;
}

const LsAlignMethod ls_align_wall = {LS_CLOCK_WALL, place};
