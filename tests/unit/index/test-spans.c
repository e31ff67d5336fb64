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
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/spans/as-a-scan-of-all", test_against_scan);
    return g_test_run();
}
