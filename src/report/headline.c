/* SPDX-License-Identifier: Apache-2.0
 *
 * report/headline.c: the answer in five lines: the step and what it waits for; for whom; what
 * agreeing and moving bytes take; what to try; what the recording is worth. Each line says what
 * cannot be known where something was not recorded, rather than a number that looks like an answer.
 */
#include "report/report.h"

#include "base/units.h"

#include "report/advice.h"
#include "report/evidence.h"
#include "report/headline-private.h"
#include "report/honesty.h"

#include <string.h>

struct LsHeadline {
    GArray *lines; /* LsHeadlineLine */
    size_t steps;  /* steady, of which it speaks */
};

static void
clear_line(void *data)
{
    LsHeadlineLine *line = data;

    g_free(line->label);
    g_free(line->text);
}

static void
add_line(LsHeadline *headline, char *label, GString *text)
{
    LsHeadlineLine line = {label, g_string_free(text, false)};

    g_array_append_val(headline->lines, line);
}

static char *
format_label(const char *before, int64_t ns)
{
    g_autofree char *time = ls_format_ns(ns);

    return g_strconcat(before, time, NULL);
}

/* -- 1. The step -- */

static void
add_step_line(LsHeadline *headline, const LsEvidence *evidence)
{
    GString *text = g_string_new(NULL);
    int64_t length_ns = ls_trace_get_last_ns(evidence->input->trace) -
                        ls_trace_get_first_ns(evidence->input->trace);
    char *label = evidence->step_ns > 0 ? format_label("Step ", evidence->step_ns)
                                        : format_label("Recording ", length_ns);

    if (evidence->ledger.n > 0)
        ls_headline_append_waited_for(text, evidence);
    else if (evidence->compute_ranks > 0)
        ls_headline_append_overlap(text, evidence);
    else
        ls_headline_append_buffers(text, evidence);
    add_line(headline, label, text);
}

/* -- 2. Whom the others wait for -- */

static char *
begin_sentence(const char *text)
{
    char *sentence = g_strdup(text);

    sentence[0] = g_ascii_toupper(sentence[0]);
    return sentence;
}

/* "Rank 2 (gpu02:0)" or "Host gpu02" */
static char *
format_worst(const LsEvidence *evidence)
{
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(evidence->input->trace, &n_ranks);
    uint32_t rank = evidence->worst->rank;
    const char *place = strchr(ls_trace_get_rank_label(evidence->input->trace, rank), ' ');

    if (evidence->worst->is_host)
        return g_strdup_printf("Host %s", ranks[rank].host);
    if (place == NULL || ranks[rank].rank < 0)
        return begin_sentence(ls_trace_get_rank_name(evidence->input->trace, rank));
    return g_strdup_printf("Rank %d (%s)", ranks[rank].rank, place + 1);
}

/* A beginning after the second step is worth a word. */
static void
append_since(GString *text, const LsEvidence *evidence)
{
    size_t n_steps, before = 0;
    const LsStep *steps = ls_trace_get_steps(evidence->input->trace, &n_steps), *since = NULL;

    for (size_t i = 0; i < n_steps; i++) {
        if (steps[i].column == evidence->worst->since)
            since = &steps[i];
        before += steps[i].rank == evidence->worst->rank && !steps[i].cut &&
                  ls_scope_has_step(evidence->scope, &steps[i]) &&
                  steps[i].column < evidence->worst->since;
    }
    if (since != NULL && before > 1)
        g_string_append_printf(text, ", since step %" G_GINT64_FORMAT, since->number);
}

/* Steady steps of which no buffer's last rank is known. */
static int64_t
count_unjudged(const LsEvidence *evidence)
{
    return (int64_t)ls_scope_get_steady(evidence->scope) - evidence->steps_judged;
}

static void
append_worst(GString *text, const LsEvidence *evidence)
{
    const LsStraggler *worst = evidence->worst;
    const LsTimesLast *times = ls_evidence_get_times(worst);

    g_string_append_printf(text, "was last in %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " buffers",
                           times->last, times->buffers);
    if (worst->steps_last > 0) {
        g_string_append_printf(text, ", in %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " steps",
                               worst->steps_last, worst->steps_judged);
        ls_headline_append_ns(text, ", by ", worst->delay_ns, "");
        append_since(text, evidence);
    }
    if (worst->cost_ns_per_step != LS_TIME_NONE)
        ls_headline_append_ns(text, ". It costs ", worst->cost_ns_per_step, " a step");
    if (evidence->cause.what != NULL) {
        g_string_append_printf(text, ". Its %s takes ", evidence->cause.what);
        ls_headline_append_ns(text, "", evidence->cause.own_ns, " against ");
        ls_headline_append_ns(text, "", evidence->cause.others_ns, " elsewhere");
    }
    g_string_append_c(text, '.');
    if (count_unjudged(evidence) > 0)
        g_string_append_printf(text,
                               " In %" G_GINT64_FORMAT " more steps who was last is not known.",
                               count_unjudged(evidence));
}

