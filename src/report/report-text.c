/* SPDX-License-Identifier: Apache-2.0
 *
 * report/report-text.c: the report that a person reads: the headline, tables in columns with units,
 * and the honesty ledger at the foot. Long tables show their first rows and say how many follow;
 * columns of which nothing is known are left out.
 */
#include "report/writers.h"

#include "base/units.h"
#include "report/honesty.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN     12
#define FINDINGS_SHOWN 40
#define TEXT_WIDTH_MAX 48 /* of a cell, in characters; findings are written in full */

/* -- Cells -- */

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

static char *
format_cell(const LsTable *table, size_t row, size_t c, int64_t first_ns)
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
    return g_utf8_make_valid(ls_table_get_text(table, row, c), -1);
}

/* The column's name without its unit, which stands in every cell. */
static char *
format_name(const LsColumn *column)
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
static char *
shorten(char *text)
{
    g_autofree char *owned = text;
    long n = g_utf8_strlen(text, -1), half = (TEXT_WIDTH_MAX - 1) / 2;

    if (n <= TEXT_WIDTH_MAX)
        return g_steal_pointer(&owned);
    g_autofree char *head = g_utf8_substring(text, 0, half);

    return g_strconcat(head, "\342\200\246", g_utf8_offset_to_pointer(text, n - half), NULL);
}

/* -- Rows: of long tables those that matter most -- */

static const struct Order {
    const char *table, *column, *words;
} orders[] = {
    {"steps", "step_ns", "slowest first"},
    {"collectives", "wait_max_ns", "longest wait first"},
    {"tensors", "negotiation_ns", "longest negotiation first"},
    {"groups", "inner_wait_ns", "longest inner wait first"},
    {"stragglers", "waited_for_ns", "most waited for first"},
};

static const struct Order *
find_order(const LsTable *table)
{
    for (size_t i = 0; i < G_N_ELEMENTS(orders); i++)
        if (strcmp(orders[i].table, ls_table_get_name(table)) == 0)
            return &orders[i];
    return NULL;
}

typedef struct Sort {
    const LsTable *table;
    size_t column;
} Sort;

static int
compare_rows(const void *a, const void *b, void *user)
{
    const Sort *sort = user;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int64_t p = ls_table_is_null(sort->table, x, sort->column)
                    ? INT64_MIN
                    : ls_table_get_int(sort->table, x, sort->column);
    int64_t q = ls_table_is_null(sort->table, y, sort->column)
                    ? INT64_MIN
                    : ls_table_get_int(sort->table, y, sort->column);

    if (p != q)
        return p < q ? 1 : -1;
    return (x > y) - (x < y);
}

/* All rows in the order in which they are shown; *ret_words: what that order is, "" as they come.
 */
static size_t *
order_rows(const LsTable *table, const char **ret_words)
{
    size_t n = ls_table_get_rows(table);
    const struct Order *order = find_order(table);
    size_t *rows = g_new(size_t, n);

    *ret_words = "";
    for (size_t r = 0; r < n; r++)
        rows[r] = r;
    if (n > ROWS_SHOWN && order != NULL) {
        Sort sort = {table, (size_t)ls_table_find_column(table, order->column)};

        qsort_r(rows, n, sizeof *rows, compare_rows, &sort);
        *ret_words = order->words;
    }
    return rows;
}

/* -- Tables -- */

static void
put_padded(FILE *out, const char *text, long width, bool left)
{
    int pad = (int)MAX(width - g_utf8_strlen(text, -1), 0);

    fprintf(out, "%*s%s%*s", left ? 0 : pad, "", text, left ? pad : 0, "");
}

static bool
is_known(const LsTable *table, size_t column)
{
    for (size_t r = 0; r < ls_table_get_rows(table); r++)
        if (!ls_table_is_null(table, r, column))
            return true;
    return false;
}

static void
write_column_cells(GPtrArray *lines, const LsTable *table, size_t c, const size_t *order,
                   size_t rows, int64_t first_ns)
{
    const LsColumn *column = ls_table_get_column(table, c);
    bool left = column->type == LS_COLUMN_TEXT;
    g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
    long width = 0;

    g_ptr_array_add(cells, format_name(column));
    for (size_t r = 0; r < rows; r++)
        g_ptr_array_add(cells, shorten(format_cell(table, order[r], c, first_ns)));
    for (size_t i = 0; i < cells->len; i++)
        width = MAX(width, g_utf8_strlen(cells->pdata[i], -1));
    for (size_t i = 0; i < cells->len; i++) {
        GString *line = lines->pdata[i];
        long pad = width - g_utf8_strlen(cells->pdata[i], -1);

        g_string_append(line, "  ");
        g_string_append_printf(line, "%*s", left ? 0 : (int)pad, "");
        g_string_append(line, cells->pdata[i]);
        g_string_append_printf(line, "%*s", left ? (int)pad : 0, "");
    }
}

