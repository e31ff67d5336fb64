/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/cmd-check.c: `lockstep check RUN`: everything about the recording that a reader must know:
 * faults in files, losses, conflicts, what could not be aligned. Exit status 1 where one is above a
 * note.
 */
#include "cli/commands.h"

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cli/options.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

typedef struct Options {
    char **paths;
    char *format, *output, *ranks;
} Options;

static void
clear_options(Options *options)
{
    g_strfreev(options->paths);
    g_free(options->format);
    g_free(options->output);
    g_free(options->ranks);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

static bool
parse_options(int argc, char **argv, Options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"format", 'f', 0, G_OPTION_ARG_STRING, &options->format, "text (default), json or csv",
         "FORMAT"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
         "Write to FILE instead of standard output", "FILE"},
        {"rank", 'r', 0, G_OPTION_ARG_STRING, &options->ranks, "Only these ranks", "0,8-15"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->paths, NULL, "RUN..."},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    return ls_options_parse("- say what is wrong with a recording", entries, argc, argv, error) &&
           ls_options_need_run("check", options->paths, error);
}

typedef struct Columns {
    size_t severity, file, offset, rank, at, text;
} Columns;

static Columns
find_columns(const LsTable *table)
{
    return (Columns){.severity = (size_t)ls_table_find_column(table, "severity"),
                     .file = (size_t)ls_table_find_column(table, "file"),
                     .offset = (size_t)ls_table_find_column(table, "offset"),
                     .rank = (size_t)ls_table_find_column(table, "rank"),
                     .at = (size_t)ls_table_find_column(table, "at_ns"),
                     .text = (size_t)ls_table_find_column(table, "text")};
}

/* "warning: FILE:1234: sentence", or "warning: rank 3: sentence" where no file is to blame; "at
 * TIME", since the recording began, where it happened at one. */
static void
print_finding(FILE *out, const LsTable *table, const Columns *column, size_t row, int64_t first_ns)
{
    g_autofree char *file = ls_terminal_make_safe(ls_table_get_text(table, row, column->file));
    g_autofree char *text = ls_terminal_make_safe(ls_table_get_text(table, row, column->text));
    fprintf(out, "%s: ", ls_table_get_text(table, row, column->severity));
    if (!ls_table_is_null(table, row, column->file)) {
        fputs(file, out);
        if (!ls_table_is_null(table, row, column->offset))
            fprintf(out, ":%" G_GINT64_FORMAT, ls_table_get_int(table, row, column->offset));
        fputs(": ", out);
    } else if (!ls_table_is_null(table, row, column->rank)) {
        fprintf(out, "rank %" G_GINT64_FORMAT ": ", ls_table_get_int(table, row, column->rank));
    }
    if (!ls_table_is_null(table, row, column->at)) {
        g_autofree char *at = ls_format_ns(ls_table_get_int(table, row, column->at) - first_ns);
        fprintf(out, "at %s: ", at);
    }
    fprintf(out, "%s\n", text);
}

static size_t
count_serious(const LsTable *table, const Columns *column)
{
    size_t n = 0;
    for (size_t row = 0; row < ls_table_get_rows(table); row++)
        n += strcmp(ls_table_get_text(table, row, column->severity), "note") != 0;
    return n;
}

static void
print_text(FILE *out, const LsTable *table, const Columns *column, int64_t first_ns)
{
    size_t n = ls_table_get_rows(table);
    for (size_t row = 0; row < n; row++)
        print_finding(out, table, column, row, first_ns);
    fprintf(out, "%zu finding%s, %zu above a note.\n", n, n == 1 ? "" : "s",
            count_serious(table, column));
}

static int
check(const Options *options, GError **error)
{
    LsAnalysisInput input = {.step_first = INT64_MIN, .step_last = INT64_MAX};
    g_autofree bool *shown = NULL;
    g_autoptr(LsTrace) trace = ls_options_load((const char *const *)options->paths, NULL, error);
    if (!trace || (options->ranks && !ls_options_parse_ranks(options->ranks, trace, &shown, error)))
        return -1;
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    input.trace = trace;
    input.activity = activity;
    input.rank_shown = shown;
    g_autoptr(LsTable) table = ls_analysis_find("findings")->run(&input);
    Columns column = find_columns(table);
    FILE *out = ls_options_open_output(options->output, error);
    if (!out)
        return -1;
    bool written = true;
    if (!options->format || strcmp(options->format, "text") == 0)
        print_text(out, table, &column, ls_trace_get_first_ns(trace));
    else
        written =
            ls_report_find_writer(options->format)->write(out, NULL, &table, 1, &input, error);
    if (!ls_options_close_output(out, options->output, written ? error : NULL) || !written)
        return -1;
    return count_serious(table, &column) > 0 ? LS_EXIT_GATE : LS_EXIT_DONE;
}

static int
run(int argc, char **argv)
{
    g_auto(Options) options = {0};
    g_autoptr(GError) error = NULL;
    int status = -1;
    if (parse_options(argc, argv, &options, &error) &&
        ls_options_check_format(options.format, &error))
        status = check(&options, &error);
    return status < 0 ? ls_options_fail("check", error) : status;
}

const LsCmd ls_cmd_check = {"check", "say what is wrong with a recording", run, NULL};
