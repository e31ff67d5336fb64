/* SPDX-License-Identifier: Apache-2.0
 * index/busy-private.h: the inside of the pyramid; for busy.c and columns.c. */
#pragma once

#include "index/busy.h"

enum { LS_BUSY_LEAF_SHIFT = 3, LS_BUSY_FAN_SHIFT = 2, LS_BUSY_MAX_LEVELS = 17 };

/* It ends where the next begins, at the latest. */
typedef struct LsBusyNode {
    int64_t start_ns, busy_ns;
    uint32_t longest_ns; /* UINT32_MAX: that long or longer */
    uint8_t category;    /* the strongest */
    bool mixed;          /* there are others */
} LsBusyNode;

_Static_assert(sizeof(LsBusyNode) == 24, "three bytes a span and leaf");

enum { LS_BUSY_CELL_FAN_SHIFT = 2, LS_BUSY_MAX_CELL_LEVELS = 12 };

/* Busy time over equal cells of time (cells.c); four of a level are one of the next. */
typedef struct LsBusyCells {
    int64_t start_ns;
    int shift; /* a cell of level 0 is 1 << shift ns */
    int n_levels;
    int64_t *before_ns[LS_BUSY_MAX_CELL_LEVELS]; /* busy time before the cell begins */
    uint32_t *first[LS_BUSY_MAX_CELL_LEVELS];    /* the first span that begins in it or later */
} LsBusyCells;

struct LsBusy {
    LsBusySpans spans; /* first: busy.h */
    LsBusyCells cells;
    int n_levels;
    LsBusyNode *levels[LS_BUSY_MAX_LEVELS]; /* each closed by one that begins where the last ends */
};

static inline int
ls_busy_get_cell_shift(const LsBusyCells *cells, int level)
{
    return cells->shift + level * LS_BUSY_CELL_FAN_SHIFT;
}

static inline int
ls_busy_get_shift(int level)
{
    return LS_BUSY_LEAF_SHIFT + level * LS_BUSY_FAN_SHIFT;
}

/* Whether all its spans are shorter. */
static inline bool
ls_busy_is_short(const LsBusyNode *node, int64_t long_ns)
{
    return node->longest_ns < long_ns && node->longest_ns < UINT32_MAX;
}

void ls_busy_make_cells(LsBusy *busy);
void ls_busy_free_cells(LsBusy *busy);
/* The first span that begins at the time or later; the time lies within the cells. */
size_t ls_busy_cells_find(const LsBusy *busy, int64_t time_ns);
/* The time of all spans before this one. */
int64_t ls_busy_cells_get_before(const LsBusy *busy, size_t span);
