/* SPDX-License-Identifier: Apache-2.0
 *
 * report/text-cell.c: a table's cells as a person reads them: with units, three digits, moments
 * since the run began.
 */
#include "report/text-table.h"

#include "base/terminal.h"
#include "base/units.h"

#include <string.h>

#define TEXT_WIDTH_MAX 48 /* of a cell, in characters */

static bool
is_time(const LsColumn *column)
{
    return g_str_has_suffix(column->name, "_ns") || g_str_has_suffix(column->name, "_ns_per_step");
}

/* A moment, not a duration: shown since the start of the run. */
static bool
is_moment(const LsColumn *column)
{
    static const char *const names[] = {"start_ns", "end_ns",    "first_ns", "last_ns",
                                        "at_ns",    "launch_ns", NULL};

    return g_strv_contains(names, column->name);
}

/* To the microsecond: neighbouring moments must differ. */
static char *
format_moment(int64_t ns)
{
    int64_t us = ns / 1000;

    return g_strdup_printf("%s%" G_GINT64_FORMAT ".%03d ms", us < 0 ? "-" : "", ABS(us) / 1000,
                           (int)(ABS(us) % 1000));
}

static char *
format_number(const LsColumn *column, double value)
{
    if (g_str_has_suffix(column->name, "_per_s"))
        return ls_format_rate(value);
    if (strcmp(column->name, "share") == 0 || g_str_has_suffix(column->name, "_ratio"))
        return g_strdup_printf("%.1f %%", 100 * value);
    if (strcmp(column->name, "flops") == 0)
        return g_strdup_printf("%.3g", value);
    return g_strdup_printf("%.1f", value);
}

static bool
is_bytes(const LsColumn *column)
{
    return g_str_has_prefix(column->name, "bytes");
}

char *
ls_text_format_cell(const LsTable *table, size_t row, size_t c, int64_t first_ns)
{
    const LsColumn *column = ls_table_get_column(table, c);

    if (ls_table_is_null(table, row, c))
        return g_strdup("-");
    switch (column->type) {
    case LS_COLUMN_INT:
        if (is_moment(column))
            return format_moment(ls_table_get_int(table, row, c) - first_ns);
        if (is_time(column))
            return ls_format_ns(ls_table_get_int(table, row, c));
        if (is_bytes(column))
            return ls_format_bytes(ls_table_get_int(table, row, c));
        return g_strdup_printf("%" G_GINT64_FORMAT, ls_table_get_int(table, row, c));
    case LS_COLUMN_REAL:
        if (is_bytes(column))
            return ls_format_bytes((int64_t)ls_table_get_real(table, row, c));
        return format_number(column, ls_table_get_real(table, row, c));
    case LS_COLUMN_BOOL:
        return g_strdup(ls_table_get_bool(table, row, c) ? "yes" : "no");
    case LS_COLUMN_TEXT:
        break;
    }
    return ls_terminal_make_safe(ls_table_get_text(table, row, c));
}

/* The column's name without its unit, which stands in every cell. */
char *
ls_text_format_name(const LsColumn *column)
{
    g_autofree char *name = g_strdup(column->name);

    if (g_str_has_suffix(name, "_ns"))
        name[strlen(name) - strlen("_ns")] = '\0';
    else if (g_str_has_suffix(name, "_ns_per_step"))
        return g_strdup("cost a step");
    else if (g_str_has_suffix(name, "_bytes_per_s"))
        name[strlen(name) - strlen("_bytes_per_s")] = '\0';
    return g_strdelimit(g_steal_pointer(&name), "_", ' ');
}

/* Cuts a long name in its middle: both ends of a tensor's name tell it from others. */
char *
ls_text_shorten(char *text)
{
    g_autofree char *owned = text;
    long n = g_utf8_strlen(text, -1), half = (TEXT_WIDTH_MAX - 1) / 2;

    if (n <= TEXT_WIDTH_MAX)
        return g_steal_pointer(&owned);
    g_autofree char *head = g_utf8_substring(text, 0, half);

    return g_strconcat(head, "\342\200\246", g_utf8_offset_to_pointer(text, n - half), NULL);
}
