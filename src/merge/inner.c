/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/inner.c: which operations of NCCL are those of a buffer that a library recorded as well.
 *
 * No record says so: the library asks NCCL from one thread, NCCL may work in another. But a library
 * has its own communicator and calls it inside its buffers only, so a communicator is judged as a
 * whole, over all ranks: nearly all of its operations lie inside calls of the library that go by
 * NCCL, and add up to the bytes of those. One that the program uses beside the library fails the
 * one or the other.
 */
#include "merge/inner.h"

#define CLOCKS_APART_NS INT64_C(50000) /* CUPTI's time against the host's */
#define OVERLAPPING_MAX 8              /* calls of a library under way at once, of its contexts */

/* A call of the library, and what of one communicator's operations lies in it. */
typedef struct Outer {
    const LsCall *call;
    guint process;
    bool by_parts; /* NCCL moves parts of it, MPI the rest: bytes need not add up */
    uint32_t n;
    int64_t bytes;
} Outer;

typedef struct Inner {
    LsCall *call;
    guint process;
    Outer *outer; /* NULL: in none */
} Inner;

static int
compare_outer(const void *a, const void *b)
{
    const Outer *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->call->start_ns != y->call->start_ns)
        return x->call->start_ns < y->call->start_ns ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

static int
compare_inner(const void *a, const void *b)
{
    const LsCall *x = ((const Inner *)a)->call, *y = ((const Inner *)b)->call;

    if (x->communicator != y->communicator)
        return x->communicator < y->communicator ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The library's calls that go by NCCL, and NCCL's own. */
static void
list_calls(const LsProcess *process, guint index, GArray *outers, GArray *inners)
{
    for (guint i = 0; i < process->calls->len; i++) {
        LsCall *call = &g_array_index(process->calls, LsCall, i);
        const char *name = ls_strings_get(process->strings, call->name);
        bool by_parts =
            g_str_has_prefix(name, "HIERARCHICAL_") || g_str_has_prefix(name, "HYBRID_");
        Outer outer = {.call = call, .process = index, .by_parts = by_parts};
        Inner inner = {.call = call, .process = index};

        if (call->by_nccl)
            g_array_append_val(inners, inner);
        else if (by_parts || g_str_has_prefix(name, "NCCL_"))
            g_array_append_val(outers, outer);
    }
}

/* The end of a buffer is known from events of the device, on another clock than its kernel's: more
 * than half of the kernel must lie before it. */
static bool
encloses(const Outer *outer, const LsCall *call)
{
    return outer->call->open ||
           outer->call->end_ns >= call->start_ns + (call->end_ns - call->start_ns) / 2;
}

/* The latest that encloses it. *ret_between: the process has calls of the library before and after
 * it; beyond them it may be of a buffer that the recording does not hold. */
static Outer *
find_outer(const GArray *outers, const Inner *inner, bool *ret_between)
{
    int64_t start_ns = inner->call->start_ns + CLOCKS_APART_NS;
    Outer *rows = (Outer *)(void *)outers->data;
    guint low = 0, high = outers->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;

        if (rows[middle].process < inner->process ||
            (rows[middle].process == inner->process && rows[middle].call->start_ns <= start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    *ret_between = low > 0 && rows[low - 1].process == inner->process && low < outers->len &&
                   rows[low].process == inner->process;
    for (guint i = low; i > 0 && i + OVERLAPPING_MAX > low; i--)
        if (rows[i - 1].process == inner->process && encloses(&rows[i - 1], inner->call))
            return &rows[i - 1];
    return NULL;
}

static bool
adds_up(const Outer *outer)
{
    return outer->by_parts || outer->bytes == outer->call->bytes ||
           outer->bytes == outer->call->wire_bytes;
}

/* Operations of one communicator. */
static bool
is_of_library(const GArray *outers, Inner *inners, size_t n)
{
    Outer *rows = (Outer *)(void *)outers->data;
    size_t inside = 0, outside = 0, used = 0, equal = 0;

    for (guint i = 0; i < outers->len; i++) {
        rows[i].n = 0;
        rows[i].bytes = 0;
    }
    for (size_t i = 0; i < n; i++) {
        bool between;
        Outer *outer = inners[i].outer = find_outer(outers, &inners[i], &between);

        if (outer == NULL) {
            outside += between;
            continue;
        }
        inside++;
        outer->n++;
        outer->bytes += MAX(inners[i].call->bytes, 0);
    }
    for (guint i = 0; i < outers->len; i++) {
        used += rows[i].n > 0;
        equal += rows[i].n > 0 && adds_up(&rows[i]);
    }
    return inside > 0 && outside * 9 <= inside && equal * 2 > used;
}

/* How many are marked. */
static size_t
mark(const GArray *outers, GArray *inners)
{
    Inner *rows = (Inner *)(void *)inners->data;
    size_t marked = 0;

    for (size_t i = 0, n; i < inners->len; i += n) {
        for (n = 1;
             i + n < inners->len && rows[i + n].call->communicator == rows[i].call->communicator;)
            n++;
        if (!is_of_library(outers, &rows[i], n))
            continue;
        for (size_t k = i; k < i + n; k++) {
            rows[k].call->is_inner = rows[k].outer != NULL;
            marked += rows[k].outer != NULL;
        }
    }
    return marked;
}

void
ls_inner_mark(const GPtrArray *processes, LsBuilder *builder)
{
    g_autoptr(GArray) outers = g_array_new(FALSE, FALSE, sizeof(Outer));
    g_autoptr(GArray) inners = g_array_new(FALSE, FALSE, sizeof(Inner));
    g_autofree char *text = NULL;
    size_t marked;

    for (guint i = 0; i < processes->len; i++)
        list_calls(g_ptr_array_index(processes, i), i, outers, inners);
    if (outers->len == 0 || inners->len == 0)
        return;
    g_array_sort(outers, compare_outer);
    g_array_sort(inners, compare_inner);
    marked = mark(outers, inners);
    if (marked == 0)
        return;
    text = g_strdup_printf("%zu of %u operations of NCCL ran inside buffers that their library "
                           "recorded, by time and bytes; each such buffer is one collective.",
                           marked, inners->len);
    ls_builder_add_finding(builder, LS_NOTE, NULL, -1, -1, text);
}
