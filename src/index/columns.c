/* SPDX-License-Identifier: Apache-2.0
 *
 * Column after column of pixels summed in one go: what a frame of millions of spans costs is
 * decided here. Where few spans share a column they are looked at one by one; where many do, the
 * nodes of one level of the pyramid, chosen so that a column holds more than one: either way a
 * column is a short loop over neighbouring memory. Stretches that are all alike need neither: their
 * columns are differences of a table (cells.c). A node on an edge is shared between its two
 * columns by length, so that columns do not flicker; no time is lost by it. A column of several
 * categories, or one cut by the range, is left to ls_busy_sum.
 */
#include "index/busy-private.h"

/* At least so many nodes a column, on the average: hardly one is then wider than a column. */
enum { NODES_PER_COLUMN_TENTHS = 12 };
/* So many levels up a node is some dozen columns; fewer columns than that are not worth a look. */
enum { EVEN_LEVELS = 3, LEAST_EVEN = 8 };

typedef struct Sum {
    const LsBusy *busy;
    const LsBusyColumns *columns;
    size_t from, to;
    int64_t start_ns, end_ns; /* of the range */
    int64_t rest_ns;          /* of the last node, behind its column's edge */
} Sum;

void
ls_busy_choose_levels(const LsBusy *busy, size_t from, size_t to, LsBusyColumns *columns)
{
    const LsBusyCells *cells = &busy->cells;
    size_t most = (to - from) * 10 / NODES_PER_COLUMN_TENTHS / (size_t)MAX(columns->width, 1);
    columns->level = columns->cell_level = -1;
    while (columns->level + 1 < busy->n_levels &&
           (size_t)1 << ls_busy_get_shift(columns->level + 1) <= most)
        columns->level++;
    while (columns->cell_level + 1 < cells->n_levels &&
           (int64_t)2 << ls_busy_get_cell_shift(cells, columns->cell_level + 1) <= columns->long_ns)
        columns->cell_level++;
}

/* The column by its categories, and cut to the range. */
static size_t
sum_slowly(const Sum *s, size_t from, int64_t until_ns, LsBusyColumn *column)
{
    LsBusySum sum = {0};
    size_t next = ls_busy_sum(s->busy, from, until_ns, s->end_ns, s->columns->long_ns, &sum);
    int64_t before = s->start_ns - ls_busy_get_start(s->busy, from);
    if (before > 0 && next > from) {
        sum.busy_ns -= before;
        sum.by_category[ls_busy_get_category(s->busy, from)] -= before;
    }
    column->busy_ns = sum.busy_ns;
    column->category = ls_busy_sum_get_strongest(&sum);
    return next;
}

/* Span by span; `stride` and whether there are categories are constants where it is called. */
static inline __attribute__((always_inline)) size_t
sum_spans(const Sum *s, size_t from, int64_t until_ns, size_t stride, const uint8_t *categories,
          LsBusyColumn *column)
{
    const int64_t *starts = s->busy->spans.start_ns, *ends = s->busy->spans.end_ns;
    int64_t long_ns = s->columns->long_ns, busy_ns = 0;
    uint8_t category = categories ? categories[from] : 0;
    size_t i = from, to = s->to;
    if (starts[from * stride] < s->start_ns)
        return sum_slowly(s, from, until_ns, column);
    for (; i < to; i++) {
        int64_t start = starts[i * stride], ns = ends[i * stride] - start;
        if (start >= until_ns || ns >= long_ns)
            break;
        if (categories && categories[i] != category)
            return sum_slowly(s, from, until_ns, column);
        busy_ns += ns;
    }
    if (i > from && ends[(i - 1) * stride] > s->end_ns)
        busy_ns -= ends[(i - 1) * stride] - s->end_ns;
    column->busy_ns = busy_ns;
    column->category = category;
    return i;
}

static size_t
sum_column(const Sum *s, size_t from, int64_t until_ns, LsBusyColumn *column)
{
    if (s->busy->spans.stride == 1)
        return s->busy->spans.category
                   ? sum_spans(s, from, until_ns, 1, s->busy->spans.category, column)
                   : sum_spans(s, from, until_ns, 1, NULL, column);
    return sum_spans(s, from, until_ns, 2, NULL, column);
}

/* Nodes of one level. The one that crosses the edge is shared by length: what falls behind the edge
 * is left in rest_ns. */
static size_t
sum_nodes(Sum *s, size_t from, int64_t until_ns, LsBusyColumn *column)
{
    int shift = ls_busy_get_shift(s->columns->level);
    int64_t long_ns = MIN(s->columns->long_ns, UINT32_MAX), busy_ns = 0;
    const LsBusyNode *first = &s->busy->levels[s->columns->level][from >> shift], *node = first;
    if ((from & (((size_t)1 << shift) - 1)) || first->start_ns < s->start_ns)
        return sum_slowly(s, from, until_ns, column);
    for (; node->start_ns < until_ns; node++) {
        if (node->longest_ns >= long_ns || node->category != first->category ||
            node[1].start_ns - node->start_ns > long_ns)
            return sum_slowly(s, from, until_ns, column);
        busy_ns += node->busy_ns;
    }
    if (node->start_ns > s->end_ns)
        return sum_slowly(s, from, until_ns, column);
    if (node->start_ns > until_ns) {
        double length = (double)(node->start_ns - node[-1].start_ns);
        double behind = (double)(node->start_ns - until_ns);
        s->rest_ns = (int64_t)((double)node[-1].busy_ns * behind / length);
        busy_ns -= s->rest_ns;
    }
    column->busy_ns = busy_ns;
    column->category = first->category;
    return MIN(from + ((size_t)(node - first) << shift), s->busy->spans.n);
}

