/* SPDX-License-Identifier: Apache-2.0
 * format/row-index.h: from a key of two numbers to a row. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct LsRowIndex LsRowIndex;

LsRowIndex *ls_row_index_new(void);
void        ls_row_index_free(LsRowIndex *index);
/* The row of the key; where it has none yet, it gets `new_row` and *ret_new is true. */
uint32_t ls_row_index_add(LsRowIndex *index, uint64_t major, uint64_t minor, uint32_t new_row,
                          bool *ret_new);
/* UINT32_MAX if there is none. */
uint32_t ls_row_index_find(const LsRowIndex *index, uint64_t major, uint64_t minor);
