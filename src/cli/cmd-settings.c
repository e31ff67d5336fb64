/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/cmd-settings.c: `lockstep settings`: the settings of the reduction library, from the list
 * that the library itself is built from: what each is by default, what it is in this environment,
 * and which variable says so. The precedence is the library's: LOCKSTEP_NAME, then Horovod's
 * variable of the same meaning, an empty one counting as none. A value that the library would
 * refuse is listed with the sentence that it would say.
 */
#include "cli/commands.h"

#include "base/error.h"
#include "base/table.h"
#include "cli/options.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

typedef struct Row {
    const char *name, *type, *initial, *choices, *alias;
    bool agree;
    const char *help;
} Row;

static const Row rows[] = {
#define LS_SETTING(SYMBOL, name, TYPE, initial, choices, alias, agree, help)                       \
    {name, #TYPE, initial, choices, alias, agree, help},
#include "reduce/settings.def"
#undef LS_SETTING
};

/* How the settings.def's types are called by people. */
static const struct {
    const char *type, *text, *expected; /* in a list; in the library's sentence */
} types[] = {
    {"MS", "milliseconds", LS_SETTING_MS_TEXT},         {"S", "seconds", LS_SETTING_S_TEXT},
    {"BYTES", "bytes", LS_SETTING_BYTES_TEXT},          {"COUNT", "number", "a whole number from"},
    {"TEXT", "text", "a word of up to 255 characters"}, {"CHOICE", "choice", "one of"}};

typedef struct Options {
    char **names;
    char *format, *output;
    int strict;
} Options;

static void
clear_options(Options *options)
{
    g_strfreev(options->names);
    g_free(options->format);
    g_free(options->output);
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
        {"strict", 0, 0, G_OPTION_ARG_NONE, &options->strict,
         "Exit with status 1 if a value is none that the library takes", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->names, NULL, "[NAME...]"},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    return ls_options_parse("- print the settings of the reduction library", entries, argc, argv,
                            error);
}

/* What is asked for: all, or those named. */
static bool
is_shown(const Options *options, const Row *row)
{
    return !options->names || g_strv_contains((const char *const *)options->names, row->name);
}

static bool
check_names(const Options *options, GError **error)
{
    for (char **name = options->names; name && *name; name++) {
        size_t i = 0;
        while (i < G_N_ELEMENTS(rows) && strcmp(rows[i].name, *name) != 0)
            i++;
        if (i == G_N_ELEMENTS(rows)) {
            g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                        "There is no setting '%s'; `lockstep settings` lists them.", *name);
            return false;
        }
    }
    return true;
}

static const char *
type_text(const Row *row)
{
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
        if (strcmp(types[i].type, row->type) == 0)
            return row->choices[0] ? row->choices : types[i].text;
    return row->type;
}

/* Digits with at most one point. Enough of a double for a limit; the library keeps int64. */
static bool
is_decimal(const char *text, size_t length, double most)
{
    bool digit = false, point = false;
    for (size_t i = 0; i < length; i++) {
        if (!g_ascii_isdigit(text[i]) && (text[i] != '.' || point))
            return false;
        digit |= text[i] != '.';
        point |= text[i] == '.';
    }
    return digit && g_ascii_strtod(text, NULL) <= most;
}

static bool
is_bytes(const char *value)
{
    size_t length = strlen(value);
    const char *suffix = length > 0 ? strchr("KMG", g_ascii_toupper(value[length - 1])) : NULL;
    if (!suffix)
        return !strchr(value, '.') && is_decimal(value, length, (double)LS_SETTING_BYTES_MAX);
    double unit = (double)(INT64_C(1) << (10 * (strlen("KMG") - strlen(suffix) + 1)));
    return is_decimal(value, length - 1, (double)LS_SETTING_BYTES_MAX / unit);
}

/* The library's own rules: reduce/settings.c. */
static bool
is_valid(const Row *row, const char *value)
{
    size_t length = strlen(value);
    g_auto(GStrv) range = g_strsplit(row->choices, " to ", 2);
    g_auto(GStrv) choices = g_strsplit(row->choices, "|", -1);
    if (strcmp(row->type, "MS") == 0)
        return is_decimal(value, length, (double)LS_SETTING_MS_MAX);
    if (strcmp(row->type, "S") == 0)
        return is_decimal(value, length, (double)LS_SETTING_S_MAX);
    if (strcmp(row->type, "BYTES") == 0)
        return is_bytes(value);
    if (strcmp(row->type, "COUNT") == 0)
        return !strchr(value, '.') && is_decimal(value, length, g_ascii_strtod(range[1], NULL)) &&
               g_ascii_strtod(value, NULL) >= g_ascii_strtod(range[0], NULL);
    if (strcmp(row->type, "CHOICE") == 0)
        return g_strv_contains((const char *const *)choices, value);
    return length < LS_SETTING_TEXT_MAX;
}

/* What the library would say to the value; NULL: it takes it. */
static char *
find_fault(const Row *row, const char *value, const char *source)
{
    const char *expected = "";
    if (is_valid(row, value))
        return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
        if (strcmp(types[i].type, row->type) == 0)
            expected = types[i].expected;
    return g_strdup_printf("setting %s: '%.80s' from %s is not %s%s%s", row->name, value, source,
                           expected, row->choices[0] ? " " : "", row->choices);
}

