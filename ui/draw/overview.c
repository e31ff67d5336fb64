/* SPDX-License-Identifier: Apache-2.0
 *
 * The overview as a heat-map: the share of the step that ranks waited for runs from the surface to
 * orange; ranks that are the cause are blue, another hue and not more of the same.
 */
#include <glib.h>
#include <math.h>

#include "ui/draw/painter.h"

#define CAUSE 0.5f /* half of what lies beyond chance is enough to be called one */

enum { MIN_CAUSE_PX = 3 };

static LsColour
get_cell_colour(const LsTheme *theme, const LsOverview *overview, const LsCell *cell)
{
    if (cell->share < 0)
        return theme->heat_unknown;
    LsColour heat = ls_colour_mix(theme->heat_low, theme->heat_high,
                                  MIN((double)cell->share / (double)overview->full, 1));
    return cell->cause >= CAUSE ? ls_colour_mix(heat, theme->heat_cause, (double)cell->cause)
                                : heat;
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

/* A cause that is thinner than a line can be seen is drawn over its neighbours. */
static void
draw_causes(LsPainter *painter, cairo_t *cr, const LsOverview *o)
{
    if (o->height / o->rows >= MIN_CAUSE_PX)
        return;
    for (size_t i = 0; i < (size_t)o->columns * o->rows; i++) {
        if (o->cells[i].cause < CAUSE)
            continue;
        double y = o->y + o->height * ((double)(i / o->columns) + 0.5) / o->rows;
        double x0 = round(o->x + o->width * (double)(i % o->columns) / o->columns);
        double x1 = round(o->x + o->width * (double)(i % o->columns + 1) / o->columns);
        ls_fill_rect(cr, x0, round(y - MIN_CAUSE_PX / 2.0), x1 - x0, MIN_CAUSE_PX,
                     get_cell_colour(painter->theme, o, &o->cells[i]));
    }
}

/* Over the columns, in the ruler's place. */
void
ls_draw_overview_ruler(LsPainter *painter, cairo_t *cr, const LsScene *scene, double height)
{
    const LsOverview *o = &scene->overview;
    for (guint i = 0; i < o->x_ticks->len; i++) {
        const LsRulerTick *tick = &g_array_index(o->x_ticks, LsRulerTick, i);
        double x = o->x + tick->at,
               width = ls_text_get_width(painter->text, LS_FONT_LABEL, tick->label);
        if (x + width + 7 > scene->view.width)
            continue;
        ls_fill_rect(cr, round(x), 4, 1, height - 4, painter->theme->grid);
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, x + 5, height / 2 + 1,
                     width + 1, painter->theme->text_soft, tick->label);
    }
}

/* Left of the rows, in their labels' place; ranks of which there are few are named mid-row. */
void
ls_draw_overview_headers(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width)
{
    const LsOverview *o = &scene->overview;
    for (guint i = 0; i < o->y_ticks->len; i++) {
        const LsRulerTick *tick = &g_array_index(o->y_ticks, LsRulerTick, i);
        double y = o->y + tick->at + MAX(o->height / o->rows / 2, 4);
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_RIGHT, width - 9, y, width - 20,
                     painter->theme->text_soft, tick->label);
    }
}

/* A frame around the cell, or the rank's row, that is selected. */
static void
draw_selected(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    const LsOverview *o = &scene->overview;
    const LsView *view = &scene->view;
    const LsPick *pick = &view->selected;
    size_t n_steps, n = 0, at = SIZE_MAX;
    ls_model_get_steps(scene->model, &n_steps);
    for (uint32_t i = 0; i < view->n_ranks; i++) {
        if (view->shown[view->order[i]] && view->order[i] == pick->rank)
            at = n;
        n += view->shown[view->order[i]];
    }
    bool cell = pick->kind == LS_PICK_CELL && o->by_step && pick->index < n_steps;
    if (at == SIZE_MAX || (!cell && pick->kind != LS_PICK_RANK))
        return;
    double row = (double)(at * o->rows / n), column = 0, columns = o->columns;
    if (cell) {
        column = (double)(pick->index * o->columns / n_steps);
        columns = 1;
    }
    double x0 = round(o->x + o->width * column / o->columns);
    double x1 = round(o->x + o->width * (column + columns) / o->columns);
    double y0 = round(o->y + o->height * row / o->rows);
    double y1 = round(o->y + o->height * (row + 1) / o->rows);
    double more = y1 - y0 < MIN_CAUSE_PX ? MIN_CAUSE_PX : 1; /* what it frames stays in sight */
    cairo_rectangle(cr, x0 - 1, y0 - more, x1 - x0 + 1, y1 - y0 - 1 + 2 * more);
    cairo_set_line_width(cr, 2);
    ls_set_colour(cr, painter->theme->selection);
    cairo_stroke(cr);
}

void
ls_draw_overview(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    const LsOverview *o = &scene->overview;
    ls_fill_rect(cr, 0, 0, scene->view.width, scene->view.height, painter->theme->surface);
    if (o->columns == 0 || o->rows == 0)
        return;
    draw_cells(painter, cr, o);
    draw_causes(painter, cr, o);
    draw_selected(painter, cr, scene);
}

/* The scale of the colours, in the legend's place. */
void
ls_draw_overview_legend(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                        double height)
{
    const LsTheme *theme = painter->theme;
    double x = 38, y = round(height / 2), length = 140;
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
