/* SPDX-License-Identifier: Apache-2.0
 * merge/align-private.h: what the methods of alignment share. */
#pragma once

#include "merge/align.h"

typedef struct LsAlign {
    LsProcess *const *processes;
    size_t n;
    LsPlacement *placements; /* of each; method LS_CLOCK_NONE until it is placed */
    size_t reference;
} LsAlign;

/* A row of the table. */
typedef struct LsAlignMethod {
    LsClockMethod method;
    /* Places at least one process that is not placed yet, relative to those that are; false if it
     * can place none. Called until it cannot. */
    bool (*place)(LsAlign *align);
} LsAlignMethod;

extern const LsAlignMethod ls_align_boot, ls_align_roundtrip, ls_align_collective, ls_align_wall;

bool ls_align_is_placed(const LsAlign *align, size_t process);
/* Takes the map (local clock to that of process `through`, which is placed). */
void ls_align_set(LsAlign *align, size_t process, size_t through, LsClockMethod method,
                  LsClockmap *map);
/* Common time of a placed process's local one, and how far off it may be. */
int64_t ls_align_map(const LsAlign *align, size_t process, int64_t local_ns);
int64_t ls_align_get_bound_ns(const LsAlign *align, size_t process, int64_t local_ns);
