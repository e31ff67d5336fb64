/* SPDX-License-Identifier: Apache-2.0
 * ui/draw/painter.h: the inside of a painter and what its parts share; for this folder. */
#pragma once

#include <glib.h>

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
    uint8_t steps[256];      /* of a share */
    cairo_surface_t *canvas; /* dense rows where the target is no image; device pixels */
    uint32_t *background;    /* a line of pixels under them */
    int width;               /* of it */
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
/* Compute by rank, communication by group, where that is asked for; else ls_item_get_colour. */
LsColour ls_item_find_colour(const LsPainter *painter, const LsScene *scene, const LsRow *row,
                             const LsItem *item);

/* -- Of every bar of a dense row: inline -- */

static inline LsColour
ls_item_get_plain_colour(const LsPainter *painter, const LsRow *row, const LsItem *item)
{
    int step = row->kind == LS_ROW_BAND ? LS_ITEM_SHARE_STEPS : painter->steps[item->share];
    int role = item->form == LS_FORM_STRONG ? LS_N_ROLES : item->role;
    return painter->filled[role][item->shade % LS_N_SHADES][step];
}

static inline LsColour
ls_item_get_colour(const LsPainter *painter, const LsScene *scene, const LsRow *row,
                   const LsItem *item)
{
    if (scene->view.colour_by != LS_COLOUR_KIND)
        return ls_item_find_colour(painter, scene, row, item);
    return ls_item_get_plain_colour(painter, row, item);
}

/* Device pixels left free at the right end, so that neighbours can be told apart. */
static inline int
ls_item_get_gap(const LsScene *scene, const LsItem *item)
{
    enum {
        JOINED = 1 << LS_ROLE_COMMUNICATION | 1 << LS_ROLE_WAIT | 1 << LS_ROLE_NEGOTIATION |
                 1 << LS_ROLE_COPY | 1 << LS_ROLE_BAND_COMPUTE | 1 << LS_ROLE_BAND_HIDDEN |
                 1 << LS_ROLE_BAND_EXPOSED | 1 << LS_ROLE_AGREED
    };
    int scale = scene->view.scale;
    return item->x1 - item->x0 >= 3 * scale && !(JOINED >> item->role & 1) ? MIN(scale, 2) : 0;
}

/* The background and, over it, the bars of the given rows (indices), rastered in device pixels and
 * painted; the rest of an item (edges, label) is painted over them. */
void ls_raster_rows(LsPainter *painter, cairo_t *cr, const LsScene *scene, const uint32_t *rows,
                    size_t n);

void ls_draw_ticks(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_points(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_pills(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_agreed(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_overview(LsPainter *painter, cairo_t *cr, const LsScene *scene);
void ls_draw_overview_ruler(LsPainter *painter, cairo_t *cr, const LsScene *scene, double height);
void ls_draw_overview_headers(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width);
void ls_draw_overview_legend(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                             double height);
/* A sample of a role and form, as a legend shows it. */
void ls_draw_swatch(LsPainter *painter, cairo_t *cr, LsRole role, LsForm form, const LsBox *box);
