/* SPDX-License-Identifier: Apache-2.0
 * Progress is read as written; cancelling is seen as an error. */
#include "base/error.h"
#include "base/progress.h"

static void
test_cancel_sets_the_error(void)
{
    g_autoptr(LsProgress) progress = ls_progress_new();
    g_autoptr(GError) error = NULL;
    g_assert_false(ls_progress_is_cancelled(progress, &error));
    g_assert_no_error(error);
    ls_progress_cancel(progress);
    g_assert_true(ls_progress_is_cancelled(progress, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_CANCELLED);
}

static void
test_fraction_and_stage_are_read_back(void)
{
    g_autoptr(LsProgress) progress = ls_progress_new();
    const char *stage = NULL;
    g_assert_cmpfloat(ls_progress_get(progress, &stage), ==, 0.0);
    g_assert_cmpstr(stage, ==, "");
    ls_progress_set(progress, "reading", 0.25);
    g_assert_cmpfloat(ls_progress_get(progress, &stage), ==, 0.25);
    g_assert_cmpstr(stage, ==, "reading");
    ls_progress_set(progress, "reading", 7.0);
    g_assert_cmpfloat(ls_progress_get(progress, NULL), ==, 1.0);
}

static void
test_null_does_nothing(void)
{
    ls_progress_set(NULL, "x", 0.5);
    ls_progress_cancel(NULL);
    g_assert_false(ls_progress_is_cancelled(NULL, NULL));
    g_assert_cmpfloat(ls_progress_get(NULL, NULL), ==, 0.0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/progress/cancel-sets-the-error", test_cancel_sets_the_error);
    g_test_add_func("/base/progress/fraction-and-stage-are-read-back",
                    test_fraction_and_stage_are_read_back);
    g_test_add_func("/base/progress/null-does-nothing", test_null_does_nothing);
    return g_test_run();
}
