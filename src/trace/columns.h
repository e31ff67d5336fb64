/* SPDX-License-Identifier: Apache-2.0
 * trace/columns.h: columns of spans in one block of memory, which is that of the first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct LsColumns {
    size_t capacity;
    int64_t *start_ns, *end_ns;
    uint32_t *name, *ref;
    uint8_t *klass; /* of a trace; never touched before */
} LsColumns;

LsColumns ls_columns_new(size_t capacity);
void ls_columns_clear(LsColumns *columns);
/* The columns from the first-th span on; not to be cleared. */
LsColumns ls_columns_from(const LsColumns *columns, size_t first);
/* Over the first n of `to`. */
void ls_columns_copy(LsColumns *to, const LsColumns *from, size_t n);
