/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-squeeze.h: a file that is written compressed where libzstd can be loaded, plain
 * where it cannot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsSqueeze LsSqueeze;

/* Writes to the descriptor. NULL: no memory. */
LsSqueeze *ls_squeeze_open(int fd);
bool ls_squeeze_write(LsSqueeze *squeeze, const void *data, size_t n_bytes);
/* The rest; false: something could not be written (errno). ret_bytes: in the file. */
bool ls_squeeze_close(LsSqueeze *squeeze, uint64_t *ret_bytes, bool *ret_is_compressed);
