/* SPDX-License-Identifier: Apache-2.0
 *
 * report/evidence.c: gathers what the headline says from the same code that fills the tables, so
 * that the two cannot differ.
 *
 * Somebody is named as the one the others wait for only if it was last half as often again as
 * chance would have it and costs at least one part in a hundred of the step; a host only if it
 * costs a quarter more than any of its ranks alone.
 */
#include "report/evidence.h"

#include "analysis/collective.h"
#include "analysis/negotiation.h"
#include "base/stats.h"

#define OVER_CHANCE      1.5
#define MOST_STEPS       0.5
#define NEARLY_ALL_STEPS 0.9 /* of two ranks or hosts: chance is half already */
#define OVER_RANK        1.25
#define COST_SHARE       100 /* a part of the step: 1 / 100 */

/* -- Steps -- */

static void
gather_steps(LsEvidence *evidence)
{
    size_t n_steps;
    const LsStep *steps = ls_trace_get_steps(evidence->input->trace, &n_steps);
    int64_t sum_ns = 0, n = 0;

    for (size_t i = 0; i < n_steps; i++)
        if (ls_scope_is_steady(evidence->scope, &steps[i])) {
            sum_ns += steps[i].end_ns - steps[i].start_ns;
            n++;
        }
    evidence->step_ns = ls_stats_mean(sum_ns, n);
    evidence->ledger = ls_ledger_make(evidence->input, evidence->scope);
}

static void
gather_recording(LsEvidence *evidence)
{
    const LsActivity *activity = evidence->input->activity;
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(evidence->input->trace, &n_ranks);

    for (uint32_t r = 0; r < n_ranks; r++) {
        if (!ls_scope_has_rank(evidence->scope, r))
            continue;
        evidence->any_communication_ns +=
            ls_intervals_length(ls_activity_get(activity, r, LS_ACTIVITY_COMMUNICATION));
        if (!ls_activity_has_compute(activity, r))
            continue;
        evidence->compute_ranks++;
        evidence->window_ns += ranks[r].last_ns - ranks[r].first_ns;
        evidence->communication_ns +=
            ls_intervals_length(ls_activity_get(activity, r, LS_ACTIVITY_COMMUNICATION));
        evidence->hidden_ns +=
            ls_intervals_length(ls_activity_get(activity, r, LS_ACTIVITY_HIDDEN));
        evidence->exposed_ns +=
            ls_intervals_length(ls_activity_get(activity, r, LS_ACTIVITY_EXPOSED));
    }
    evidence->window_ns = ls_stats_mean(evidence->window_ns, evidence->compute_ranks);
    evidence->communication_ns = ls_stats_mean(evidence->communication_ns, evidence->compute_ranks);
    evidence->hidden_ns = ls_stats_mean(evidence->hidden_ns, evidence->compute_ranks);
    evidence->exposed_ns = ls_stats_mean(evidence->exposed_ns, evidence->compute_ranks);
}

/* -- Whom the others wait for -- */

const LsTimesLast *
ls_evidence_get_times(const LsStraggler *straggler)
{
    return straggler->in_steps.buffers > 0 ? &straggler->in_steps : &straggler->times;
}

/* What it costs a step; where exposure is not known, how long the longest wait for it is. */
static int64_t
get_cost(const LsStraggler *straggler)
{
    const LsTimesLast *times = ls_evidence_get_times(straggler);

    if (straggler->cost_ns_per_step != LS_TIME_NONE)
        return straggler->cost_ns_per_step;
    return straggler->steps_judged > 0
               ? straggler->delay_ns * straggler->steps_last / straggler->steps_judged
               : ls_stats_mean(straggler->delay_ns * times->last, times->buffers);
}

static size_t
count_members(const LsEvidence *evidence, const LsStraggler *straggler)
{
    size_t n_ranks, members = 0;
    const LsRank *ranks = ls_trace_get_ranks(evidence->input->trace, &n_ranks);

    for (size_t r = 0; r < n_ranks && straggler->is_host; r++)
        members += g_strcmp0(ranks[r].host, ranks[straggler->rank].host) == 0;
    return straggler->is_host ? members : 1;
}

static bool
is_beyond_chance(const LsStraggler *straggler)
{
    const LsTimesLast *times = ls_evidence_get_times(straggler);
    double chance = times->by_chance / (double)MAX(times->buffers, 1);
    double least = MAX(MOST_STEPS, MIN(OVER_CHANCE * chance, NEARLY_ALL_STEPS));

    if ((double)times->last <= OVER_CHANCE * times->by_chance)
        return false;
    return straggler->steps_judged == 0 || straggler->share_since >= least;
}

