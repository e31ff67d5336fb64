/* SPDX-License-Identifier: Apache-2.0
 *
 * report/headline-step.c: the headline's first sentence: what the step waits for; without steps
 * what is exposed; without compute what a buffer takes; without buffers what the spans are.
 */
#include "report/headline-private.h"

#include "base/units.h"

void
ls_headline_append_ns(GString *text, const char *before, int64_t ns, const char *after)
{
    g_autofree char *time = ls_format_ns(ns);

    g_string_append_printf(text, "%s%s%s", before, time, after);
}

#define NAMES_SHOWN 3

static double
get_percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

bool
ls_headline_has_steps(const LsEvidence *evidence)
{
    return ls_trace_count_steps(evidence->input->trace) > 0;
}

/* What of some steps is not known is not known of their waiting: the rest speaks for itself. */
static void
append_whose(GString *text, const LsEvidence *evidence)
{
    const LsLedger *ledger = &evidence->ledger;
    size_t steady = ls_scope_get_steady(evidence->scope);

    if (!ledger->wait_known || ledger->unjudged == 0) {
        g_string_append(text, "The step waits ");
        return;
    }
    g_string_append_printf(text, "In the %zu of %zu steps that can be judged (",
                           steady - ledger->unjudged, steady);
    ls_headline_append_ns(text, "", ledger->step_ns, " each) the step waits ");
}

void
ls_headline_append_waited_for(GString *text, const LsEvidence *evidence)
{
    const LsLedger *ledger = &evidence->ledger;
    int64_t wait_ns = ledger->mean_ns[LS_LEDGER_EXPOSED_WAIT];
    int64_t transfer_ns = ledger->mean_ns[LS_LEDGER_EXPOSED_TRANSFER];
    int64_t negotiation_ns = ledger->mean_ns[LS_LEDGER_NEGOTIATION];

    if (ledger->communication_ns == 0 && evidence->buffers == 0) {
        ls_headline_append_ns(
            text, "No communication was recorded: what the step waits for is not known. Of it ",
            ledger->mean_ns[LS_LEDGER_REST], "");
        g_string_append_printf(text,
                               " (%.0f %%) are neither compute nor input nor copies; a wait can "
                               "only lie there.",
                               get_percent(ledger->mean_ns[LS_LEDGER_REST], ledger->step_ns));
        return;
    }
    append_whose(text, evidence);
    if (ledger->waited_for_ns == 0) {
        g_string_append(text, "for no communication: compute hides all of it.");
        return;
    }
    ls_headline_append_ns(text, ledger->wait_known ? "" : "at least ", ledger->waited_for_ns, "");
    g_string_append_printf(text, " (%.0f %%) for communication: ",
                           get_percent(ledger->waited_for_ns, ledger->step_ns));
    if (ledger->wait_known && !evidence->alone)
        ls_headline_append_ns(text, "", wait_ns, " waiting for a rank, ");
    ls_headline_append_ns(text, "", transfer_ns, " moving bytes");
    if (!ledger->wait_known)
        ls_headline_append_ns(text, ", ", negotiation_ns,
                              " waiting for a rank or agreeing: this recording cannot tell which");
    else if (100 * negotiation_ns > ledger->waited_for_ns)
        ls_headline_append_ns(text, ", ", negotiation_ns, " agreeing");
    g_string_append_c(text, '.');
}

static const char *
explain_no_step(const LsEvidence *evidence)
{
    return ls_headline_has_steps(evidence)
               ? "No steady step is among these: they are warm-up, or cut."
               : "No steps were marked.";
}

/* No step could be measured, but compute was recorded. */
void
ls_headline_append_overlap(GString *text, const LsEvidence *evidence)
{
    if (evidence->communication_ns == 0) {
        g_string_append_printf(text, "No communication was recorded. %s",
                               explain_no_step(evidence));
        return;
    }
    ls_headline_append_ns(text, "Of ", evidence->communication_ns, " of communication a rank ");
    ls_headline_append_ns(text, "", evidence->exposed_ns, "");
    g_string_append_printf(text, " (%.0f %%) are exposed: no compute hides them. %s",
                           get_percent(evidence->exposed_ns, evidence->communication_ns),
                           explain_no_step(evidence));
}

/* Names of spans that no rule knows, the most frequent first. */
static void
append_unknown(GString *text, const LsTrace *trace)
{
    size_t n_tracks, spans = 0;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    uint32_t n_names = ls_strings_get_n(ls_trace_get_strings(trace));
    g_autofree size_t *counts = g_new0(size_t, n_names);

    for (size_t t = 0; t < n_tracks; t++)
        for (uint32_t l = 0; l < tracks[t].n_lanes; l++)
            for (size_t i = 0; i < tracks[t].lanes[l].n; i++)
                if (tracks[t].lanes[l].klass[i] == LS_CLASS_NONE) {
                    counts[tracks[t].lanes[l].name[i]]++;
                    spans++;
                }
    if (spans == 0)
        return;
    g_string_append_printf(text, "; %zu spans are of no known kind (", spans);
    for (int shown = 0; shown < NAMES_SHOWN; shown++) {
        uint32_t most = 0;

        for (uint32_t i = 1; i < n_names; i++)
            if (counts[i] > counts[most])
                most = i;
        if (counts[most] == 0)
            break;
        g_string_append_printf(text, "%s%s", shown > 0 ? ", " : "",
                               ls_trace_get_string(trace, most));
        counts[most] = 0;
    }
    g_string_append(text, "): --rules FILE can say which they are");
}

/* Communication as spans alone, which make no buffers; or none that is known as such. */
static void
append_unbuffered(GString *text, const LsEvidence *evidence)
{
    if (evidence->any_communication_ns == 0) {
        g_string_append(text, "No communication was recorded");
        append_unknown(text, evidence->input->trace);
        return;
    }
    ls_headline_append_ns(
        text, "Communication runs for ", evidence->any_communication_ns,
        " of it, all ranks together; which bytes it moves for whom is not recorded");
}

/* No compute: exposure cannot be known; wait and transfer of a buffer can. */
void
ls_headline_append_buffers(GString *text, const LsEvidence *evidence)
{
    if (evidence->buffers == 0) {
        append_unbuffered(text, evidence);
    } else if (evidence->transfer_ns == LS_TIME_NONE) {
        g_string_append(text, "No buffer's operation ended in this recording");
    } else if (evidence->alone) {
        ls_headline_append_ns(text, "One rank alone: a buffer's operation takes ",
                              evidence->transfer_ns, " in the mean");
    } else if (evidence->judged > 0) {
        ls_headline_append_ns(text, "A buffer waits ", evidence->wait_ns, " for its last rank ");
        ls_headline_append_ns(text, "and moves its bytes in ", evidence->transfer_ns, " (means)");
    } else {
        ls_headline_append_ns(
            text, "A buffer's operation takes ", evidence->transfer_ns,
            " in the mean; how much of it is waiting is not in this recording, which "
            "holds one rank's calls");
    }
    g_string_append(text, ". No compute was recorded: what the step waits for is not known.");
}
