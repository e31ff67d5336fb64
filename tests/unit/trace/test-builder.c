/* SPDX-License-Identifier: Apache-2.0
 * Processes with known rows become one trace: sorted, every index still pointing at its row. */
#include "trace/builder.h"

/* Every row carries its identity in a member that nothing changes: calls in bytes, uses in bytes,
 * steps in number, cycles in number. Rank r's row i has identity r * 1000 + i. Rows are added in
 * falling time. */
static LsProcess *
make_process(int rank, int rows)
{
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);
    process->rank.rank = rank;
    process->rank.world = 8;
    process->rank.local_rank = rank % 4;
    process->rank.host = g_strdup("gpu05.cluster.example");
    uint32_t filler = ls_strings_add(process->strings, rank % 2 ? "odd" : "even");
    (void)filler; /* so that ids differ between processes */
    uint32_t name = ls_strings_add(process->strings, "MPI_ALLREDUCE");
    LsTrackBuilder *comm =
        ls_process_get_track(process, LS_TRACK_COMMUNICATION, "data", "operation", -1);
    LsTrackBuilder *tensor = ls_process_get_track(process, LS_TRACK_TENSOR, "layer1", "", -1);
    LsTrackBuilder *steps = ls_process_get_track(process, LS_TRACK_STEPS, "steps", "step", -1);
    LsTrackBuilder *cycles = ls_process_get_track(process, LS_TRACK_CYCLES, "cycles", "cycle", -1);
    LsTrackBuilder *other = ls_process_get_track(process, LS_TRACK_THREAD, "thread", "", 5);
    for (int i = 0; i < rows; i++) {
        int64_t start = 100000 - i * 100, id = rank * 1000 + i;
        LsCall call = {
            .name = name, .bytes = id, .start_ns = start, .end_ns = start + 50, .buffer = 99};
        LsUse use = {.tensor = name,
                     .group = LS_NONE,
                     .call = (uint32_t)(rows - 1 - i),
                     .bytes = id,
                     .submit_ns = start,
                     .gate_ns = start,
                     .agreed_ns = start + 1,
                     .done_ns = start + 2};
        LsStep step = {.number = id, .start_ns = start, .end_ns = start + 90};
        LsCycle cycle = {.control = name, .number = id, .start_ns = start, .end_ns = start + 10};
        g_array_append_val(process->calls, call);
        g_array_append_val(process->uses, use);
        g_array_append_val(process->steps, step);
        g_array_append_val(process->cycles, cycle);
        ls_track_builder_add(comm, start, start + 50, name, (uint32_t)i);
        ls_track_builder_add(tensor, start, start + 2, name, (uint32_t)i);
        ls_track_builder_add(steps, start, start + 90, name, (uint32_t)i);
        ls_track_builder_add(cycles, start, start + 10, name, (uint32_t)i);
        ls_track_builder_add(other, start, start + 10, name, LS_NONE);
    }
    return process;
}

static LsClass
by_name(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
        const char *name)
{
    ++*(int *)user;
    g_assert_cmpuint(ls_track_builder_get_rank(track), <, 3);
    return g_str_equal(name, "MPI_ALLREDUCE") && g_str_equal(category, "operation")
               ? LS_CLASS_COMMUNICATION
               : LS_CLASS_NONE;
}

#define ROWS 70

static LsTrace *
make_trace(int *calls_of_classify)
{
    LsBuilder *builder = ls_builder_new(by_name, calls_of_classify);
    const int ranks[] = {5, 0, 2};
    for (size_t i = 0; i < G_N_ELEMENTS(ranks); i++)
        g_assert_cmpuint(ls_builder_take(builder, make_process(ranks[i], ROWS)), ==, i);
    size_t n;
    LsCall *calls = ls_builder_get_calls(builder, &n);
    g_autofree uint32_t *refs = g_new(uint32_t, n);
    g_autofree LsBuffer *buffers = g_new0(LsBuffer, ROWS);
    for (uint32_t b = 0; b < ROWS; b++) {
        buffers[b] = (LsBuffer){.first_call_ref = b * 3, .n_calls = 3, .ranks_expected = 3};
        const uint32_t first[] = {ROWS, 2 * ROWS, 0}; /* in order of rank: 0, 2, 5 */
        for (uint32_t k = 0; k < 3; k++) {
            refs[b * 3 + k] = first[k] + b;
            calls[first[k] + b].buffer = b;
        }
    }
    ls_builder_set_buffers(builder, buffers, ROWS, refs, n);
    return ls_builder_freeze(builder);
}

