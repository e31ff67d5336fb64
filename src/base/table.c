/* SPDX-License-Identifier: Apache-2.0
 * base/table.c: a table as rows of cells, null until set. Texts are kept once each: columns of
 * names repeat a few values over many rows. */
#include "base/table.h"

#include <string.h>

typedef struct Cell {
    bool set;
    union {
        int64_t integer;
        double real;
        const char *text;
        bool truth;
    };
} Cell;

struct LsTable {
    char *name;
    const LsColumn *columns;
    size_t n_columns, n_rows;
    GArray *cells; /* Cell, row after row */
    GStringChunk *texts;
};

LsTable *
ls_table_new(const char *name, const LsColumn *columns, size_t n_columns)
{
    g_assert(name && columns && n_columns > 0);
    LsTable *table = g_new0(LsTable, 1);
    table->name = g_strdup(name);
    table->columns = columns;
    table->n_columns = n_columns;
    table->cells = g_array_new(FALSE, TRUE, sizeof(Cell));
    table->texts = g_string_chunk_new(1024);
    return table;
}

void
ls_table_free(LsTable *table)
{
    if (!table)
        return;
    g_free(table->name);
    g_array_unref(table->cells);
    g_string_chunk_free(table->texts);
    g_free(table);
}

size_t
ls_table_add_row(LsTable *table)
{
    g_array_set_size(table->cells, (guint)((table->n_rows + 1) * table->n_columns));
    return table->n_rows++;
}

static Cell *
last_row_cell(LsTable *table, size_t column, LsColumnType type)
{
    g_assert(table->n_rows > 0 && column < table->n_columns);
    g_assert(table->columns[column].type == type);
    Cell *cell =
        &g_array_index(table->cells, Cell, (table->n_rows - 1) * table->n_columns + column);
    cell->set = true;
    return cell;
}

void
ls_table_set_int(LsTable *table, size_t column, int64_t value)
{
    last_row_cell(table, column, LS_COLUMN_INT)->integer = value;
}

void
ls_table_set_real(LsTable *table, size_t column, double value)
{
    last_row_cell(table, column, LS_COLUMN_REAL)->real = value;
}

void
ls_table_set_text(LsTable *table, size_t column, const char *value)
{
    Cell *cell = last_row_cell(table, column, LS_COLUMN_TEXT);
    cell->set = value != NULL;
    cell->text = value ? g_string_chunk_insert_const(table->texts, value) : NULL;
}

void
ls_table_set_bool(LsTable *table, size_t column, bool value)
{
    last_row_cell(table, column, LS_COLUMN_BOOL)->truth = value;
}

const char *
ls_table_get_name(const LsTable *table)
{
    return table->name;
}

size_t
ls_table_get_rows(const LsTable *table)
{
    return table->n_rows;
}

size_t
ls_table_get_columns(const LsTable *table)
{
    return table->n_columns;
}

const LsColumn *
ls_table_get_column(const LsTable *table, size_t column)
{
    g_assert(column < table->n_columns);
    return &table->columns[column];
}

int
ls_table_find_column(const LsTable *table, const char *name)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const Cell *
get_cell(const LsTable *table, size_t row, size_t column)
{
    g_assert(row < table->n_rows && column < table->n_columns);
    return &g_array_index(table->cells, Cell, row * table->n_columns + column);
}

bool
ls_table_is_null(const LsTable *table, size_t row, size_t column)
{
    return !get_cell(table, row, column)->set;
}

int64_t
ls_table_get_int(const LsTable *table, size_t row, size_t column)
{
    g_assert(table->columns[column].type == LS_COLUMN_INT);
    return get_cell(table, row, column)->integer;
}

double
ls_table_get_real(const LsTable *table, size_t row, size_t column)
{
    const Cell *cell = get_cell(table, row, column);
    if (table->columns[column].type == LS_COLUMN_INT)
        return (double)cell->integer;
    g_assert(table->columns[column].type == LS_COLUMN_REAL);
    return cell->real;
}

const char *
ls_table_get_text(const LsTable *table, size_t row, size_t column)
{
    g_assert(table->columns[column].type == LS_COLUMN_TEXT);
    const Cell *cell = get_cell(table, row, column);
    return cell->set ? cell->text : "";
}

bool
ls_table_get_bool(const LsTable *table, size_t row, size_t column)
{
    g_assert(table->columns[column].type == LS_COLUMN_BOOL);
    return get_cell(table, row, column)->truth;
}
