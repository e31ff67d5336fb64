/* SPDX-License-Identifier: Apache-2.0
 *
 * index/arrival.c: when each rank arrived at each buffer, who was last, and who waited how long.
 *
 * Arrival is the submission of the buffer's last tensor, because after a negotiation all ranks
 * enter the call together and lateness lies before it; where no rank's submission is known it is
 * the start of the call. Where they are known of some ranks alone (records are lost) the others'
 * arrivals are not: who waited for whom is left unknown then, since the start of a call beside
 * submissions would make its rank look like the last. On one clock a wait is a difference of
 * arrivals. Without one, the ends stand in for the clock: all ranks leave a collective together, so
 * the rank with the shortest time from arrival to end came last (metrics.md, "Per collective").
 */
#include "index/arrival.h"

/* Per call: the latest submission of its tensors, LS_TIME_NONE if there is none or one is missing.
 */
static int64_t *
find_submissions(const LsTrace *trace, size_t n_calls)
{
    size_t n_uses;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    int64_t *latest_ns = g_new(int64_t, n_calls);
    g_autofree bool *missing = g_new0(bool, n_calls);

    for (size_t i = 0; i < n_calls; i++)
        latest_ns[i] = LS_TIME_NONE;
    for (size_t i = 0; i < n_uses; i++) {
        if (uses[i].call >= n_calls)
            continue;
        if (uses[i].submit_ns == LS_TIME_NONE)
            missing[uses[i].call] = true;
        else /* LS_TIME_NONE is the smallest number */
            latest_ns[uses[i].call] = MAX(latest_ns[uses[i].call], uses[i].submit_ns);
    }
    for (size_t i = 0; i < n_calls; i++)
        if (missing[i])
            latest_ns[i] = LS_TIME_NONE;
    return latest_ns;
}

static LsArrival
make_arrival(const LsCall *call, uint32_t index, int64_t submitted_ns)
{
    bool submitted = submitted_ns != LS_TIME_NONE;

    return (LsArrival){
        .rank = call->rank,
        .call = index,
        .arrival_ns = submitted ? submitted_ns : call->start_ns,
        .start_ns = call->start_ns,
        .end_ns = call->end_ns,
        .wait_ns = LS_TIME_NONE,
        .from_submission = submitted,
        .open = call->open,
    };
}

/* The latest arrival; -1 if it cannot be told from the second within the uncertainty of both
 * clocks. */
static int
find_last(const LsArrival *items, size_t n, const LsRank *ranks)
{
    size_t last = 0;
    bool tie = false;

    for (size_t i = 1; i < n; i++)
        if (items[i].arrival_ns > items[last].arrival_ns)
            last = i;
    for (size_t i = 0; i < n && !tie; i++) {
        if (i == last) /* a rank alone may have no place on the common clock */
            continue;
        int64_t doubt_ns = ranks[items[i].rank].clock_uncertainty_ns +
                           ranks[items[last].rank].clock_uncertainty_ns;

        tie = items[last].arrival_ns - items[i].arrival_ns <= doubt_ns;
    }
    return n == 0 || tie ? -1 : (int)last;
}

static bool
are_alike(const LsArrival *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i].from_submission != items[0].from_submission)
            return false;
    return true;
}

static void
set_waits(LsArrivals *arrivals, size_t buffer, LsArrival *items, size_t n)
{
    int64_t shortest_ns = INT64_MAX, transfer_ns = INT64_MAX, last_ns = LS_TIME_NONE;

    for (size_t i = 0; i < n; i++) {
        last_ns = MAX(last_ns, items[i].arrival_ns);
        if (items[i].open)
            continue;
        shortest_ns = MIN(shortest_ns, items[i].end_ns - items[i].arrival_ns);
        transfer_ns = MIN(transfer_ns, items[i].end_ns - items[i].start_ns);
    }
    for (size_t i = 0; i < n && arrivals->alike[buffer]; i++) {
        if (arrivals->aligned[buffer])
            items[i].wait_ns = last_ns - items[i].arrival_ns;
        else if (!items[i].open)
            items[i].wait_ns = items[i].end_ns - items[i].arrival_ns - shortest_ns;
    }
    arrivals->last_ns[buffer] = arrivals->alike[buffer] ? last_ns : LS_TIME_NONE;
    arrivals->transfer_ns[buffer] = transfer_ns == INT64_MAX ? LS_TIME_NONE : transfer_ns;
}

LsArrivals
ls_arrivals_new(const LsTrace *trace)
{
    size_t n_calls, n_refs, n_buffers, n_ranks;
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    const uint32_t *refs = ls_trace_get_call_refs(trace, &n_refs);
    const LsBuffer *buffers = ls_trace_get_buffers(trace, &n_buffers);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    g_autofree int64_t *submitted_ns = find_submissions(trace, n_calls);
    LsArrivals arrivals = {
        .items = g_new(LsArrival, n_refs),
        .last = g_new(int, n_buffers),
        .aligned = g_new(bool, n_buffers),
        .alike = g_new(bool, n_buffers),
        .last_ns = g_new(int64_t, n_buffers),
        .transfer_ns = g_new(int64_t, n_buffers),
    };

    for (size_t i = 0; i < n_refs; i++)
        arrivals.items[i] = make_arrival(&calls[refs[i]], refs[i], submitted_ns[refs[i]]);
    for (size_t b = 0; b < n_buffers; b++) {
        LsArrival *items = &arrivals.items[buffers[b].first_call_ref];
        size_t n = buffers[b].n_calls;

        arrivals.aligned[b] = true;
        for (size_t i = 0; i < n; i++)
            if (n > 1 && ranks[items[i].rank].clock_method == LS_CLOCK_NONE)
                arrivals.aligned[b] = false;
        arrivals.alike[b] = are_alike(items, n);
        arrivals.last[b] =
            arrivals.aligned[b] && arrivals.alike[b] ? find_last(items, n, ranks) : -1;
        set_waits(&arrivals, b, items, n);
    }
    return arrivals;
}

void
ls_arrivals_clear(LsArrivals *arrivals)
{
    g_clear_pointer(&arrivals->items, g_free);
    g_clear_pointer(&arrivals->last, g_free);
    g_clear_pointer(&arrivals->aligned, g_free);
    g_clear_pointer(&arrivals->alike, g_free);
    g_clear_pointer(&arrivals->last_ns, g_free);
    g_clear_pointer(&arrivals->transfer_ns, g_free);
}
