/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/cmd-info.c: `lockstep info RUN`: what is in a recording: format, ranks, hosts, clocks, and
 * how many tensors, negotiations, ticks, cycles, steps, spans and batches; or the rules of
 * classification.
 */
#include "cli/commands.h"

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cli/inventory.h"
#include "cli/options.h"
#include "merge/run.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

typedef struct Options {
    char **paths;
    char *format, *output, *ranks;
    int rules, strict;
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
        {"rank", 'r', 0, G_OPTION_ARG_STRING, &options->ranks, "Count only these ranks", "0,8-15"},
        {"rules", 0, 0, G_OPTION_ARG_NONE, &options->rules,
         "Print the rules that say which spans are compute, which communication", NULL},
        {"strict", 0, 0, G_OPTION_ARG_NONE, &options->strict,
         "Exit with 1 if there is a finding above a note", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->paths, NULL, "RUN..."},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    return ls_options_parse("- say what is in a recording", entries, argc, argv, error) &&
           (options->rules || ls_options_need_run("info", options->paths, error));
}

static const LsColumn info_columns[] = {
    {"format", LS_COLUMN_TEXT},        {"ranks", LS_COLUMN_INT},
    {"ranks_expected", LS_COLUMN_INT}, {"ranks_by_tick", LS_COLUMN_INT},
    {"lives", LS_COLUMN_INT},          {"hosts", LS_COLUMN_INT},
    {"clock", LS_COLUMN_TEXT},         {"first_ns", LS_COLUMN_INT},
    {"last_ns", LS_COLUMN_INT},        {"records", LS_COLUMN_INT},
    {"tensors", LS_COLUMN_INT},        {"negotiations", LS_COLUMN_INT},
    {"ticks", LS_COLUMN_INT},          {"submissions", LS_COLUMN_INT},
    {"batches", LS_COLUMN_INT},        {"cycles", LS_COLUMN_INT},
    {"steps", LS_COLUMN_INT},          {"spans", LS_COLUMN_INT},
    {"errors", LS_COLUMN_INT},         {"warnings", LS_COLUMN_INT},
    {"notes", LS_COLUMN_INT}};

static LsTable *
make_table(const LsInventory *inventory)
{
    LsTable *table = ls_table_new("info", info_columns, G_N_ELEMENTS(info_columns));
    const int64_t numbers[] = {0,
                               inventory->ranks,
                               inventory->ranks_expected,
                               inventory->ranks_by_tick,
                               inventory->lives,
                               inventory->hosts->len,
                               0,
                               inventory->first_ns,
                               inventory->last_ns,
                               inventory->records,
                               inventory->tensors,
                               inventory->negotiations,
                               inventory->ticks,
                               inventory->submissions,
                               inventory->batches,
                               inventory->cycles,
                               inventory->steps,
                               inventory->spans,
                               inventory->findings[LS_FAULT],
                               inventory->findings[LS_WARNING],
                               inventory->findings[LS_NOTE]};
    G_STATIC_ASSERT(G_N_ELEMENTS(numbers) == G_N_ELEMENTS(info_columns));
    ls_table_add_row(table);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (info_columns[i].type == LS_COLUMN_INT && numbers[i] >= 0)
            ls_table_set_int(table, i, numbers[i]);
    ls_table_set_text(table, 0, inventory->format);
    ls_table_set_text(table, 6, inventory->clock);
    return table;
}

static void
print_line(FILE *out, const char *label, const char *text)
{
    g_autofree char *safe = ls_terminal_make_safe(text);
    fprintf(out, "%-14s%s\n", label, safe);
}

static void
print_count(FILE *out, const char *label, int64_t count)
{
    if (count >= 0)
        fprintf(out, "%-14s%" G_GINT64_FORMAT "\n", label, count);
}

static char *
join(const GPtrArray *texts)
{
    GString *all = g_string_new(NULL);
    for (size_t i = 0; i < texts->len; i++)
        g_string_append_printf(all, "%s%s", i > 0 ? ", " : "",
                               (const char *)g_ptr_array_index(texts, i));
    return g_string_free(all, FALSE);
}

