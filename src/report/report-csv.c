/* SPDX-License-Identifier: Apache-2.0
 *
 * report/report-csv.c: tables as RFC 4180 writes them, exact numbers, unknown cells empty. Names
 * from traces may hold any bytes: what is no UTF-8 is replaced, all else stays as it is. Where
 * there is more than one table each begins with a line "# NAME" and an empty line lies between two.
 */
#include "report/writers.h"

#include <string.h>

static void
write_text(FILE *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    if (*valid != '\0' && valid[strcspn(valid, ",\"\r\n")] == '\0') {
        fputs(valid, out);
        return;
    }
    fputc('"', out); /* an empty text, too: nothing at all is unknown */
    for (const char *at = valid; *at != '\0'; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputc('"', out);
}

static void
write_cell(FILE *out, const LsTable *table, size_t row, size_t column)
{
    char real[G_ASCII_DTOSTR_BUF_SIZE];

    if (ls_table_is_null(table, row, column))
        return;
    switch (ls_table_get_column(table, column)->type) {
    case LS_COLUMN_INT:
        fprintf(out, "%" G_GINT64_FORMAT, ls_table_get_int(table, row, column));
        break;
    case LS_COLUMN_REAL:
        fputs(g_ascii_formatd(real, sizeof real, "%.15g", ls_table_get_real(table, row, column)),
              out);
        break;
    case LS_COLUMN_TEXT:
        write_text(out, ls_table_get_text(table, row, column));
        break;
    case LS_COLUMN_BOOL:
        fputs(ls_table_get_bool(table, row, column) ? "true" : "false", out);
        break;
    }
}

static void
write_table(FILE *out, const LsTable *table)
{
    size_t columns = ls_table_get_columns(table);

    for (size_t c = 0; c < columns; c++)
        fprintf(out, "%s%s", c > 0 ? "," : "", ls_table_get_column(table, c)->name);
    fputc('\n', out);
    for (size_t r = 0; r < ls_table_get_rows(table); r++)
        for (size_t c = 0; c < columns; c++) {
            write_cell(out, table, r, c);
            fputc(c + 1 < columns ? ',' : '\n', out);
        }
}

static bool
write_csv(FILE *out, const LsHeadline *headline, LsTable *const *tables, size_t n_tables,
          const LsAnalysisInput *input, GError **error)
{
    for (size_t i = 0; i < n_tables; i++) {
        if (n_tables > 1)
            fprintf(out, "%s# %s\n", i > 0 ? "\n" : "", ls_table_get_name(tables[i]));
        write_table(out, tables[i]);
    }
    return ls_report_finish(out, error);
}

const LsReportWriter ls_report_csv = {"csv", write_csv};
