/* SPDX-License-Identifier: Apache-2.0
 *
 * index/activity.c: what each rank was doing, as sets of time (metrics.md, "Per step and rank").
 *
 * Spans are gathered lane by lane by their class: a lane is sorted, so its set costs one pass, and
 * the lanes' sets are merged two by two, O(n log lanes). Waits and transfers come from the
 * arrivals, the negotiation's from the submissions of all ranks; all else is algebra on those sets.
 */
#include "index/activity.h"

#include "index/arrival.h"

struct LsActivity {
    LsTrace *trace;
    size_t n_ranks, n_buffers;
    LsIntervals (*sets)[LS_N_ACTIVITIES]; /* per rank */
    bool *has_compute;                    /* per rank */
    bool has_submissions;
    LsArrivals arrivals;
};

static const LsActivityKind kind_of_class[LS_N_CLASSES] = {
    [LS_CLASS_NONE] = LS_N_ACTIVITIES,
    [LS_CLASS_COMPUTE] = LS_ACTIVITY_COMPUTE,
    [LS_CLASS_COMMUNICATION] = LS_ACTIVITY_COMMUNICATION,
    [LS_CLASS_COPY] = LS_ACTIVITY_COPIES,
    [LS_CLASS_FUSION] = LS_ACTIVITY_FUSION,
    [LS_CLASS_IO] = LS_ACTIVITY_IO,
    [LS_CLASS_NEGOTIATION] = LS_N_ACTIVITIES,
    [LS_CLASS_CONTROL] = LS_N_ACTIVITIES,
};

/* -- Spans by class -- */

/* Adds the lane's spans of one class to `parts` as one set; `items` is scratch. */
static void
gather_lane(const LsSpans *lane, LsClass klass, GArray *items, GArray *parts)
{
    g_array_set_size(items, 0);
    for (size_t i = 0; i < lane->n; i++) {
        if (lane->klass[i] != klass)
            continue;
        LsInterval span = {lane->start_ns[i], lane->end_ns[i]};

        g_array_append_val(items, span);
    }
    if (items->len == 0)
        return;
    LsIntervals set = ls_intervals_union_of((const LsInterval *)(void *)items->data, items->len);

    g_array_append_val(parts, set);
}

/* Merges the sets two by two until one is left, and empties `parts`. */
static LsIntervals
merge_parts(GArray *parts)
{
    LsIntervals *sets = (LsIntervals *)(void *)parts->data;
    LsIntervals merged = {NULL, 0};

    for (size_t n = parts->len; n > 1; n = (n + 1) / 2) {
        for (size_t i = 0; i < n / 2; i++) {
            LsIntervals both = ls_intervals_union(&sets[2 * i], &sets[2 * i + 1]);

            ls_intervals_clear(&sets[2 * i]);
            ls_intervals_clear(&sets[2 * i + 1]);
            sets[i] = both;
        }
        if (n % 2 == 1)
            sets[n / 2] = sets[n - 1];
    }
    if (parts->len > 0)
        merged = sets[0];
    g_array_set_size(parts, 0);
    return merged;
}

static void
gather_rank(LsActivity *activity, uint32_t rank, const LsTrack *tracks, size_t n_tracks)
{
    g_autoptr(GArray) items = g_array_new(false, false, sizeof(LsInterval));
    g_autoptr(GArray) parts = g_array_new(false, false, sizeof(LsIntervals));

    for (int klass = 0; klass < LS_N_CLASSES; klass++) {
        LsActivityKind kind = kind_of_class[klass];

        if (kind == LS_N_ACTIVITIES)
            continue;
        for (size_t t = 0; t < n_tracks; t++)
            for (uint32_t l = 0; l < tracks[t].n_lanes; l++)
                gather_lane(&tracks[t].lanes[l], (LsClass)klass, items, parts);
        if (kind == LS_ACTIVITY_COMPUTE)
            activity->has_compute[rank] = parts->len > 0;
        activity->sets[rank][kind] = merge_parts(parts);
    }
}

