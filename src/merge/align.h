/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/align.h: every process's clock onto the common one.
 *
 * The common clock is that of the reference: the process of rank 0, or of the lowest rank there is.
 * Methods are rows of a table, one file each (align-*.c), in order of trust; what one cannot place
 * the next tries, and what was placed helps to place the rest.
 */
#pragma once

#include "merge/clockmap.h"
#include "trace/process.h"

/* What came of one process. */
typedef struct LsPlacement {
    LsClockMethod method;
    LsClockmap *map; /* NULL: cannot be placed, or (reference, same boot) nothing moves */
    size_t through;  /* index of the process it was placed by; its own where there is none */
} LsPlacement;

/* Places the processes: an array of n, freed by ls_placements_free. Adds a finding to each that was
 * placed by less than a clock reading, and to each that could not be placed. */
LsPlacement *ls_align(LsProcess *const *processes, size_t n);
void ls_placements_free(LsPlacement *placements, size_t n);

/* Moves all times of the process as placed and says so in its LsRank. A process that cannot be
 * placed is moved to begin at `begin_ns`, since its own clock may be years away; it stays
 * LS_CLOCK_NONE. */
void ls_placement_apply(const LsPlacement *placement, LsProcess *process, int64_t begin_ns);