static const char *
plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void
print_ranks(FILE *out, const LsInventory *inventory)
{
    fprintf(out, "%-14s", "ranks");
    if (inventory->ranks > 0 || inventory->ranks_expected > 0 || inventory->strangers == 0) {
        fprintf(out, "%" G_GINT64_FORMAT, inventory->ranks);
        if (inventory->ranks_expected < 0)
            fputs(", of how many is not recorded", out);
        else
            fprintf(out, " of %" G_GINT64_FORMAT " recorded", inventory->ranks_expected);
        if (inventory->lives > inventory->ranks)
            fprintf(out, ", in %" G_GINT64_FORMAT " lives", inventory->lives);
        if (inventory->strangers > 0)
            fputs("; ", out);
    }
    if (inventory->strangers > 0)
        fprintf(out, "%" G_GINT64_FORMAT " process%s of no known rank", inventory->strangers,
                inventory->strangers == 1 ? "" : "es");
    if (inventory->ranks_by_tick > 0)
        fprintf(out, "; %" G_GINT64_FORMAT " more known by their ticks", inventory->ranks_by_tick);
    fputc('\n', out);
}

static void
print_text(FILE *out, const LsInventory *inventory)
{
    g_autofree char *hosts = join(inventory->hosts);
    g_autofree char *length = ls_format_ns(inventory->last_ns - inventory->first_ns);
    print_line(out, "format", inventory->format);
    print_ranks(out, inventory);
    print_line(out, "hosts", hosts[0] ? hosts : "not recorded");
    print_line(out, "clock", inventory->clock);
    print_line(out, "length", length);
    if (inventory->packed)
        print_line(out, "packed", inventory->packed);
    print_count(out, "records", inventory->records);
    print_count(out, "tensors", inventory->tensors);
    print_count(out, "negotiations", inventory->negotiations);
    print_count(out, "ticks", inventory->ticks);
    print_count(out, "submissions", inventory->submissions);
    print_count(out, "batches", inventory->batches);
    print_count(out, "cycles", inventory->cycles);
    print_count(out, "steps", inventory->steps);
    print_count(out, "spans", inventory->spans);
    const int64_t *findings = inventory->findings;
    fprintf(out,
            "%-14s%" G_GINT64_FORMAT " error%s, %" G_GINT64_FORMAT " warning%s, %" G_GINT64_FORMAT
            " note%s\n",
            "findings", findings[LS_FAULT], plural(findings[LS_FAULT]), findings[LS_WARNING],
            plural(findings[LS_WARNING]), findings[LS_NOTE], plural(findings[LS_NOTE]));
}

static bool
write_info(FILE *out, const Options *options, const LsTrace *trace, const bool *shown,
           const LsInventory *inventory, GError **error)
{
    if (!options->format || strcmp(options->format, "text") == 0) {
        if (inventory->ranks + inventory->strangers == 0) {
            g_autofree char *path = ls_terminal_make_safe(options->paths[0]);
            fprintf(out, "%s: no events recorded.\n", path);
        } else
            print_text(out, inventory);
        return true;
    }
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {.trace = trace,
                             .activity = activity,
                             .rank_shown = shown,
                             .step_first = INT64_MIN,
                             .step_last = INT64_MAX};
    g_autoptr(LsTable) table = make_table(inventory);
    g_autoptr(LsTable) ranks = ls_analysis_find("ranks")->run(&input);
    LsTable *tables[] = {table, ranks};
    return ls_report_find_writer(options->format)->write(out, NULL, tables, 2, &input, error);
}

static int
info(const Options *options, GError **error)
{
    g_autofree bool *shown = NULL;
    g_autoptr(LsTrace) trace = ls_options_load((const char *const *)options->paths, NULL, error);
    if (!trace || (options->ranks && !ls_options_parse_ranks(options->ranks, trace, &shown, error)))
        return -1;
    FILE *out = ls_options_open_output(options->output, error);
    if (!out)
        return -1;
    LsInventory *inventory = ls_inventory_new(trace, shown);
    bool serious = inventory->findings[LS_FAULT] + inventory->findings[LS_WARNING] > 0;
    bool written = write_info(out, options, trace, shown, inventory, error);
    ls_inventory_free(inventory);
    if (!ls_options_close_output(out, options->output, written ? error : NULL) || !written)
        return -1;
    return options->strict && serious ? LS_EXIT_GATE : LS_EXIT_DONE;
}

static int
print_rules(const Options *options, GError **error)
{
    g_autofree char *rules = ls_rules_format();
    FILE *out = ls_options_open_output(options->output, error);
    if (!out)
        return -1;
    fputs(rules, out);
    return ls_options_close_output(out, options->output, error) ? LS_EXIT_DONE : -1;
}

static int
run(int argc, char **argv)
{
    g_auto(Options) options = {0};
    g_autoptr(GError) error = NULL;
    int status = -1;
    if (parse_options(argc, argv, &options, &error) &&
        ls_options_check_format(options.format, &error))
        status = options.rules ? print_rules(&options, &error) : info(&options, &error);
    return status < 0 ? ls_options_fail("info", error) : status;
}

const LsCmd ls_cmd_info = {"info", "say what is in a recording", run, NULL};
