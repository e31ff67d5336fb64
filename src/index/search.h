/* SPDX-License-Identifier: Apache-2.0
 *
 * index/search.h: from a text to the spans whose name, or whose track's name, holds it.
 */
#pragma once

#include "trace/trace.h"

typedef struct LsHit {
    int64_t start_ns;
    uint32_t track, lane;
    size_t span; /* in the lane */
} LsHit;

typedef struct LsHits {
    LsHit *items; /* owned; by start, then track */
    size_t n;
    size_t found; /* in all; more than n where the limit cut */
} LsHits;

/* Substring, without regard to case. The first `limit` in time are kept; "" finds nothing. Cost:
 * one pass over the strings and one over the names of all spans. Any thread. */
LsHits ls_search_find(const LsTrace *trace, const char *text, size_t limit);
void ls_hits_clear(LsHits *hits);
/* Index of the first hit that starts at or after the time; n if none does. */
size_t ls_hits_find_at(const LsHits *hits, int64_t time_ns);
