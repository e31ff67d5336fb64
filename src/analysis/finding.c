/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/finding.c: table `findings`: what a reader must know about the recording, worst first.
 *
 * First come the faults that loading and merging found, and the losses, stalls and errors that the
 * ranks recorded; then one sentence for each kind of null in the other tables, so that nobody takes
 * "not recorded" for zero.
 */
#include "analysis/collective.h"
#include "analysis/ledger.h"
#include "analysis/negotiation.h"
#include "analysis/performance.h"
#include "analysis/table-private.h"

#include "base/units.h"

#include <string.h>

enum { SEVERITY, FILE_NAME, OFFSET, RANK, TEXT, AT };

static const LsColumn columns[] = {
    [SEVERITY] = {"severity", LS_COLUMN_TEXT}, [FILE_NAME] = {"file", LS_COLUMN_TEXT},
    [OFFSET] = {"offset", LS_COLUMN_INT},      [RANK] = {"rank", LS_COLUMN_INT},
    [TEXT] = {"text", LS_COLUMN_TEXT},         [AT] = {"at_ns", LS_COLUMN_INT},
};

static const char *const severity_names[] = {
    [LS_NOTE] = "note", [LS_WARNING] = "warning", [LS_FAULT] = "error"};

/* Findings of one run of the analysis; texts are owned. */
typedef struct List {
    const LsAnalysisInput *input;
    const LsScope *scope;
    const LsRank *ranks;
    size_t n_ranks;
    GArray *findings; /* LsFinding; file is borrowed */
} List;

