/* SPDX-License-Identifier: Apache-2.0
 *
 * Horovod timelines of a known schedule: tensors and negotiations as their table counts them, the
 * late rank where ticks tell it, and nothing claimed that one rank's file cannot know.
 */
#include "merge/run.h"
#include "report/report.h"
#include "tests/unit/sample-cells.h"

#include <string.h>

static const struct File {
    const char *name;
    int64_t tensors, negotiations;
    const char *last; /* part of the second line */
} files[] = {
    {"cached-1", 12, 120, "It waits for nobody"},
    {"cached-4", 12, 120, "Of 108 more negotiations the submissions are not in this recording"},
    {"crashed-gloo-ops-4", 8, 8, NULL},
    {"dynamic-4", 12, 72, "Who was last is not in this recording"},
    {"killed-4", 12, 60, NULL},
    {"late-tensor-uncached-4", 12, 120, "Rank 1 submitted last most often"},
    {"slow-4", 12, 120, "Rank 2 submitted last most often, in 12 of 12 negotiations"},
    {"slow-uncached-4", 12, 120, "Rank 2 submitted last most often, in 120 of 120 negotiations"},
    {"train-grouped-4", 18, 74, NULL},
    {"uncached-8", 12, 120, NULL},
};

static void
check_headline(const LsAnalysisInput *input, const char *last)
{
    g_autoptr(LsHeadline) headline = ls_headline_new(input);
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    g_assert_cmpuint(n, ==, 5);
    g_assert_nonnull(strstr(lines[0].text, "No compute was recorded"));
    for (size_t i = 0; i < n; i++)
        g_assert_null(strstr(lines[i].text, "exposed"));
    if (last != NULL && strstr(lines[1].text, last) == NULL)
        g_error("'%s' does not say '%s'", lines[1].text, last);
}

static void
check_file(const struct File *file, const char *path)
{
    const char *paths[] = {path};
    g_autoptr(GError) error = NULL;
    g_autoptr(LsTrace) trace = ls_run_load(paths, 1, NULL, NULL, &error);

    g_assert_no_error(error);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsTable) tensors = run_analysis("tensors", trace, activity);
    g_autoptr(LsTable) overlap = run_analysis("overlap", trace, activity);
    g_autoptr(LsTable) collectives = run_analysis("collectives", trace, activity);
    int64_t count = 0;

    for (size_t r = 0; r < ls_table_get_rows(tensors); r++)
        count += get_int(tensors, r, "count");
    g_assert_cmpuint(ls_table_get_rows(tensors), ==, file->tensors);
    g_assert_cmpint(count, ==, file->negotiations);
    for (size_t r = 0; r < ls_table_get_rows(overlap); r++)
        g_assert_true(is_null(overlap, r, "exposed_ns"));
    for (size_t r = 0; r < ls_table_get_rows(collectives); r++)
        g_assert_true(is_null(collectives, r, "bus_bytes_per_s"));
    check_headline(&input, file->last);
}

static void
test_known_schedules(void)
{
    const char *shared = g_getenv("LOCKSTEP_SHARED");

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_strdup_printf("%s/horovod-timelines/horovod-0.28.1/%s.0.json",
                                                shared != NULL ? shared : "", files[i].name);

        if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
            g_test_skip("the shared timelines are absent (LOCKSTEP_SHARED)");
            return;
        }
        g_test_message("%s", files[i].name);
        check_file(&files[i], path);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/horovod/known-schedules", test_known_schedules);
    return g_test_run();
}
