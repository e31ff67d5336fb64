/* SPDX-License-Identifier: Apache-2.0
 *
 * base/terminal.c: what a trace calls its tensors is up to whoever wrote it, and what arrives on a
 * terminal is obeyed: names are shown, not executed.
 */
#include "base/terminal.h"

#include <stdbool.h>
#include <string.h>

/* Controls (C0, C1, DEL), and what turns the direction of writing, hides itself or breaks lines. */
static bool
is_harmful(gunichar c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0))
        return true;
    switch (g_unichar_type(c)) {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
    case G_UNICODE_SURROGATE:
        return true;
    default:
        return false;
    }
}

static void
append_escape(GString *safe, gunichar c)
{
    static const char letters[] = "abtnvfr"; /* 7 to 13 */

    if (c >= 7 && c <= 13)
        g_string_append_printf(safe, "\\%c", letters[c - 7]);
    else if (c < 0x100)
        g_string_append_printf(safe, "\\x%02x", c);
    else
        g_string_append_printf(safe, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

char *
ls_terminal_make_safe(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text != NULL ? text : "", -1);
    GString *safe = g_string_new(NULL);

    for (char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        if (is_harmful(c))
            append_escape(safe, c);
        else
            g_string_append_unichar(safe, c);
    }
    return g_string_free(safe, FALSE);
}

long
ls_terminal_get_width(const char *text)
{
    long width = 0;

    for (size_t n = strlen(text), at = 0; at < n; at += (size_t)g_utf8_skip[(guchar)text[at]]) {
        gunichar c = g_utf8_get_char(text + at);

        width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return width;
}

void
ls_terminal_write_wrapped(FILE *out, const char *text, long used, long indent, long width)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    bool begun = false;

    for (size_t i = 0; words[i] != NULL; i++) {
        long length = ls_terminal_get_width(words[i]);

        if (begun && used + 1 + length > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (begun) {
            fputc(' ', out);
            used++;
        }
        fputs(words[i], out);
        used += length;
        begun = true;
    }
    fputc('\n', out);
}

char *
ls_terminal_format_help(GOptionContext *context)
{
    g_autofree char *help = g_option_context_get_help(context, TRUE, NULL);
    GString *text = g_string_new(help);

    g_string_replace(text, "…", "...", 0);
    return g_string_free(text, FALSE);
}
