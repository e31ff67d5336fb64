/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/clockmap.h: from one process's clock to the common one, with an error bound.
 */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct LsClockmap LsClockmap;

/* At `local_ns` on the process's clock the common clock shows `common_ns`, off by `bound_ns` at
 * most. */
typedef struct LsKnot {
    int64_t local_ns, common_ns, bound_ns;
} LsKnot;

/* Clocks of computers differ by 100 ppm at worst, while NTP slews one by 500 at most; a slope
 * beyond this is a fault of the evidence. */
#define LS_CLOCKMAP_SLOPE_MAX_PPM 1000

/* A map through the knots, linear between them, extended beyond the first and last with the nearest
 * slope (with slope 1 if there is one knot only). Knots must rise strictly in local time: the
 * caller has sorted them. LS_ERROR_UNALIGNED without a knot, or if a slope is not within
 * LS_CLOCKMAP_SLOPE_MAX_PPM of 1. */
LsClockmap *ls_clockmap_new(const LsKnot *knots, size_t n_knots, GError **error);
/* common = local + offset_ns throughout, exactly. */
LsClockmap *ls_clockmap_new_shift(int64_t offset_ns, int64_t bound_ns);
/* local -> outer(inner(local)); bounds add up. */
LsClockmap *ls_clockmap_new_chain(const LsClockmap *inner, const LsClockmap *outer);
LsClockmap *ls_clockmap_dup(const LsClockmap *map);
void ls_clockmap_free(LsClockmap *map);

/* Any thread. Monotonic: a < b gives map(a) <= map(b). */
int64_t ls_clockmap_map(const LsClockmap *map, int64_t local_ns);
/* A local time that maps to common_ns within 1 ns. */
int64_t ls_clockmap_unmap(const LsClockmap *map, int64_t common_ns);
/* How far off the map may be there. */
int64_t ls_clockmap_get_bound_ns(const LsClockmap *map, int64_t local_ns);
/* The largest bound within [first, last]. */
int64_t ls_clockmap_get_worst_ns(const LsClockmap *map, int64_t first_ns, int64_t last_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsClockmap, ls_clockmap_free)
