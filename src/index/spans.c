/* SPDX-License-Identifier: Apache-2.0
 * index/spans.c: binary searches over the lanes of a track. */
#include "index/spans.h"

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

bool
ls_spans_find_at(const LsTrack *track, int64_t time_ns, LsSpanRef *ret_span)
{
    for (uint32_t lane = track->n_lanes; lane-- > 0;) {
        size_t first, last;

        ls_spans_find_range(&track->lanes[lane], time_ns, time_ns + 1, &first, &last);
        if (first == last)
            continue;
        *ret_span = (LsSpanRef){lane, last - 1};
        return true;
    }
    return false;
}

/* In a lane nothing starts together but what has no length: there the place in the lane decides. */
bool
ls_spans_find_next(const LsTrack *track, LsSpanRef from, LsSpanRef *ret_span)
{
    int64_t start_ns = track->lanes[from.lane].start_ns[from.span], best_ns = 0;
    bool found = false;

    for (uint32_t lane = 0; lane < track->n_lanes; lane++) {
        const LsSpans *spans = &track->lanes[lane];
        size_t span =
            lane == from.lane ? from.span + 1 : find_start(spans, start_ns + (lane < from.lane));

        if (span == spans->n || (found && spans->start_ns[span] >= best_ns))
            continue;
        *ret_span = (LsSpanRef){lane, span};
        best_ns = spans->start_ns[span];
        found = true;
    }
    return found;
}

bool
ls_spans_find_previous(const LsTrack *track, LsSpanRef from, LsSpanRef *ret_span)
{
    int64_t start_ns = track->lanes[from.lane].start_ns[from.span], best_ns = 0;
    bool found = false;

    for (uint32_t lane = 0; lane < track->n_lanes; lane++) {
        const LsSpans *spans = &track->lanes[lane];
        size_t end =
            lane == from.lane ? from.span : find_start(spans, start_ns + (lane < from.lane));

        if (end == 0 || (found && spans->start_ns[end - 1] < best_ns))
            continue;
        *ret_span = (LsSpanRef){lane, end - 1};
        best_ns = spans->start_ns[end - 1];
        found = true;
    }
    return found;
}

bool
ls_spans_find_parent(const LsTrack *track, LsSpanRef of, LsSpanRef *ret_span)
{
    int64_t start_ns = track->lanes[of.lane].start_ns[of.span];
    int64_t end_ns = track->lanes[of.lane].end_ns[of.span];

    for (uint32_t lane = of.lane; lane-- > 0;) {
        const LsSpans *spans = &track->lanes[lane];
        size_t first, last;

        ls_spans_find_range(spans, start_ns, start_ns + 1, &first, &last);
        if (first == last || spans->end_ns[last - 1] < end_ns)
            continue;
        *ret_span = (LsSpanRef){lane, last - 1};
        return true;
    }
    return false;
}