/* Nobody stands out, in what could be judged. */
static void
append_nobody(GString *text, const LsEvidence *evidence)
{
    const LsTimesLast *times = ls_evidence_get_times(evidence->most);

    if (count_unjudged(evidence) > 0)
        g_string_append_printf(text,
                               "In %" G_GINT64_FORMAT " of %zu steps who was last is not known: "
                               "records of them are missing. In the others no",
                               count_unjudged(evidence), ls_scope_get_steady(evidence->scope));
    else
        g_string_append(text, "No");
    g_string_append_printf(text,
                           " rank makes the others wait step after step: %s was last most "
                           "often, in %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                           " buffers (%.0f by chance).",
                           ls_trace_get_rank_name(evidence->input->trace, evidence->most->rank),
                           times->last, times->buffers, times->by_chance);
}

/* Only submissions tell: ticks of a timeline that one rank wrote. */
static void
append_late(GString *text, const LsEvidence *evidence)
{
    if (evidence->ordered == 0) {
        g_string_append(text, "Who was last is not in this recording");
        if (evidence->occurrences > 0)
            g_string_append(text, ": the submissions of the other ranks are missing");
        g_string_append_c(text, '.');
        return;
    }
    if (evidence->late_rank != LS_NONE) {
        g_autofree char *rank =
            begin_sentence(ls_trace_get_rank_name(evidence->input->trace, evidence->late_rank));

        g_string_append_printf(text, "%s submitted last most often, in %" G_GINT64_FORMAT, rank,
                               evidence->most_late);
    } else
        g_string_append(text, "No rank can be told to be the last in any");
    g_string_append_printf(text, " of %" G_GINT64_FORMAT " negotiations", evidence->ordered);
    if (evidence->late_rank != LS_NONE && evidence->ordered > evidence->decided)
        g_string_append_printf(text,
                               " (in %" G_GINT64_FORMAT " the last two came too close to tell)",
                               evidence->ordered - evidence->decided);
    ls_headline_append_ns(text, "; first to last ", evidence->spread_ns, " in the mean");
    if (evidence->occurrences > evidence->ordered)
        g_string_append_printf(text,
                               ". Of %" G_GINT64_FORMAT
                               " more negotiations the submissions are not in this recording",
                               evidence->occurrences - evidence->ordered);
    g_string_append_c(text, '.');
}

static void
add_straggler_line(LsHeadline *headline, const LsEvidence *evidence)
{
    GString *text = g_string_new(NULL);
    char *label;

    if (evidence->worst != NULL) {
        label = format_worst(evidence);
        append_worst(text, evidence);
    } else if (evidence->most != NULL) {
        label = g_strdup(count_unjudged(evidence) > 0 ? "Straggler?" : "No straggler");
        append_nobody(text, evidence);
    } else if (evidence->alone) {
        label = g_strdup("One rank");
        g_string_append(text, "It waits for nobody.");
    } else {
        label = g_strdup("Last rank");
        append_late(text, evidence);
    }
    add_line(headline, label, text);
}

/* -- 3. Negotiation and moving bytes -- */

static void
append_moving(GString *text, const LsEvidence *evidence)
{
    g_autofree char *bytes = ls_format_bytes(evidence->bytes);

    if (evidence->buffers == 0) {
        g_string_append(text, "No buffer was recorded.");
        return;
    }
    bool one = evidence->buffers == 1;
    g_string_append_printf(text, "%" G_GINT64_FORMAT " buffer%s%s (", evidence->buffers,
                           one ? "" : "s", evidence->buffers_outside > 0 ? " of steps" : "");
    if (evidence->buffers_per_step > 0)
        g_string_append_printf(text, "%.1f a step, ", evidence->buffers_per_step);
    if (evidence->bytes >= 0)
        g_string_append_printf(text, "%s%s)", bytes, one ? "" : " in the mean");
    else
        g_string_append(text, "of unknown size)");
    if (evidence->transfer_ns == LS_TIME_NONE)
        g_string_append(text, one ? " had not ended" : ", none of which had ended");
    else
        ls_headline_append_ns(text, one ? " moves in " : " move in ", evidence->transfer_ns,
                              one ? "" : " each");
    if (evidence->bus_bytes_per_s >= 0) {
        g_autofree char *rate = ls_format_rate(evidence->bus_bytes_per_s);

        g_string_append_printf(text, ", %s on the bus", rate);
    }
    if (evidence->buffers_outside > 0)
        g_string_append_printf(text, "; %" G_GINT64_FORMAT " more outside of steps",
                               evidence->buffers_outside);
    g_string_append_c(text, '.');
}