static void
test_rows_are_sorted_by_rank_and_time(void)
{
    int asked = 0;
    g_autoptr(LsTrace) trace = make_trace(&asked);
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);
    g_assert_cmpuint(n, ==, 3);
    const int32_t numbers[] = {0, 2, 5};
    for (size_t i = 0; i < 3; i++)
        g_assert_cmpint(ranks[i].rank, ==, numbers[i]);
    const LsStep *steps = ls_trace_get_steps(trace, &n);
    g_assert_cmpuint(n, ==, 3 * ROWS);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpuint(steps[i].rank, ==, i / ROWS);
        g_assert_cmpint(steps[i].number, ==, numbers[i / ROWS] * 1000 + ROWS - 1 - (int)(i % ROWS));
    }
}

static void
test_indices_still_point_at_their_rows(void)
{
    int asked = 0;
    g_autoptr(LsTrace) trace = make_trace(&asked);
    size_t n_uses, n_calls, n_buffers, n_refs;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    for (size_t i = 0; i < n_uses; i++) {
        int64_t row = uses[i].bytes % 1000, rank = uses[i].bytes / 1000;
        g_assert_cmpint(calls[uses[i].call].bytes, ==, rank * 1000 + ROWS - 1 - row);
        g_assert_cmpstr(ls_trace_get_string(trace, uses[i].tensor), ==, "MPI_ALLREDUCE");
        g_assert_cmpuint(uses[i].group, ==, LS_NONE);
    }
    const LsBuffer *buffers = ls_trace_get_buffers(trace, &n_buffers);
    const uint32_t *refs = ls_trace_get_call_refs(trace, &n_refs);
    g_assert_cmpuint(n_buffers, ==, ROWS);
    for (size_t b = 0; b < n_buffers; b++)
        for (uint32_t k = 0; k < 3; k++) {
            const LsCall *call = &calls[refs[buffers[b].first_call_ref + k]];
            g_assert_cmpuint(call->buffer, ==, b);
            g_assert_cmpint(call->bytes % 1000, ==, (int64_t)b);
            g_assert_cmpuint(call->rank, ==, k);
        }
}

static void
test_spans_refer_to_rows_of_their_kind(void)
{
    int asked = 0;
    g_autoptr(LsTrace) trace = make_trace(&asked);
    size_t n_tracks, n;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    g_assert_cmpuint(n_tracks, ==, 15);
    const LsCall *calls = ls_trace_get_calls(trace, &n);
    const LsUse *uses = ls_trace_get_uses(trace, &n);
    const LsStep *steps = ls_trace_get_steps(trace, &n);
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n);
    for (size_t t = 0; t < n_tracks; t++) {
        const LsTrack *track = &tracks[t];
        for (uint32_t lane = 0; lane < track->n_lanes; lane++)
            for (size_t i = 0; i < track->lanes[lane].n; i++) {
                uint32_t ref = track->lanes[lane].ref[i];
                int64_t start = track->lanes[lane].start_ns[i];
                bool comm = track->kind == LS_TRACK_COMMUNICATION;
                g_assert_cmpuint(track->lanes[lane].klass[i], ==,
                                 comm ? LS_CLASS_COMMUNICATION : LS_CLASS_NONE);
                if (comm) {
                    g_assert_cmpint(calls[ref].start_ns, ==, start);
                    g_assert_cmpuint(calls[ref].rank, ==, track->rank);
                } else if (track->kind == LS_TRACK_TENSOR)
                    g_assert_cmpint(uses[ref].submit_ns, ==, start);
                else if (track->kind == LS_TRACK_STEPS)
                    g_assert_cmpint(steps[ref].start_ns, ==, start);
                else if (track->kind == LS_TRACK_CYCLES)
                    g_assert_cmpint(cycles[ref].start_ns, ==, start);
                else
                    g_assert_cmpuint(ref, ==, LS_NONE);
            }
    }
    /* Once for each of 3 ranks, 5 tracks and one name, whatever the number of spans. */
    g_assert_cmpint(asked, ==, 15);
}

static void
test_labels_world_and_bounds(void)
{
    int asked = 0;
    g_autoptr(LsTrace) trace = make_trace(&asked);
    g_assert_cmpstr(ls_trace_get_rank_label(trace, 2), ==, "5 gpu05:1");
    g_assert_cmpuint(ls_trace_get_world(trace), ==, 8);
    g_assert_cmpint(ls_trace_get_first_ns(trace), ==, 100000 - (ROWS - 1) * 100);
    g_assert_cmpint(ls_trace_get_last_ns(trace), ==, 100090);
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);
    g_assert_cmpint(ranks[1].last_ns, ==, 100090);
}

