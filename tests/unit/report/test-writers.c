/* SPDX-License-Identifier: Apache-2.0
 * What the writers write can be read back: JSON by json-c, CSV by its rules, text by its columns.
 */
#include "report/report.h"

#include "base/error.h"
#include "tests/unit/sample-cells.h"
#include "tests/unit/sample-trace.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const LsColumn columns[] = {
    {"name", LS_COLUMN_TEXT},  {"bytes", LS_COLUMN_INT}, {"wait_ns", LS_COLUMN_INT},
    {"share", LS_COLUMN_REAL}, {"cut", LS_COLUMN_BOOL},  {"never", LS_COLUMN_INT},
};

static LsTable *
make_table(size_t rows)
{
    static const char *const names[] = {"plain", "a,\"b\"\nc", "caf\303\251", "bad \377 byte", ""};
    LsTable *table = ls_table_new("sample", columns, G_N_ELEMENTS(columns));

    for (size_t r = 0; r < rows; r++) {
        ls_table_add_row(table);
        ls_table_set_text(table, 0, names[r % G_N_ELEMENTS(names)]);
        ls_table_set_int(table, 1, 1500000);
        if (r % 2 == 0)
            ls_table_set_int(table, 2, INT64_MAX - (int64_t)r);
        ls_table_set_real(table, 3, 0.125);
        ls_table_set_bool(table, 4, r == 0);
    }
    return table;
}

/* The writer's output for this table and headline; caller frees. */
static char *
write_with(const char *writer, LsTable *table, bool with_headline)
{
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = with_headline ? ls_headline_new(&input) : NULL;
    g_autoptr(GError) error = NULL;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    g_assert_true(ls_report_find_writer(writer)->write(out, headline, &table, 1, &input, &error));
    g_assert_no_error(error);
    fclose(out);
    return text;
}

static json_object *
get_member(json_object *object, const char *name)
{
    json_object *value = NULL;

    g_assert_true(json_object_object_get_ex(object, name, &value));
    return value;
}

static void
test_json(void)
{
    g_autoptr(LsTable) table = make_table(4);
    char *text = write_with("json", table, true);
    json_object *root = json_tokener_parse(text), *rows, *row;

    g_assert_nonnull(root);
    g_assert_true(g_utf8_validate(text, -1, NULL));
    rows = get_member(get_member(root, "tables"), "sample");
    g_assert_cmpuint(json_object_array_length(rows), ==, 4);
    row = json_object_array_get_idx(rows, 0);
    /* Not through a double: it has 63 bits. */
    g_assert_cmpint(json_object_get_int64(get_member(row, "wait_ns")), ==, INT64_MAX);
    g_assert_null(get_member(row, "never"));
    g_assert_true(json_object_get_boolean(get_member(row, "cut")));
    g_assert_cmpfloat(json_object_get_double(get_member(row, "share")), ==, 0.125);
    row = json_object_array_get_idx(rows, 1);
    g_assert_cmpstr(json_object_get_string(get_member(row, "name")), ==, "a,\"b\"\nc");
    g_assert_null(get_member(row, "wait_ns"));
    g_assert_cmpuint(json_object_array_length(get_member(root, "headline")), ==, 5);
    json_object_put(root);
    free(text);
}

static void
test_json_tables_alone(void)
{
    g_autoptr(LsTable) table = make_table(0);
    char *text = write_with("json", table, false);
    json_object *root = json_tokener_parse(text);

    g_assert_cmpint(json_object_object_length(root), ==, 1);
    g_assert_cmpuint(json_object_array_length(get_member(get_member(root, "tables"), "sample")), ==,
                     0);
    json_object_put(root);
    free(text);
}

static void
test_csv(void)
{
    g_autoptr(LsTable) table = make_table(2);
    char *text = write_with("csv", table, true);

    g_assert_cmpstr(text, ==,
                    "name,bytes,wait_ns,share,cut,never\n"
                    "plain,1500000,9223372036854775807,0.125,true,\n"
                    "\"a,\"\"b\"\"\nc\",1500000,,0.125,false,\n");
    free(text);
}

static void
test_text(void)
{
    g_autoptr(LsTable) table = make_table(1);
    char *text = write_with("text", table, false);

    g_assert_true(g_str_has_prefix(text, "\nsample\n"
                                         "  name     bytes"));
    g_assert_nonnull(strstr(text, "12.5 %"));
    g_assert_nonnull(strstr(text, "1.50 MB"));
    g_assert_null(strstr(text, "never")); /* nothing is known of it */
    g_assert_nonnull(strstr(text, "\nrecording\n  ranks: 2 found, 2 expected\n"));
    free(text);
}

