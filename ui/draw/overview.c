/* SPDX-License-Identifier: Apache-2.0
 *
 * The overview as a heat-map: the share of the step that ranks waited for runs from the surface to
 * orange; ranks that are the cause are blue, another hue and not more of the same.
 */
#include <glib.h>
#include <math.h>

#include "ui/draw/painter.h"

static LsColour
get_cell_colour(const LsTheme *theme, const LsOverview *overview, const LsCell *cell)
{
    if (cell->share < 0)
        return theme->heat_unknown;
    LsColour heat = ls_colour_mix(theme->heat_low, theme->heat_high,
                                  MIN((double)cell->share / (double)overview->full, 1));
    /* Half of what lies beyond chance is enough to be called a cause. */
    return cell->cause >= 0.5f ? ls_colour_mix(heat, theme->heat_cause, (double)cell->cause) : heat;
}

/* Cells side by side of one colour are one rectangle. */
static void
draw_cells(LsPainter *painter, cairo_t *cr, const LsOverview *o)
{
    double gap = o->width / o->columns >= 8 && o->height / o->rows >= 8 ? 1 : 0;
    cairo_antialias_t antialias = cairo_get_antialias(cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    for (uint32_t r = 0; r < o->rows; r++) {
        double y0 = round(o->y + o->height * r / o->rows);
        double y1 = round(o->y + o->height * (r + 1) / o->rows);
        for (uint32_t c = 0; c < o->columns;) {
            LsColour colour = get_cell_colour(painter->theme, o, &o->cells[r * o->columns + c]);
            uint32_t end = c + 1;
            while (gap == 0 && end < o->columns &&
                   get_cell_colour(painter->theme, o, &o->cells[r * o->columns + end]) == colour)
                end++;
            double x0 = round(o->x + o->width * c / o->columns);
            double x1 = round(o->x + o->width * end / o->columns);
            ls_fill_rect(cr, x0, y0, x1 - x0 - gap, y1 - y0 - gap, colour);
            c = end;
        }
    }
    cairo_set_antialias(cr, antialias);
}

static void
draw_axes(LsPainter *painter, cairo_t *cr, const LsOverview *o)
{
    const LsTheme *theme = painter->theme;
    for (guint i = 0; i < o->x_ticks->len; i++) {
        const LsRulerTick *tick = &g_array_index(o->x_ticks, LsRulerTick, i);
        ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, o->x + tick->at + 1,
                     o->y - 12, 80, theme->text_soft, tick->label);
    }
    for (guint i = 0; i < o->y_ticks->len; i++) {
        const LsRulerTick *tick = &g_array_index(o->y_ticks, LsRulerTick, i);
        ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_RIGHT, o->x - 8,
                     o->y + tick->at + MIN(7, o->height / o->rows / 2), o->x - 10, theme->text_soft,
                     tick->label);
    }
}

void
ls_draw_overview(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    const LsOverview *o = &scene->overview;
    ls_fill_rect(cr, 0, 0, scene->view.width, scene->view.height, painter->theme->surface);
    if (o->columns == 0 || o->rows == 0)
        return;
    draw_cells(painter, cr, o);
    draw_axes(painter, cr, o);
}

/* The scale of the colours, in the legend's place. */
void
ls_draw_overview_legend(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                        double height)
{
    const LsTheme *theme = painter->theme;
    double x = 64, y = round(height / 2), length = 140;
    char full[32];
    ls_fill_rect(cr, 0, 0, width, height, theme->surface);
    ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_RIGHT, x - 6, y, 60, theme->text_soft,
                 "0 %");
    for (int i = 0; i < (int)length; i += 4)
        ls_fill_rect(cr, x + i, y - 5, 4, 10,
                     ls_colour_mix(theme->heat_low, theme->heat_high, i / length));
    g_snprintf(full, sizeof full, "%.0f %% of the step waited for",
               (double)scene->overview.full * 100);
    x += length + 6;
    x += ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x, y, 240, theme->text_soft,
                      full) +
         24;
    ls_fill_rect(cr, x, y - 5, 14, 10, theme->heat_cause);
    ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x + 20, y, 300, theme->text_soft,
                 "waited for by the others");
}
