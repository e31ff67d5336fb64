/* SPDX-License-Identifier: Apache-2.0
 *
 * base/stats.c: robust statistics over int64 samples. The median is a sample itself, never a
 * mean of two, so that it can be pointed at on the timeline.
 */
#include "base/stats.h"

#include <glib.h>
#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t
ls_stats_median(int64_t *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare);
    return values[(n - 1) / 2];
}

int64_t
ls_stats_deviation(const int64_t *values, size_t n, int64_t center)
{
    g_autofree int64_t *distances = g_new(int64_t, n);

    for (size_t i = 0; i < n; i++)
        distances[i] = ABS(values[i] - center);
    return ls_stats_median(distances, n);
}

int64_t
ls_stats_mean(int64_t sum, int64_t n)
{
    if (n == 0)
        return 0;
    return sum / n - (sum % n < 0);
}
