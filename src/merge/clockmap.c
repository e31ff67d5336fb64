/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/clockmap.c: a piecewise linear map of int64 nanoseconds.
 *
 * What is interpolated is the offset, in 128 bits, so that no time passes through a double and an
 * offset of 0 moves nothing. The bound is linear between knots: if both clocks run evenly there,
 * the error at a point between two knots is the weighted mean of theirs. Beyond the last knot it
 * grows as the error of the slope does.
 */
#include "merge/clockmap.h"

#include "base/error.h"
#include "trace/tables.h"

struct LsClockmap {
    LsKnot *knots;
    size_t n;
};

typedef __int128 Wide;

static LsClockmap *
new_from_array(LsKnot *knots, size_t n)
{
    LsClockmap *map = g_new(LsClockmap, 1);

    map->knots = knots;
    map->n = n;
    return map;
}

LsClockmap *
ls_clockmap_new(const LsKnot *knots, size_t n_knots, GError **error)
{
    if (n_knots == 0) {
        g_set_error_literal(error, LS_ERROR, LS_ERROR_UNALIGNED,
                            "There is no reading that relates the two clocks.");
        return NULL;
    }
    for (size_t i = 1; i < n_knots; i++) {
        Wide run = (Wide)knots[i].local_ns - knots[i - 1].local_ns;
        Wide skew = (Wide)knots[i].common_ns - knots[i - 1].common_ns - run;

        if (run <= 0) {
            g_set_error_literal(error, LS_ERROR, LS_ERROR_UNALIGNED,
                                "The readings that relate the two clocks go back in time.");
            return NULL;
        }
        if ((skew < 0 ? -skew : skew) * 1000000 > run * LS_CLOCKMAP_SLOPE_MAX_PPM) {
            g_set_error(error, LS_ERROR, LS_ERROR_UNALIGNED,
                        "The clocks drift apart by %.0f ppm, more than clocks do (%d ppm).",
                        (double)skew * 1e6 / (double)run, LS_CLOCKMAP_SLOPE_MAX_PPM);
            return NULL;
        }
    }
    return new_from_array(g_memdup2(knots, n_knots * sizeof *knots), n_knots);
}

LsClockmap *
ls_clockmap_new_shift(int64_t offset_ns, int64_t bound_ns)
{
    LsKnot *knot = g_new(LsKnot, 1);

    *knot = (LsKnot){0, offset_ns, bound_ns};
    return new_from_array(knot, 1);
}

LsClockmap *
ls_clockmap_dup(const LsClockmap *map)
{
    return new_from_array(g_memdup2(map->knots, map->n * sizeof *map->knots), map->n);
}

void
ls_clockmap_free(LsClockmap *map)
{
    if (map == NULL)
        return;
    g_free(map->knots);
    g_free(map);
}

/* Index of the knot that begins the piece in which local_ns lies; the first or last piece beyond.
 */