static void
find_worst(LsEvidence *evidence)
{
    int64_t best_ns = evidence->step_ns / COST_SHARE;

    if (evidence->stragglers->len > 0)
        evidence->steps_judged = g_array_index(evidence->stragglers, LsStraggler, 0).steps_judged;
    for (size_t i = 0; i < evidence->stragglers->len; i++) {
        const LsStraggler *row = &g_array_index(evidence->stragglers, LsStraggler, i);
        int64_t cost_ns = get_cost(row);
        bool better = row->is_host && evidence->worst != NULL
                          ? (double)cost_ns > OVER_RANK * (double)best_ns
                          : cost_ns > best_ns;

        if (!row->is_host && ls_evidence_get_times(row)->last > 0 &&
            (evidence->most == NULL ||
             ls_evidence_get_times(row)->last > ls_evidence_get_times(evidence->most)->last))
            evidence->most = row;
        if (!better || !is_beyond_chance(row))
            continue;
        if (row->is_host && count_members(evidence, row) < 2)
            continue;
        evidence->worst = row;
        evidence->worst_ranks = count_members(evidence, row);
        best_ns = cost_ns;
    }
}

/* Mean per steady step, since it is late, of a set's time, for the members of `worst` and for the
 * others, shown or not. False: there are no others. */
static bool
compare_kind(const LsEvidence *evidence, LsActivityKind kind, int64_t *ret_own_ns,
             int64_t *ret_others_ns)
{
    size_t n_steps, n_ranks;
    const LsStep *steps = ls_trace_get_steps(evidence->input->trace, &n_steps);
    const LsRank *ranks = ls_trace_get_ranks(evidence->input->trace, &n_ranks);
    const LsRank *worst = &ranks[evidence->worst->rank];
    int64_t sum_ns[2] = {0, 0}, n[2] = {0, 0};

    for (size_t i = 0; i < n_steps; i++) {
        const LsRank *rank = &ranks[steps[i].rank];
        bool own = evidence->worst->is_host ? g_strcmp0(rank->host, worst->host) == 0
                                            : rank->rank == worst->rank;

        if (!ls_scope_is_steady_column(evidence->scope, steps[i].column) ||
            steps[i].column < evidence->worst->since)
            continue;
        n[own]++;
        sum_ns[own] += ls_intervals_length_within(
            ls_activity_get(evidence->input->activity, steps[i].rank, kind), steps[i].start_ns,
            steps[i].end_ns);
    }
    *ret_own_ns = ls_stats_mean(sum_ns[true], n[true]);
    *ret_others_ns = ls_stats_mean(sum_ns[false], n[false]);
    return n[false] > 0;
}

static void
find_cause(LsEvidence *evidence)
{
    static const struct {
        const char *what;
        LsActivityKind kind;
    } kinds[] = {{"input", LS_ACTIVITY_IO}, {"compute", LS_ACTIVITY_COMPUTE}};

    for (size_t i = 0; evidence->worst != NULL && i < G_N_ELEMENTS(kinds); i++) {
        LsCause cause = {kinds[i].what, 0, 0};

        if (compare_kind(evidence, kinds[i].kind, &cause.own_ns, &cause.others_ns) &&
            2 * (cause.own_ns - cause.others_ns) > evidence->worst->delay_ns &&
            cause.own_ns - cause.others_ns > evidence->cause.own_ns - evidence->cause.others_ns)
            evidence->cause = cause;
    }
}

/* -- Tensors -- */

static void
gather_negotiation(LsEvidence *evidence)
{
    g_autoptr(LsNegotiations) negotiations = ls_negotiations_new(evidence->input);
    size_t n, n_uses, n_ranks;
    const LsOccurrence *occurrences = ls_negotiations_get(negotiations, &n);
    const LsUse *uses = ls_trace_get_uses(evidence->input->trace, &n_uses);
    g_autofree int64_t *late = NULL;

    ls_trace_get_ranks(evidence->input->trace, &n_ranks);
    late = g_new0(int64_t, n_ranks);
    evidence->occurrences = (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        for (size_t u = 0; u < occurrences[i].n; u++) {
            const LsUse *use = &uses[occurrences[i].uses[u]];
            LsNegotiation parts;

            if (!ls_scope_has(evidence->scope, use->rank, use->submit_ns) ||
                !ls_negotiations_split(negotiations, &occurrences[i], use, &parts))
                continue;
            evidence->negotiated++;
            evidence->behind_ns += parts.behind_ns;
            evidence->sleep_ns += parts.sleep_ns;
            evidence->protocol_ns += parts.protocol_ns;
            evidence->whole_ns += use->agreed_ns - use->submit_ns;
        }
        if (!occurrences[i].complete || occurrences[i].n < 2)
            continue;
        evidence->ordered++;
        evidence->spread_ns += occurrences[i].last_submit_ns - occurrences[i].first_submit_ns;
        evidence->decided += occurrences[i].last >= 0;
        if (occurrences[i].last >= 0)
            late[uses[occurrences[i].uses[occurrences[i].last]].rank]++;
    }
    evidence->late_rank = LS_NONE;
    for (uint32_t r = 0; r < n_ranks; r++)
        if (late[r] > evidence->most_late) {
            evidence->most_late = late[r];
            evidence->late_rank = r;
        }
    n = (size_t)evidence->negotiated;
    evidence->behind_ns = ls_stats_mean(evidence->behind_ns, (int64_t)n);
    evidence->sleep_ns = ls_stats_mean(evidence->sleep_ns, (int64_t)n);
    evidence->protocol_ns = ls_stats_mean(evidence->protocol_ns, (int64_t)n);
    evidence->whole_ns = ls_stats_mean(evidence->whole_ns, (int64_t)n);
    evidence->negotiation_ns = evidence->behind_ns + evidence->sleep_ns + evidence->protocol_ns;
    evidence->spread_ns = ls_stats_mean(evidence->spread_ns, evidence->ordered);
}

