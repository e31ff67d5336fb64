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

/* Its spans, which every pyramid begins with: looked at for each bar of a frame, hence inline. */
typedef struct LsBusySpans {
    const int64_t *start_ns, *end_ns;
    size_t stride;           /* of both, in int64 */
    const uint8_t *category; /* NULL: all are 0 */
    size_t n;
} LsBusySpans;

static inline size_t
ls_busy_get_n(const LsBusy *busy)
{
    return ((const LsBusySpans *)busy)->n;
}

static inline int64_t
ls_busy_get_start(const LsBusy *busy, size_t span)
{
    const LsBusySpans *spans = (const LsBusySpans *)busy;
    return spans->start_ns[span * spans->stride];
}

static inline int64_t
ls_busy_get_end(const LsBusy *busy, size_t span)
{
    const LsBusySpans *spans = (const LsBusySpans *)busy;
    return spans->end_ns[span * spans->stride];
}

static inline uint8_t
ls_busy_get_category(const LsBusy *busy, size_t span)
{
    const LsBusySpans *spans = (const LsBusySpans *)busy;
    return spans->category ? spans->category[span] : 0;
}

/* The first span that ends after the time; n if there is none. */
size_t ls_busy_find(const LsBusy *busy, int64_t time_ns);
/* Adds the spans from `from` on that begin before until_ns, their time beyond clip_ns left out, and
 * stops before the first one of at least long_ns. Spans that lie close (a node of them within half
 * of long_ns) are taken together, by where the first begins: long_ns is the width of a pixel.
 * Returns the first span not added. O(log n + what lies between leaves). */
size_t ls_busy_sum(const LsBusy *busy, size_t from, int64_t until_ns, int64_t clip_ns,
                   int64_t long_ns, LsBusySum *sum);
/* A column of pixels that some spans begin in. */
typedef struct LsBusyColumn {
    int64_t busy_ns;
    size_t first, n;  /* spans */
    int32_t x;        /* which column */
    uint8_t category; /* with most time in it */
} LsBusyColumn;

/* Columns of equal width between start_ns and end_ns. */
typedef struct LsBusyColumns {
    const int64_t *edges; /* width + 1: where each begins; the last is end_ns */
    int32_t width;
    int64_t long_ns; /* spans of a pixel and more stop the sum */
    /* ls_busy_choose_levels: */
    int level;      /* of the pyramid, -1: spans */
    int cell_level; /* of the cells, for stretches that are all alike; -1: none */
} LsBusyColumns;

/* The levels of which some nodes and some cells share a column, where the spans [from, to) lie in
 * all of the columns. Without either there are few spans a column. */
void ls_busy_choose_levels(const LsBusy *busy, size_t from, size_t to, LsBusyColumns *columns);
/* ls_busy_sum for column after column: adds to `into` (room for width columns) those that spans of
 * [from, to) begin in, x and later, their time outside the edges left out; stops before a long one.
 * Returns the first span not added. The cost is a few nodes or spans a column. */
size_t ls_busy_sum_columns(const LsBusy *busy, const LsBusyColumns *columns, size_t from, size_t to,
                           int32_t x, LsBusyColumn *into, size_t *ret_n);
/* The category with most time in it. */
uint8_t ls_busy_sum_get_strongest(const LsBusySum *sum);
/* Time covered within [start, end). */
int64_t ls_busy_get_within(const LsBusy *busy, int64_t start_ns, int64_t end_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsBusy, ls_busy_free)