/* Up to which column, from x on, the cells tell all: spans of one category, none as long as a
 * pixel, judged by nodes of many columns; cells of half a column at most. Not the last column: what
 * is cut by the range is not in them. */
static int32_t
find_even_end(const Sum *s, size_t from, int32_t x)
{
    const LsBusy *busy = s->busy;
    const LsBusyColumns *columns = s->columns;
    int level = MIN(columns->level + EVEN_LEVELS, busy->n_levels - 1);
    if (s->columns->cell_level < 0)
        return x;
    const LsBusyNode *node = &busy->levels[level][from >> ls_busy_get_shift(level)];
    const LsBusyNode *end = busy->levels[level] + ((s->to - 1) >> ls_busy_get_shift(level)) + 1;
    uint8_t category = node->category;
    while (node < end && !node->mixed && node->category == category &&
           ls_busy_is_short(node, columns->long_ns))
        node++;
    double until = (double)(node->start_ns - columns->edges[0]) /
                   (double)(columns->edges[columns->width] - columns->edges[0]);
    int32_t last = (int32_t)(until * columns->width);
    last = CLAMP(last, x, columns->width - 1);
    while (last > x && columns->edges[last] > node->start_ns)
        last--;
    return last;
}

/* Columns from x on by the cells; what they hold together is exact, each of them within part of a
 * cell. Returns the first span not added: `from`, if there is no stretch worth it. */
static size_t
sum_even(const Sum *s, size_t from, int32_t x, int32_t *ret_last, LsBusyColumn *into, size_t *ret_n)
{
    const LsBusyCells *cells = &s->busy->cells;
    int32_t last = find_even_end(s, from, x);
    *ret_last = last + 1;
    if (last - x < LEAST_EVEN)
        return from;
    uint8_t category = ls_busy_get_category(s->busy, from);
    int shift = ls_busy_get_cell_shift(cells, s->columns->cell_level);
    int64_t before_ns = ls_busy_cells_get_before(s->busy, from), mask = ((int64_t)1 << shift) - 1;
    size_t n = 0;
    for (; x < last; x++) {
        int64_t offset = s->columns->edges[x + 1] - cells->start_ns, part = offset & mask;
        const int64_t *before = &cells->before_ns[s->columns->cell_level][offset >> shift];
        const uint32_t *first = &cells->first[s->columns->cell_level][offset >> shift];
        int64_t ns = before[0] + ((before[1] - before[0]) * part >> shift);
        size_t next = first[0] + (size_t)((int64_t)(first[1] - first[0]) * part >> shift);
        if (x + 1 == last) { /* the next column goes on with whole spans */
            next = ls_busy_cells_find(s->busy, s->columns->edges[last]);
            ns = ls_busy_cells_get_before(s->busy, next);
            if (next == from && n > 0)
                into[n - 1].busy_ns += ns - before_ns;
        }
        if (next <= from)
            continue;
        into[n++] = (LsBusyColumn){MAX(ns - before_ns, 0), from, next - from, x, category};
        before_ns = MAX(ns, before_ns);
        from = next;
    }
    *ret_n = MAX(n, 1);
    return from;
}

/* A node knows it too: the span itself is seldom in the cache. */
static int64_t
find_start(const LsBusy *busy, int level, size_t span)
{
    int shift = level < 0 ? 0 : ls_busy_get_shift(level);
    if (level < 0 || (span & (((size_t)1 << shift) - 1)))
        return busy->spans.start_ns[span * busy->spans.stride];
    return busy->levels[level][span >> shift].start_ns;
}

size_t
ls_busy_sum_columns(const LsBusy *busy, const LsBusyColumns *columns, size_t from, size_t to,
                    int32_t x, LsBusyColumn *into, size_t *ret_n)
{
    const int64_t *edges = columns->edges;
    Sum s = {busy, columns, from, to, edges[0], edges[columns->width], 0};
    size_t n = 0, i = from;
    int32_t even_at = columns->cell_level < 0 ? INT32_MAX : x; /* where to look for a stretch */
    while (i < to) {
        int64_t start = find_start(busy, columns->level, i), rest_ns = s.rest_ns;
        LsBusyColumn *column = &into[n];
        size_t next = i, n_found = 1;
        while (x < columns->width && start >= edges[x + 1])
            x++;
        if (x >= columns->width)
            break;
        s.rest_ns = 0;
        if (x >= even_at && start >= s.start_ns)
            next = sum_even(&s, i, x, &even_at, column, &n_found);
        if (next == i) {
            next = columns->level < 0 ? sum_column(&s, i, edges[x + 1], column)
                                      : sum_nodes(&s, i, edges[x + 1], column);
            column->x = x;
            column->first = i;
            column->n = next - i;
        }
        /* To this one, if it is a column of its own; else back to where it comes from. */
        if (rest_ns != 0 && n > 0)
            into[n - (next == i || into[n - 1].x + 1 < x)].busy_ns += rest_ns;
        if (next == i)
            break;
        n += n_found;
        x = into[n - 1].x + 1;
        i = next;
    }
    if (n > 0)
        into[n - 1].busy_ns += s.rest_ns;
    *ret_n = n;
    return i;
}