static void
gather_spans(LsActivity *activity)
{
    size_t n_tracks, first = 0;
    const LsTrack *tracks = ls_trace_get_tracks(activity->trace, &n_tracks);

    while (first < n_tracks) {
        size_t next = first + 1;

        while (next < n_tracks && tracks[next].rank == tracks[first].rank)
            next++;
        gather_rank(activity, tracks[first].rank, &tracks[first], next - first);
        first = next;
    }
}

/* -- Waits and transfers -- */

static void
add_arrivals(const LsActivity *activity, size_t buffer, GArray **waits, GArray **transfers)
{
    const LsArrivals *arrivals = &activity->arrivals;
    size_t n;
    const LsArrival *items = ls_activity_get_arrivals(activity, (uint32_t)buffer, &n);

    for (size_t i = 0; i < n; i++) {
        int64_t moving_ns = MAX(items[i].start_ns, arrivals->last_ns[buffer]);

        if (items[i].wait_ns != LS_TIME_NONE) {
            LsInterval wait = {items[i].arrival_ns, items[i].arrival_ns + items[i].wait_ns};

            g_array_append_val(waits[items[i].rank], wait);
        }
        if (!arrivals->aligned[buffer]) {
            if (items[i].open)
                continue;
            moving_ns = items[i].end_ns - arrivals->transfer_ns[buffer];
        }
        LsInterval transfer = {moving_ns, items[i].end_ns};

        g_array_append_val(transfers[items[i].rank], transfer);
    }
}

static GArray **
new_arrays(size_t n)
{
    GArray **arrays = g_new(GArray *, n);

    for (size_t i = 0; i < n; i++)
        arrays[i] = g_array_new(false, false, sizeof(LsInterval));
    return arrays;
}

/* Makes a set of each array and frees the arrays. */
static LsIntervals *
take_sets(GArray **arrays, size_t n)
{
    LsIntervals *sets = g_new(LsIntervals, n);

    for (size_t i = 0; i < n; i++) {
        sets[i] =
            ls_intervals_union_of((const LsInterval *)(void *)arrays[i]->data, arrays[i]->len);
        g_array_unref(arrays[i]);
    }
    g_free(arrays);
    return sets;
}

/* WAIT of every rank, and in EXPOSED_TRANSFER for now all transfer, exposed or not. */
static void
gather_waits(LsActivity *activity)
{
    GArray **waits = new_arrays(activity->n_ranks), **transfers = new_arrays(activity->n_ranks);
    g_autofree LsIntervals *wait_sets = NULL, *transfer_sets = NULL;

    for (size_t b = 0; b < activity->n_buffers; b++)
        add_arrivals(activity, b, waits, transfers);
    wait_sets = take_sets(waits, activity->n_ranks);
    transfer_sets = take_sets(transfers, activity->n_ranks);
    for (size_t r = 0; r < activity->n_ranks; r++) {
        activity->sets[r][LS_ACTIVITY_WAIT] = wait_sets[r];
        activity->sets[r][LS_ACTIVITY_EXPOSED_TRANSFER] = transfer_sets[r];
    }
}

/* -- Negotiation -- */

/* The first row of the same rank of the same run: lives of one rank are one rank to the others. */
static size_t
find_first_life(const LsRank *ranks, size_t rank)
{
    size_t first = rank;

    for (size_t r = rank; r > 0 && ranks[r].rank >= 0 && ranks[r - 1].rank == ranks[r].rank; r--)
        if (ranks[r - 1].run == ranks[rank].run)
            first = r - 1;
    return first;
}

