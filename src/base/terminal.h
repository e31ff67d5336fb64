/* SPDX-License-Identifier: Apache-2.0
 * base/terminal.h: foreign text (names of tensors, files, hosts) as a terminal may show it. */
#pragma once

#include <glib.h>
#include <stdio.h>

/* Valid UTF-8 in which nothing moves the cursor, changes colours or the direction of writing:
 * control characters and their like stand as \n, \x1b, \u202e, bytes that are no UTF-8 as U+FFFD.
 * NULL: "". Caller frees. */
char *ls_terminal_make_safe(const char *text);

/* Columns on a terminal. */
long ls_terminal_get_width(const char *text);

/* `text` in lines of at most `width` columns, broken at blanks; the first begins behind `used`
 * columns that are already on its line, the others behind `indent` blanks. Ends with a line break.
 */
void ls_terminal_write_wrapped(FILE *out, const char *text, long used, long indent, long width);

/* The options' help as GLib words it, in ASCII: where the locale has no ellipsis, its own would be
 * shown as "?". Caller frees. */
char *ls_terminal_format_help(GOptionContext *context);
