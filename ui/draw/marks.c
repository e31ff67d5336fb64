/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands on rows beside bars: ticks of cycles, lines of counters, pills of ready ranks, the
 * dashed lines where groups agreed.
 */
#include <glib.h>
#include <math.h>

#include "ui/draw/painter.h"

static const LsRow *
get_row(const LsScene *scene, uint32_t row)
{
    return &g_array_index(scene->rows, LsRow, row);
}

/* Ticks of one role in one path: ordinary cycles first, those that stand out over them. */
static void
draw_ticks_of(LsPainter *painter, cairo_t *cr, const LsScene *scene, LsRole role, double width,
              LsColour colour)
{
    for (guint i = 0; i < scene->ticks->len; i++) {
        const LsTick *tick = &g_array_index(scene->ticks, LsTick, i);
        double y0, y1, grow = role == LS_ROLE_CONTROL ? 0 : 1.5;
        if (tick->role != role)
            continue;
        const LsRow *row = get_row(scene, tick->row);
        ls_row_get_bar(scene, row, &y0, &y1);
        if (row->kind == LS_ROW_READY)
            y1 = y0 + 8;
        cairo_rectangle(cr, (double)tick->x / scene->view.scale, y0 - grow, width,
                        y1 - y0 + 2 * grow);
    }
    ls_set_colour(cr, colour);
    cairo_fill(cr);
}

void
ls_draw_ticks(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    const LsTheme *theme = painter->theme;
    draw_ticks_of(painter, cr, scene, LS_ROLE_CONTROL, 1, theme->text_faint);
    draw_ticks_of(painter, cr, scene, LS_ROLE_AGREED, 2, theme->role[LS_ROLE_AGREED]);
    draw_ticks_of(painter, cr, scene, LS_ROLE_WAIT, 2, theme->alarm);
}

void
ls_draw_points(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    for (guint i = 0; i < scene->points->len; i++) {
        const LsPoint *point = &g_array_index(scene->points, LsPoint, i);
        double y0, y1, x = (double)point->x / scene->view.scale;
        ls_row_get_bar(scene, get_row(scene, point->row), &y0, &y1);
        double room = y1 - y0 - 1;
        double high = y1 - 0.5 - room * (double)point->high;
        double low = y1 - 0.5 - room * (double)point->low;
        if (point->gap)
            cairo_move_to(cr, x, high);
        else
            cairo_line_to(cr, x, high);
        if (low > high + 0.5)
            cairo_line_to(cr, x, low);
    }
    cairo_set_line_width(cr, 1);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    ls_set_colour(cr, painter->theme->text_soft);
    cairo_stroke(cr);
}

static void
draw_pill(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsPill *pill)
{
    const LsTheme *theme = painter->theme;
    double y0, y1, x = (double)pill->x / scene->view.scale;
    const char *string = ls_scene_get_text(scene, pill->text);
    ls_row_get_bar(scene, get_row(scene, pill->row), &y0, &y1);
    double width = MAX(ls_text_get_width(painter->text, LS_FONT_SMALL, string) + 12, 18);
    double left = round(x - 5), top = y0 + 2, height = 13, r = height / 2;
    LsColour fill = pill->last ? theme->alarm : theme->accent;
    /* A stem up to the lane says when; the pill may be wider than that. */
    ls_fill_rect(cr, floor(x), y0 - 3, 1, 6, fill);
    cairo_new_sub_path(cr);
    cairo_arc(cr, left + r, top + r, r, G_PI / 2, 3 * G_PI / 2);
    cairo_arc(cr, left + width - r, top + r, r, -G_PI / 2, G_PI / 2);
    cairo_close_path(cr);
    ls_set_colour(cr, fill);
    cairo_fill(cr);
    ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_CENTRE, left + width / 2, top + r,
                 width, theme->dark ? theme->surface : 0xFFFFFF, string);
}

void
ls_draw_pills(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    for (guint i = 0; i < scene->pills->len; i++)
        draw_pill(painter, cr, scene, &g_array_index(scene->pills, LsPill, i));
}

void
ls_draw_agreed(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    static const double DASHES[] = {3, 2};
    for (guint i = 0; i < scene->lines->len; i++) {
        const LsLine *line = &g_array_index(scene->lines, LsLine, i);
        if (line->role != LS_ROLE_AGREED)
            continue;
        const LsRow *first = get_row(scene, line->first_row),
                    *last = get_row(scene, line->last_row);
        double x = (double)line->x / scene->view.scale + 0.5;
        double top = first->y - scene->view.scroll_y;
        cairo_save(cr);
        cairo_move_to(cr, x, top + first->height - 3);
        cairo_line_to(cr, x, last->y + last->height - scene->view.scroll_y);
        cairo_set_dash(cr, DASHES, 2, 0);
        cairo_set_line_width(cr, 1);
        ls_set_colour(cr, painter->theme->accent);
        cairo_stroke(cr);
        cairo_restore(cr);
        const char *string = ls_scene_get_text(scene, line->text);
        double width = ls_text_get_width(painter->text, LS_FONT_SMALL, string);
        double at = x + 3 + width < scene->view.width ? x + 2 : x - 4 - width;
        ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_LEFT, at, top + 12, width + 1,
                     painter->theme->accent, string);
    }
}
