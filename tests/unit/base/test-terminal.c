/* SPDX-License-Identifier: Apache-2.0
 * What a terminal is given of names that are not ours: every kind of character that it would obey,
 * and lines that fit. */
#include "base/terminal.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void
check_safe(const char *text, const char *expected)
{
    g_autofree char *safe = ls_terminal_make_safe(text);

    g_assert_cmpstr(safe, ==, expected);
}

static void
test_escapes(void)
{
    check_safe(NULL, "");
    check_safe("layer1.weight", "layer1.weight");
    check_safe("\033[31mred\033[0m\a", "\\x1b[31mred\\x1b[0m\\a");
    check_safe("a\nb\rc\td", "a\\nb\\rc\\td");
    check_safe("\177 \302\233 2J", "\\x7f \\x9b 2J");                 /* DEL, C1's CSI */
    check_safe("\342\200\256evil\342\200\251", "\\u202eevil\\u2029"); /* right to left; paragraph */
    check_safe("\363\240\200\201", "\\U000e0001");                    /* a tag */
    check_safe("caf\303\251 \346\227\245\346\234\254", "caf\303\251 \346\227\245\346\234\254");
    check_safe("\377", "\357\277\275");
}

/* Whatever the bytes: no control is left, and the text is valid. */
static void
test_any_bytes(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    for (int round = 0; round < 20000; round++) {
        char bytes[17] = {0};

        for (int i = 0; i < 16; i++)
            bytes[i] = (char)g_rand_int_range(random, 1, 256);
        g_autofree char *safe = ls_terminal_make_safe(bytes);

        g_assert_true(g_utf8_validate(safe, -1, NULL));
        for (char *at = safe; *at != '\0'; at = g_utf8_next_char(at))
            g_assert_false(g_unichar_iscntrl(g_utf8_get_char(at)));
    }
}

static char *
wrap(const char *text, long used, long indent, long width)
{
    char *written = NULL;
    size_t length;
    FILE *out = open_memstream(&written, &length);

    ls_terminal_write_wrapped(out, text, used, indent, width);
    fclose(out);
    return written;
}

static void
test_wraps(void)
{
    char *text = wrap("one two three four", 4, 2, 12);

    g_assert_cmpstr(text, ==, "one two\n  three four\n");
    free(text);
    text = wrap("a-word-too-long-for-any-line end", 0, 2, 10);
    g_assert_cmpstr(text, ==, "a-word-too-long-for-any-line\n  end\n");
    free(text);
    text = wrap("", 3, 2, 10);
    g_assert_cmpstr(text, ==, "\n");
    free(text);
}

static void
test_width(void)
{
    g_assert_cmpint(ls_terminal_get_width("abc"), ==, 3);
    g_assert_cmpint(ls_terminal_get_width("\346\227\245\346\234\254"), ==, 4);
    g_assert_cmpint(ls_terminal_get_width("e\314\201"), ==, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/terminal/nothing-is-obeyed", test_escapes);
    g_test_add_func("/base/terminal/whatever-the-bytes", test_any_bytes);
    g_test_add_func("/base/terminal/lines-fit", test_wraps);
    g_test_add_func("/base/terminal/columns-are-counted", test_width);
    return g_test_run();
}
