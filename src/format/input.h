/* SPDX-License-Identifier: Apache-2.0
 * format/input.h: a file, or memory, as a stream of bytes; gzip and zstd are unpacked on the way. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsInput LsInput;

/* LS_ERROR_BAD_FILE when it is no readable file. */
LsInput *ls_input_open(const char *path, GError **error);
/* Borrows the memory. Compressed content is unpacked as in a file. */
LsInput *ls_input_open_memory(const void *data, size_t length);
void     ls_input_close(LsInput *input);

/* At least `want` bytes from here on, fewer only at the end. The pointer holds until the next call. */
const uint8_t *ls_input_peek(LsInput *input, size_t want, size_t *ret_have);
/* n must not exceed what the last peek had. */
void ls_input_skip(LsInput *input, size_t n);

/* Bytes from the start of the (unpacked) content; offsets of findings. */
int64_t ls_input_get_offset(const LsInput *input);
/* How much of the file has been read, 0 to 1. */
double ls_input_get_fraction(const LsInput *input);
/* Why reading ended before the content did (a read error, damaged compressed data); NULL: it did not. */
const char *ls_input_get_damage(const LsInput *input);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsInput, ls_input_close)