static void add(List *list, LsSeverity severity, int32_t rank, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static void
add(List *list, LsSeverity severity, int32_t rank, const char *format, ...)
{
    LsFinding finding = {.severity = severity, .offset = -1, .rank = rank, .time_ns = LS_TIME_NONE};
    va_list args;

    va_start(args, format);
    finding.text = g_strdup_vprintf(format, args);
    va_end(args);
    g_array_append_val(list->findings, finding);
}

static bool
is_rank_shown(const List *list, int32_t number)
{
    if (number < 0 || list->input->rank_shown == NULL) /* also of a rank that has no file */
        return true;
    for (uint32_t r = 0; r < list->n_ranks; r++)
        if (list->ranks[r].rank == number && ls_scope_has_rank(list->scope, r))
            return true;
    return false;
}

static void
add_recorded(List *list)
{
    size_t n;
    const LsFinding *findings = ls_trace_get_findings(list->input->trace, &n);

    for (size_t i = 0; i < n; i++) {
        LsFinding finding = findings[i];

        if (!is_rank_shown(list, finding.rank))
            continue;
        finding.text = g_strdup(finding.text);
        g_array_append_val(list->findings, finding);
    }
}

/* -- Reasons of nulls -- */

/* "?": of unknown rank. */
static const char *
format_number(const LsRank *rank, char *text, size_t size)
{
    g_snprintf(text, size, rank->rank >= 0 ? "%d" : "?", rank->rank);
    return text;
}

static void
explain_compute(List *list)
{
    g_autoptr(GString) without = g_string_new(NULL);
    size_t missing = 0, recorded = 0;
    char number[16];

    for (uint32_t r = 0; r < list->n_ranks; r++) {
        if (!list->ranks[r].recorded || !ls_scope_has_rank(list->scope, r))
            continue;
        recorded++;
        if (ls_activity_has_compute(list->input->activity, r))
            continue;
        if (missing++ < 8)
            g_string_append_printf(without, "%s%s", missing > 1 ? ", " : "",
                                   format_number(&list->ranks[r], number, sizeof number));
    }
    if (missing > 8)
        g_string_append_printf(without, " and %zu more", missing - 8);
    if (missing > 0)
        add(list, LS_NOTE, -1,
            "No compute recorded%s%s: compute, hidden, exposed, waited for, idle, overlap ratio "
            "and "
            "the time ledger are null, since what was hidden cannot be told.",
            missing < recorded ? " on rank " : "", missing < recorded ? without->str : "");
}

/* A rank that died early, or was recorded for a part of the time. */
static void
explain_uneven_steps(List *list, const LsStep *steps, size_t n)
{
    g_autofree size_t *counts = g_new0(size_t, list->n_ranks);
    uint32_t fewest = LS_NONE, most = LS_NONE;

    for (size_t i = 0; i < n; i++)
        counts[steps[i].rank]++;
    for (uint32_t r = 0; r < list->n_ranks; r++) {
        if (!list->ranks[r].recorded || list->ranks[r].run != list->ranks[0].run ||
            list->ranks[r].incarnation != list->ranks[0].incarnation)
            continue;
        if (fewest == LS_NONE || counts[r] < counts[fewest])
            fewest = r;
        if (most == LS_NONE || counts[r] > counts[most])
            most = r;
    }
    if (fewest != LS_NONE && counts[most] > counts[fewest] + 1)
        add(list, LS_NOTE, list->ranks[fewest].rank,
            "Ranks hold different numbers of steps: %s has %zu, %s has %zu.",
            ls_trace_get_rank_name(list->input->trace, fewest), counts[fewest],
            ls_trace_get_rank_name(list->input->trace, most), counts[most]);
}

static void
explain_steps(List *list)
{
    size_t n;
    const LsStep *steps = ls_trace_get_steps(list->input->trace, &n);
    size_t warmup = ls_scope_get_warmup(list->scope), cut = 0;
    uint32_t missing = ls_trace_count_missing(list->input->trace);
    LsLedger ledger = ls_ledger_make(list->input, list->scope);

    if (n == 0) {
        add(list, LS_NOTE, -1,
            "No steps were marked: the tables of steps and the ledger are empty, and figures per "
            "step are null.");
        return;
    }
    explain_uneven_steps(list, steps, n);
    if (ls_performance_explain(list->input, list->scope) != NULL)
        add(list, LS_NOTE, -1,
            "Time, rate and share of the row all of the table performance are null: %s.",
            ls_performance_explain(list->input, list->scope));
    for (size_t i = 0; i < n; i++)
        cut += steps[i].cut && ls_scope_has_step(list->scope, &steps[i]);
    if (warmup > 0)
        add(list, LS_NOTE, -1, "Warm-up, left out of statistics: the first %zu step%s.", warmup,
            warmup == 1 ? "" : "s");
    if (cut > 0)
        add(list, LS_NOTE, -1,
            "Left out of statistics: %zu step%s of ranks, cut by the start or the end of the "
            "recording, or with an end in them that is missing.",
            cut, cut == 1 ? "" : "s");
    if (ls_scope_get_steady(list->scope) == 0)
        add(list, LS_NOTE, -1, "No whole step remains: the time ledger is empty.");
    if (ledger.wait_known && ledger.unjudged > 0)
        add(list, LS_NOTE, -1,
            "In %zu of %zu steps the last rank of some buffer is not known, or a rank lacks the "
            "step: the time ledger leaves them out.",
            ledger.unjudged, ls_scope_get_steady(list->scope));
    if (missing > 0)
        add(list, LS_NOTE, -1,
            "%u of %u ranks are missing, and any of them may have been the last: exposed wait, "
            "negotiation exposure and slowest_rank_ns are null, and what they would hold is in the "
            "ledger's negotiation and in the other parts of a tensor's.",
            missing, ls_trace_get_world(list->input->trace));
    if (!ls_activity_has_submissions(list->input->activity) && missing == 0)
        add(list, LS_NOTE, -1,
            "Negotiation exposure is null: it needs the submissions of every rank on one clock.");
}

static void
explain_collectives(List *list)
{
    g_autoptr(GHashTable) reasons = g_hash_table_new(g_direct_hash, g_direct_equal);
    size_t n_buffers, early = 0, incomplete = 0, inconclusive = 0;
    int64_t early_ns = 0;
    GHashTableIter iter;
    void *key, *value;

    ls_trace_get_buffers(list->input->trace, &n_buffers);
    for (uint32_t b = 0; b < n_buffers; b++) {
        LsCollective collective = ls_collective_measure(list->input, list->scope, b);

        if (!ls_collective_is_shown(list->input, list->scope, b, &collective))
            continue;
        early += collective.early_ns > 0;
        early_ns = MAX(early_ns, collective.early_ns);
        incomplete += collective.verdict == LS_VERDICT_INCOMPLETE;
        inconclusive += collective.verdict == LS_VERDICT_INCONCLUSIVE;
        if (collective.bus_bytes_per_s < 0 && collective.bus_reason != NULL) {
            key = (void *)(uintptr_t)collective.bus_reason;
            value = g_hash_table_lookup(reasons, key);
            g_hash_table_insert(reasons, key, GSIZE_TO_POINTER(GPOINTER_TO_SIZE(value) + 1));
        }
    }
    if (early > 0) {
        g_autofree char *by = ls_format_ns(early_ns);

        add(list, LS_WARNING, -1,
            "In %zu buffers a rank ended before the last one arrived, by up to %s beyond the "
            "uncertainty of the clocks: the clocks or the pairing are wrong there.",
            early, by);
    }
    if (inconclusive > 0)
        add(list, LS_NOTE, -1,
            "In %zu buffers the waits with and without clocks disagree: inconclusive.",
            inconclusive);
    if (incomplete > 0)
        add(list, LS_NOTE, -1,
            "%zu buffer%s incomplete: not every rank that took part was recorded to its end, or "
            "submissions are known of some of them alone, so the last one may be missing.",
            incomplete, incomplete == 1 ? " is" : "s are");
    g_hash_table_iter_init(&iter, reasons);
    while (g_hash_table_iter_next(&iter, &key, &value))
        add(list, LS_NOTE, -1, "Bus bandwidth of %zu buffer%s is null: %s.",
            GPOINTER_TO_SIZE(value), GPOINTER_TO_SIZE(value) == 1 ? "" : "s", (const char *)key);
}

static void
explain_clocks(List *list)
{
    for (uint32_t r = 0; r < list->n_ranks; r++)
        if (list->n_ranks > 1 && list->ranks[r].clock_method == LS_CLOCK_NONE &&
            ls_scope_has_rank(list->scope, r))
            add(list, LS_NOTE, list->ranks[r].rank,
                "The clock of %s could not be brought onto the common one: its waits are measured "
                "without clocks, and slowest_rank_ns is null.",
                ls_trace_get_rank_name(list->input->trace, r));
}

static void
explain_control(List *list)
{
    size_t n_cycles, n_uses, unknown = 0;
    const LsUse *uses = ls_trace_get_uses(list->input->trace, &n_uses);

    const LsCycle *cycles = ls_trace_get_cycles(list->input->trace, &n_cycles);
    size_t uncached = 0;

    while (uncached < n_cycles && !cycles[uncached].cache_known)
        uncached++;
    if (n_cycles > 0 && uncached == n_cycles)
        add(list, LS_NOTE, -1,
            "Hits, misses, invalid and evicted of the table cycles are null: no response cache was "
            "recorded.");
    for (size_t i = 0; i < n_uses; i++)
        unknown += uses[i].submit_ns == LS_TIME_NONE && list->ranks[uses[i].rank].recorded;
    if (unknown > 0)
        add(list, LS_NOTE, -1,
            "%zu submission%s not recorded: who was last is not known there, which does "
            "not mean that a rank was missing.",
            unknown, unknown == 1 ? " was" : "s were");
}

/* -- The table -- */

static int
compare(const void *a, const void *b)
{
    const LsFinding *x = a, *y = b;

    return (x->severity < y->severity) - (x->severity > y->severity);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("findings", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    g_autoptr(GArray) findings = g_array_new(false, false, sizeof(LsFinding));
    List list = {.input = input, .scope = scope, .findings = findings};

    list.ranks = ls_trace_get_ranks(input->trace, &list.n_ranks);
    add_recorded(&list);
    if (list.n_ranks > 0) {
        explain_compute(&list);
        explain_steps(&list);
        explain_collectives(&list);
        explain_clocks(&list);
        explain_control(&list);
    }
    g_array_sort(findings, compare); /* stable: equal ones stay in order */
    for (size_t i = 0; i < findings->len; i++) {
        LsFinding *finding = &g_array_index(findings, LsFinding, i);

        ls_table_add_row(table);
        ls_table_set_text(table, SEVERITY, severity_names[finding->severity]);
        ls_table_set_text(table, FILE_NAME, finding->file);
        set_count(table, OFFSET, finding->offset, 0);
        set_count(table, RANK, finding->rank, 0);
        ls_table_set_text(table, TEXT, finding->text);
        if (finding->time_ns != LS_TIME_NONE)
            ls_table_set_int(table, AT, finding->time_ns);
        g_free(finding->text);
    }
    return table;
}

const LsAnalysis ls_analysis_findings = {"findings", "faults, losses, and the reason of every null",
                                         run};