static GArray **
collect_pending(const LsTrace *trace, const LsRank *ranks, size_t n_ranks)
{
    GArray **pending = new_arrays(n_ranks);
    size_t n_uses;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);

    for (size_t i = 0; i < n_uses; i++) {
        const LsUse *use = &uses[i];
        LsInterval open = {use->submit_ns, use->agreed_ns};

        if (use->submit_ns == LS_TIME_NONE)
            continue;
        if (use->agreed_ns == LS_TIME_NONE)
            open.end_ns = use->done_ns != LS_TIME_NONE ? use->done_ns : ranks[use->rank].last_ns;
        g_array_append_val(pending[find_first_life(ranks, use->rank)], open);
    }
    return pending;
}

static size_t
count_runs(const LsRank *ranks, size_t n)
{
    uint32_t runs = 0;

    for (size_t r = 0; r < n; r++)
        runs = MAX(runs, ranks[r].run + 1);
    return runs;
}

/* When every rank had submitted at least one tensor that was not agreed yet; by run. */
static LsIntervals *
find_negotiation(LsActivity *activity, const LsRank *ranks)
{
    size_t n = activity->n_ranks, n_runs = count_runs(ranks, n);
    g_autofree LsIntervals *pending = take_sets(collect_pending(activity->trace, ranks, n), n);
    g_autofree bool *begun = g_new0(bool, n_runs);
    LsIntervals *all = g_new0(LsIntervals, n_runs);

    activity->has_submissions = n > 0;
    for (size_t r = 0; r < n; r++) {
        LsIntervals *run = &all[ranks[r].run];

        if (ranks[r].clock_method == LS_CLOCK_NONE && n > 1)
            activity->has_submissions = false;
        if (find_first_life(ranks, r) == r) {
            if (pending[r].n == 0)
                activity->has_submissions = false;
            LsIntervals both = begun[ranks[r].run] ? ls_intervals_intersect(run, &pending[r])
                                                   : ls_intervals_union(&pending[r], &pending[r]);

            ls_intervals_clear(run);
            *run = both;
            begun[ranks[r].run] = true;
        }
        ls_intervals_clear(&pending[r]);
    }
    for (size_t i = 0; i < n_runs && !activity->has_submissions; i++)
        ls_intervals_clear(&all[i]);
    if (ls_trace_count_missing(activity->trace) > 0)
        activity->has_submissions = false; /* the set stays: the step waits then, for whatever */
    return all;
}

static LsIntervals *
find_running(const LsTrace *trace, size_t n_ranks)
{
    GArray **running = new_arrays(n_ranks);
    size_t n_calls;
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);

    for (size_t i = 0; i < n_calls; i++) {
        LsInterval call = {calls[i].start_ns, calls[i].end_ns};

        g_array_append_val(running[calls[i].rank], call);
    }
    return take_sets(running, n_ranks);
}

/* -- Algebra -- */

static void
replace(LsIntervals *set, LsIntervals with)
{
    ls_intervals_clear(set);
    *set = with;
}

static void
derive_rank(LsIntervals sets[LS_N_ACTIVITIES], bool has_compute, const LsIntervals *negotiation,
            const LsIntervals *running)
{
    const LsIntervals *compute = &sets[LS_ACTIVITY_COMPUTE];
    const LsIntervals *communication = &sets[LS_ACTIVITY_COMMUNICATION];
    LsIntervals *transfer = &sets[LS_ACTIVITY_EXPOSED_TRANSFER];
    LsIntervals *exposure = &sets[LS_ACTIVITY_NEGOTIATION_EXPOSURE];

    if (!has_compute) {
        ls_intervals_clear(transfer);
        return;
    }
    sets[LS_ACTIVITY_HIDDEN] = ls_intervals_intersect(communication, compute);
    sets[LS_ACTIVITY_EXPOSED] = ls_intervals_subtract(communication, compute);
    sets[LS_ACTIVITY_EXPOSED_WAIT] = ls_intervals_subtract(&sets[LS_ACTIVITY_WAIT], compute);
    replace(transfer, ls_intervals_subtract(transfer, compute));
    *exposure = ls_intervals_subtract(negotiation, compute);
    replace(exposure, ls_intervals_subtract(exposure, communication));
    replace(exposure, ls_intervals_subtract(exposure, running));
    sets[LS_ACTIVITY_WAITED_FOR] =
        ls_intervals_union(&sets[LS_ACTIVITY_EXPOSED], &sets[LS_ACTIVITY_EXPOSED_WAIT]);
    replace(&sets[LS_ACTIVITY_WAITED_FOR],
            ls_intervals_union(&sets[LS_ACTIVITY_WAITED_FOR], exposure));
}

