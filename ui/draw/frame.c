/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands around the rows: their labels, the ruler, the bars of the steps or the minimap, the
 * legend.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "ui/draw/painter.h"

enum { WIDE_GAP = 18, NARROW_GAP = 10 }; /* between entries of the legend */

static void
draw_head(LsPainter *painter, cairo_t *cr, const LsRow *row, double y, double width)
{
    const LsTheme *theme = painter->theme;
    LsText *text = painter->text;
    double note = 0;
    bool small = row->kind == LS_ROW_BAND || row->height < 18;
    LsFont font = small ? LS_FONT_STRONG : LS_FONT_RANK;
    if (row->note) { /* smaller where the name would be cut */
        double all = ls_text_get_width(text, LS_FONT_LABEL, row->label) +
                     ls_text_get_width(text, LS_FONT_LABEL, row->note);
        note = ls_text_draw(text, cr, all > width - 42 ? LS_FONT_SMALL : LS_FONT_LABEL,
                            LS_ALIGN_RIGHT, width - 9, y, width * 0.6,
                            row->alarm ? theme->alarm : theme->text_soft, row->note);
    }
    /* The number stands out, what follows (host and device) does not. */
    LsColour colour = row->greyed ? theme->text_faint : theme->text;
    const char *rest = row->kind == LS_ROW_GROUP ? NULL : strchr(row->label, ' ');
    g_autofree char *number = rest ? g_strndup(row->label, (size_t)(rest - row->label)) : NULL;
    double x = 13, room = width - note - 30;
    x +=
        ls_text_draw(text, cr, font, LS_ALIGN_LEFT, x, y, room, colour, rest ? number : row->label);
    if (rest)
        ls_text_draw(text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, x + 6, y, room - x + 7, colour,
                     rest + 1);
}

/* Its name and its scale: beside each other, under each other, or the scale before the name's end.
 */
static void
draw_counter_head(LsPainter *painter, cairo_t *cr, const LsRow *row, double x, double y,
                  double room)
{
    LsColour colour = painter->theme->text_faint;
    double name = ls_text_get_width(painter->text, LS_FONT_SMALL, row->label);
    double scale = ls_text_get_width(painter->text, LS_FONT_SMALL, row->note);
    if (name + 8 + scale > room && row->height >= 26) {
        ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x, y - 6, room, colour,
                     row->label);
        ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x, y + 7, room, colour,
                     row->note);
        return;
    }
    scale = ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_RIGHT, x + room, y, room * 0.7,
                         colour, row->note);
    ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x, y, room - scale - 6, colour,
                 row->label);
}

static void
draw_header(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row, double width)
{
    const LsTheme *theme = painter->theme;
    double y = MAX(row->y - scene->view.scroll_y + row->height / 2, MIN(row->height, 7));
    bool faint = row->kind == LS_ROW_BAND || row->kind == LS_ROW_CYCLES ||
                 row->kind == LS_ROW_COUNTER || row->kind == LS_ROW_READY;
    if (row->kind == LS_ROW_RANK || row->kind == LS_ROW_GROUP ||
        (row->kind == LS_ROW_BAND && row->first)) {
        draw_head(painter, cr, row, row->kind == LS_ROW_BAND ? y : y + 1, width);
        return;
    }
    if (row->height < 11 && row->kind != LS_ROW_TENSOR)
        return;
    double x = row->kind == LS_ROW_READY ? 34 : 26;
    if (row->kind == LS_ROW_TENSOR) {
        ls_text_draw_tail(painter->text, cr, LS_FONT_LABEL, x, y, width - x - 8, theme->text_soft,
                          row->label);
        return;
    }
    double room = width - x - 8;
    if (row->kind == LS_ROW_COUNTER && row->note) {
        draw_counter_head(painter, cr, row, x, y, room);
        return;
    }
    ls_text_draw(painter->text, cr, faint ? LS_FONT_SMALL : LS_FONT_LABEL, LS_ALIGN_LEFT, x, y,
                 room, faint ? theme->text_faint : theme->text_soft, row->label);
}

