/* SPDX-License-Identifier: Apache-2.0
 * index/spans.c: binary searches over a lane. */
#include "index/spans.h"

#include <glib.h>

/* The first span that starts at or after the time; n if none does. */
static size_t
find_start(const LsSpans *lane, int64_t time_ns)
{
    size_t low = 0, high = lane->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lane->start_ns[middle] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Only the one before that may reach over the time: those before it have ended. */
void
ls_spans_find_range(const LsSpans *lane, int64_t start_ns, int64_t end_ns, size_t *ret_first,
                    size_t *ret_last)
{
    size_t first = find_start(lane, start_ns);

    if (first > 0 && lane->end_ns[first - 1] > start_ns)
        first--;
    *ret_first = first;
    *ret_last = MAX(first, find_start(lane, end_ns));
}
