/* SPDX-License-Identifier: Apache-2.0
 *
 * A lane's busy time as a table over equal cells of time, about a span each and a power of two of
 * nanoseconds wide: what was busy before any time is two entries and a line between them, without a
 * search. A line within a cell errs by at most a quarter of it. Columns of pixels over a stretch
 * that is all alike (one category, no span of a pixel) are read from it; it tells neither
 * categories nor single spans.
 */
#include "index/busy-private.h"

/* Lanes of fewer spans need none. At most 30: a cell's square must fit 64 bits. */
enum { LEAST_SPANS = 512, MOST_SHIFT = 30 - 2 * LS_BUSY_MAX_CELL_LEVELS / 2 };

static int
choose_shift(int64_t range_ns, size_t n)
{
    int shift = 0;
    while (shift < MOST_SHIFT && (range_ns >> (shift + 1)) >= (int64_t)n / 4)
        shift++;
    return shift;
}

static void
fill_level(LsBusy *busy, size_t n_cells)
{
    LsBusyCells *cells = &busy->cells;
    size_t n = busy->spans.n, ended = 0, begun = 0;
    int64_t done_ns = 0;
    for (size_t k = 0; k <= n_cells; k++) {
        int64_t at = cells->start_ns + ((int64_t)k << cells->shift);
        for (; ended < n && ls_busy_get_end(busy, ended) <= at; ended++)
            done_ns += ls_busy_get_end(busy, ended) - ls_busy_get_start(busy, ended);
        begun = MAX(begun, ended);
        while (begun < n && ls_busy_get_start(busy, begun) < at)
            begun++;
        cells->first[0][k] = (uint32_t)begun;
        cells->before_ns[0][k] =
            done_ns + (begun > ended ? at - ls_busy_get_start(busy, ended) : 0);
    }
}

/* Every fourth, and what is before the end of the last. */
static size_t
fill_level_above(LsBusyCells *cells, int level, size_t n_below)
{
    size_t n = (n_below + (1 << LS_BUSY_CELL_FAN_SHIFT) - 1) >> LS_BUSY_CELL_FAN_SHIFT;
    cells->before_ns[level] = g_new(int64_t, n + 1);
    cells->first[level] = g_new(uint32_t, n + 1);
    for (size_t k = 0; k <= n; k++) {
        size_t below = MIN(k << LS_BUSY_CELL_FAN_SHIFT, n_below);
        cells->before_ns[level][k] = cells->before_ns[level - 1][below];
        cells->first[level][k] = cells->first[level - 1][below];
    }
    return n;
}

void
ls_busy_make_cells(LsBusy *busy)
{
    size_t n = busy->spans.n;
    LsBusyCells *cells = &busy->cells;
    if (n < LEAST_SPANS || n >= UINT32_MAX)
        return;
    cells->start_ns = ls_busy_get_start(busy, 0);
    int64_t range_ns = ls_busy_get_end(busy, n - 1) - cells->start_ns;
    cells->shift = choose_shift(range_ns, n);
    size_t n_cells = (size_t)(range_ns >> cells->shift) + 1;
    if (n_cells > n) /* hours between a few spans */
        return;
    cells->before_ns[0] = g_new(int64_t, n_cells + 1);
    cells->first[0] = g_new(uint32_t, n_cells + 1);
    fill_level(busy, n_cells);
    cells->n_levels = 1;
    while (n_cells > 64 && cells->n_levels < LS_BUSY_MAX_CELL_LEVELS)
        n_cells = fill_level_above(cells, cells->n_levels++, n_cells);
}

void
ls_busy_free_cells(LsBusy *busy)
{
    for (int i = 0; i < busy->cells.n_levels; i++) {
        g_free(busy->cells.before_ns[i]);
        g_free(busy->cells.first[i]);
    }
}

size_t
ls_busy_cells_find(const LsBusy *busy, int64_t time_ns)
{
    const LsBusyCells *cells = &busy->cells;
    size_t k = (size_t)((time_ns - cells->start_ns) >> cells->shift);
    size_t low = cells->first[0][k], high = cells->first[0][k + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ls_busy_get_start(busy, middle) < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t
ls_busy_cells_get_before(const LsBusy *busy, size_t span)
{
    const LsBusyCells *cells = &busy->cells;
    int64_t until_ns = span < busy->spans.n ? ls_busy_get_start(busy, span)
                                            : ls_busy_get_end(busy, busy->spans.n - 1);
    size_t k = (size_t)((until_ns - cells->start_ns) >> cells->shift);
    int64_t at = cells->start_ns + ((int64_t)k << cells->shift), before_ns = cells->before_ns[0][k];
    size_t first = cells->first[0][k];
    LsBusySum sum = {0};
    if (first > 0)
        before_ns += MAX(ls_busy_get_end(busy, first - 1) - at, 0);
    if (first < span)
        ls_busy_sum(busy, first, until_ns, until_ns, INT64_MAX, &sum);
    return before_ns + sum.busy_ns;
}