/* Whether a label of its height finds room between those of its neighbours: of lines that are lower
 * than text every n-th is named, and those with an alarm before all others. */
static bool
is_named(const LsScene *scene, size_t index)
{
    const LsRow *rows = (const LsRow *)(void *)scene->rows->data, *row = &rows[index];
    if (row->height >= 12 || row->alarm)
        return true;
    size_t apart = (size_t)ceil(12 / row->height);
    for (size_t i = index >= apart ? index - apart + 1 : 0;
         i < MIN(index + apart, scene->rows->len); i++)
        if (rows[i].alarm)
            return false;
    return index % apart == 0;
}

void
ls_draw_headers(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width)
{
    const LsTheme *theme = painter->theme;
    double height = scene->view.height;
    cairo_save(cr);
    cairo_rectangle(cr, 0, 0, width, height);
    cairo_clip(cr);
    ls_fill_rect(cr, 0, 0, width, height, theme->header);
    if (scene->view.mode == LS_VIEW_OVERVIEW)
        ls_draw_overview_headers(painter, cr, scene, width);
    guint n_rows = scene->view.mode == LS_VIEW_OVERVIEW ? 0 : scene->rows->len;
    for (guint i = 0; i < n_rows; i++) {
        const LsRow *row = &g_array_index(scene->rows, LsRow, i);
        double y = row->y - scene->view.scroll_y;
        if (y >= height || y + row->height <= 0)
            continue;
        if (ls_row_has_line(scene, i))
            ls_fill_rect(cr, 0, round(y) - 2, width, 1, theme->line);
        if ((row->kind != LS_ROW_BAND && row->kind != LS_ROW_TENSOR) || is_named(scene, i))
            draw_header(painter, cr, scene, row, width);
    }
    ls_fill_rect(cr, width - 1, 0, 1, height, theme->line);
    cairo_restore(cr);
}

void
ls_draw_ruler(LsPainter *painter, cairo_t *cr, const LsScene *scene, double height)
{
    const LsTheme *theme = painter->theme;
    double width = scene->view.width;
    ls_fill_rect(cr, 0, 0, width, height, theme->surface);
    cairo_save(cr);
    cairo_rectangle(cr, 0, 0, width, height);
    cairo_clip(cr);
    bool overview = scene->view.mode == LS_VIEW_OVERVIEW;
    if (overview)
        ls_draw_overview_ruler(painter, cr, scene, height);
    for (guint i = 0; !overview && i < scene->ruler->len; i++) {
        const LsRulerTick *tick = &g_array_index(scene->ruler, LsRulerTick, i);
        ls_fill_rect(cr, tick->at, 4, 1, height - 4, theme->grid);
        if (tick->at + 7 + ls_text_get_width(painter->text, LS_FONT_LABEL, tick->label) > width)
            continue;
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, tick->at + 5, height / 2 + 1,
                     200, theme->text_soft, tick->label);
    }
    ls_fill_rect(cr, 0, height - 1, width, 1, theme->line);
    cairo_restore(cr);
}

void
ls_draw_step_bars(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                  double height)
{
    const LsTheme *theme = painter->theme;
    ls_fill_rect(cr, 0, 0, width, height, theme->surface);
    for (guint i = 0; i < scene->step_bars->len; i++) {
        const LsStepBar *bar = &g_array_index(scene->step_bars, LsStepBar, i);
        double x0 = round(bar->x0 * width), x1 = round(bar->x1 * width);
        double full = height - 14, h = MAX(round(bar->height * full), 1),
               cap = round(bar->cap * full);
        double w = MAX(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 1), y = height - 3 - h;
        LsColour body = bar->muted ? theme->bar_muted : theme->bar, top = theme->bar_cap;
        if (bar->muted)
            top = ls_colour_mix(theme->surface, top, 0.5);
        if (bar->shown) {
            body = theme->accent;
            top = theme->strong;
        }
        ls_fill_rect(cr, x0, y, w, h, body);
        if (cap > 0)
            ls_fill_rect(cr, x0, y, w, MIN(cap, h), top);
    }
    ls_fill_rect(cr, 0, height - 1, width, 1, theme->line);
}

