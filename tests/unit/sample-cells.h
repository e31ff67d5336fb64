/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/sample-cells.h: cells of a table by name, for tests: a wrong name fails at once. */
#pragma once

#include "analysis/analysis.h"

static inline LsTable *
run_analysis(const char *name, const LsTrace *trace, const LsActivity *activity)
{
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    const LsAnalysis *analysis = ls_analysis_find(name);

    g_assert_nonnull(analysis);
    return analysis->run(&input);
}

static inline size_t
get_column(const LsTable *table, const char *name)
{
    int column = ls_table_find_column(table, name);

    if (column < 0)
        g_error("the table %s has no column %s", ls_table_get_name(table), name);
    return (size_t)column;
}

static inline int64_t
get_int(const LsTable *table, size_t row, const char *name)
{
    size_t column = get_column(table, name);

    g_assert_cmpuint(row, <, ls_table_get_rows(table));
    if (ls_table_is_null(table, row, column))
        g_error("%s of row %zu of %s is null", name, row, ls_table_get_name(table));
    if (ls_table_get_column(table, column)->type == LS_COLUMN_BOOL)
        return ls_table_get_bool(table, row, column);
    return ls_table_get_int(table, row, column);
}

static inline double
get_real(const LsTable *table, size_t row, const char *name)
{
    size_t column = get_column(table, name);

    g_assert_cmpuint(row, <, ls_table_get_rows(table));
    g_assert_false(ls_table_is_null(table, row, column));
    return ls_table_get_real(table, row, column);
}

static inline const char *
get_text(const LsTable *table, size_t row, const char *name)
{
    g_assert_cmpuint(row, <, ls_table_get_rows(table));
    return ls_table_get_text(table, row, get_column(table, name));
}

static inline bool
is_null(const LsTable *table, size_t row, const char *name)
{
    g_assert_cmpuint(row, <, ls_table_get_rows(table));
    return ls_table_is_null(table, row, get_column(table, name));
}

typedef struct Expected {
    const char *column;
    int64_t value;
} Expected;

static inline void
check_row(const LsTable *table, size_t row, const Expected *expected, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t found = get_int(table, row, expected[i].column);

        if (found != expected[i].value)
            g_error("%s[%zu].%s is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT,
                    ls_table_get_name(table), row, expected[i].column, found, expected[i].value);
    }
}