static void
free_line(void *line)
{
    g_string_free(line, true);
}

static void
write_table(FILE *out, const LsTable *table, int64_t first_ns)
{
    size_t all = ls_table_get_rows(table), rows = MIN(all, ROWS_SHOWN);
    const char *words;
    g_autofree size_t *order = order_rows(table, &words);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(free_line);

    for (size_t i = 0; i < rows + 1; i++)
        g_ptr_array_add(lines, g_string_new(NULL));
    for (size_t c = 0; c < ls_table_get_columns(table); c++)
        if (is_known(table, c))
            write_column_cells(lines, table, c, order, rows, first_ns);
    fprintf(out, "\n%s%s%s\n", ls_table_get_name(table), *words ? ", " : "", words);
    for (size_t i = 0; i < lines->len; i++)
        fprintf(out, "%s\n", g_strchomp(((GString *)lines->pdata[i])->str));
    if (all > rows)
        fprintf(out, "  \342\200\246 %zu more, --format csv for all\n", all - rows);
}

/* Sentences, not columns. */
static void
write_findings(FILE *out, const LsTable *table, int64_t first_ns)
{
    size_t all = ls_table_get_rows(table), rows = MIN(all, FINDINGS_SHOWN);
    int severity = ls_table_find_column(table, "severity"),
        file = ls_table_find_column(table, "file");
    int offset = ls_table_find_column(table, "offset"), at = ls_table_find_column(table, "at_ns");
    int text = ls_table_find_column(table, "text");

    fprintf(out, "\n%s\n", ls_table_get_name(table));
    for (size_t r = 0; r < rows; r++) {
        g_autofree char *sentence = format_cell(table, r, (size_t)text, 0);

        fputs("  ", out);
        put_padded(out, ls_table_get_text(table, r, (size_t)severity), 8, true);
        if (!ls_table_is_null(table, r, (size_t)file)) {
            g_autofree char *name = g_path_get_basename(ls_table_get_text(table, r, (size_t)file));

            fputs(name, out);
            if (!ls_table_is_null(table, r, (size_t)offset))
                fprintf(out, ", byte %" G_GINT64_FORMAT,
                        ls_table_get_int(table, r, (size_t)offset));
            if (!ls_table_is_null(table, r, (size_t)at)) {
                g_autofree char *time = format_cell(table, r, (size_t)at, first_ns);

                fprintf(out, " at %s", time);
            }
            fputs(": ", out);
        }
        fprintf(out, "%s\n", sentence);
    }
    if (all > rows)
        fprintf(out, "  \342\200\246 %zu more, --format csv for all\n", all - rows);
}

/* -- The whole -- */

static void
write_headline(FILE *out, const LsHeadline *headline)
{
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);
    long width = 0;

    for (size_t i = 0; i < n; i++)
        width = MAX(width, g_utf8_strlen(lines[i].label, -1));
    for (size_t i = 0; i < n; i++) {
        put_padded(out, lines[i].label, width, true);
        fprintf(out, "  %s\n", lines[i].text);
    }
}

static void
write_honesty(FILE *out, const LsAnalysisInput *input)
{
    g_autoptr(GPtrArray) lines = ls_honesty_list(input);

    fputs("\nrecording\n", out);
    for (size_t i = 0; i < lines->len; i++)
        fprintf(out, "  %s\n", (const char *)lines->pdata[i]);
}

static bool
write_report(FILE *out, const LsHeadline *headline, LsTable *const *tables, size_t n_tables,
             const LsAnalysisInput *input, GError **error)
{
    g_autoptr(GString) empty = g_string_new(NULL);

    if (headline != NULL)
        write_headline(out, headline);
    for (size_t i = 0; i < n_tables; i++) {
        const char *name = ls_table_get_name(tables[i]);

        if (ls_table_get_rows(tables[i]) == 0)
            g_string_append_printf(empty, "%s%s", empty->len > 0 ? ", " : "", name);
        else if (strcmp(name, "findings") == 0)
            write_findings(out, tables[i], ls_trace_get_first_ns(input->trace));
        else
            write_table(out, tables[i], ls_trace_get_first_ns(input->trace));
    }
    if (empty->len > 0)
        fprintf(out, "\nwithout rows: %s\n", empty->str);
    write_honesty(out, input);
    return ls_report_finish(out, error);
}

const LsReportWriter ls_report_text = {"text", write_report};