static size_t
find_piece(const LsClockmap *map, int64_t local_ns)
{
    size_t low = 0, high = map->n - 1;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (map->knots[middle].local_ns <= local_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static Wide
divide_to_nearest(Wide a, Wide b) /* b > 0 */
{
    return a >= 0 ? (a + b / 2) / b : -((-a + b / 2) / b);
}

/* A time that no time can be stays at the edge of those that can, in order with the others. */
static int64_t
bound_time(Wide ns)
{
    return (int64_t)CLAMP(ns, -(Wide)LS_TIME_MAX, (Wide)LS_TIME_MAX);
}

int64_t
ls_clockmap_map(const LsClockmap *map, int64_t local_ns)
{
    const LsKnot *a = &map->knots[0], *b;
    Wide run, skew, along;

    if (map->n == 1)
        return bound_time((Wide)local_ns + a->common_ns - a->local_ns);
    a = &map->knots[find_piece(map, local_ns)];
    b = a + 1;
    run = (Wide)b->local_ns - a->local_ns;
    skew = (Wide)b->common_ns - a->common_ns - run;
    along = (Wide)local_ns - a->local_ns;
    return bound_time(a->common_ns + along + divide_to_nearest(along * skew, run));
}

int64_t
ls_clockmap_unmap(const LsClockmap *map, int64_t common_ns)
{
    int64_t local_ns =
        bound_time((Wide)common_ns - map->knots[0].common_ns + map->knots[0].local_ns);

    /* Each round leaves a thousandth of the error of the one before (slopes are within 1000 ppm).
     */
    for (int i = 0; i < 8; i++) {
        Wide miss = (Wide)common_ns - ls_clockmap_map(map, local_ns);

        if (miss == 0)
            break;
        local_ns = bound_time(local_ns + miss);
    }
    return local_ns;
}

int64_t
ls_clockmap_get_bound_ns(const LsClockmap *map, int64_t local_ns)
{
    const LsKnot *a = &map->knots[0], *b;
    Wide run, left, right;

    if (map->n == 1)
        return bound_time(a->bound_ns);
    a = &map->knots[find_piece(map, local_ns)];
    b = a + 1;
    run = (Wide)b->local_ns - a->local_ns;
    left = (Wide)local_ns - a->local_ns;
    right = (Wide)b->local_ns - local_ns;
    /* Weights; outside the piece one is negative, and the errors may have opposite signs. */
    left = left < 0 ? -left : left;
    right = right < 0 ? -right : right;
    return bound_time((right * a->bound_ns + left * b->bound_ns + run - 1) / run);
}

int64_t
ls_clockmap_get_worst_ns(const LsClockmap *map, int64_t first_ns, int64_t last_ns)
{
    int64_t worst =
        MAX(ls_clockmap_get_bound_ns(map, first_ns), ls_clockmap_get_bound_ns(map, last_ns));

    for (size_t i = 0; i < map->n; i++)
        if (map->knots[i].local_ns >= first_ns && map->knots[i].local_ns <= last_ns)
            worst = MAX(worst, bound_time(map->knots[i].bound_ns));
    return worst;
}

static int
compare_knots(const void *a, const void *b)
{
    int64_t x = ((const LsKnot *)a)->local_ns, y = ((const LsKnot *)b)->local_ns;

    return x < y ? -1 : x > y;
}

/* The knots of both maps, seen on the inner map's local clock. A map of one knot is the same offset
 * everywhere: its knot says nothing of where the other map bends. */
LsClockmap *
ls_clockmap_new_chain(const LsClockmap *inner, const LsClockmap *outer)
{
    size_t n_inner = inner->n > 1 || outer->n == 1 ? inner->n : 0;
    size_t n_outer = outer->n > 1 ? outer->n : 0;
    size_t n = n_inner + n_outer, kept = 0;
    LsKnot *knots = g_new(LsKnot, n);

    for (size_t i = 0; i < n_inner; i++)
        knots[i].local_ns = inner->knots[i].local_ns;
    for (size_t i = 0; i < n_outer; i++)
        knots[n_inner + i].local_ns = ls_clockmap_unmap(inner, outer->knots[i].local_ns);
    qsort(knots, n, sizeof *knots, compare_knots);
    for (size_t i = 0; i < n; i++) {
        int64_t local_ns = knots[i].local_ns, middle_ns = ls_clockmap_map(inner, local_ns);

        /* Knots of the two maps that lie closer than rounding can tell apart would make a slope. */
        if (kept > 0 && local_ns - knots[kept - 1].local_ns < 1000000)
            continue;
        knots[kept++] = (LsKnot){local_ns, ls_clockmap_map(outer, middle_ns),
                                 ls_clockmap_get_bound_ns(inner, local_ns) +
                                     ls_clockmap_get_bound_ns(outer, middle_ns)};
    }
    return new_from_array(knots, kept);
}
