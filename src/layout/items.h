/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/items.h: from rows and a range to a flat list of items, folded to pixels: the cost follows
 * the pixels, not the spans. An item is at least one device pixel wide; spans narrower than that
 * share columns, and the column says how full it is.
 */
#pragma once

#include "layout/rows.h"

enum { LS_ITEM_SHARE_STEPS = 12 };

typedef struct LsItem {
    uint16_t x0, x1;    /* device pixels from the left edge of the timeline area; x1 > x0 */
    uint32_t text;      /* label (ls_scene_get_text), 0: none */
    uint32_t ref;       /* index of its first span in the lane, of its call or use */
    uint32_t count;     /* spans in it */
    int64_t busy_ns;    /* their time within the visible range; sums over a row are exact */
    uint8_t role, form; /* LsRole, LsForm */
    uint8_t flags;      /* LsItemFlags */
    uint8_t share;      /* how full, in steps of 255 / LS_ITEM_SHARE_STEPS; 255: full */
    uint8_t shade;      /* 0..2: neighbours of one role can be told apart */
    uint8_t lane;       /* within the row's track */
    uint16_t ref_kind;  /* LsPickKind of ref */
} LsItem;
