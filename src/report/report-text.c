/* SPDX-License-Identifier: Apache-2.0
 *
 * report/report-text.c: the report that a person reads: the headline, tables in columns with units,
 * and the honesty ledger at the foot; sentences are broken into lines of a terminal.
 */
#include "report/writers.h"

#include "base/terminal.h"
#include "report/honesty.h"
#include "report/text-table.h"

#include <string.h>

#define FINDINGS_SHOWN  40
#define LABEL_WIDTH_MAX 40

/* "warning  rank-00001.lks, byte 660 at 3.000 ms: sentence" */
static void
write_finding(FILE *out, const LsTable *table, size_t row, int64_t first_ns)
{
    size_t severity = (size_t)ls_table_find_column(table, "severity");
    size_t file = (size_t)ls_table_find_column(table, "file");
    size_t offset = (size_t)ls_table_find_column(table, "offset");
    size_t at = (size_t)ls_table_find_column(table, "at_ns");
    g_autofree char *sentence =
        ls_text_format_cell(table, row, (size_t)ls_table_find_column(table, "text"), 0);
    g_autoptr(GString) text = g_string_new(NULL);

    if (!ls_table_is_null(table, row, file)) {
        g_autofree char *base = g_path_get_basename(ls_table_get_text(table, row, file));
        g_autofree char *name = ls_terminal_make_safe(base);

        g_string_append(text, name);
        if (!ls_table_is_null(table, row, offset))
            g_string_append_printf(text, ", byte %" G_GINT64_FORMAT,
                                   ls_table_get_int(table, row, offset));
        if (!ls_table_is_null(table, row, at)) {
            g_autofree char *time = ls_text_format_cell(table, row, at, first_ns);

            g_string_append_printf(text, " at %s", time);
        }
        g_string_append(text, ": ");
    }
    g_string_append(text, sentence);
    fprintf(out, "  %-8s", ls_table_get_text(table, row, severity));
    ls_terminal_write_wrapped(out, text->str, 10, 10, LS_TEXT_WIDTH);
}

/* Sentences, not columns. */
static void
write_findings(FILE *out, const LsTable *table, int64_t first_ns)
{
    size_t all = ls_table_get_rows(table), rows = MIN(all, FINDINGS_SHOWN);

    fprintf(out, "\n%s\n", ls_table_get_name(table));
    for (size_t r = 0; r < rows; r++)
        write_finding(out, table, r, first_ns);
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

    for (size_t i = 0; i < n; i++) {
        g_autofree char *label = ls_terminal_make_safe(lines[i].label);

        width = MAX(width, ls_terminal_get_width(label));
    }
    width = MIN(width, LABEL_WIDTH_MAX);
    for (size_t i = 0; i < n; i++) {
        g_autofree char *label = ls_terminal_make_safe(lines[i].label);
        g_autofree char *text = ls_terminal_make_safe(lines[i].text);
        long used = ls_terminal_get_width(label);

        fprintf(out, "%s%*s", label, (int)MAX(width - used, 0) + 2, "");
        ls_terminal_write_wrapped(out, text, MAX(used, width) + 2, width + 2, LS_TEXT_WIDTH);
    }
}

static void
write_honesty(FILE *out, const LsAnalysisInput *input)
{
    g_autoptr(GPtrArray) lines = ls_honesty_list(input);

    fputs("\nrecording\n", out);
    for (size_t i = 0; i < lines->len; i++) {
        g_autofree char *line = ls_terminal_make_safe(lines->pdata[i]);

        fputs("  ", out);
        ls_terminal_write_wrapped(out, line, 2, 6, LS_TEXT_WIDTH);
    }
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
            ls_text_write_table(out, tables[i], ls_trace_get_first_ns(input->trace));
    }
    if (empty->len > 0) {
        fputs("\nwithout rows: ", out);
        ls_terminal_write_wrapped(out, empty->str, 14, 14, LS_TEXT_WIDTH);
    }
    write_honesty(out, input);
    return ls_report_finish(out, error);
}

const LsReportWriter ls_report_text = {"text", write_report};
