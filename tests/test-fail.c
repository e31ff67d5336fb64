/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/test-fail.c: fails. It proves that the harness and the count at the end see a failure:
 * Meson is told that it should fail, and tests/lint/seen.py counts its output as any other test's.
 */
#include <glib.h>

static void
succeed(void)
{
    g_assert_true(TRUE);
}

static void
fail(void)
{
    g_test_fail_printf("as it should");
}

static void
skip(void)
{
    g_test_skip("as it should");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions(); /* the others run all the same, and nothing dumps core */
    g_test_add_func("/harness/succeeds", succeed);
    g_test_add_func("/harness/fails", fail);
    g_test_add_func("/harness/skips", skip);
    return g_test_run();
}
