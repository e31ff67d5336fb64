/* SPDX-License-Identifier: Apache-2.0
 * A table keeps what was set and null where nothing was. */
#include "base/table.h"

static const LsColumn columns[] = {{"rank", LS_COLUMN_INT},
                                   {"ratio", LS_COLUMN_REAL},
                                   {"host", LS_COLUMN_TEXT},
                                   {"cut", LS_COLUMN_BOOL}};

static void
test_cells_keep_their_values(void)
{
    g_autoptr(LsTable) table = ls_table_new("ranks", columns, G_N_ELEMENTS(columns));
    for (int i = 0; i < 1000; i++) {
        g_assert_cmpuint(ls_table_add_row(table), ==, (size_t)i);
        ls_table_set_int(table, 0, i);
        ls_table_set_real(table, 1, i / 2.0);
        ls_table_set_text(table, 2, i % 2 ? "odd" : "even");
        ls_table_set_bool(table, 3, i % 3 == 0);
    }
    g_assert_cmpuint(ls_table_get_rows(table), ==, 1000);
    for (size_t i = 0; i < 1000; i++) {
        g_assert_cmpint(ls_table_get_int(table, i, 0), ==, (int64_t)i);
        g_assert_cmpfloat(ls_table_get_real(table, i, 0), ==, (double)i);
        g_assert_cmpfloat(ls_table_get_real(table, i, 1), ==, (double)i / 2);
        g_assert_cmpstr(ls_table_get_text(table, i, 2), ==, i % 2 ? "odd" : "even");
        g_assert_true(ls_table_get_bool(table, i, 3) == (i % 3 == 0));
    }
    g_assert_cmpint(ls_table_find_column(table, "host"), ==, 2);
    g_assert_cmpint(ls_table_find_column(table, "none"), ==, -1);
    g_assert_cmpstr(ls_table_get_name(table), ==, "ranks");
}

static void
test_unset_is_null_and_not_zero(void)
{
    g_autoptr(LsTable) table = ls_table_new("ranks", columns, G_N_ELEMENTS(columns));
    ls_table_add_row(table);
    ls_table_set_int(table, 0, 0);
    ls_table_set_text(table, 2, NULL);
    ls_table_add_row(table);
    g_assert_false(ls_table_is_null(table, 0, 0));
    g_assert_true(ls_table_is_null(table, 0, 2));
    for (size_t c = 0; c < G_N_ELEMENTS(columns); c++)
        g_assert_true(ls_table_is_null(table, 1, c));
    g_assert_cmpstr(ls_table_get_text(table, 1, 2), ==, "");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/table/cells-keep-their-values", test_cells_keep_their_values);
    g_test_add_func("/base/table/unset-is-null-and-not-zero", test_unset_is_null_and_not_zero);
    return g_test_run();
}
