/* SPDX-License-Identifier: Apache-2.0
 * trace/strings.h: interned names. Id 0 is the empty string. Adding: one thread; reading: any. A text
 * ends at its first NUL; bytes that are not UTF-8 are replaced, so that every name can be drawn. */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct LsStrings LsStrings;

LsStrings  *ls_strings_new(void);
void        ls_strings_free(LsStrings *strings);
uint32_t    ls_strings_add(LsStrings *strings, const char *text);
uint32_t    ls_strings_add_n(LsStrings *strings, const char *text, size_t length);
/* UINT32_MAX if it is not there. */
uint32_t    ls_strings_find(const LsStrings *strings, const char *text);
/* "" for an id that is none. */
const char *ls_strings_get(const LsStrings *strings, uint32_t id);
uint32_t    ls_strings_get_n(const LsStrings *strings);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsStrings, ls_strings_free)
