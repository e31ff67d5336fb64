/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/lanes.c: spans of one track, in any order, to lanes in which they are sorted and disjoint.
 *
 * In order of start, the longer first, a span goes one lane below the deepest span that contains
 * it, or further down to the first lane that is free (it crosses what it does not lie in). So what
 * is inside lies below, and a chain of crossing spans needs two lanes, not one for each. Linear,
 * but for tracks in which more than SCAN spans are open at once: there a span goes below all of
 * them.
 */
#include "base/memory.h"
#include "trace/sort.h"
#include "trace/trace-private.h"

#include <string.h>

#define SCAN  256
#define MOVES 4

typedef struct Span {
    int64_t start_ns, end_ns;
    uint32_t name, ref;
} Span;

static inline Span
get_span(const LsColumns *columns, size_t i)
{
    return (Span){columns->start_ns[i], columns->end_ns[i], columns->name[i], columns->ref[i]};
}

static inline void
put_span(LsColumns *columns, size_t i, Span span)
{
    columns->start_ns[i] = span.start_ns;
    columns->end_ns[i] = span.end_ns;
    columns->name[i] = span.name;
    columns->ref[i] = span.ref;
}

static bool
is_possible(int64_t start_ns, int64_t end_ns)
{
    return start_ns >= -LS_TIME_MAX && end_ns >= start_ns && end_ns <= LS_TIME_MAX;
}

/* Drops spans with impossible times in place; returns how many. */
static size_t
drop_impossible(LsTrackBuilder *spans)
{
    LsColumns *columns = &spans->spans;
    size_t kept = 0;
    while (kept < spans->n && is_possible(columns->start_ns[kept], columns->end_ns[kept]))
        kept++;
    for (size_t i = kept; i < spans->n; i++)
        if (is_possible(columns->start_ns[i], columns->end_ns[i]))
            put_span(columns, kept++, get_span(columns, i));
    size_t dropped = spans->n - kept;
    spans->n = kept;
    return dropped;
}

/* By start, of equal ones the longer first: in place, where few are out of order, as in a thread
 * that writes a span after those inside it. false: given up, when it had moved more than MOVES a
 * span; equal ones still stand as they stood. */
static bool
insert_spans(LsColumns *columns, size_t n)
{
    const int64_t *starts = columns->start_ns, *ends = columns->end_ns;
    size_t left = MOVES * n;
    for (size_t i = 1; i < n && left > 0; i++) {
        Span span = get_span(columns, i);
        size_t at = i;
        for (; at > 0 && left > 0; at--, left--) {
            if (starts[at - 1] < span.start_ns ||
                (starts[at - 1] == span.start_ns && ends[at - 1] >= span.end_ns))
                break;
            put_span(columns, at, get_span(columns, at - 1));
        }
        if (at < i)
            put_span(columns, at, span);
    }
    return left > 0;
}

static int
longer_first(gconstpointer a, gconstpointer b, gpointer ends)
{
    int64_t x = ((const int64_t *)ends)[*(const uint32_t *)a];
    int64_t y = ((const int64_t *)ends)[*(const uint32_t *)b];
    return x > y ? -1 : x < y ? 1 : 0;
}

/* The same order, of spans that come in any. */
static uint32_t *
order_spans(const LsColumns *columns, size_t n)
{
    const int64_t *starts = columns->start_ns;
    uint32_t *order = ls_sort_order(NULL, starts, n);
    if (order == NULL) { /* by start, but not by length */
        order = g_new(uint32_t, n);
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
    }
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && starts[order[j]] == starts[order[i]];)
            j++;
        if (j > i + 1)
            g_qsort_with_data(order + i, (gint)(j - i), sizeof *order, longer_first,
                              columns->end_ns);
    }
    return order;
}

/* Ends of the latest span of each lane. */
typedef struct Ends {
    int64_t *end_ns;
    size_t open; /* lanes from here on are free */
    size_t capacity;
} Ends;

