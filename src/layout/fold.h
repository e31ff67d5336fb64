/* SPDX-License-Identifier: Apache-2.0
 * layout/fold.h: spans of one lane to items in columns of pixels; for this folder. */
#pragma once

#include "index/busy.h"
#include "layout/scene.h"

/* Times to device pixels of one scene. */
typedef struct LsScale {
    int64_t start_ns, end_ns;
    double px_per_ns, ns_per_px;
    int32_t width;         /* device px */
    const int64_t *edges;  /* width + 1: when each column begins (ls_scale_set_edges) */
    LsBusyColumn *columns; /* width of them, to work with */
} LsScale;

LsScale ls_scale_new(const LsView *view);
/* Fills an array of int64_t and makes room in one of LsBusyColumn; both must outlive the scale. */
void ls_scale_set_edges(LsScale *scale, GArray *edges, GArray *columns);
int32_t ls_scale_get_x(const LsScale *scale, int64_t time_ns); /* rounded, not clamped */
int64_t ls_scale_get_time(const LsScale *scale, int32_t x);

/* Appends to `items` (LsItem): role = category, ref = first span. Spans of a pixel and more have
 * their own item; lesser ones share a column, and like columns side by side are one item. The scale
 * has its edges. */
void ls_fold_lane(const LsScale *scale, const LsBusy *busy, GArray *items);

/* An item of the given time, at least a pixel wide; false: out of sight. */
bool ls_fold_make_item(const LsScale *scale, int64_t start_ns, int64_t end_ns, LsItem *ret_item);
/* Whether a span of that lane has others of the next one over it, which are the finer word: its own
 * would show in pieces, in the gaps between them. */
bool ls_fold_is_under(const LsTrack *track, uint32_t lane, int64_t start_ns, int64_t end_ns);