static void
test_dangling_indices_become_none_and_a_finding(void)
{
    LsProcess *process = ls_process_new(LS_SOURCE_OTHER);
    LsTrackBuilder *comm = ls_process_get_track(process, LS_TRACK_COMMUNICATION, "data", "", -1);
    ls_track_builder_add(comm, 0, 1, 0, 77);
    LsUse use = {.tensor = 4711,
                 .call = 12,
                 .submit_ns = 5,
                 .gate_ns = LS_TIME_NONE,
                 .agreed_ns = LS_TIME_NONE,
                 .done_ns = LS_TIME_NONE};
    g_array_append_val(process->uses, use);
    int asked = 0;
    LsBuilder *builder = ls_builder_new(by_name, &asked);
    ls_builder_take(builder, process);
    g_autoptr(LsTrace) trace = ls_builder_freeze(builder);
    size_t n;
    g_assert_cmpuint(ls_trace_get_uses(trace, &n)->call, ==, LS_NONE);
    g_assert_cmpuint(ls_trace_get_tracks(trace, &n)->lanes[0].ref[0], ==, LS_NONE);
    g_assert_cmpint(ls_trace_get_findings(trace, &n)->severity, ==, LS_WARNING);
    g_assert_cmpuint(n, ==, 1);
}

static void
test_empty_trace_has_no_extent(void)
{
    int asked = 0;
    g_autoptr(LsTrace) trace = ls_builder_freeze(ls_builder_new(by_name, &asked));
    size_t n = 7;
    g_assert_null(ls_trace_get_ranks(trace, &n));
    g_assert_cmpuint(n, ==, 0);
    g_assert_cmpint(ls_trace_get_first_ns(trace), ==, 0);
    g_assert_cmpint(ls_trace_get_last_ns(trace), ==, 0);
}

static int64_t
shift(void *user, int64_t ns)
{
    return ns + 1000000;
}

static void
test_map_times_moves_all_but_the_unknown(void)
{
    LsProcess *process = make_process(0, 3);
    g_array_index(process->uses, LsUse, 0).gate_ns = LS_TIME_NONE;
    ls_process_map_times(process, shift, NULL);
    g_assert_cmpint(g_array_index(process->uses, LsUse, 0).gate_ns, ==, LS_TIME_NONE);
    g_assert_cmpint(g_array_index(process->uses, LsUse, 0).done_ns, ==, 1100002);
    int asked = 0;
    LsBuilder *builder = ls_builder_new(by_name, &asked);
    ls_builder_take(builder, process);
    g_autoptr(LsTrace) trace = ls_builder_freeze(builder);
    g_assert_cmpint(ls_trace_get_first_ns(trace), ==, 1099800);
    g_assert_cmpint(ls_trace_get_last_ns(trace), ==, 1100090);
}

/* Whatever the reader says of how much is read, right or wrong, nothing of a track that grows is
 * lost. */
static void
test_long_tracks_keep_all_spans(void)
{
    enum { N = 100000 };
    const double parts[] = {0, 1e-9, 0.3, 1};
    for (size_t p = 0; p < G_N_ELEMENTS(parts); p++) {
        LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);
        LsTrackBuilder *track = ls_process_get_track(process, LS_TRACK_THREAD, "t", "", 1);
        process->part_read = parts[p];
        for (int i = 0; i < N; i++)
            ls_track_builder_add(track, i * 3, i * 3 + 2, 0, LS_NONE);
        int asked = 0;
        LsBuilder *builder = ls_builder_new(by_name, &asked);
        ls_builder_take(builder, process);
        g_autoptr(LsTrace) trace = ls_builder_freeze(builder);
        size_t n;
        const LsSpans *spans = ls_trace_get_tracks(trace, &n)->lanes;
        g_assert_cmpuint(spans->n, ==, N);
        for (int i = 0; i < N; i++)
            g_assert_true(spans->start_ns[i] == i * 3 && spans->end_ns[i] == i * 3 + 2);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/builder/rows-are-sorted-by-rank-and-time",
                    test_rows_are_sorted_by_rank_and_time);
    g_test_add_func("/trace/builder/indices-still-point-at-their-rows",
                    test_indices_still_point_at_their_rows);
    g_test_add_func("/trace/builder/spans-refer-to-rows-of-their-kind",
                    test_spans_refer_to_rows_of_their_kind);
    g_test_add_func("/trace/builder/labels-world-and-bounds", test_labels_world_and_bounds);
    g_test_add_func("/trace/builder/dangling-indices-become-none-and-a-finding",
                    test_dangling_indices_become_none_and_a_finding);
    g_test_add_func("/trace/builder/empty-trace-has-no-extent", test_empty_trace_has_no_extent);
    g_test_add_func("/trace/builder/map-times-moves-all-but-the-unknown",
                    test_map_times_moves_all_but_the_unknown);
    g_test_add_func("/trace/builder/long-tracks-keep-all-spans", test_long_tracks_keep_all_spans);
    return g_test_run();
}