static void
test_long_text(void)
{
    g_autoptr(LsTable) table = make_table(100);
    char *text = write_with("text", table, false);

    g_assert_nonnull(strstr(text, "88 more, --format csv for all"));
    free(text);
}

/* A table as wide as they come: nothing is lost, and no line is wider than a terminal. */
static void
test_wide_text(void)
{
    static const char *const names[] = {"step",
                                        "rank",
                                        "first_uncompressed_heading_ns",
                                        "second_uncompressed_heading_ns",
                                        "third_uncompressed_heading_ns",
                                        "fourth_uncompressed_heading_ns",
                                        "fifth_uncompressed_heading_ns",
                                        "sixth_uncompressed_heading_ns",
                                        "seventh_ns",
                                        "eighth_ns",
                                        "ninth_ns",
                                        "tenth_ns",
                                        "eleventh_ns",
                                        "twelfth_ns",
                                        "samples"};
    LsColumn wide[G_N_ELEMENTS(names)];

    for (size_t c = 0; c < G_N_ELEMENTS(names); c++)
        wide[c] = (LsColumn){names[c], LS_COLUMN_INT};
    g_autoptr(LsTable) table = ls_table_new("steps", wide, G_N_ELEMENTS(wide));
    for (int r = 0; r < 3; r++) {
        ls_table_add_row(table);
        for (size_t c = 0; c < G_N_ELEMENTS(names); c++)
            ls_table_set_int(table, c,
                             c + 1 < G_N_ELEMENTS(names) ? 1001 + 100 * r + 10 * (int)c : 8);
    }
    char *text = write_with("text", table, false);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (size_t i = 0; lines[i] != NULL; i++)
        g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, 120);
    for (size_t c = 2; c + 1 < G_N_ELEMENTS(names); c++) {
        g_autofree char *first = g_strndup(names[c], strcspn(names[c], "_"));

        g_assert_nonnull(strstr(text, first));
    }
    g_assert_nonnull(strstr(text, "the same in all of these: samples 8"));
    free(text);
}

/* Names from a trace reach the terminal as text, wherever they stand. */
static void
test_hostile_text(void)
{
    static const LsColumn hostile[] = {
        {"severity", LS_COLUMN_TEXT}, {"file", LS_COLUMN_TEXT}, {"offset", LS_COLUMN_INT},
        {"rank", LS_COLUMN_INT},      {"text", LS_COLUMN_TEXT}, {"at_ns", LS_COLUMN_INT},
    };

    for (int i = 0; i < 2; i++) {
        g_autoptr(LsTable) table =
            ls_table_new(i == 0 ? "findings" : "tensors", hostile, G_N_ELEMENTS(hostile));

        ls_table_add_row(table);
        ls_table_set_text(table, 0, "warning");
        ls_table_set_text(table, 1, "/tmp/\033]0;title\a.lks");
        ls_table_set_text(table, 4, "a\033[2Jb\302\2332Jc\nd");
        char *text = write_with("text", table, true);

        g_assert_null(strchr(text, '\033'));
        g_assert_null(strchr(text, '\a'));
        g_assert_null(strstr(text, "\302\233"));
        g_assert_nonnull(strstr(text, "a\\x1b[2Jb\\x9b2Jc\\nd"));
        free(text);
    }
}

static void
test_write_error(void)
{
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsTable) table = make_table(100);
    g_autoptr(GError) error = NULL;
    LsTable *tables[] = {table};
    FILE *full = fopen("/dev/full", "w");

    if (full == NULL) {
        g_test_skip("/dev/full is absent");
        return;
    }
    g_assert_false(ls_report_find_writer("csv")->write(full, NULL, tables, 1, &input, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_WRITE);
    fclose(full);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/writers/json-is-read-back", test_json);
    g_test_add_func("/report/writers/json-of-tables-alone", test_json_tables_alone);
    g_test_add_func("/report/writers/csv-quotes-and-keeps-digits", test_csv);
    g_test_add_func("/report/writers/text-has-units-and-the-honesty-ledger", test_text);
    g_test_add_func("/report/writers/long-tables-say-what-follows", test_long_text);
    g_test_add_func("/report/writers/wide-tables-fit-a-terminal", test_wide_text);
    g_test_add_func("/report/writers/names-are-not-obeyed", test_hostile_text);
    g_test_add_func("/report/writers/full-disk-is-an-error", test_write_error);
    return g_test_run();
}
