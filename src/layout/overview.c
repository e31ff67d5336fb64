/* SPDX-License-Identifier: Apache-2.0
 *
 * The overview: ranks down, steps across (equal times where there are no steps). A cell is the
 * share of the step that its ranks waited for; where ranks were last far more often than by chance,
 * and hence are the cause, it says that instead. Ranks share a row, and steps a column, where there
 * are more of them than pixels: the mean of the shares, the most of the causes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layout/scene-private.h"

enum { MIN_CELL_PX = 3, TOP = 6, BOTTOM = 16, ROW_PX = 40, LABEL_PX = 24 };

typedef struct Grid {
    LsMaking *making;
    LsOverview *overview;
    uint32_t *ranks; /* shown ranks, from top to bottom */
    uint32_t n_ranks;
} Grid;

static LsCell
make_cell(const Grid *grid, size_t column, size_t row)
{
    const LsOverview *o = grid->overview;
    const LsGrid *cells = &grid->making->model->grid;
    size_t c0 = column * cells->n_columns / o->columns;
    size_t c1 = (column + 1) * cells->n_columns / o->columns;
    size_t r0 = row * grid->n_ranks / o->rows, r1 = (row + 1) * grid->n_ranks / o->rows;
    LsCell cell = {-1, 0};
    double sum = 0, n = 0;
    for (size_t r = r0; r < r1; r++) {
        const LsCell *line = cells->cells + grid->ranks[r] * cells->n_columns;
        for (size_t c = c0; c < c1; c++) {
            if (line[c].share < 0)
                continue;
            sum += line[c].share;
            n++;
            cell.cause = MAX(cell.cause, line[c].cause);
        }
    }
    if (n > 0)
        cell.share = (float)(sum / n);
    return cell;
}

/* The strongest colour: a round share that hardly any cell exceeds. */
static float
find_full(const LsOverview *o)
{
    float most = 0;
    for (size_t i = 0; i < (size_t)o->columns * o->rows; i++)
        most = MAX(most, o->cells[i].share);
    return (float)CLAMP(ceil(most * 10) / 10, 0.1, 1);
}

static void
add_axis(GArray *ticks, size_t n, double length, double least_px, const Grid *grid, bool ranks)
{
    int64_t step = ls_ruler_find_step((int64_t)ceil((double)n * least_px / MAX(length, 1)));
    const LsModel *model = grid->making->model;
    for (size_t i = 0; i < n; i += (size_t)step) {
        LsRulerTick tick = {.at = (double)i * length / (double)n};
        if (ranks)
            g_strlcpy(tick.label, ls_trace_get_rank_label(model->trace, grid->ranks[i]),
                      sizeof tick.label);
        else
            snprintf(tick.label, sizeof tick.label, "step %" G_GINT64_FORMAT,
                     model->steps[i].number);
        g_array_append_val(ticks, tick);
    }
}

static void
add_time_axis(const Grid *grid)
{
    const LsModel *model = grid->making->model;
    int64_t range = ls_trace_get_last_ns(model->trace) - ls_trace_get_first_ns(model->trace);
    int64_t step = ls_ruler_find_step((int64_t)((double)range * 100 / grid->overview->width));
    for (int64_t at = 0; at < range; at += step) {
        LsRulerTick tick = {.at = (double)at / (double)range * grid->overview->width};
        snprintf(tick.label, sizeof tick.label, "%g s", (double)at / 1e9);
        g_array_append_val(grid->overview->x_ticks, tick);
    }
}

static void
fill_grid(Grid *grid)
{
    LsOverview *o = grid->overview;
    const LsView *view = grid->making->view;
    double px = (double)MIN_CELL_PX;
    o->x = 0; /* each step under its bar */
    o->y = TOP;
    o->width = floor(MAX(view->width, px));
    o->height = floor(MAX(view->height - TOP - BOTTOM, px));
    /* Few ranks need not fill the height. */
    o->height = MIN(o->height, (double)grid->n_ranks * ROW_PX);
    grid->making->scene->content_height = TOP + o->height + BOTTOM;
    o->columns = (uint32_t)MIN(grid->making->model->grid.n_columns, (size_t)(o->width / px));
    o->rows = (uint32_t)MIN(grid->n_ranks, (size_t)MAX(o->height / 1, 1));
    o->cells = g_renew(LsCell, o->cells, (size_t)o->columns * o->rows);
    for (size_t r = 0; r < o->rows; r++)
        for (size_t c = 0; c < o->columns; c++)
            o->cells[r * o->columns + c] = make_cell(grid, c, r);
    o->full = find_full(o);
    add_axis(o->y_ticks, grid->n_ranks, o->height, LABEL_PX, grid, true);
    if (o->by_step)
        add_axis(o->x_ticks, grid->making->model->n_steps, o->width, 80, grid, false);
    else
        add_time_axis(grid);
}

void
ls_making_add_overview(LsMaking *making)
{
    const LsView *view = making->view;
    LsOverview *o = &making->scene->overview;
    g_autofree uint32_t *ranks = g_new(uint32_t, MAX(view->n_ranks, 1));
    Grid grid = {making, o, ranks, 0};
    o->columns = o->rows = 0;
    g_array_set_size(o->x_ticks, 0);
    g_array_set_size(o->y_ticks, 0);
    if (view->mode != LS_VIEW_OVERVIEW)
        return;
    for (uint32_t i = 0; i < view->n_ranks; i++)
        if (view->shown[view->order[i]])
            ranks[grid.n_ranks++] = view->order[i];
    o->by_step = making->model->grid.by_step;
    if (grid.n_ranks > 0)
        fill_grid(&grid);
}
