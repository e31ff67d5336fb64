/* SPDX-License-Identifier: Apache-2.0
 * Names are interned once, found again, and always valid UTF-8. */
#include "trace/strings.h"

#include <string.h>

static void
test_ids_are_stable_over_growth(void)
{
    g_autoptr(LsStrings) strings = ls_strings_new();
    g_assert_cmpuint(ls_strings_add(strings, ""), ==, 0);
    for (uint32_t i = 1; i <= 20000; i++) {
        g_autofree char *text = g_strdup_printf("tensor.%u", i);
        g_assert_cmpuint(ls_strings_add(strings, text), ==, i);
    }
    for (uint32_t i = 1; i <= 20000; i++) {
        g_autofree char *text = g_strdup_printf("tensor.%u", i);
        g_assert_cmpuint(ls_strings_add(strings, text), ==, i);
        g_assert_cmpuint(ls_strings_find(strings, text), ==, i);
        g_assert_cmpstr(ls_strings_get(strings, i), ==, text);
    }
    g_assert_cmpuint(ls_strings_get_n(strings), ==, 20001);
    g_assert_cmpuint(ls_strings_find(strings, "absent"), ==, UINT32_MAX);
    g_assert_cmpstr(ls_strings_get(strings, 999999), ==, "");
}

static void
test_part_of_a_text_is_its_own_name(void)
{
    g_autoptr(LsStrings) strings = ls_strings_new();
    uint32_t whole = ls_strings_add(strings, "allreduce");
    uint32_t part = ls_strings_add_n(strings, "allreduce", 3);
    g_assert_cmpuint(whole, !=, part);
    g_assert_cmpstr(ls_strings_get(strings, part), ==, "all");
    g_assert_cmpuint(ls_strings_add(strings, "all"), ==, part);
}

static void
test_bytes_that_are_no_text_are_replaced(void)
{
    g_autoptr(LsStrings) strings = ls_strings_new();
    uint32_t id = ls_strings_add(strings, "bad\xff");
    g_assert_true(g_utf8_validate(ls_strings_get(strings, id), -1, NULL));
    g_assert_cmpuint(ls_strings_add(strings, "bad\xff"), ==, id);
    g_assert_cmpuint(ls_strings_add_n(strings, "bad\0more", 8), ==, ls_strings_add(strings, "bad"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/strings/ids-are-stable-over-growth", test_ids_are_stable_over_growth);
    g_test_add_func("/trace/strings/part-of-a-text-is-its-own-name",
                    test_part_of_a_text_is_its_own_name);
    g_test_add_func("/trace/strings/bytes-that-are-no-text-are-replaced",
                    test_bytes_that_are_no_text_are_replaced);
    return g_test_run();
}
