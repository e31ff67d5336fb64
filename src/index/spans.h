/* SPDX-License-Identifier: Apache-2.0
 *
 * index/spans.h: what overlaps a piece of time on a track, and what lies before, after and around a
 * span. No index is built: lanes are sorted and free of overlap, so that each question is a binary
 * search a lane. Any thread.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "trace/track.h"

/* A span of a track. */
typedef struct LsSpanRef {
    uint32_t lane;
    size_t span;
} LsSpanRef;

/* The spans [*ret_first, *ret_last) of the lane overlap [start_ns, end_ns); one without length
 * counts where it stands. */
void ls_spans_find_range(const LsSpans *lane, int64_t start_ns, int64_t end_ns, size_t *ret_first,
                         size_t *ret_last);
/* The innermost span of the track at the time; false: there is none. */
bool ls_spans_find_at(const LsTrack *track, int64_t time_ns, LsSpanRef *ret_span);
/* In the order of (start, lane): the one after, or before. false: there is none. */
bool ls_spans_find_next(const LsTrack *track, LsSpanRef from, LsSpanRef *ret_span);
bool ls_spans_find_previous(const LsTrack *track, LsSpanRef from, LsSpanRef *ret_span);
/* The span around it, on the nearest lane outwards that has one which encloses it. */
bool ls_spans_find_parent(const LsTrack *track, LsSpanRef of, LsSpanRef *ret_span);
