/* SPDX-License-Identifier: Apache-2.0
 * ui/draw/figure-private.h: where the parts of the groups' figure stand. */
#pragma once

#include "ui/draw/figure.h"
#include "ui/draw/painter.h"

enum {
    FIGURE_LABEL_X = 18, /* names of the groups */
    FIGURE_LABEL_WIDTH = 168,
    FIGURE_ARC_WIDTH = 130, /* edges bulge so far */
    FIGURE_NODE_X = FIGURE_LABEL_X + FIGURE_LABEL_WIDTH + FIGURE_ARC_WIDTH,
    FIGURE_NAME_WIDTH = 176, /* of a tensor, where lines are high enough */
    FIGURE_COLUMNS_WIDTH = 268,
    FIGURE_TITLE_HEIGHT = LS_DRAW_TITLE_HEIGHT,
    FIGURE_PHASES_HEIGHT = 20,
    FIGURE_CYCLES_HEIGHT = 22,
    FIGURE_RULER_HEIGHT = 22,
    FIGURE_READY_HEIGHT = 11, /* the line of the ranks under each group */
    FIGURE_GAP = 7,
    FIGURE_LEAST_HEIGHT = 32, /* of a group: two lines of text */
    FIGURE_MANY = 80,         /* groups: from so many on each is one line of text and has no line */
    FIGURE_MANY_HEIGHT = 15,  /* of the ranks */
    FIGURE_HIGHEST = 30000,   /* device pixels of all groups: Cairo's images end at 32,767 */
    FIGURE_LEGEND_HEIGHT = 52,
    FIGURE_FOOT_HEIGHT = 26,
};

/* One drawing under way. */
typedef struct Figure {
    LsPainter *painter;
    cairo_t *cr;
    const LsGroupsFigure *data;
    double width;
    bool many;          /* groups */
    guint n, n_members; /* of them that are shown, and their tensors */
    double line;        /* height of a tensor's; 0: folded to a line a group */
    double *tops;       /* of the sections, and the end of the last */
    double x0, x1;      /* of the time axis */
    double y0;          /* of the first section */
    int64_t t0, t1;     /* at x0, x1 */
} Figure;

#define FIGURE_AT(array, Type, i) (&g_array_index(array, Type, i))

LsColour ls_figure_colour(const Figure *figure, guint section);
double ls_figure_get_middle(const Figure *figure, guint section);
double ls_figure_x(const Figure *figure, int64_t time_ns);
/* The middle of a tensor's line (folded: of its group's). */
double ls_figure_y(const Figure *figure, guint member);

/* figure-graph.c: the left side. */
void ls_figure_draw_labels(Figure *figure);
void ls_figure_draw_graph(Figure *figure);
/* figure-lines.c: the right side. */
void ls_figure_draw_axis(Figure *figure);
void ls_figure_draw_lines(Figure *figure);
void ls_figure_draw_columns(Figure *figure);
void ls_figure_draw_legend(Figure *figure, double y);