LsActivity *
ls_activity_new(const LsTrace *trace)
{
    LsActivity *activity = g_new0(LsActivity, 1);
    const LsRank *ranks = ls_trace_get_ranks(trace, &activity->n_ranks);
    g_autofree LsIntervals *negotiation = NULL, *running = find_running(trace, activity->n_ranks);

    /* The count of references is the only thing of a frozen trace that changes. */
    activity->trace = ls_trace_ref((LsTrace *)(uintptr_t)trace);
    ls_trace_get_buffers(trace, &activity->n_buffers);
    activity->sets = g_malloc0_n(activity->n_ranks, sizeof *activity->sets);
    activity->has_compute = g_new0(bool, activity->n_ranks);
    activity->arrivals = ls_arrivals_new(trace);
    gather_spans(activity);
    gather_waits(activity);
    negotiation = find_negotiation(activity, ranks);
    for (size_t r = 0; r < activity->n_ranks; r++) {
        derive_rank(activity->sets[r], activity->has_compute[r], &negotiation[ranks[r].run],
                    &running[r]);
        ls_intervals_clear(&running[r]);
    }
    for (size_t i = 0; i < count_runs(ranks, activity->n_ranks); i++)
        ls_intervals_clear(&negotiation[i]);
    return activity;
}

void
ls_activity_free(LsActivity *activity)
{
    if (activity == NULL)
        return;
    for (size_t r = 0; r < activity->n_ranks; r++)
        for (int kind = 0; kind < LS_N_ACTIVITIES; kind++)
            ls_intervals_clear(&activity->sets[r][kind]);
    ls_arrivals_clear(&activity->arrivals);
    g_free(activity->sets);
    g_free(activity->has_compute);
    ls_trace_unref(activity->trace);
    g_free(activity);
}

bool
ls_activity_has_compute(const LsActivity *activity, uint32_t rank)
{
    g_assert(rank < activity->n_ranks);
    return activity->has_compute[rank];
}

bool
ls_activity_has_submissions(const LsActivity *activity)
{
    return activity->has_submissions;
}

const LsIntervals *
ls_activity_get(const LsActivity *activity, uint32_t rank, LsActivityKind kind)
{
    g_assert(rank < activity->n_ranks && kind < LS_N_ACTIVITIES);
    return &activity->sets[rank][kind];
}

const LsArrival *
ls_activity_get_arrivals(const LsActivity *activity, uint32_t buffer, size_t *ret_n)
{
    size_t n_buffers;
    const LsBuffer *buffers = ls_trace_get_buffers(activity->trace, &n_buffers);

    g_assert(buffer < n_buffers);
    *ret_n = buffers[buffer].n_calls;
    return &activity->arrivals.items[buffers[buffer].first_call_ref];
}

bool
ls_activity_is_aligned(const LsActivity *activity, uint32_t buffer)
{
    g_assert(buffer < activity->n_buffers);
    return activity->arrivals.aligned[buffer];
}

bool
ls_activity_is_alike(const LsActivity *activity, uint32_t buffer)
{
    g_assert(buffer < activity->n_buffers);
    return activity->arrivals.alike[buffer];
}

int
ls_activity_get_last(const LsActivity *activity, uint32_t buffer)
{
    g_assert(buffer < activity->n_buffers);
    return activity->arrivals.last[buffer];
}
