/* SPDX-License-Identifier: Apache-2.0
 *
 * report/text-table.c: a table in columns, within 120 of a terminal's.
 *
 * Long tables show the rows that matter most and say how many follow; columns of which nothing is
 * known are left out. A table that is too wide still first folds its headings; then says what is
 * the same in all rows once, below it; then goes on in further blocks, each beginning with the
 * columns that name the row. JSON and CSV have everything in any case.
 */
#include "report/text-table.h"

#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 12
#define GAP        2 /* before each column */

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

static int64_t
get_key(const Sort *sort, size_t row)
{
    return ls_table_is_null(sort->table, row, sort->column)
               ? INT64_MIN
               : ls_table_get_int(sort->table, row, sort->column);
}

static int
compare_rows(const void *a, const void *b, void *user)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int64_t p = get_key(user, x), q = get_key(user, y);

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

/* -- Columns -- */

/* How many first columns name a row; one, where nothing is said. */
static const struct Keys {
    const char *table;
    size_t n;
} keys[] = {{"steps", 2}, {"ranks", 2},   {"collectives", 2}, {"stragglers", 3},
            {"power", 2}, {"buffers", 2}, {"launches", 2},    {"blame", 3}};

static size_t
count_keys(const LsTable *table)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        if (strcmp(keys[i].table, ls_table_get_name(table)) == 0)
            return keys[i].n;
    return 1;
}

typedef struct Column {
    bool left, is_key, is_constant;
    char *name;
    char **cells; /* of the rows shown */
    long cells_width;
    GPtrArray *head; /* lines of the heading */
    long width;
} Column;

static void
free_column(void *data)
{
    Column *column = data;

    g_free(column->name);
    g_strfreev(column->cells);
    g_clear_pointer(&column->head, g_ptr_array_unref);
    g_free(column);
}

static bool
is_known(const LsTable *table, size_t column)
{
    for (size_t r = 0; r < ls_table_get_rows(table); r++)
        if (!ls_table_is_null(table, r, column))
            return true;
    return false;
}

static Column *
make_column(const LsTable *table, size_t c, const size_t *order, size_t rows, int64_t first_ns)
{
    Column *column = g_new0(Column, 1);

    column->left = ls_table_get_column(table, c)->type == LS_COLUMN_TEXT;
    column->is_key = c < count_keys(table);
    column->is_constant = rows > 1 && !column->is_key;
    column->name = ls_text_format_name(ls_table_get_column(table, c));
    column->cells = g_new0(char *, rows + 1);
    for (size_t r = 0; r < rows; r++) {
        column->cells[r] = ls_text_shorten(ls_text_format_cell(table, order[r], c, first_ns));
        column->cells_width = MAX(column->cells_width, ls_terminal_get_width(column->cells[r]));
        column->is_constant =
            column->is_constant && strcmp(column->cells[r], column->cells[0]) == 0;
    }
    return column;
}

/* The heading in lines no wider than the cells, or than its longest word; in one line if not
 * folded. */
static void
set_head(Column *column, bool folded)
{
    g_auto(GStrv) words = g_strsplit(column->name, folded ? " " : "\n", -1);
    g_autoptr(GString) line = g_string_new(NULL);

    column->width = column->cells_width;
    for (size_t i = 0; words[i] != NULL; i++)
        column->width = MAX(column->width, ls_terminal_get_width(words[i]));
    g_clear_pointer(&column->head, g_ptr_array_unref);
    column->head = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; words[i] != NULL; i++) {
        bool fits =
            ls_terminal_get_width(line->str) + 1 + ls_terminal_get_width(words[i]) <= column->width;

        if (line->len > 0 && !fits) {
            g_ptr_array_add(column->head, g_strdup(line->str));
            g_string_truncate(line, 0);
        }
        g_string_append_printf(line, "%s%s", line->len > 0 ? " " : "", words[i]);
    }
    g_ptr_array_add(column->head, g_strdup(line->str));
}

static long
measure(const GPtrArray *columns)
{
    long width = 0;

    for (size_t c = 0; c < columns->len; c++)
        width += GAP + ((const Column *)columns->pdata[c])->width;
    return width;
}

