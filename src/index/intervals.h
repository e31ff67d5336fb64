/* SPDX-License-Identifier: Apache-2.0
 * index/intervals.h: sets of time as sorted, disjoint, half-open intervals [start, end). */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct LsInterval {
    int64_t start_ns, end_ns;
} LsInterval;

/* An owned array; n may be 0. */
typedef struct LsIntervals {
    LsInterval *items;
    size_t n;
} LsIntervals;

void    ls_intervals_clear(LsIntervals *set);
/* Of any intervals, in any order, overlapping or not; empty and negative ones are dropped. */
LsIntervals ls_intervals_union_of(const LsInterval *items, size_t n);
LsIntervals ls_intervals_union(const LsIntervals *a, const LsIntervals *b);
LsIntervals ls_intervals_intersect(const LsIntervals *a, const LsIntervals *b);
LsIntervals ls_intervals_subtract(const LsIntervals *a, const LsIntervals *b);
/* |set|, and |set within [start, end)| without making it. */
int64_t ls_intervals_length(const LsIntervals *set);
int64_t ls_intervals_length_within(const LsIntervals *set, int64_t start_ns, int64_t end_ns);
