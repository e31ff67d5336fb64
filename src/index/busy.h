/* SPDX-License-Identifier: Apache-2.0
 *
 * index/busy.h: how busy a lane is, without looking at each of its spans.
 *
 * Over any sorted, disjoint spans: a lane of a track, or a set of intervals. Immutable once made;
 * any thread.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "index/intervals.h"
#include "trace/track.h"

typedef struct LsBusy LsBusy;

enum { LS_BUSY_CATEGORIES = 16 };

/* What some spans in a row amount to. */
typedef struct LsBusySum {
    size_t n;
    int64_t busy_ns;
    int64_t by_category[LS_BUSY_CATEGORIES]; /* a node counts as its strongest category */
    uint32_t used;                           /* bit per category that is not 0 */
} LsBusySum;

/* Category: one byte a span below LS_BUSY_CATEGORIES, or NULL: all are 0. The columns must outlive
 * it. */
LsBusy *ls_busy_new(const LsSpans *spans, const uint8_t *category);
LsBusy *ls_busy_new_of_intervals(const LsIntervals *set);
void ls_busy_free(LsBusy *busy);

size_t ls_busy_get_n(const LsBusy *busy);
int64_t ls_busy_get_start(const LsBusy *busy, size_t span);
int64_t ls_busy_get_end(const LsBusy *busy, size_t span);
uint8_t ls_busy_get_category(const LsBusy *busy, size_t span);

/* The first span that ends after the time; n if there is none. */
size_t ls_busy_find(const LsBusy *busy, int64_t time_ns);
/* Where the span begins; true: it lasts at least long_ns. Cheaper than asking for both its ends. */
bool ls_busy_is_long(const LsBusy *busy, size_t span, int64_t long_ns, int64_t *ret_start_ns);
/* Adds the spans from `from` on that begin before until_ns, their time beyond clip_ns left out, and
 * stops before the first one of at least long_ns. Spans that lie close (a leaf of them within half
 * of long_ns) are taken together, by where the first begins: long_ns is the width of a pixel.
 * Returns the first span not added. O(log n + what lies between leaves). */
size_t ls_busy_sum(const LsBusy *busy, size_t from, int64_t until_ns, int64_t clip_ns,
                   int64_t long_ns, LsBusySum *sum);
/* The category with most time in it. */
uint8_t ls_busy_sum_get_strongest(const LsBusySum *sum);
/* Time covered within [start, end). */
int64_t ls_busy_get_within(const LsBusy *busy, int64_t start_ns, int64_t end_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsBusy, ls_busy_free)
