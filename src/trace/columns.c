/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/columns.c: columns of spans. One block for all of them: a track of 10,000 spans is one
 * allocation, and one of a million lies in big pages to its end.
 */
#include "trace/columns.h"

#include "base/memory.h"

#include <glib.h>
#include <string.h>

#define SPAN_BYTES (2 * sizeof(int64_t) + 2 * sizeof(uint32_t) + sizeof(uint8_t))

LsColumns
ls_columns_new(size_t capacity)
{
    capacity = MAX(capacity, 1);
    g_assert(capacity <= G_MAXSSIZE / SPAN_BYTES);
    LsColumns columns = {.capacity = capacity,
                         .start_ns = ls_memory_allocate(capacity * SPAN_BYTES)};
    columns.end_ns = columns.start_ns + capacity;
    columns.name = (uint32_t *)(void *)(columns.end_ns + capacity);
    columns.ref = columns.name + capacity;
    columns.klass = (uint8_t *)(columns.ref + capacity);
    return columns;
}

void
ls_columns_clear(LsColumns *columns)
{
    ls_memory_free(columns->start_ns, columns->capacity * SPAN_BYTES);
    *columns = (LsColumns){0};
}

LsColumns
ls_columns_from(const LsColumns *columns, size_t first)
{
    return (LsColumns){.capacity = columns->capacity - first,
                       .start_ns = columns->start_ns + first,
                       .end_ns = columns->end_ns + first,
                       .name = columns->name + first,
                       .ref = columns->ref + first,
                       .klass = columns->klass + first};
}

void
ls_columns_copy(LsColumns *to, const LsColumns *from, size_t n)
{
    if (n == 0)
        return;
    memcpy(to->start_ns, from->start_ns, n * sizeof *to->start_ns);
    memcpy(to->end_ns, from->end_ns, n * sizeof *to->end_ns);
    memcpy(to->name, from->name, n * sizeof *to->name);
    memcpy(to->ref, from->ref, n * sizeof *to->ref);
}
