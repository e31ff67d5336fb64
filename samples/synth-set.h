/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-set.h: sets of time in their plainest form, for truths that owe nothing to
 * src/index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsSynthInterval {
    int64_t start, end;
} LsSynthInterval;

/* All zero: empty. Free the items. */
typedef struct LsSynthSet {
    LsSynthInterval *items;
    size_t n, room;
    bool failed; /* out of memory */
} LsSynthSet;

/* An empty interval adds nothing. */
void ls_synth_set_add(LsSynthSet *set, int64_t start, int64_t end);
void ls_synth_set_copy(const LsSynthSet *from, LsSynthSet *to);
/* Sorts and joins what overlaps or touches; the functions below want that done. */
void ls_synth_set_unite(LsSynthSet *set);
int64_t ls_synth_set_get_length(const LsSynthSet *set);
/* out = a without b (outside), or what both have. */
void ls_synth_set_cut(const LsSynthSet *a, const LsSynthSet *b, bool outside, LsSynthSet *out);