/* The value that holds here; *ret_source (caller frees): the variable that it comes from, or
 * "default". */
static const char *
find_value(const Row *row, char **ret_source)
{
    g_autofree char *upper = g_ascii_strup(row->name, -1);
    g_autofree char *variable = g_strconcat("LOCKSTEP_", upper, NULL);
    const char *own = g_getenv(variable), *alias = row->alias[0] ? g_getenv(row->alias) : NULL;
    if (own && own[0]) {
        *ret_source = g_steal_pointer(&variable);
        return own;
    }
    *ret_source = g_strdup(alias && alias[0] ? row->alias : "default");
    return alias && alias[0] ? alias : row->initial;
}

enum { NAME, TYPE, DEFAULT, VALUE, SOURCE, ALIAS, AGREE, HELP, FAULT };

static const LsColumn columns[] = {
    [NAME] = {"name", LS_COLUMN_TEXT},       [TYPE] = {"type", LS_COLUMN_TEXT},
    [DEFAULT] = {"default", LS_COLUMN_TEXT}, [VALUE] = {"value", LS_COLUMN_TEXT},
    [SOURCE] = {"source", LS_COLUMN_TEXT},   [ALIAS] = {"alias", LS_COLUMN_TEXT},
    [AGREE] = {"agree", LS_COLUMN_BOOL},     [HELP] = {"help", LS_COLUMN_TEXT},
    [FAULT] = {"fault", LS_COLUMN_TEXT}};

static LsTable *
make_table(const Options *options)
{
    LsTable *table = ls_table_new("settings", columns, G_N_ELEMENTS(columns));
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *row = &rows[i];
        g_autofree char *source = NULL;
        if (!is_shown(options, row))
            continue;
        const char *value = find_value(row, &source);
        g_autofree char *fault = find_fault(row, value, source);
        ls_table_add_row(table);
        ls_table_set_text(table, NAME, row->name);
        ls_table_set_text(table, TYPE, type_text(row));
        ls_table_set_text(table, DEFAULT, row->initial);
        ls_table_set_text(table, VALUE, value);
        ls_table_set_text(table, SOURCE, source);
        ls_table_set_text(table, ALIAS, row->alias[0] ? row->alias : NULL);
        ls_table_set_bool(table, AGREE, row->agree);
        ls_table_set_text(table, HELP, row->help);
        ls_table_set_text(table, FAULT, fault);
    }
    return table;
}

/* A paragraph for each: "cycle_time_ms = 2.5 (HOROVOD_CYCLE_TIME)", the rest indented. */
static void
print_text(FILE *out, const LsTable *table)
{
    for (size_t row = 0; row < ls_table_get_rows(table); row++) {
        const char *value = ls_table_get_text(table, row, VALUE);
        const char *initial = ls_table_get_text(table, row, DEFAULT);
        fprintf(out, "%s%s = %s (%s)\n", row > 0 ? "\n" : "", ls_table_get_text(table, row, NAME),
                value[0] ? value : "\"\"", ls_table_get_text(table, row, SOURCE));
        fprintf(out, "    %s, default %s", ls_table_get_text(table, row, TYPE),
                initial[0] ? initial : "\"\"");
        if (!ls_table_is_null(table, row, ALIAS))
            fprintf(out, ", also %s", ls_table_get_text(table, row, ALIAS));
        if (ls_table_get_bool(table, row, AGREE))
            fputs("; the same on every rank", out);
        fprintf(out, "\n    %s\n", ls_table_get_text(table, row, HELP));
        if (!ls_table_is_null(table, row, FAULT))
            fprintf(out, "    invalid: %s\n", ls_table_get_text(table, row, FAULT));
    }
}

static bool
has_fault(const LsTable *table)
{
    for (size_t row = 0; row < ls_table_get_rows(table); row++)
        if (!ls_table_is_null(table, row, FAULT))
            return true;
    return false;
}

static bool
print_settings(const Options *options, LsTable *table, GError **error)
{
    FILE *out = ls_options_open_output(options->output, error);
    bool written = true;
    if (!out)
        return false;
    if (!options->format || strcmp(options->format, "text") == 0)
        print_text(out, table);
    else
        written = ls_report_find_writer(options->format)->write(out, NULL, &table, 1, NULL, error);
    return ls_options_close_output(out, options->output, written ? error : NULL) && written;
}

static int
run(int argc, char **argv)
{
    g_auto(Options) options = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(LsTable) table = NULL;
    if (!parse_options(argc, argv, &options, &error) || !check_names(&options, &error) ||
        !ls_options_check_format(options.format, &error))
        return ls_options_fail("settings", error);
    table = make_table(&options);
    if (!print_settings(&options, table, &error))
        return ls_options_fail("settings", error);
    return options.strict && has_fault(table) ? LS_EXIT_GATE : LS_EXIT_DONE;
}

const LsCmd ls_cmd_settings = {"settings", "print the settings of the reduction library", run,
                               NULL};
