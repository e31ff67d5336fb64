/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/view.h: what is asked to be seen: the visible range, rows by rank or by tensor or the
 * overview, order and folding, filter, scroll, size, selection. Plain data; whoever shows it keeps
 * one, changes it by the functions below, and has a scene made of it (layout/scene.h).
 *
 * Distances are logical pixels; `scale` is device pixels per logical one (2 on a HiDPI screen), so
 * that edges fall on device pixels.
 */
#pragma once

#include "layout/model.h"

typedef enum LsViewMode { LS_VIEW_RANKS, LS_VIEW_TENSORS, LS_VIEW_OVERVIEW } LsViewMode;

/* How much of a rank is shown. */
typedef enum LsFold {
    LS_FOLD_FULL,    /* every lane of every track */
    LS_FOLD_OPEN,    /* its rows; of deep tracks the first lanes */
    LS_FOLD_COMPACT, /* overlap band, compute, communication, lower rows */
    LS_FOLD_BAND,    /* one line: the overlap band beside the label */
    LS_N_FOLDS,
} LsFold;

typedef enum LsColourBy { LS_COLOUR_KIND, LS_COLOUR_RANK, LS_COLOUR_GROUP } LsColourBy;

typedef enum LsPickKind {
    LS_PICK_NONE,
    LS_PICK_RANK,   /* index: of ranks (a row's header) */
    LS_PICK_SPAN,   /* track, lane, index: a span without a row of its own */
    LS_PICK_CALL,   /* index: of calls; its buffer is what is looked at */
    LS_PICK_USE,    /* index: of uses; a tensor, once */
    LS_PICK_CYCLE,  /* index: of cycles */
    LS_PICK_STEP,   /* index: of ls_model_get_steps */
    LS_PICK_SAMPLE, /* track, index: a sample of a counter; of the run without a track: lane */
    LS_PICK_CELL,   /* overview: index of the step, rank = first rank of the cell */
} LsPickKind;

/* Something that can be pointed at and selected. */
typedef struct LsPick {
    LsPickKind kind;
    uint32_t rank;  /* index into ranks, LS_NONE: of no one rank */
    uint32_t track; /* index into tracks, LS_NONE */
    uint32_t lane;
    size_t index;
    int64_t time_ns; /* under the pointer */
} LsPick;

typedef struct LsView {
    LsViewMode mode;
    int64_t start_ns, end_ns;             /* visible; end > start */
    int64_t origin_ns;                    /* zero of the ruler */
    int64_t step;                         /* index of the step shown, -1: none in particular */
    int64_t order_start_ns, order_end_ns; /* by tensor: where the order of lanes is taken from */
    double width, height;                 /* of the timeline area */
    int scale;
    double scroll_y;
    LsFold fold;
    double stretch; /* of bars' heights: few ranks use the room that there is, many share it */
    LsColourBy colour_by;
    uint32_t n_ranks;
    uint32_t *order;      /* n_ranks: rank indices from top to bottom */
    bool *shown;          /* n_ranks: filter, by rank index */
    uint8_t *folds;       /* n_ranks: LsFold of one rank, LS_N_FOLDS: as `fold` */
    uint32_t tensor_rank; /* by tensor: whose lanes are drawn */
    LsPick selected;
} LsView;

/* The start view (design 10): the slowest steady step with all ranks, folded so far that they fit;
 * without steps the whole recording; by tensor where only tensors were recorded (a Horovod
 * timeline); the overview where even one line a rank does not fit. */
void ls_view_init(LsView *view, const LsModel *model, double width, double height, int scale);
void ls_view_clear(LsView *view);
void ls_view_copy(LsView *to, const LsView *from);

double ls_view_x_of(const LsView *view, int64_t time_ns); /* logical px, may lie outside */
int64_t ls_view_time_at(const LsView *view, double x);

void ls_view_set_size(LsView *view, double width, double height, int scale);
void ls_view_set_mode(LsView *view, const LsModel *model, LsViewMode mode);
/* A range with a margin of `margin` times its length on either side. */
void ls_view_show(LsView *view, int64_t start_ns, int64_t end_ns, double margin);
void ls_view_show_step(LsView *view, const LsModel *model, int step);
void ls_view_show_all(LsView *view, const LsModel *model);
/* factor < 1: closer; the time under x stays there. Never under 100 ns, never over 4 recordings. */
void ls_view_zoom(LsView *view, const LsModel *model, double factor, double x);
void ls_view_pan(LsView *view, const LsModel *model, double dx);
/* Vertically, kept within the content of the given height (LsScene.content_height). */
void ls_view_scroll(LsView *view, double dy, double content_height);
/* Folding and stretch with which the rows of the mode fill the height best. */
void ls_view_fit(LsView *view, const LsModel *model);
void ls_view_fold_rank(LsView *view, uint32_t rank, LsFold fold);
