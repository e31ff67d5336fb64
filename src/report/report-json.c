/* SPDX-License-Identifier: Apache-2.0
 *
 * report/report-json.c: {"headline": [...], "tables": {NAME: [ {column: value} ]}}, one row a line,
 * so that a table of any length is never held in memory twice. Unknown is null. Names from traces
 * may hold any bytes: what is no UTF-8 is replaced.
 */
#include "report/writers.h"

#include <json-c/json.h>
#include <math.h>

static json_object *
make_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    return json_object_new_string(valid);
}

static json_object *
make_real(double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    if (!isfinite(value))
        return NULL;
    return json_object_new_double_s(value, g_ascii_formatd(text, sizeof text, "%.15g", value));
}

static json_object *
make_cell(const LsTable *table, size_t row, size_t column)
{
    if (ls_table_is_null(table, row, column))
        return NULL;
    switch (ls_table_get_column(table, column)->type) {
    case LS_COLUMN_INT:
        return json_object_new_int64(ls_table_get_int(table, row, column));
    case LS_COLUMN_REAL:
        return make_real(ls_table_get_real(table, row, column));
    case LS_COLUMN_TEXT:
        return make_text(ls_table_get_text(table, row, column));
    case LS_COLUMN_BOOL:
        return json_object_new_boolean(ls_table_get_bool(table, row, column));
    }
    return NULL;
}

/* Writes the object and lets it go. */
static void
put(FILE *out, json_object *object)
{
    fputs(json_object_to_json_string_ext(object,
                                         JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
          out);
    json_object_put(object);
}

static void
write_table(FILE *out, const LsTable *table)
{
    put(out, make_text(ls_table_get_name(table)));
    fputs(": [", out);
    for (size_t r = 0; r < ls_table_get_rows(table); r++) {
        json_object *row = json_object_new_object();

        for (size_t c = 0; c < ls_table_get_columns(table); c++)
            json_object_object_add(row, ls_table_get_column(table, c)->name,
                                   make_cell(table, r, c));
        fputs(r > 0 ? ",\n  " : "\n  ", out);
        put(out, row);
    }
    fputs("]", out);
}

static void
write_headline(FILE *out, const LsHeadline *headline)
{
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    fputs("\"headline\": [", out);
    for (size_t i = 0; i < n; i++) {
        json_object *line = json_object_new_object();

        json_object_object_add(line, "label", make_text(lines[i].label));
        json_object_object_add(line, "text", make_text(lines[i].text));
        fputs(i > 0 ? ",\n  " : "\n  ", out);
        put(out, line);
    }
    fputs("],\n", out);
}

static bool
write_json(FILE *out, const LsHeadline *headline, LsTable *const *tables, size_t n_tables,
           const LsAnalysisInput *input, GError **error)
{
    fputs("{", out);
    if (headline != NULL)
        write_headline(out, headline);
    fputs("\"tables\": {", out);
    for (size_t i = 0; i < n_tables; i++) {
        fputs(i > 0 ? ",\n " : "\n ", out);
        write_table(out, tables[i]);
    }
    fputs("}}\n", out);
    return ls_report_finish(out, error);
}

const LsReportWriter ls_report_json = {"json", write_json};
