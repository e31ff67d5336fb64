/* SPDX-License-Identifier: Apache-2.0
 * ui/draw/painter.h: the inside of a painter and what its parts share; for this folder. */
#pragma once

#include "ui/draw/draw.h"
#include "ui/draw/text.h"

enum { LS_N_SHADES = 3, LS_HATCH_PX = 5 };

struct LsPainter {
    const LsTheme *theme;
    LsText *text;
    bool vector;
    LsColour shades[LS_N_ROLES][LS_N_SHADES];
    /* The same by how full a column is; the row after the roles' is exposed communication. */
    LsColour filled[LS_N_ROLES + 1][LS_N_SHADES][LS_ITEM_SHARE_STEPS + 1];
    cairo_surface_t *strip; /* one dense row, device pixels */
    uint32_t *background;   /* a line of pixels under it */
    LsColour *colours;      /* of the row's items */
    size_t n_colours;
};

/* Where an item stands, in logical pixels of the timeline area. */
typedef struct LsBox {
    double x0, x1, y0, y1;
} LsBox;

LsColour ls_colour_mix(LsColour from, LsColour to, double share);
void ls_set_colour(cairo_t *cr, LsColour colour);
void ls_fill_rect(cairo_t *cr, double x, double y, double width, double height, LsColour colour);
/* Diagonal strokes over the box on the surface's colour: never filled. */
void ls_fill_hatched(const LsPainter *painter, cairo_t *cr, const LsBox *box);

/* Whether a line is drawn over the row: a rank or group of more than one row begins or ended. */
bool ls_row_has_line(const LsScene *scene, size_t row);
/* The bars of a row stand between these. */
void ls_row_get_bar(const LsScene *scene, const LsRow *row, double *ret_y0, double *ret_y1);
LsBox ls_item_get_box(const LsScene *scene, const LsRow *row, const LsItem *item);
LsColour ls_item_get_colour(const LsPainter *painter, const LsScene *scene, const LsRow *row,
                            const LsItem *item);
/* Device pixels left free at the right end, so that neighbours can be told apart. */
int ls_item_get_gap(const LsScene *scene, const LsItem *item);

/* The bars of one row, rastered in device pixels and painted; the rest of an item (edges, label) is
 * painted over it. */
void ls_raster_row(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row);

void ls_draw_ticks(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_points(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_pills(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_agreed(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_overview(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_overview_legend(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                             double height);
/* A sample of a role and form, as a legend shows it. */
void ls_draw_swatch(LsPainter *painter, cairo_t *cr, LsRole role, LsForm form, const LsBox *box);
