/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/scene.h: one view laid out: plain data that ui/draw paints without touching the trace.
 * Read the fields; change a scene only by ls_scene_update. One thread at a time.
 */
#pragma once

#include "layout/items.h"

/* A tick of the ruler or of the overview's axes. */
typedef struct LsRulerTick {
    double at; /* logical px */
    char label[48];
} LsRulerTick;

/* A small stroke on a row: a cycle. */
typedef struct LsTick {
    uint16_t x;   /* device px */
    uint8_t role; /* LS_ROLE_CONTROL, or LS_ROLE_AGREED: stands out */
    uint32_t row;
} LsTick;

/* A point of a row's line; `gap`: not joined to the point before. */
typedef struct LsPoint {
    float x; /* device px */
    float low,
        high; /* 0..1 of the row's height, from the bottom: least and most within the column */
    uint32_t row;
    bool gap;
} LsPoint;

/* Ranks ready at one time. */
typedef struct LsPill {
    float x; /* device px of the time */
    uint32_t row, text;
    uint32_t ranks; /* how many */
    bool last;      /* holds the last rank: red */
} LsPill;

/* A vertical line over some rows: where a group agreed (dashed, labelled), or a step began. */
typedef struct LsLine {
    uint16_t x;
    uint32_t first_row, last_row;
    uint32_t text; /* 0: none */
    uint8_t role;  /* LS_ROLE_AGREED: dashed, labelled; LS_ROLE_STEP */
} LsLine;

/* One bar of the strip of steps over the ruler. */
typedef struct LsStepBar {
    double x0, x1;      /* 0..1 of the strip's width */
    double height, cap; /* 0..1 of the strip's height: step time, and what of it is waited for */
    uint32_t first,
        n; /* steps it stands for (several when there are more than pixels): the slowest is drawn */
    bool shown, muted; /* in the visible range; warm-up or cut */
} LsStepBar;

/* Cells are row-major, columns = steps (or equal times), rows = ranks folded. */
typedef struct LsOverview {
    uint32_t columns, rows;
    double x, y, width, height; /* of the grid in the timeline area, logical px */
    LsCell *cells;
    float full;                /* the share that the strongest colour means */
    GArray *x_ticks, *y_ticks; /* LsRulerTick */
    bool by_step;              /* columns are steps */
} LsOverview;

typedef struct LsLegend {
    LsRole role;
    LsForm form;
    const char *label; /* static */
} LsLegend;

typedef struct LsScene {
    LsView view; /* as it was laid out; owned */
    const LsModel *model;
    GArray *rows; /* LsRow */
    double content_height;
    GArray *items;        /* LsItem, by row, in painting order within it */
    GArray *ticks;        /* LsTick */
    GArray *points;       /* LsPoint */
    GArray *pills;        /* LsPill */
    GArray *lines;        /* LsLine */
    GArray *ruler;        /* LsRulerTick */
    char ruler_label[48]; /* in the corner: "step 41", or the unit's place */
    GArray *step_bars;    /* LsStepBar */
    char steps_label[48]; /* "40 steps" */
    GArray *legend;       /* LsLegend: what this scene shows, no more */
    LsOverview overview;  /* mode overview; columns 0 otherwise */
    char banner[96];      /* "CPU test double" and what else must stand over every picture; "" */
    GString *texts;       /* storage of ls_scene_get_text */
} LsScene;

/* The model must outlive the scene. The scene is empty until the first update. */
LsScene *ls_scene_new(const LsModel *model);
void ls_scene_free(LsScene *scene);
/* Lays the view out anew; storage is kept from frame to frame. */
void ls_scene_update(LsScene *scene, const LsView *view);

const LsRow *ls_scene_get_row(const LsScene *scene, size_t row);
size_t ls_scene_get_n_rows(const LsScene *scene);
/* A label; valid until the next update. */
const char *ls_scene_get_text(const LsScene *scene, uint32_t text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsScene, ls_scene_free)
