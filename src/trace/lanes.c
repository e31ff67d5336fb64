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

#define SCAN 256

static bool
is_possible(int64_t start_ns, int64_t end_ns)
{
    return start_ns >= -LS_TIME_MAX && end_ns >= start_ns && end_ns <= LS_TIME_MAX;
}

/* Drops spans with impossible times in place; returns how many. */
static size_t
drop_impossible(LsTrackBuilder *spans)
{
    size_t kept = 0;
    while (kept < spans->n && is_possible(spans->start_ns[kept], spans->end_ns[kept]))
        kept++;
    for (size_t i = kept; i < spans->n; i++) {
        if (!is_possible(spans->start_ns[i], spans->end_ns[i]))
            continue;
        spans->start_ns[kept] = spans->start_ns[i];
        spans->end_ns[kept] = spans->end_ns[i];
        spans->span_name[kept] = spans->span_name[i];
        spans->ref[kept++] = spans->ref[i];
    }
    size_t dropped = spans->n - kept;
    spans->n = kept;
    return dropped;
}

static int
longer_first(gconstpointer a, gconstpointer b, gpointer ends)
{
    int64_t x = ((const int64_t *)ends)[*(const uint32_t *)a];
    int64_t y = ((const int64_t *)ends)[*(const uint32_t *)b];
    return x > y ? -1 : x < y ? 1 : 0;
}

/* The order by start, of equal ones the longer first; NULL: as they are. */
static uint32_t *
order_spans(const LsTrackBuilder *spans)
{
    uint32_t *order = ls_sort_order(NULL, spans->start_ns, spans->n);
    for (size_t i = 0, j; i < spans->n; i = j) {
        int64_t start = spans->start_ns[order ? order[i] : i];
        bool rising = false;
        for (j = i + 1; j < spans->n && spans->start_ns[order ? order[j] : j] == start; j++)
            rising |=
                spans->end_ns[order ? order[j] : j] > spans->end_ns[order ? order[j - 1] : j - 1];
        if (!rising)
            continue;
        if (!order) {
            order = g_new(uint32_t, spans->n);
            for (size_t k = 0; k < spans->n; k++)
                order[k] = (uint32_t)k;
        }
        g_qsort_with_data(order + i, (gint)(j - i), sizeof *order, longer_first, spans->end_ns);
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
is_one_lane(const LsTrackBuilder *spans)
{
    for (size_t i = 1; i < spans->n; i++)
        if (spans->start_ns[i] < spans->end_ns[i - 1])
            return false;
    return true;
}

static void *
new_column(size_t n, size_t size)
{
    void *column = g_malloc_n(n, size);
    ls_memory_expect(column, n * size);
    return column;
}

/* The lane of each span, in sorted order; *ret_counts: spans of each lane. */
static uint32_t *
choose_lanes(const LsTrackBuilder *spans, const uint32_t *order, GArray *counts)
{
    Ends ends = {0};
    uint32_t *lanes = new_column(spans->n, sizeof(uint32_t));
    for (size_t i = 0; i < spans->n; i++) {
        size_t row = order ? order[i] : i;
        lanes[i] = choose_lane(&ends, spans->start_ns[row], spans->end_ns[row]);
        if (lanes[i] >= counts->len)
            g_array_set_size(counts, lanes[i] + 1);
        g_array_index(counts, size_t, lanes[i])++;
    }
    g_free(ends.end_ns);
    return lanes;
}

/* Columns of all lanes one behind another: into new memory, in order of lane, then start. */
static void
scatter(LsTrackBuilder *spans, const uint32_t *order, const uint32_t *lanes, const GArray *counts)
{
    g_autofree size_t *next = g_new(size_t, counts->len);
    size_t sum = 0;
    for (size_t lane = 0; lane < counts->len; lane++) {
        next[lane] = sum;
        sum += g_array_index(counts, size_t, lane);
    }
    LsTrackBuilder to = {.start_ns = new_column(spans->n, sizeof(int64_t)),
                         .end_ns = new_column(spans->n, sizeof(int64_t)),
                         .span_name = new_column(spans->n, sizeof(uint32_t)),
                         .ref = new_column(spans->n, sizeof(uint32_t))};
    for (size_t i = 0; i < spans->n; i++) {
        size_t row = order ? order[i] : i, at = next[lanes[i]]++;
        to.start_ns[at] = spans->start_ns[row];
        to.end_ns[at] = spans->end_ns[row];
        to.span_name[at] = spans->span_name[row];
        to.ref[at] = spans->ref[row];
    }
    g_free(spans->start_ns);
    g_free(spans->end_ns);
    g_free(spans->span_name);
    g_free(spans->ref);
    spans->start_ns = to.start_ns;
    spans->end_ns = to.end_ns;
    spans->span_name = to.span_name;
    spans->ref = to.ref;
}

/* Hands the columns over to `blocks` and describes the lanes in them. */
static void
take_columns(LsTrackBuilder *spans, const GArray *counts, LsTrack *track, uint8_t **ret_classes,
             GPtrArray *blocks)
{
    size_t n = spans->n;
    LsSpans all = {.start_ns = g_renew(int64_t, g_steal_pointer(&spans->start_ns), n),
                   .end_ns = g_renew(int64_t, g_steal_pointer(&spans->end_ns), n),
                   .name = g_renew(uint32_t, g_steal_pointer(&spans->span_name), n),
                   .ref = g_renew(uint32_t, g_steal_pointer(&spans->ref), n)};
    uint8_t *classes = new_column(n, sizeof(uint8_t));
    LsSpans *lanes = g_new(LsSpans, counts->len);
    size_t first = 0;
    for (size_t lane = 0; lane < counts->len; lane++) {
        lanes[lane] = (LsSpans){.n = g_array_index(counts, size_t, lane),
                                .start_ns = all.start_ns + first,
                                .end_ns = all.end_ns + first,
                                .name = all.name + first,
                                .ref = all.ref + first,
                                .klass = classes + first};
        first += lanes[lane].n;
    }
    track->lanes = lanes;
    track->n_lanes = (uint32_t)counts->len;
    *ret_classes = classes;
    void *memory[] = {(void *)(uintptr_t)all.start_ns,
                      (void *)(uintptr_t)all.end_ns,
                      (void *)(uintptr_t)all.name,
                      (void *)(uintptr_t)all.ref,
                      classes,
                      lanes};
    for (size_t i = 0; i < G_N_ELEMENTS(memory); i++)
        g_ptr_array_add(blocks, memory[i]);
}

size_t
ls_lanes_build(LsTrackBuilder *spans, LsTrack *track, uint8_t **ret_classes, size_t *ret_n,
               GPtrArray *blocks)
{
    size_t dropped = drop_impossible(spans);
    *ret_classes = NULL;
    *ret_n = spans->n;
    if (spans->n == 0)
        return dropped;
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(size_t));
    g_autofree uint32_t *order = order_spans(spans);
    if (!order && is_one_lane(spans))
        g_array_append_val(counts, spans->n);
    else {
        g_autofree uint32_t *lanes = choose_lanes(spans, order, counts);
        scatter(spans, order, lanes, counts);
    }
    take_columns(spans, counts, track, ret_classes, blocks);
    return dropped;
}