static void
add_negotiation_line(LsHeadline *headline, const LsEvidence *evidence)
{
    GString *text = g_string_new(NULL);
    char *label = NULL;

    if (evidence->negotiated > 0 && evidence->ordered > 0) {
        label = format_label("Negotiation ", evidence->negotiation_ns);
        ls_headline_append_ns(text, "a tensor, once all ranks have it: ", evidence->behind_ns,
                              " behind another buffer, ");
        ls_headline_append_ns(text, "", evidence->sleep_ns, " sleeping, ");
        ls_headline_append_ns(text, "", evidence->protocol_ns, " protocol. ");
    } else if (evidence->negotiated > 0) {
        label = format_label("Negotiation ", evidence->whole_ns);
        g_string_append(text, evidence->alone
                                  ? "a tensor. "
                                  : "a tensor, the wait for the last rank included: it cannot be "
                                    "told apart here. ");
    } else {
        label = evidence->buffers > 0 && evidence->transfer_ns != LS_TIME_NONE
                    ? format_label("Moving bytes ", evidence->transfer_ns)
                    : g_strdup("Moving bytes");
    }
    append_moving(text, evidence);
    add_line(headline, label, text);
}

/* -- 4. Try -- */

#define ADVICE_SHOWN 2

static void
add_advice_line(LsHeadline *headline, const LsEvidence *evidence)
{
    g_autoptr(GArray) advice = ls_advice_find(evidence);
    GString *text = g_string_new(NULL);

    if (evidence->ledger.n > 0 && evidence->ledger.communication_ns == 0 && evidence->buffers == 0)
        g_string_append(text,
                        "record communication too (lockstep record, or reduce): what the step "
                        "waits for cannot be told without");
    else if (evidence->ledger.n > 0 && !evidence->ledger.wait_known)
        g_string_append(text, "record every rank, and all of it: for whom these wait is not known "
                              "without");
    for (size_t i = 0; i < MIN(advice->len, ADVICE_SHOWN); i++) {
        const LsAdvice *row = &g_array_index(advice, LsAdvice, i);

        g_string_append(text, text->len > 0 ? "; then " : "");
        g_string_append_printf(text, "%s (%s", row->action, row->evidence);
        ls_headline_append_ns(text, "; wins ", row->gain_ns, " a step at most)");
    }
    if (text->len > 0)
        g_string_append_c(text, '.');
    else if (evidence->ledger.n > 0)
        g_string_append(text, "nothing stands out: no one cause of waiting is worth trying.");
    else if (ls_headline_has_steps(evidence))
        g_string_append(text, "take steady steps into the report: gains are told of those.");
    else if (evidence->compute_ranks > 0)
        g_string_append(text, "mark the steps (lockstep-mark.h): gains are told per step.");
    else
        g_string_append(text,
                        "record compute too (marked phases, or the tracer): without it no gain "
                        "can be told.");
    add_line(headline, g_strdup("Try"), text);
}

LsHeadline *
ls_headline_new(const LsAnalysisInput *input)
{
    LsHeadline *headline = g_new0(LsHeadline, 1);
    g_autoptr(LsEvidence) evidence = ls_evidence_new(input);
    g_autofree char *recorded = ls_honesty_format_line(evidence);

    headline->steps = ls_scope_get_steady(evidence->scope);
    headline->lines = g_array_new(false, false, sizeof(LsHeadlineLine));
    g_array_set_clear_func(headline->lines, clear_line);
    if (evidence->has_events) {
        add_step_line(headline, evidence);
        add_straggler_line(headline, evidence);
        add_negotiation_line(headline, evidence);
        add_advice_line(headline, evidence);
    } else {
        add_line(headline, g_strdup("No events recorded"),
                 g_string_new("The recording was begun and holds no event."));
    }
    add_line(headline, g_strdup("Recorded"), g_string_new(recorded));
    return headline;
}

void
ls_headline_say_whole_run(LsHeadline *headline)
{
    if (headline->steps < 2)
        return;
    LsHeadlineLine *first = &g_array_index(headline->lines, LsHeadlineLine, 0);
    char *text = g_strdup_printf("Whole run, %zu steps. %s", headline->steps, first->text);

    g_free(first->text);
    first->text = text;
}

void
ls_headline_free(LsHeadline *headline)
{
    if (headline == NULL)
        return;
    g_array_unref(headline->lines);
    g_free(headline);
}

const LsHeadlineLine *
ls_headline_get_lines(const LsHeadline *headline, size_t *ret_n)
{
    *ret_n = headline->lines->len;
    return (const LsHeadlineLine *)(void *)headline->lines->data;
}
