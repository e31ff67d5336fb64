/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/cmd-report.c: `lockstep report RUN`: headline, tables and honesty ledger as text, JSON or
 * CSV; and the gates that make a run fail a test.
 */
#include "cli/commands.h"

#include "analysis/analysis.h"
#include "base/error.h"
#include "cli/options.h"
#include "report/gate.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct Options {
    char **paths, **gates, **tables;
    char *format, *output, *ranks, *steps, *rules;
    int strict;
} Options;

static void
clear_options(Options *options)
{
    g_strfreev(options->paths);
    g_strfreev(options->gates);
    g_strfreev(options->tables);
    g_free(options->format);
    g_free(options->output);
    g_free(options->ranks);
    g_free(options->steps);
    g_free(options->rules);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

static char *
list_tables(void)
{
    GString *text = g_string_new(NULL);
    const LsAnalysis *const *all = ls_analysis_get_all();

    for (size_t i = 0; all[i] != NULL; i++)
        g_string_append_printf(text, "  %-14s%s\n", all[i]->name, all[i]->description);
    return g_string_free(text, false);
}

static bool
parse_options(int argc, char **argv, Options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"table", 't', 0, G_OPTION_ARG_STRING_ARRAY, &options->tables,
         "Only these tables, without the headline; repeatable", "NAME[,NAME]"},
        {"format", 'f', 0, G_OPTION_ARG_STRING, &options->format, "text (default), json or csv",
         "FORMAT"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
         "Write to FILE instead of standard output", "FILE"},
        {"rank", 'r', 0, G_OPTION_ARG_STRING, &options->ranks, "Only these ranks", "0,8-15"},
        {"step", 's', 0, G_OPTION_ARG_STRING, &options->steps, "Only these steps", "A:B"},
        {"rules", 0, 0, G_OPTION_ARG_FILENAME, &options->rules,
         "Rules that say which spans are compute, which communication", "FILE"},
        {"fail-if", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->gates,
         "Exit with 1 if it holds, or cannot be known: exposed_share>0.2; repeatable", "CONDITION"},
        {"strict", 0, 0, G_OPTION_ARG_NONE, &options->strict,
         "Exit with 1 if there is a finding above a note", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->paths, NULL, "RUN..."},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new("- say where the time of a run goes");
    g_autofree char *tables = list_tables();
    g_autofree char *text = g_strconcat("Tables:\n", tables, NULL);

    g_option_context_set_description(context, text);
    if (!ls_options_parse_context(context, entries, argc, argv, error))
        return false;
    if (options->paths != NULL)
        return true;
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "A run is missing: name a folder or files (lockstep report --help).");
    return false;
}

/* The analyses asked for, in the order of asking, each once; or all. */
static GPtrArray *
choose_analyses(const Options *options, GError **error)
{
    g_autoptr(GPtrArray) chosen = g_ptr_array_new();
    const LsAnalysis *const *all = ls_analysis_get_all();
    g_autofree char *asked = options->tables ? g_strjoinv(",", options->tables) : NULL;
    /* Of an empty text g_strsplit() makes no word; ours is the empty name of no table. */
    g_auto(GStrv) names = asked ? g_strsplit(*asked ? asked : " ", ",", -1) : NULL;

    for (size_t i = 0; names == NULL && all[i] != NULL; i++)
        g_ptr_array_add(chosen, (void *)(uintptr_t)all[i]);
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        const LsAnalysis *found = ls_analysis_find(g_strstrip(names[i]));

        if (found == NULL) {
            g_autofree char *tables = list_tables();

            g_set_error(error, LS_ERROR, LS_ERROR_USAGE, "There is no table '%s'; there are\n%s",
                        names[i], g_strchomp(tables));
            return NULL;
        }
        if (!g_ptr_array_find(chosen, found, NULL))
            g_ptr_array_add(chosen, (void *)(uintptr_t)found);
    }
    return g_steal_pointer(&chosen);
}

static GPtrArray *
parse_gates(const Options *options, GError **error)
{
    g_autoptr(GPtrArray) gates = g_ptr_array_new_with_free_func((GDestroyNotify)ls_gate_free);

    for (size_t i = 0; options->gates != NULL && options->gates[i] != NULL; i++) {
        LsGate *gate = ls_gate_parse(options->gates[i], error);

        if (gate == NULL)
            return NULL;
        g_ptr_array_add(gates, gate);
    }
    return g_steal_pointer(&gates);
}