/* -- Buffers -- */

static int
compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of the buffers of steps, or of those outside. */
typedef struct BufferSums {
    int64_t buffers, judged, wait_ns, transfers, transfer_ns, sized, bytes;
    GArray *rates; /* double */
} BufferSums;

static void
add_buffer(BufferSums *sums, const LsCollective *collective, int64_t bytes)
{
    sums->buffers++;
    sums->sized += bytes >= 0;
    sums->bytes += MAX(bytes, 0);
    if (collective->transfer_ns != LS_TIME_NONE) {
        sums->transfers++;
        sums->transfer_ns += collective->transfer_ns;
    }
    if (collective->bus_bytes_per_s >= 0)
        g_array_append_val(sums->rates, collective->bus_bytes_per_s);
    if (collective->verdict == LS_VERDICT_INCOMPLETE || collective->wait_max_ns == LS_TIME_NONE)
        return;
    sums->judged++;
    sums->wait_ns += collective->wait_max_aligned_ns != LS_TIME_NONE
                         ? collective->wait_max_aligned_ns
                         : collective->wait_max_ns;
}

static void
take_sums(LsEvidence *evidence, const BufferSums *sums)
{
    evidence->buffers = sums->buffers;
    evidence->judged = sums->judged;
    evidence->wait_ns = ls_stats_mean(sums->wait_ns, sums->judged);
    evidence->transfer_ns =
        sums->transfers > 0 ? ls_stats_mean(sums->transfer_ns, sums->transfers) : LS_TIME_NONE;
    evidence->bytes = sums->sized > 0 ? ls_stats_mean(sums->bytes, sums->sized) : -1;
    evidence->bus_bytes_per_s = -1;
    if (sums->rates->len > 0) {
        g_array_sort(sums->rates, compare_real);
        evidence->bus_bytes_per_s = g_array_index(sums->rates, double, (sums->rates->len - 1) / 2);
    }
}

static void
gather_buffers(LsEvidence *evidence)
{
    const LsAnalysisInput *input = evidence->input;
    g_autoptr(GArray) inside = g_array_new(false, false, sizeof(double));
    g_autoptr(GArray) outside = g_array_new(false, false, sizeof(double));
    BufferSums sums[] = {{.rates = outside}, {.rates = inside}};
    size_t n_buffers, n, n_steps, whole = ls_scope_get_whole(evidence->scope);
    const LsCall *calls = ls_trace_get_calls(input->trace, &n);
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    int64_t stepping = 0;

    ls_trace_get_buffers(input->trace, &n_buffers);
    for (uint32_t b = 0; b < n_buffers; b++) {
        LsCollective collective = ls_collective_measure(input, evidence->scope, b);
        const LsArrival *items = ls_activity_get_arrivals(input->activity, b, &n);

        if (n == 0 || !ls_collective_is_shown(input, evidence->scope, b, &collective))
            continue;
        add_buffer(&sums[collective.step != LS_NONE], &collective, calls[items[0].call].bytes);
        stepping += collective.step != LS_NONE && !steps[collective.step].cut;
    }
    take_sums(evidence, &sums[sums[true].buffers > 0]);
    evidence->buffers_outside = sums[true].buffers > 0 ? sums[false].buffers : 0;
    if (whole > 0)
        evidence->buffers_per_step = (double)stepping / (double)whole;
}

LsEvidence *
ls_evidence_new(const LsAnalysisInput *input)
{
    LsEvidence *evidence = g_new0(LsEvidence, 1);

    evidence->input = input;
    evidence->scope = ls_scope_new(input);
    evidence->has_events = ls_trace_get_last_ns(input->trace) > ls_trace_get_first_ns(input->trace);
    evidence->world_known = ls_collective_knows_world(input->trace);
    evidence->alone = evidence->world_known && ls_trace_get_world(input->trace) == 1;
    gather_steps(evidence);
    gather_recording(evidence);
    evidence->stragglers = ls_stragglers_find(input, evidence->scope);
    find_worst(evidence);
    find_cause(evidence);
    gather_negotiation(evidence);
    gather_buffers(evidence);
    return evidence;
}

void
ls_evidence_free(LsEvidence *evidence)
{
    if (evidence == NULL)
        return;
    g_array_unref(evidence->stragglers);
    ls_scope_free(evidence->scope);
    g_free(evidence);
}
