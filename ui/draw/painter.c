/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours, boxes and the two fills (plain, hatched) that all parts use.
 */
#include "ui/draw/painter.h"

#include <glib.h>
#include <math.h>

LsColour
ls_colour_mix(LsColour from, LsColour to, double share)
{
    LsColour mixed = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        double a = from >> shift & 255, b = to >> shift & 255;
        mixed |= (LsColour)(a + (b - a) * share + 0.5) << shift;
    }
    return mixed;
}

static void
fill_shades(LsPainter *painter, int role)
{
    for (int shade = 0; shade < LS_N_SHADES; shade++)
        for (int step = 0; step <= LS_ITEM_SHARE_STEPS; step++) {
            LsColour full =
                role < LS_N_ROLES ? painter->shades[role][shade] : painter->theme->strong;
            painter->filled[role][shade][step] = ls_colour_mix(
                painter->theme->surface, full, 0.15 + 0.85 * step / LS_ITEM_SHARE_STEPS);
        }
}

void
ls_painter_set_theme(LsPainter *painter, const LsTheme *theme)
{
    painter->theme = theme;
    for (int role = 0; role < LS_N_ROLES; role++) {
        LsColour plain = theme->role[role];
        painter->shades[role][0] = plain;
        painter->shades[role][1] = ls_colour_mix(plain, theme->dark ? 0x000000 : 0xFFFFFF, 0.25);
        painter->shades[role][2] = ls_colour_mix(plain, theme->dark ? 0xFFFFFF : 0x000000, 0.1);
        fill_shades(painter, role);
    }
    fill_shades(painter, LS_N_ROLES);
    for (int share = 0; share < 256; share++)
        painter->steps[share] = (uint8_t)((share * LS_ITEM_SHARE_STEPS + 127) / 255);
}

LsPainter *
ls_painter_new(const LsTheme *theme)
{
    LsPainter *painter = g_new0(LsPainter, 1);
    painter->text = ls_text_new();
    ls_painter_set_theme(painter, theme);
    return painter;
}

void
ls_painter_free(LsPainter *painter)
{
    if (!painter)
        return;
    ls_text_free(painter->text);
    if (painter->canvas)
        cairo_surface_destroy(painter->canvas);
    g_free(painter->background);
    g_free(painter);
}

void
ls_painter_set_vector(LsPainter *painter, bool vector)
{
    painter->vector = vector;
}

void
ls_set_colour(cairo_t *cr, LsColour colour)
{
    cairo_set_source_rgb(cr, (double)(colour >> 16 & 255) / 255, (double)(colour >> 8 & 255) / 255,
                         (double)(colour & 255) / 255);
}

void
ls_fill_rect(cairo_t *cr, double x, double y, double width, double height, LsColour colour)
{
    ls_set_colour(cr, colour);
    cairo_rectangle(cr, x, y, width, height);
    cairo_fill(cr);
}

void
ls_fill_hatched(const LsPainter *painter, cairo_t *cr, const LsBox *box)
{
    double height = box->y1 - box->y0;
    ls_fill_rect(cr, box->x0, box->y0, box->x1 - box->x0, height, painter->theme->surface);
    cairo_save(cr);
    cairo_rectangle(cr, box->x0, box->y0, box->x1 - box->x0, height);
    cairo_clip(cr);
    /* Lines x + y = constant, at places that neighbours share. */
    double first = floor((box->x0 + box->y0) / LS_HATCH_PX) * LS_HATCH_PX;
    for (double at = first; at < box->x1 + box->y1; at += LS_HATCH_PX) {
        cairo_move_to(cr, at - box->y0, box->y0);
        cairo_line_to(cr, at - box->y1, box->y1);
    }
    cairo_set_line_width(cr, 1.2);
    ls_set_colour(cr, painter->theme->hatch);
    cairo_stroke(cr);
    cairo_restore(cr);
}

bool
ls_row_has_line(const LsScene *scene, size_t row)
{
    const LsRow *rows = (const LsRow *)(void *)scene->rows->data;
    if (row == 0 || !rows[row].first)
        return false;
    return !rows[row - 1].first || (row + 1 < scene->rows->len && !rows[row + 1].first);
}

void
ls_row_get_bar(const LsScene *scene, const LsRow *row, double *ret_y0, double *ret_y1)
{
    double above = 1, below = 1;
    switch (row->kind) {
    case LS_ROW_RANK:
        above = 5;
        below = 3;
        break;
    case LS_ROW_BAND:
        above = below = row->height < 12 ? 1 : 3;
        break;
    case LS_ROW_SPANS:
    case LS_ROW_COMMUNICATION:
        above = below = row->height > 20 ? 2 : 1;
        break;
    case LS_ROW_CYCLES:
        above = below = 4;
        break;
    case LS_ROW_COUNTER:
        above = below = 4;
        break;
    case LS_ROW_TENSOR:
        below = 2;
        break;
    case LS_ROW_GROUP:
    case LS_ROW_READY:
        break;
    }
    *ret_y0 = row->y - scene->view.scroll_y + above;
    *ret_y1 = row->y - scene->view.scroll_y + row->height - below;
}

LsBox
ls_item_get_box(const LsScene *scene, const LsRow *row, const LsItem *item)
{
    LsBox box;
    double scale = scene->view.scale;
    ls_row_get_bar(scene, row, &box.y0, &box.y1);
    box.x0 = item->x0 / scale;
    box.x1 = item->x1 / scale;
    if (item->flags & LS_ITEM_THIN) {
        double inset = floor((box.y1 - box.y0) * 0.36);
        box.y0 += inset;
        box.y1 -= inset;
    }
    if (row->kind == LS_ROW_BAND && item->share < 255) {
        double height = MAX(round((box.y1 - box.y0) * item->share / 255), 1);
        if (item->flags & LS_ITEM_TOP)
            box.y1 = box.y0 + height;
        else
            box.y0 = box.y1 - height;
    }
    return box;
}

/* Compute by rank, communication by group, where that is asked for. */
static bool
find_other_colour(const LsPainter *painter, const LsScene *scene, const LsRow *row,
                  const LsItem *item, LsColour *ret_colour)
{
    bool compute = item->role >= LS_ROLE_FORWARD && item->role <= LS_ROLE_KERNEL;
    if (scene->view.colour_by == LS_COLOUR_RANK && compute && row->rank != LS_NONE)
        *ret_colour = painter->theme->rank[row->rank % 8];
    else if (scene->view.colour_by == LS_COLOUR_GROUP && item->role == LS_ROLE_COMMUNICATION &&
             item->form == LS_FORM_PLAIN)
        *ret_colour = painter->theme->rank[item->shade % 8];
    else
        return false;
    return true;
}

LsColour
ls_item_find_colour(const LsPainter *painter, const LsScene *scene, const LsRow *row,
                    const LsItem *item)
{
    LsColour colour;
    if (!find_other_colour(painter, scene, row, item, &colour))
        return ls_item_get_plain_colour(painter, row, item);
    int step = row->kind == LS_ROW_BAND ? LS_ITEM_SHARE_STEPS : painter->steps[item->share];
    return ls_colour_mix(painter->theme->surface, colour, 0.15 + 0.85 * step / LS_ITEM_SHARE_STEPS);
}