static uint32_t
choose_lane(Ends *ends, int64_t start_ns, int64_t end_ns)
{
    while (ends->open > 0 && ends->end_ns[ends->open - 1] <= start_ns)
        ends->open--;
    size_t lane = ends->open;
    if (ends->open <= SCAN) {
        while (lane > 0 && (ends->end_ns[lane - 1] <= start_ns || ends->end_ns[lane - 1] < end_ns))
            lane--; /* now just below the deepest that contains it */
        while (lane < ends->open && ends->end_ns[lane] > start_ns)
            lane++;
    }
    if (lane >= ends->capacity) {
        ends->capacity = MAX(16, ends->capacity * 2);
        ends->end_ns = g_renew(int64_t, ends->end_ns, ends->capacity);
    }
    ends->end_ns[lane] = end_ns;
    ends->open = MAX(ends->open, lane + 1);
    return (uint32_t)lane;
}

static bool
is_one_lane(const LsColumns *spans, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (spans->start_ns[i] < spans->end_ns[i - 1])
            return false;
    return true;
}

/* The lane of each span, in sorted order; counts: spans of each lane. */
static uint32_t *
choose_lanes(const LsColumns *spans, size_t n, const uint32_t *order, GArray *counts)
{
    Ends ends = {0};
    uint32_t *lanes = ls_memory_allocate(n * sizeof *lanes);
    for (size_t i = 0; i < n; i++) {
        size_t row = order ? order[i] : i;
        lanes[i] = choose_lane(&ends, spans->start_ns[row], spans->end_ns[row]);
        if (lanes[i] >= counts->len)
            g_array_set_size(counts, lanes[i] + 1);
        g_array_index(counts, size_t, lanes[i])++;
    }
    g_free(ends.end_ns);
    return lanes;
}

/* All lanes one behind another, in each by start. */
static void
scatter(const LsColumns *spans, size_t n, const uint32_t *order, const uint32_t *lanes,
        const GArray *counts, LsColumns *to)
{
    g_autofree size_t *next = g_new(size_t, counts->len);
    size_t sum = 0;
    for (size_t lane = 0; lane < counts->len; lane++) {
        next[lane] = sum;
        sum += g_array_index(counts, size_t, lane);
    }
    for (size_t i = 0; i < n; i++) {
        put_span(to, next[lanes[i]]++, get_span(spans, order ? order[i] : i));
    }
}

static LsSpans *
describe_lanes(const LsColumns *columns, const GArray *counts)
{
    LsSpans *lanes = g_new(LsSpans, counts->len);
    size_t first = 0;
    for (size_t lane = 0; lane < counts->len; lane++) {
        LsColumns own = ls_columns_from(columns, first);
        lanes[lane] = (LsSpans){.n = g_array_index(counts, size_t, lane),
                                .start_ns = own.start_ns,
                                .end_ns = own.end_ns,
                                .name = own.name,
                                .ref = own.ref,
                                .klass = own.klass};
        first += lanes[lane].n;
    }
    return lanes;
}

size_t
ls_lanes_build(LsTrackBuilder *track, LsColumns *to, LsSpans **ret_lanes, uint32_t *ret_n_lanes)
{
    size_t dropped = drop_impossible(track), n = track->n;
    LsColumns *spans = &track->spans;
    *ret_lanes = NULL;
    *ret_n_lanes = 0;
    if (n == 0)
        return dropped;
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(size_t));
    g_autofree uint32_t *order = insert_spans(spans, n) ? NULL : order_spans(spans, n);
    if (!order && is_one_lane(spans, n)) {
        g_array_append_val(counts, n);
        ls_columns_copy(to, spans, n);
    } else {
        uint32_t *lanes = choose_lanes(spans, n, order, counts);
        scatter(spans, n, order, lanes, counts, to);
        ls_memory_free(lanes, n * sizeof *lanes);
    }
    *ret_lanes = describe_lanes(to, counts);
    *ret_n_lanes = counts->len;
    return dropped;
}
