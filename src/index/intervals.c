/* SPDX-License-Identifier: Apache-2.0
 *
 * index/intervals.c: union, intersection, difference and length of sets of time.
 *
 * A set is sorted, disjoint, and has no two intervals that touch, so equal sets are equal arrays.
 * Every operation on two sets is one merge pass, O(n + m); making a set from loose intervals sorts
 * first, unless they come in order already, as spans of a lane do.
 */
#include "index/intervals.h"

#include <stdbool.h>
#include <stdlib.h>

void
ls_intervals_clear(LsIntervals *set)
{
    g_clear_pointer(&set->items, g_free);
    set->n = 0;
}

static int
compare_start(const void *a, const void *b)
{
    const LsInterval *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Appends in order of start; joins what overlaps or touches the last one. */
static void
append(LsIntervals *set, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return;
    if (set->n > 0 && start_ns <= set->items[set->n - 1].end_ns) {
        LsInterval *last = &set->items[set->n - 1];

        last->end_ns = MAX(last->end_ns, end_ns);
        return;
    }
    set->items[set->n++] = (LsInterval){start_ns, end_ns};
}

/* Room for at most n intervals; trim() gives back what was not needed. */
static LsIntervals
reserve(size_t n)
{
    return (LsIntervals){n > 0 ? g_new(LsInterval, n) : NULL, 0};
}

static LsIntervals
trim(LsIntervals set)
{
    if (set.n == 0)
        g_clear_pointer(&set.items, g_free);
    else
        set.items = g_renew(LsInterval, set.items, set.n);
    return set;
}

LsIntervals
ls_intervals_union_of(const LsInterval *items, size_t n)
{
    g_autofree LsInterval *sorted = NULL;
    LsIntervals set = reserve(n);
    bool in_order = true;

    for (size_t i = 1; i < n && in_order; i++)
        in_order = items[i - 1].start_ns <= items[i].start_ns;
    if (!in_order) {
        sorted = g_memdup2(items, n * sizeof *items);
        qsort(sorted, n, sizeof *sorted, compare_start);
        items = sorted;
    }
    for (size_t i = 0; i < n; i++)
        append(&set, items[i].start_ns, items[i].end_ns);
    return trim(set);
}

LsIntervals
ls_intervals_union(const LsIntervals *a, const LsIntervals *b)
{
    LsIntervals set = reserve(a->n + b->n);
    size_t i = 0, j = 0;

    while (i < a->n || j < b->n) {
        bool from_a = j == b->n || (i < a->n && a->items[i].start_ns <= b->items[j].start_ns);
        const LsInterval *next = from_a ? &a->items[i++] : &b->items[j++];

        append(&set, next->start_ns, next->end_ns);
    }
    return trim(set);
}

LsIntervals
ls_intervals_intersect(const LsIntervals *a, const LsIntervals *b)
{
    LsIntervals set = reserve(a->n + b->n);
    size_t i = 0, j = 0;

    while (i < a->n && j < b->n) {
        const LsInterval *x = &a->items[i], *y = &b->items[j];

        append(&set, MAX(x->start_ns, y->start_ns), MIN(x->end_ns, y->end_ns));
        if (x->end_ns < y->end_ns)
            i++;
        else
            j++;
    }
    return trim(set);
}

LsIntervals
ls_intervals_subtract(const LsIntervals *a, const LsIntervals *b)
{
    LsIntervals set = reserve(a->n + b->n);
    size_t j = 0;

    for (size_t i = 0; i < a->n; i++) {
        int64_t start_ns = a->items[i].start_ns;

        while (j < b->n && b->items[j].end_ns <= start_ns)
            j++;
        /* b's interval that reaches over this end may reach into the next of a: j stays on it. */
        for (; j < b->n && b->items[j].start_ns < a->items[i].end_ns; j++) {
            append(&set, start_ns, b->items[j].start_ns);
            start_ns = b->items[j].end_ns;
            if (start_ns >= a->items[i].end_ns)
                break;
        }
        append(&set, start_ns, a->items[i].end_ns);
    }
    return trim(set);
}

/* The first interval that ends after time_ns. */
static size_t
find_first(const LsIntervals *set, int64_t time_ns)
{
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (set->items[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t
ls_intervals_length(const LsIntervals *set)
{
    int64_t length_ns = 0;

    for (size_t i = 0; i < set->n; i++)
        length_ns += set->items[i].end_ns - set->items[i].start_ns;
    return length_ns;
}

int64_t
ls_intervals_length_within(const LsIntervals *set, int64_t start_ns, int64_t end_ns)
{
    int64_t length_ns = 0;

    if (end_ns <= start_ns)
        return 0;
    for (size_t i = find_first(set, start_ns); i < set->n && set->items[i].start_ns < end_ns; i++)
        length_ns += MIN(set->items[i].end_ns, end_ns) - MAX(set->items[i].start_ns, start_ns);
    return length_ns;
}