static bool
write_report(const Options *options, const LsReportWriter *writer, const GPtrArray *analyses,
             const LsAnalysisInput *input, GError **error)
{
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)ls_table_free);
    g_autoptr(LsHeadline) headline = options->tables ? NULL : ls_headline_new(input);
    FILE *out = options->output ? fopen(options->output, "we") : stdout;
    bool written;

    if (out == NULL) {
        g_set_error(error, LS_ERROR, LS_ERROR_WRITE, "%s cannot be written: %s.", options->output,
                    g_strerror(errno));
        return false;
    }
    for (size_t i = 0; i < analyses->len; i++)
        g_ptr_array_add(tables, ((const LsAnalysis *)analyses->pdata[i])->run(input));
    written =
        writer->write(out, headline, (LsTable *const *)tables->pdata, tables->len, input, error);
    if (options->output && fclose(out) != 0 && written) {
        g_set_error(error, LS_ERROR, LS_ERROR_WRITE, "%s cannot be written: %s.", options->output,
                    g_strerror(errno));
        return false;
    }
    return written;
}

static bool
has_serious_finding(const LsAnalysisInput *input)
{
    g_autoptr(LsTable) findings = ls_analysis_find("findings")->run(input);
    size_t severity = (size_t)ls_table_find_column(findings, "severity");

    for (size_t r = 0; r < ls_table_get_rows(findings); r++)
        if (strcmp(ls_table_get_text(findings, r, severity), "note") != 0)
            return true;
    return false;
}

/* Every gate says its sentence, not the first alone. */
static int
judge(const Options *options, const GPtrArray *gates, const LsAnalysisInput *input)
{
    g_autoptr(LsEvidence) evidence = gates->len > 0 ? ls_evidence_new(input) : NULL;
    int status = LS_EXIT_DONE;

    for (size_t i = 0; i < gates->len; i++) {
        g_autofree char *text = NULL;

        if (!ls_gate_fails(gates->pdata[i], evidence, &text))
            continue;
        fprintf(stderr, "lockstep report: %s.\n", text);
        status = LS_EXIT_GATE;
    }
    if (options->strict && has_serious_finding(input)) {
        fputs("lockstep report: there are findings above a note (--strict).\n", stderr);
        status = LS_EXIT_GATE;
    }
    return status;
}

static int
report(const Options *options, const LsReportWriter *writer, const GPtrArray *analyses,
       const GPtrArray *gates)
{
    g_autoptr(GError) error = NULL;
    g_autofree bool *rank_shown = NULL;
    LsAnalysisInput input = {.step_first = INT64_MIN, .step_last = INT64_MAX};
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(LsActivity) activity = NULL;

    if (options->steps != NULL &&
        !ls_options_parse_steps(options->steps, &input.step_first, &input.step_last, &error))
        return ls_options_fail("report", error);
    trace = ls_options_load((const char *const *)options->paths, options->rules, &error);
    if (trace == NULL)
        return ls_options_fail("report", error);
    if (options->ranks != NULL &&
        !ls_options_parse_ranks(options->ranks, trace, &rank_shown, &error))
        return ls_options_fail("report", error);
    if (options->steps != NULL &&
        !ls_options_check_steps(options->steps, trace, input.step_first, input.step_last, &error))
        return ls_options_fail("report", error);
    activity = ls_activity_new(trace);
    input.trace = trace;
    input.activity = activity;
    input.rank_shown = rank_shown;
    if (!write_report(options, writer, analyses, &input, &error))
        return ls_options_fail("report", error);
    return judge(options, gates, &input);
}

static int
run(int argc, char **argv)
{
    g_auto(Options) options = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) analyses = NULL, gates = NULL;
    const LsReportWriter *writer;

    if (!parse_options(argc, argv, &options, &error))
        return ls_options_fail("report", error);
    writer = ls_report_find_writer(options.format ? options.format : "text");
    if (writer == NULL) {
        g_set_error(&error, LS_ERROR, LS_ERROR_USAGE,
                    "There is no format '%s'; there are text, json and csv.", options.format);
        return ls_options_fail("report", error);
    }
    analyses = choose_analyses(&options, &error);
    if (analyses == NULL)
        return ls_options_fail("report", error);
    gates = parse_gates(&options, &error);
    if (gates == NULL)
        return ls_options_fail("report", error);
    return report(&options, writer, analyses, gates);
}

const LsCmd ls_cmd_report = {"report", "say where the time of a run goes", run, NULL};
