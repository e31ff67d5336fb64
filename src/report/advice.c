/* SPDX-License-Identifier: Apache-2.0
 *
 * report/advice.c: the table of advice: symptom, threshold, evidence, action, gain at most.
 *
 * A row looks at the evidence and answers with the most that its action could win in a step; it
 * speaks only if that is at least its threshold's share of the step. The gain is an upper bound:
 * what the ledger books on the cause, never a prediction. A new piece of advice is one function and
 * one row.
 */
#include "report/advice.h"

#include "base/units.h"

typedef struct Row {
    const char *symptom;
    double threshold; /* share of the step that the gain must reach */
    int64_t (*judge)(const LsEvidence *evidence, GString *action, GString *why); /* gain */
} Row;

/* "rank 2" or "host gpu02" */
static void
append_worst(const LsEvidence *evidence, GString *text)
{
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(evidence->input->trace, &n_ranks);
    uint32_t rank = evidence->worst->rank;

    if (evidence->worst->is_host)
        g_string_append_printf(text, "host %s", ranks[rank].host);
    else
        g_string_append(text, ls_trace_get_rank_name(evidence->input->trace, rank));
}

static int64_t
get_worst_cost(const LsEvidence *evidence)
{
    if (evidence->worst == NULL || evidence->worst->cost_ns_per_step == LS_TIME_NONE)
        return 0;
    return evidence->worst->cost_ns_per_step;
}

static int64_t
judge_late(const LsEvidence *evidence, const char *what, GString *action, GString *why)
{
    if (get_worst_cost(evidence) == 0 || g_strcmp0(evidence->cause.what, what) != 0)
        return 0;
    if (what == NULL) {
        g_string_append(action, "look at what ");
        append_worst(evidence, action);
        g_string_append(action, " does before its first submission");
        g_string_append(why, "neither its input nor its compute explains the delay");
        return get_worst_cost(evidence);
    }
    g_autofree char *own = ls_format_ns(evidence->cause.own_ns);
    g_autofree char *others = ls_format_ns(evidence->cause.others_ns);

    g_string_append_printf(action, "faster %s on ", what);
    append_worst(evidence, action);
    g_string_append_printf(why, "%s against %s elsewhere", own, others);
    return get_worst_cost(evidence);
}

static int64_t
judge_late_input(const LsEvidence *evidence, GString *action, GString *why)
{
    return judge_late(evidence, "input", action, why);
}

static int64_t
judge_late_compute(const LsEvidence *evidence, GString *action, GString *why)
{
    return judge_late(evidence, "compute", action, why);
}

static int64_t
judge_late_otherwise(const LsEvidence *evidence, GString *action, GString *why)
{
    return judge_late(evidence, NULL, action, why);
}

static int64_t
judge_input(const LsEvidence *evidence, GString *action, GString *why)
{
    int64_t io_ns = evidence->ledger.mean_ns[LS_LEDGER_IO];
    g_autofree char *text = ls_format_ns(io_ns);

    if (g_strcmp0(evidence->cause.what, "input") == 0)
        return 0; /* the late rank's row says it better */
    g_string_append(action, "read input ahead, while the step computes");
    g_string_append_printf(why, "%s a step of input and checkpoints beside compute", text);
    return io_ns;
}

/* Many small buffers: the start of each costs more than its bytes. */
#define SMALL_BYTES  (1 << 20)
#define MANY_BUFFERS 8

/* What agreeing costs a step; 0 where it cannot be told from waiting for a rank. */
static int64_t
get_agreeing(const LsEvidence *evidence)
{
    return evidence->ledger.wait_known ? evidence->ledger.mean_ns[LS_LEDGER_NEGOTIATION] : 0;
}

static bool
is_fine_grained(const LsEvidence *evidence)
{
    return evidence->bytes >= 0 && evidence->bytes < SMALL_BYTES &&
           evidence->buffers_per_step > MANY_BUFFERS;
}

static int64_t
judge_small_buffers(const LsEvidence *evidence, GString *action, GString *why)
{
    g_autofree char *bytes = ls_format_bytes(evidence->bytes);

    if (!is_fine_grained(evidence))
        return 0;
    g_string_append(action, "fewer, larger buffers: groups, or a higher fusion threshold");
    g_string_append_printf(why, "%.0f buffers a step of %s in the mean", evidence->buffers_per_step,
                           bytes);
    return evidence->ledger.mean_ns[LS_LEDGER_EXPOSED_TRANSFER] + get_agreeing(evidence);
}

