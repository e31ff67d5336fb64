/* SPDX-License-Identifier: Apache-2.0
 * samples/synth-set.c: see synth-set.h. Plain loops, so that they can be checked by reading. */
#include "samples/synth-set.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
    const LsSynthInterval *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void
ls_synth_set_add(LsSynthSet *set, int64_t start, int64_t end)
{
    if (start >= end)
        return;
    if (set->n == set->room) {
        size_t room = set->room == 0 ? 64 : set->room * 2;
        LsSynthInterval *items = realloc(set->items, room * sizeof *items);
        if (items == NULL) {
            set->failed = true;
            return;
        }
        set->items = items;
        set->room = room;
    }
    set->items[set->n++] = (LsSynthInterval){start, end};
}

/* Sorts and joins what overlaps or touches. */
void
ls_synth_set_unite(LsSynthSet *set)
{
    size_t n = 0;
    if (set->n == 0)
        return;
    qsort(set->items, set->n, sizeof *set->items, compare);
    for (size_t i = 1; i < set->n; i++) {
        if (set->items[i].start > set->items[n].end)
            set->items[++n] = set->items[i];
        else if (set->items[i].end > set->items[n].end)
            set->items[n].end = set->items[i].end;
    }
    set->n = n + 1;
}

int64_t
ls_synth_set_get_length(const LsSynthSet *set)
{
    int64_t sum = 0;
    for (size_t i = 0; i < set->n; i++)
        sum += set->items[i].end - set->items[i].start;
    return sum;
}

/* out = a without b (outside) or a within b; both united. */
void
ls_synth_set_cut(const LsSynthSet *a, const LsSynthSet *b, bool outside, LsSynthSet *out)
{
    size_t j = 0;
    out->n = 0;
    for (size_t i = 0; i < a->n; i++) {
        int64_t at = a->items[i].start, end = a->items[i].end;
        while (j < b->n && b->items[j].end <= at)
            j++;
        for (size_t k = j; k < b->n && b->items[k].start < end; k++) {
            int64_t from = b->items[k].start > at ? b->items[k].start : at;
            int64_t to = b->items[k].end < end ? b->items[k].end : end;
            if (outside)
                ls_synth_set_add(out, at, from);
            else
                ls_synth_set_add(out, from, to);
            at = to;
        }
        if (outside)
            ls_synth_set_add(out, at, end);
    }
}

void
ls_synth_set_copy(const LsSynthSet *from, LsSynthSet *to)
{
    for (size_t i = 0; i < from->n; i++)
        ls_synth_set_add(to, from->items[i].start, from->items[i].end);
}
