/* SPDX-License-Identifier: Apache-2.0
 *
 * What each rank did, against a pair of ranks whose every moment is known, and against a look at
 * each nanosecond of random traces.
 *
 * The pair: compute 100-500 and 900-1000 on rank 0, 300-700 and 900-1000 on rank 1. Tensor a
 * submitted at 400 / 600, agreed at 610, called 620-680 / 620-684; b submitted at 500 / 700, agreed
 * at 720, called 740-840.
 */
#include "index/activity.h"

#include "tests/unit/sample-trace.h"

static int64_t
get_length(const LsActivity *activity, uint32_t rank, LsActivityKind kind)
{
    return ls_intervals_length(ls_activity_get(activity, rank, kind));
}

static void
test_late_pair(void)
{
    static const struct {
        LsActivityKind kind;
        int64_t length_ns[2];
    } truth[] = {
        {LS_ACTIVITY_COMPUTE, {500, 500}},
        {LS_ACTIVITY_COMMUNICATION, {160, 164}},
        {LS_ACTIVITY_HIDDEN, {0, 64}},
        {LS_ACTIVITY_EXPOSED, {160, 100}},
        {LS_ACTIVITY_WAIT, {300, 0}},
        {LS_ACTIVITY_EXPOSED_WAIT, {200, 0}},
        {LS_ACTIVITY_EXPOSED_TRANSFER, {160, 100}},
        {LS_ACTIVITY_NEGOTIATION_EXPOSURE, {30, 20}},
        {LS_ACTIVITY_WAITED_FOR, {320, 120}},
        {LS_ACTIVITY_FUSION, {20, 20}},
        {LS_ACTIVITY_IO, {100, 300}},
        {LS_ACTIVITY_COPIES, {0, 0}},
    };
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);

    g_assert_true(ls_activity_has_submissions(activity));
    for (size_t i = 0; i < G_N_ELEMENTS(truth); i++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            g_test_message("kind %d rank %u", truth[i].kind, rank);
            g_assert_cmpint(get_length(activity, rank, truth[i].kind), ==,
                            truth[i].length_ns[rank]);
        }
}

static void
test_arrivals(void)
{
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    size_t n;
    const LsArrival *arrivals = ls_activity_get_arrivals(activity, 0, &n);

    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpint(ls_activity_get_last(activity, 0), ==, 1);
    g_assert_true(arrivals[0].from_submission);
    g_assert_cmpint(arrivals[0].arrival_ns, ==, 400);
    g_assert_cmpint(arrivals[0].wait_ns, ==, 200);
    g_assert_cmpint(arrivals[1].wait_ns, ==, 0);
}

/* The pair without a common clock: rank 1's runs 5 s ahead. Ends stand in for the clock. */
static LsTrace *
make_apart(bool submitted)
{
    LsProcess *processes[2];

    for (int rank = 0; rank < 2; rank++) {
        int64_t ahead_ns = rank * INT64_C(5000000000);
        uint32_t call;

        processes[rank] = sample_process(rank, 2, "gpu01");
        processes[rank]->rank.clock_method = rank ? LS_CLOCK_NONE : LS_CLOCK_REFERENCE;
        sample_phase(processes[rank], "forward", ahead_ns, ahead_ns + 450, 0);
        call = sample_call(processes[rank], 0, 6000, ahead_ns + 620, ahead_ns + 700);
        if (submitted)
            sample_use(processes[rank], "a", 0, call, ahead_ns + 400 + 200 * rank, ahead_ns + 610);
        call = sample_call(processes[rank], 1, 6000, ahead_ns + 800 + 30 * rank, ahead_ns + 900);
    }
    return sample_freeze(processes, 2, 2);
}

static void
test_without_clock(void)
{
    g_autoptr(LsTrace) trace = make_apart(true);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    size_t n;
    const LsArrival *arrivals = ls_activity_get_arrivals(activity, 0, &n);

    g_assert_false(ls_activity_is_aligned(activity, 0));
    g_assert_false(ls_activity_has_submissions(activity));
    g_assert_cmpint(ls_activity_get_last(activity, 0), ==, -1);
    g_assert_cmpint(arrivals[0].wait_ns, ==, 200); /* D 300 and 100 */
    g_assert_cmpint(arrivals[1].wait_ns, ==, 0);
    /* From the arrival at 400, 50 of the 200 under compute; and the call that started at 800. */
    g_assert_cmpint(get_length(activity, 0, LS_ACTIVITY_EXPOSED_WAIT), ==, 150 + 30);
    /* The last 80 of the first call, the last 70 of the second. */
    g_assert_cmpint(get_length(activity, 0, LS_ACTIVITY_EXPOSED_TRANSFER), ==, 80 + 70);
    g_assert_cmpint(get_length(activity, 0, LS_ACTIVITY_NEGOTIATION_EXPOSURE), ==, 0);
}

