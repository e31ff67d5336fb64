/* SPDX-License-Identifier: Apache-2.0
 * Spans in any order come out in lanes: sorted, disjoint, the contained below its container. */
#include "trace/builder.h"

#include <string.h>

typedef struct Span {
    int64_t start_ns, end_ns;
} Span;

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

static LsTrace *
freeze_spans(const Span *spans, size_t n)
{
    LsProcess *process = ls_process_new(LS_SOURCE_OTHER);
    LsTrackBuilder *track = ls_process_get_track(process, LS_TRACK_THREAD, "t", "", 1);
    for (size_t i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("%zu", i);
        ls_track_builder_add(track, spans[i].start_ns, spans[i].end_ns,
                             ls_strings_add(process->strings, name), LS_NONE);
    }
    LsBuilder *builder = ls_builder_new(no_class, NULL);
    ls_builder_take(builder, process);
    return ls_builder_freeze(builder);
}

/* The lane in which the i-th span lies. */
static int
lane_of(const LsTrace *trace, size_t i)
{
    size_t n;
    const LsTrack *track = ls_trace_get_tracks(trace, &n);
    g_autofree char *name = g_strdup_printf("%zu", i);
    for (uint32_t lane = 0; lane < track->n_lanes; lane++)
        for (size_t k = 0; k < track->lanes[lane].n; k++)
            if (g_str_equal(ls_trace_get_string(trace, track->lanes[lane].name[k]), name))
                return (int)lane;
    return -1;
}

static void
test_contained_lies_below(void)
{
    const Span spans[] = {{10, 20}, {0, 100}, {12, 15}, {30, 40}, {0, 100}, {200, 300}};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    const int lanes[] = {2, 0, 3, 2, 1, 0};
    for (size_t i = 0; i < G_N_ELEMENTS(lanes); i++)
        g_assert_cmpint(lane_of(trace, i), ==, lanes[i]);
}

static void
test_crossing_chain_needs_two_lanes(void)
{
    Span spans[1000];
    for (int i = 0; i < 1000; i++)
        spans[i] = (Span){i * 10, i * 10 + 15};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    size_t n;
    g_assert_cmpuint(ls_trace_get_tracks(trace, &n)->n_lanes, ==, 2);
}

static void
test_inside_a_crossing_span_lies_below_it(void)
{
    const Span spans[] = {{0, 10}, {5, 20}, {12, 14}};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    g_assert_cmpint(lane_of(trace, 0), ==, 0);
    g_assert_cmpint(lane_of(trace, 1), ==, 1);
    g_assert_cmpint(lane_of(trace, 2), ==, 2);
}

static void
test_touching_and_empty_spans_share_a_lane(void)
{
    const Span spans[] = {{0, 10}, {10, 10}, {10, 20}, {20, 20}, {20, 20}};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    size_t n;
    const LsTrack *track = ls_trace_get_tracks(trace, &n);
    size_t kept = 0;
    for (uint32_t lane = 0; lane < track->n_lanes; lane++)
        kept += track->lanes[lane].n;
    g_assert_cmpuint(kept, ==, 5);
    g_assert_cmpint(lane_of(trace, 2), ==, 0);
}

static void
test_impossible_times_are_left_out_and_found(void)
{
    const Span spans[] = {{5, 4}, {0, 1}, {LS_TIME_NONE, 3}, {0, INT64_MAX}};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    size_t n_tracks, n_findings;
    const LsTrack *track = ls_trace_get_tracks(trace, &n_tracks);
    g_assert_cmpuint(track->lanes[0].n, ==, 1);
    const LsFinding *finding = ls_trace_get_findings(trace, &n_findings);
    g_assert_cmpuint(n_findings, ==, 1);
    g_assert_nonnull(strstr(finding->text, "3 spans"));
}

/* Every two spans of one lane are disjoint and in order; every container lies above. Quadratic:
 * few. */
static void
check_lanes(const LsTrace *trace, size_t n_expected)
{
    size_t n_tracks, n = 0;
    const LsTrack *track = ls_trace_get_tracks(trace, &n_tracks);
    for (uint32_t lane = 0; lane < track->n_lanes; lane++) {
        const LsSpans *spans = &track->lanes[lane];
        g_assert_cmpuint(spans->n, >, 0);
        n += spans->n;
        for (size_t i = 1; i < spans->n; i++)
            g_assert_cmpint(spans->start_ns[i], >=, spans->end_ns[i - 1]);
        for (uint32_t below = 0; below < lane; below++)
            for (size_t i = 0; i < spans->n; i++)
                for (size_t k = 0; k < track->lanes[below].n; k++)
                    g_assert_false(spans->start_ns[i] <= track->lanes[below].start_ns[k] &&
                                   spans->end_ns[i] >= track->lanes[below].end_ns[k] &&
                                   spans->end_ns[i] - spans->start_ns[i] >
                                       track->lanes[below].end_ns[k] -
                                           track->lanes[below].start_ns[k] &&
                                   track->lanes[below].end_ns[k] > track->lanes[below].start_ns[k]);
    }
    g_assert_cmpuint(n, ==, n_expected);
}

static void
test_random_spans_keep_the_order(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (int round = 0; round < 30; round++) {
        Span spans[600];
        size_t n = round < 15 ? 40 : 600; /* both ways of sorting */
        int32_t range = round % 3 == 0 ? 50 : 100000;
        for (size_t i = 0; i < n; i++) {
            spans[i].start_ns = g_rand_int_range(rand, -range, range);
            spans[i].end_ns = spans[i].start_ns + g_rand_int_range(rand, 0, range / 5);
        }
        g_autoptr(LsTrace) trace = freeze_spans(spans, n);
        check_lanes(trace, n);
    }
}

static void
test_many_open_spans_stay_disjoint(void)
{
    Span spans[600];
    for (int i = 0; i < 600; i++)
        spans[i] = (Span){i, 10000 + i};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    check_lanes(trace, 600);
}

/* The order by length alone, and so far from sorted that inserting is given up. */
static void
test_of_one_start_the_longer_lies_above(void)
{
    Span spans[200];
    for (int i = 0; i < 200; i++)
        spans[i] = (Span){7, 8 + i};
    g_autoptr(LsTrace) trace = freeze_spans(spans, G_N_ELEMENTS(spans));
    for (int i = 0; i < 200; i++)
        g_assert_cmpint(lane_of(trace, (size_t)i), ==, 199 - i);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/lanes/contained-lies-below", test_contained_lies_below);
    g_test_add_func("/trace/lanes/crossing-chain-needs-two-lanes",
                    test_crossing_chain_needs_two_lanes);
    g_test_add_func("/trace/lanes/inside-a-crossing-span-lies-below-it",
                    test_inside_a_crossing_span_lies_below_it);
    g_test_add_func("/trace/lanes/touching-and-empty-spans-share-a-lane",
                    test_touching_and_empty_spans_share_a_lane);
    g_test_add_func("/trace/lanes/impossible-times-are-left-out-and-found",
                    test_impossible_times_are_left_out_and_found);
    g_test_add_func("/trace/lanes/random-spans-keep-the-order", test_random_spans_keep_the_order);
    g_test_add_func("/trace/lanes/many-open-spans-stay-disjoint",
                    test_many_open_spans_stay_disjoint);
    g_test_add_func("/trace/lanes/of-one-start-the-longer-lies-above",
                    test_of_one_start_the_longer_lies_above);
    return g_test_run();
}
