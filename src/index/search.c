/* SPDX-License-Identifier: Apache-2.0
 *
 * Names are interned, so the text is compared once for each distinct name; spans are then tested by
 * a byte per name. Of more hits than the limit the earliest are kept by a partial sort.
 */
#include "index/search.h"

#include <stdlib.h>
#include <string.h>

/* One byte per string: whether it holds the text. */
static uint8_t *
match_strings(const LsTrace *trace, const char *text)
{
    const LsStrings *strings = ls_trace_get_strings(trace);
    uint32_t n = ls_strings_get_n(strings);
    uint8_t *matches = g_new0(uint8_t, n + 1);
    g_autofree char *wanted = g_utf8_casefold(text, -1);
    for (uint32_t id = 0; id < n; id++) {
        g_autofree char *folded = g_utf8_casefold(ls_strings_get(strings, id), -1);
        matches[id] = strstr(folded, wanted) != NULL;
    }
    return matches;
}

static int
compare_hits(const void *a, const void *b)
{
    const LsHit *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* Keeps the earliest `limit`; called when twice as many have gathered, so the sorting costs O(log)
 * for each hit. */
static void
trim(GArray *hits, size_t limit)
{
    if (hits->len > 0) /* an empty array has no data, which qsort must not be given */
        qsort(hits->data, hits->len, sizeof(LsHit), compare_hits);
    if (hits->len > limit)
        g_array_set_size(hits, (unsigned int)limit);
}

static void
search_track(const LsTrack *track, uint32_t index, const uint8_t *matches, size_t limit,
             GArray *hits, size_t *found)
{
    /* A tensor's or stream's own name stands for all its outermost spans. */
    bool whole = matches[track->name];
    for (uint32_t lane = 0; lane < track->n_lanes; lane++) {
        const LsSpans *spans = &track->lanes[lane];
        for (size_t i = 0; i < spans->n; i++) {
            if (!matches[spans->name[i]] && !(whole && lane == 0))
                continue;
            LsHit hit = {.start_ns = spans->start_ns[i], .track = index, .lane = lane, .span = i};
            g_array_append_val(hits, hit);
            ++*found;
            if (hits->len >= 2 * limit)
                trim(hits, limit);
        }
    }
}

LsHits
ls_search_find(const LsTrace *trace, const char *text, size_t limit)
{
    LsHits result = {0};
    if (text[0] == '\0' || limit == 0)
        return result;

    g_autofree uint8_t *matches = match_strings(trace, text);
    GArray *hits = g_array_new(FALSE, FALSE, sizeof(LsHit));
    size_t n_tracks;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    for (size_t i = 0; i < n_tracks; i++)
        search_track(&tracks[i], (uint32_t)i, matches, limit, hits, &result.found);
    trim(hits, limit);
    result.n = hits->len;
    result.items = (LsHit *)(void *)g_array_free(hits, FALSE);
    return result;
}

void
ls_hits_clear(LsHits *hits)
{
    g_free(hits->items);
    *hits = (LsHits){0};
}

size_t
ls_hits_find_at(const LsHits *hits, int64_t time_ns)
{
    size_t low = 0, high = hits->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hits->items[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
