/* SPDX-License-Identifier: Apache-2.0
 * Every answer against a scan of all spans, on random tracks with nested, crossing and empty spans.
 */
#include "index/spans.h"

#include "trace/builder.h"

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

/* Short times, so that starts and ends meet often. */
static LsTrace *
make_trace(GRand *rand, int n)
{
    LsBuilder *builder = ls_builder_new(no_class, NULL);
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);
    LsTrackBuilder *track = ls_process_get_track(process, LS_TRACK_THREAD, "thread", "", 1);
    uint32_t name = ls_strings_add(process->strings, "span");

    process->rank.rank = 0;
    for (int i = 0; i < n; i++) {
        int64_t start_ns = g_rand_int_range(rand, 0, 4 * n);

        ls_track_builder_add(track, start_ns, start_ns + g_rand_int_range(rand, 0, 20), name,
                             LS_NONE);
    }
    ls_builder_take(builder, process);
    return ls_builder_freeze(builder);
}

static bool
overlaps(const LsSpans *lane, size_t i, int64_t start_ns, int64_t end_ns)
{
    if (lane->start_ns[i] == lane->end_ns[i])
        return start_ns <= lane->start_ns[i] && lane->start_ns[i] < end_ns;
    return lane->start_ns[i] < end_ns && lane->end_ns[i] > start_ns;
}

static void
check_ranges(const LsTrack *track, GRand *rand, int64_t length_ns)
{
    for (int round = 0; round < 200; round++) {
        int64_t start_ns = g_rand_int_range(rand, -5, (int)length_ns + 5);
        int64_t end_ns = start_ns + g_rand_int_range(rand, 1, 40);

        for (uint32_t k = 0; k < track->n_lanes; k++) {
            const LsSpans *lane = &track->lanes[k];
            size_t first, last;

            ls_spans_find_range(lane, start_ns, end_ns, &first, &last);
            g_assert_cmpuint(first, <=, last);
            for (size_t i = 0; i < lane->n; i++)
                g_assert_true(overlaps(lane, i, start_ns, end_ns) == (i >= first && i < last));
        }
    }
}

static void
check_points(const LsTrack *track, int64_t length_ns)
{
    for (int64_t time_ns = -2; time_ns < length_ns; time_ns++) {
        LsSpanRef found;
        int deepest = -1;

        for (uint32_t k = 0; k < track->n_lanes; k++)
            for (size_t i = 0; i < track->lanes[k].n; i++)
                if (overlaps(&track->lanes[k], i, time_ns, time_ns + 1))
                    deepest = (int)k;
        if (ls_spans_find_at(track, time_ns, &found)) {
            g_assert_cmpint(found.lane, ==, deepest);
            g_assert_true(overlaps(&track->lanes[found.lane], found.span, time_ns, time_ns + 1));
        } else {
            g_assert_cmpint(deepest, ==, -1);
        }
    }
}

static int
compare(const LsTrack *track, LsSpanRef a, LsSpanRef b)
{
    int64_t x = track->lanes[a.lane].start_ns[a.span], y = track->lanes[b.lane].start_ns[b.span];

    if (x != y)
        return x < y ? -1 : 1;
    if (a.lane != b.lane)
        return a.lane < b.lane ? -1 : 1;
    return a.span < b.span ? -1 : a.span > b.span;
}

/* The nearest span on that side, by looking at all. */
static bool
scan(const LsTrack *track, LsSpanRef from, int side, LsSpanRef *ret_span)
{
    bool found = false;

    for (uint32_t k = 0; k < track->n_lanes; k++)
        for (size_t i = 0; i < track->lanes[k].n; i++) {
            LsSpanRef span = {k, i};

            if (compare(track, span, from) * side <= 0 ||
                (found && compare(track, span, *ret_span) * side >= 0))
                continue;
            *ret_span = span;
            found = true;
        }
    return found;
}

static void
check_neighbours(const LsTrack *track)
{
    for (uint32_t k = 0; k < track->n_lanes; k++)
        for (size_t i = 0; i < track->lanes[k].n; i++) {
            LsSpanRef from = {k, i}, found = {0}, expected = {0};

            g_assert_true(ls_spans_find_next(track, from, &found) ==
                          scan(track, from, 1, &expected));
            g_assert_true(found.lane == expected.lane && found.span == expected.span);
            g_assert_true(ls_spans_find_previous(track, from, &found) ==
                          scan(track, from, -1, &expected));
            g_assert_true(found.lane == expected.lane && found.span == expected.span);
        }
}

static void
check_parents(const LsTrack *track)
{
    for (uint32_t k = 0; k < track->n_lanes; k++)
        for (size_t i = 0; i < track->lanes[k].n; i++) {
            int64_t start_ns = track->lanes[k].start_ns[i], end_ns = track->lanes[k].end_ns[i];
            LsSpanRef found;
            int nearest = -1;

            for (uint32_t above = 0; above < k; above++)
                for (size_t j = 0; j < track->lanes[above].n; j++)
                    if (overlaps(&track->lanes[above], j, start_ns, start_ns + 1) &&
                        track->lanes[above].end_ns[j] >= end_ns)
                        nearest = (int)above;
            if (ls_spans_find_parent(track, (LsSpanRef){k, i}, &found)) {
                g_assert_cmpint(found.lane, ==, nearest);
                g_assert_cmpint(track->lanes[found.lane].start_ns[found.span], <=, start_ns);
                g_assert_cmpint(track->lanes[found.lane].end_ns[found.span], >=, end_ns);
            } else {
                g_assert_cmpint(nearest, ==, -1);
            }
        }
}

static void
test_against_scan(void)
{
    for (guint32 seed = 0; seed < 40; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        int n = g_rand_int_range(rand, 1, 120);
        g_autoptr(LsTrace) trace = make_trace(rand, n);
        size_t n_tracks;
        const LsTrack *track = ls_trace_get_tracks(trace, &n_tracks);

        g_assert_cmpuint(n_tracks, ==, 1);
        check_ranges(track, rand, 4 * n);
        check_points(track, 4 * n);
        check_neighbours(track);
        check_parents(track);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/spans/as-a-scan-of-all", test_against_scan);
    return g_test_run();
}