static int64_t
judge_transfer(const LsEvidence *evidence, GString *action, GString *why)
{
    int64_t transfer_ns = evidence->ledger.mean_ns[LS_LEDGER_EXPOSED_TRANSFER];
    g_autofree char *text = ls_format_ns(transfer_ns);

    if (is_fine_grained(evidence))
        return 0;
    g_string_append(action, "half the bytes: float16 gradients");
    g_string_append_printf(why, "%s a step of moving bytes that no compute hides", text);
    return transfer_ns / 2;
}

static int64_t
judge_sleep(const LsEvidence *evidence, GString *action, GString *why)
{
    g_autofree char *sleep = ls_format_ns(evidence->sleep_ns);

    if (evidence->negotiation_ns == 0 || 2 * evidence->sleep_ns < evidence->negotiation_ns)
        return 0;
    g_string_append(action, "a shorter cycle time, or cycles that start by event");
    g_string_append_printf(why, "the loop sleeps %s while a tensor is ready on all ranks", sleep);
    return get_agreeing(evidence);
}

static int64_t
judge_protocol(const LsEvidence *evidence, GString *action, GString *why)
{
    g_autofree char *protocol = ls_format_ns(evidence->protocol_ns);

    if (evidence->negotiation_ns == 0 || 2 * evidence->protocol_ns < evidence->negotiation_ns)
        return 0;
    g_string_append(action, "a response cache, or a control with fewer messages");
    g_string_append_printf(why, "agreeing takes %s after the last rank is ready", protocol);
    return get_agreeing(evidence);
}

static int64_t
judge_fusion(const LsEvidence *evidence, GString *action, GString *why)
{
    int64_t fusion_ns = evidence->ledger.mean_ns[LS_LEDGER_FUSION];
    g_autofree char *text = ls_format_ns(fusion_ns);

    g_string_append(action, "large tensors without the fusion buffer");
    g_string_append_printf(why, "%s a step of packing and unpacking", text);
    return fusion_ns;
}

/* The waits change hands: no one rank is to be cured, their balance is. */
static int64_t
judge_uneven(const LsEvidence *evidence, GString *action, GString *why)
{
    int64_t wait_ns = evidence->ledger.mean_ns[LS_LEDGER_EXPOSED_WAIT];
    g_autofree char *text = ls_format_ns(wait_ns);

    if (evidence->worst != NULL || !evidence->ledger.wait_known)
        return 0;
    g_string_append(action, "even work over the ranks");
    g_string_append_printf(why, "%s a step of waiting, now for one rank, now for another", text);
    return wait_ns;
}

static const Row rows[] = {
    {"a rank is late, and its input takes longer", 0.01, judge_late_input},
    {"a rank is late, and its compute takes longer", 0.01, judge_late_compute},
    {"a rank is late for another reason", 0.01, judge_late_otherwise},
    {"ranks are late in turn", 0.03, judge_uneven},
    {"every rank reads input beside compute", 0.05, judge_input},
    {"many small buffers", 0.03, judge_small_buffers},
    {"bytes move while compute is idle", 0.03, judge_transfer},
    {"the loop sleeps while tensors are ready", 0.01, judge_sleep},
    {"agreeing takes long", 0.01, judge_protocol},
    {"packing takes long", 0.03, judge_fusion},
};

static void
clear_advice(void *data)
{
    LsAdvice *advice = data;

    g_free(advice->action);
    g_free(advice->evidence);
}

static int
compare(const void *a, const void *b)
{
    const LsAdvice *x = a, *y = b;

    return (x->gain_ns < y->gain_ns) - (x->gain_ns > y->gain_ns);
}

GArray *
ls_advice_find(const LsEvidence *evidence)
{
    GArray *found = g_array_new(false, false, sizeof(LsAdvice));

    g_array_set_clear_func(found, clear_advice);
    for (size_t i = 0; i < G_N_ELEMENTS(rows) && evidence->ledger.n > 0; i++) {
        g_autoptr(GString) action = g_string_new(NULL), why = g_string_new(NULL);
        int64_t gain_ns = rows[i].judge(evidence, action, why);

        if (gain_ns <= 0 || (double)gain_ns < rows[i].threshold * (double)evidence->ledger.step_ns)
            continue;
        LsAdvice advice = {g_string_free(g_steal_pointer(&action), false),
                           g_string_free(g_steal_pointer(&why), false), gain_ns};

        g_array_append_val(found, advice);
    }
    g_array_sort(found, compare);
    return found;
}