static long
set_heads(GPtrArray *columns, bool folded)
{
    for (size_t c = 0; c < columns->len; c++)
        set_head(columns->pdata[c], folded);
    return measure(columns);
}

/* "the same in all: samples 8, warmup no", and those columns are gone. */
static void
take_constants(GPtrArray *columns, GString *said)
{
    for (size_t c = 0; c < columns->len;) {
        const Column *column = columns->pdata[c];

        if (!column->is_constant) {
            c++;
            continue;
        }
        g_string_append_printf(said, "%s%s %s",
                               said->len > 0 ? ", " : "the same in all of these: ", column->name,
                               column->cells[0]);
        g_ptr_array_remove_index(columns, (guint)c);
    }
}

/* -- Writing -- */

static void
append_cell(GString *line, const Column *column, const char *text)
{
    int pad = (int)MAX(column->width - ls_terminal_get_width(text), 0);

    g_string_append_printf(line, "%*s%*s%s%*s", GAP, "", column->left ? 0 : pad, "", text,
                           column->left ? pad : 0, "");
}

static void
write_line(FILE *out, GString *line)
{
    fprintf(out, "%s\n", g_strchomp(line->str));
    g_string_truncate(line, 0);
}

static void
write_block(FILE *out, Column *const *columns, size_t n, size_t rows)
{
    g_autoptr(GString) line = g_string_new(NULL);
    size_t head = 1;

    for (size_t c = 0; c < n; c++)
        head = MAX(head, columns[c]->head->len);
    for (size_t h = 0; h < head; h++) {
        for (size_t c = 0; c < n; c++) { /* headings stand on the cells */
            size_t above = head - columns[c]->head->len;

            append_cell(line, columns[c], h < above ? "" : columns[c]->head->pdata[h - above]);
        }
        write_line(out, line);
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < n; c++)
            append_cell(line, columns[c], columns[c]->cells[r]);
        write_line(out, line);
    }
}

/* Each block: the columns that name the row, then as many others as fit. */
static void
write_blocks(FILE *out, const GPtrArray *columns, size_t rows)
{
    g_autoptr(GPtrArray) block = g_ptr_array_new();
    size_t n_keys = 0, next;

    while (n_keys < columns->len && ((const Column *)columns->pdata[n_keys])->is_key)
        n_keys++;
    next = n_keys;
    do {
        g_ptr_array_set_size(block, 0);
        for (size_t c = 0; c < n_keys; c++)
            g_ptr_array_add(block, columns->pdata[c]);
        while (next < columns->len) {
            g_ptr_array_add(block, columns->pdata[next]);
            if (measure(block) > LS_TEXT_WIDTH && block->len > n_keys + 1) {
                g_ptr_array_set_size(block, (int)block->len - 1);
                break;
            }
            next++;
        }
        write_block(out, (Column *const *)block->pdata, block->len, rows);
        if (next < columns->len)
            fputc('\n', out);
    } while (next < columns->len);
}

void
ls_text_write_table(FILE *out, const LsTable *table, int64_t first_ns)
{
    size_t all = ls_table_get_rows(table), rows = MIN(all, ROWS_SHOWN);
    const char *words;
    g_autofree size_t *order = order_rows(table, &words);
    g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func(free_column);
    g_autoptr(GString) said = g_string_new(NULL);

    for (size_t c = 0; c < ls_table_get_columns(table); c++)
        if (is_known(table, c))
            g_ptr_array_add(columns, make_column(table, c, order, rows, first_ns));
    if (set_heads(columns, false) > LS_TEXT_WIDTH && set_heads(columns, true) > LS_TEXT_WIDTH)
        take_constants(columns, said);
    fprintf(out, "\n%s%s%s\n", ls_table_get_name(table), *words ? ", " : "", words);
    write_blocks(out, columns, rows);
    if (said->len > 0) {
        fputs("  ", out);
        ls_terminal_write_wrapped(out, said->str, 2, 2, LS_TEXT_WIDTH);
    }
    if (all > rows)
        fprintf(out, "  \342\200\246 %zu more, --format csv for all\n", all - rows);
}
