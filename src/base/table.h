/* SPDX-License-Identifier: Apache-2.0
 *
 * base/table.h: a result as typed columns. Analyses fill it, report and ui show it.
 * Column names carry their unit (step_ns); an unknown value is null, never 0. Build it on one
 * thread; once filled it may be read from any.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct LsTable LsTable;

typedef enum LsColumnType {
    LS_COLUMN_INT,  /* int64; also ns, bytes, counts */
    LS_COLUMN_REAL, /* double */
    LS_COLUMN_TEXT,
    LS_COLUMN_BOOL,
} LsColumnType;

typedef struct LsColumn {
    const char *name; /* interface name, with unit */
    LsColumnType type;
} LsColumn;

/* `columns` must outlive the table (they are static arrays of the analyses). */
LsTable *ls_table_new(const char *name, const LsColumn *columns, size_t n_columns);
void     ls_table_free(LsTable *table);

/* A new row, all null; returns its index. */
size_t ls_table_add_row(LsTable *table);
/* Set cells of the last row, by column index. */
void ls_table_set_int(LsTable *table, size_t column, int64_t value);
void ls_table_set_real(LsTable *table, size_t column, double value);
void ls_table_set_text(LsTable *table, size_t column, const char *value); /* copied; NULL = null */
void ls_table_set_bool(LsTable *table, size_t column, bool value);

const char     *ls_table_get_name(const LsTable *table);
size_t          ls_table_get_rows(const LsTable *table);
size_t          ls_table_get_columns(const LsTable *table);
const LsColumn *ls_table_get_column(const LsTable *table, size_t column);
/* -1 if there is none. */
int             ls_table_find_column(const LsTable *table, const char *name);

bool        ls_table_is_null(const LsTable *table, size_t row, size_t column);
int64_t     ls_table_get_int(const LsTable *table, size_t row, size_t column);  /* 0 if null */
double      ls_table_get_real(const LsTable *table, size_t row, size_t column); /* also of INT */
const char *ls_table_get_text(const LsTable *table, size_t row, size_t column); /* "" if null */
bool        ls_table_get_bool(const LsTable *table, size_t row, size_t column);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsTable, ls_table_free)
