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

struct LsBusy {
    LsBusySpans spans; /* first: busy.h */
    int n_levels;
    LsBusyNode *levels[LS_BUSY_MAX_LEVELS]; /* each closed by one that begins where the last ends */
};

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