static void
test_start_stands_in(void)
{
    g_autoptr(LsTrace) trace = make_apart(false);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    size_t n;
    const LsArrival *arrivals = ls_activity_get_arrivals(activity, 0, &n);

    g_assert_false(arrivals[0].from_submission);
    g_assert_cmpint(arrivals[0].arrival_ns, ==, 620);
    g_assert_cmpint(arrivals[0].wait_ns, ==, 0);
}

/* -- Random traces, nanosecond by nanosecond -- */

static bool
is_in_span(const LsTrace *trace, uint32_t rank, LsClass klass, int64_t t)
{
    size_t n_tracks;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);

    for (size_t k = 0; k < n_tracks; k++)
        for (uint32_t l = 0; l < tracks[k].n_lanes && tracks[k].rank == rank; l++)
            for (size_t i = 0; i < tracks[k].lanes[l].n; i++)
                if (tracks[k].lanes[l].klass[i] == klass && tracks[k].lanes[l].start_ns[i] <= t &&
                    t < tracks[k].lanes[l].end_ns[i])
                    return true;
    return false;
}

/* Straight from the definitions of metrics.md, all ranks being on one clock. */
static bool
is_waiting(const LsTrace *trace, uint32_t rank, int64_t t)
{
    size_t n_uses;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);

    for (size_t i = 0; i < n_uses; i++) {
        if (uses[i].rank != rank || uses[i].submit_ns > t)
            continue;
        for (size_t j = 0; j < n_uses; j++)
            if (uses[j].tensor == uses[i].tensor && uses[j].occurrence == uses[i].occurrence &&
                uses[j].submit_ns > t)
                return true;
    }
    return false;
}

static bool
is_negotiating(const LsTrace *trace, int64_t t)
{
    size_t n_uses, n_ranks, found = 0;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);

    ls_trace_get_ranks(trace, &n_ranks);
    for (uint32_t r = 0; r < n_ranks; r++)
        for (size_t i = 0; i < n_uses; i++)
            if (uses[i].rank == r && uses[i].submit_ns <= t && t < uses[i].agreed_ns) {
                found++;
                break;
            }
    return found == n_ranks;
}

static bool
has(const LsActivity *activity, uint32_t rank, LsActivityKind kind, int64_t t)
{
    return ls_intervals_length_within(ls_activity_get(activity, rank, kind), t, t + 1) == 1;
}

static void
check_moment(const LsTrace *trace, const LsActivity *activity, uint32_t rank, int64_t t)
{
    bool compute = is_in_span(trace, rank, LS_CLASS_COMPUTE, t);
    bool communication = is_in_span(trace, rank, LS_CLASS_COMMUNICATION, t);
    bool waiting = is_waiting(trace, rank, t);
    bool exposure = !compute && !communication && is_negotiating(trace, t);

    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_COMPUTE, t), ==, compute);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_COMMUNICATION, t), ==, communication);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_HIDDEN, t), ==, compute && communication);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_EXPOSED, t), ==, !compute && communication);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_WAIT, t), ==, waiting);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_EXPOSED_WAIT, t), ==, waiting && !compute);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_NEGOTIATION_EXPOSURE, t), ==, exposure);
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_WAITED_FOR, t), ==,
                    !compute && (communication || waiting || exposure));
    g_assert_cmpint(has(activity, rank, LS_ACTIVITY_FUSION, t), ==,
                    is_in_span(trace, rank, LS_CLASS_FUSION, t));
}

static void
test_random(void)
{
    for (uint32_t seed = 1; seed <= 6; seed++) {
        g_autoptr(LsTrace) trace = sample_random(seed);
        g_autoptr(LsActivity) activity = ls_activity_new(trace);
        size_t n_ranks;

        ls_trace_get_ranks(trace, &n_ranks);
        for (uint32_t rank = 0; rank < n_ranks; rank++)
            for (int64_t t = 0; t < ls_trace_get_last_ns(trace); t += 3)
                check_moment(trace, activity, rank, t);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/activity/every-set-of-a-late-pair", test_late_pair);
    g_test_add_func("/index/activity/arrival-is-submission", test_arrivals);
    g_test_add_func("/index/activity/ends-stand-in-for-a-clock", test_without_clock);
    g_test_add_func("/index/activity/start-stands-in-for-submission", test_start_stands_in);
    g_test_add_func("/index/activity/random-traces-moment-by-moment", test_random);
    return g_test_run();
}
