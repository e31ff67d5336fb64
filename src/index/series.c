/* SPDX-License-Identifier: Apache-2.0
 *
 * A pyramid of least and most over the samples of a counter: leaf 16, fan-out 4, as index/busy.c.
 */
#include "index/series.h"

#include <math.h>

enum { LEAF_SHIFT = 4, FAN_SHIFT = 2, MAX_LEVELS = 16 };

typedef struct Node {
    double low, high; /* low > high: no valid sample */
} Node;

struct LsSeries {
    const LsSample *samples;
    size_t n;
    int n_levels;
    Node *levels[MAX_LEVELS];
};

static const Node EMPTY = {INFINITY, -INFINITY};

static void
add_node(Node *to, const Node *from)
{
    to->low = MIN(to->low, from->low);
    to->high = MAX(to->high, from->high);
}

static void
add_samples(const LsSeries *series, size_t first, size_t last, Node *to)
{
    for (size_t i = first; i < last; i++)
        if (series->samples[i].valid)
            add_node(to, &(Node){series->samples[i].value, series->samples[i].value});
}

LsSeries *
ls_series_new(const LsSample *samples, size_t n)
{
    LsSeries *series = g_new0(LsSeries, 1);
    series->samples = samples;
    series->n = n;
    size_t n_nodes = (n + (1 << LEAF_SHIFT) - 1) >> LEAF_SHIFT;
    if (n_nodes == 0)
        return series;
    series->levels[0] = g_new(Node, n_nodes);
    for (size_t i = 0; i < n_nodes; i++) {
        series->levels[0][i] = EMPTY;
        add_samples(series, i << LEAF_SHIFT, MIN((i + 1) << LEAF_SHIFT, n), &series->levels[0][i]);
    }
    series->n_levels = 1;
    while (n_nodes > 1 && series->n_levels < MAX_LEVELS) {
        const Node *below = series->levels[series->n_levels - 1];
        size_t n_above = (n_nodes + (1 << FAN_SHIFT) - 1) >> FAN_SHIFT;
        Node *above = g_new(Node, n_above);
        for (size_t i = 0; i < n_above; i++)
            above[i] = EMPTY;
        for (size_t i = 0; i < n_nodes; i++)
            add_node(&above[i >> FAN_SHIFT], &below[i]);
        series->levels[series->n_levels++] = above;
        n_nodes = n_above;
    }
    return series;
}

void
ls_series_free(LsSeries *series)
{
    if (!series)
        return;
    for (int i = 0; i < series->n_levels; i++)
        g_free(series->levels[i]);
    g_free(series);
}

size_t
ls_series_find(const LsSeries *series, int64_t time_ns)
{
    size_t low = 0, high = series->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (series->samples[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool
ls_series_get_range(const LsSeries *series, size_t first, size_t last, double *ret_low,
                    double *ret_high)
{
    Node sum = EMPTY;
    size_t i = first;
    last = MIN(last, series->n);
    while (i < last) {
        int found = -1;
        for (int level = 0; level < series->n_levels; level++) {
            int shift = LEAF_SHIFT + level * FAN_SHIFT;
            if ((i & (((size_t)1 << shift) - 1)) || i + ((size_t)1 << shift) > last)
                break;
            found = level;
        }
        int shift = LEAF_SHIFT + found * FAN_SHIFT;
        if (found >= 0) {
            add_node(&sum, &series->levels[found][i >> shift]);
            i += (size_t)1 << shift;
        } else {
            add_samples(series, i, i + 1, &sum);
            i++;
        }
    }
    *ret_low = sum.low;
    *ret_high = sum.high;
    return sum.low <= sum.high;
}