void
ls_draw_minimap(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width, double height)
{
    const LsTheme *theme = painter->theme;
    const LsTrace *trace = ls_model_get_trace(scene->model);
    double first = (double)ls_trace_get_first_ns(trace);
    double range = MAX((double)ls_trace_get_last_ns(trace) - first, 1);
    double x0 = ((double)scene->view.start_ns - first) / range * width;
    double x1 = ((double)scene->view.end_ns - first) / range * width;
    x0 = CLAMP(x0, 0, width - 3);
    x1 = CLAMP(x1, x0 + 3, width);
    ls_fill_rect(cr, 0, 0, width, height, theme->surface);
    ls_fill_rect(cr, 0, height / 2 - 2, width, 4, theme->bar_muted);
    ls_fill_rect(cr, round(x0), height / 2 - 5, round(x1 - x0), 10, theme->accent);
    ls_fill_rect(cr, 0, height - 1, width, 1, theme->line);
}

void
ls_draw_swatch(LsPainter *painter, cairo_t *cr, LsRole role, LsForm form, const LsBox *box)
{
    if (form == LS_FORM_HATCHED) {
        ls_fill_hatched(painter, cr, box);
        return;
    }
    ls_fill_rect(cr, box->x0, box->y0, box->x1 - box->x0, box->y1 - box->y0,
                 form == LS_FORM_STRONG ? painter->theme->strong : painter->theme->role[role]);
    if (form == LS_FORM_STRONG) {
        cairo_rectangle(cr, box->x0 + 0.75, box->y0 + 0.75, box->x1 - box->x0 - 1.5,
                        box->y1 - box->y0 - 1.5);
        cairo_set_line_width(cr, 1.5);
        ls_set_colour(cr, painter->theme->strong_edge);
        cairo_stroke(cr);
    }
}

/* Entries from one on, as many as find room, centred on y; returns the first that does not. */
static guint
draw_legend_line(LsPainter *painter, cairo_t *cr, const GArray *legend, guint first, double width,
                 double y, double gap)
{
    double x = 10;
    guint i = first;
    for (; i < legend->len; i++) {
        const LsLegend *entry = &g_array_index(legend, LsLegend, i);
        double text = ls_text_get_width(painter->text, LS_FONT_SMALL, entry->label);
        if (x + 20 + text > width && i > first)
            break;
        LsBox box = {x, x + 14, round(y) - 5, round(y) + 5};
        ls_draw_swatch(painter, cr, entry->role, entry->form, &box);
        ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x + 20, y, text + 1,
                     painter->theme->text_soft, entry->label);
        x += 20 + text + gap;
    }
    return i;
}

static double
get_legend_length(LsPainter *painter, const GArray *legend, double gap)
{
    double x = 10 - gap;
    for (guint i = 0; i < legend->len; i++)
        x += 20 + gap +
             ls_text_get_width(painter->text, LS_FONT_SMALL,
                               g_array_index(legend, LsLegend, i).label);
    return x;
}

/* One line, a denser one, or two where that is too narrow. */
void
ls_draw_legend(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width, double height)
{
    if (scene->view.mode == LS_VIEW_OVERVIEW) {
        ls_draw_overview_legend(painter, cr, scene, width, height);
        return;
    }
    ls_fill_rect(cr, 0, 0, width, height, painter->theme->surface);
    const GArray *legend = scene->legend;
    double gap = get_legend_length(painter, legend, WIDE_GAP) <= width ? WIDE_GAP : NARROW_GAP;
    if (get_legend_length(painter, legend, gap) <= width) {
        draw_legend_line(painter, cr, legend, 0, width, height / 2, gap);
        return;
    }
    guint next = draw_legend_line(painter, cr, legend, 0, width, height / 4 + 1, WIDE_GAP);
    draw_legend_line(painter, cr, legend, next, width, height * 3 / 4 - 1, WIDE_GAP);
}
