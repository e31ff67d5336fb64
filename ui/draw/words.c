/* SPDX-License-Identifier: Apache-2.0
 *
 * The two places for words: the headline at the foot, and the inspector.
 */
#include <glib.h>
#include <math.h>

#include "base/units.h"
#include "ui/draw/painter.h"

enum { LINE_PX = 19, KEY_PX = 84, MARGIN_PX = 14 };

/* Centred on y, or wrapped from there on; returns what it takes beyond one line. cr NULL: nothing
 * is drawn. */
static double
draw_sentence(LsPainter *painter, cairo_t *cr, double x, double y, double width, LsColour colour,
              const char *text)
{
    if (ls_text_get_width(painter->text, LS_FONT_TEXT, text) <= width) {
        if (cr)
            ls_text_draw(painter->text, cr, LS_FONT_TEXT, LS_ALIGN_LEFT, x, y, width, colour, text);
        return 0;
    }
    double line = ls_text_draw_wrapped(painter->text, NULL, LS_FONT_TEXT, x, y, width, colour, "x");
    return ls_text_draw_wrapped(painter->text, cr, LS_FONT_TEXT, x, y - line / 2, width, colour,
                                text) -
           line;
}

double
ls_draw_headline(LsPainter *painter, cairo_t *cr, const LsDrawLine *lines, size_t n_lines,
                 double width, double height)
{
    const LsTheme *theme = painter->theme;
    double y = 15, label = 80;
    if (cr) {
        ls_fill_rect(cr, 0, 0, width, height, theme->panel);
        ls_fill_rect(cr, 0, 0, width, 1, theme->line);
    }
    for (size_t i = 0; i < n_lines; i++)
        label = MAX(label, ls_text_get_width(painter->text, LS_FONT_STRONG, lines[i].label));
    label = MIN(label, width * 0.3);
    for (size_t i = 0; i < n_lines && y < height; i++, y += LINE_PX) {
        if (cr)
            ls_text_draw(painter->text, cr, LS_FONT_STRONG, LS_ALIGN_LEFT, 16, y, label + 1,
                         theme->text, lines[i].label);
        y += draw_sentence(painter, cr, 16 + label + 24, y, width - label - 56,
                           i < 2 ? theme->text : theme->text_soft, lines[i].text);
    }
    return y - LINE_PX + 18;
}

static double
draw_title(LsPainter *painter, cairo_t *cr, double y, double width, const char *string)
{
    ls_text_draw(painter->text, cr, LS_FONT_STRONG, LS_ALIGN_LEFT, MARGIN_PX, y,
                 width - 2 * MARGIN_PX, painter->theme->text, string);
    return y + LINE_PX;
}

static double
draw_pairs(LsPainter *painter, cairo_t *cr, const GArray *pairs, double y, double width)
{
    for (guint i = 0; i < pairs->len; i++, y += 18) {
        const LsInspectPair *pair = &g_array_index(pairs, LsInspectPair, i);
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, MARGIN_PX, y, KEY_PX - 6,
                     painter->theme->text_soft, pair->key);
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, MARGIN_PX + KEY_PX, y,
                     width - KEY_PX - 2 * MARGIN_PX, painter->theme->text, pair->value);
    }
    return y;
}

/* Who arrived when: a strip per rank, the last one in red. */
static double
draw_arrivals(LsPainter *painter, cairo_t *cr, const GArray *arrivals, double y, double width)
{
    const LsTheme *theme = painter->theme;
    double left = MARGIN_PX + KEY_PX, right = width - MARGIN_PX - 62;
    y = draw_title(painter, cr, y, width, "Ranks arrived");
    for (guint i = 0; i < arrivals->len; i++, y += 18) {
        const LsInspectArrival *arrival = &g_array_index(arrivals, LsInspectArrival, i);
        g_autofree char *time = ls_format_ns(arrival->late_ns);
        g_autofree char *late = g_strconcat("+", time, NULL);
        ls_text_draw(painter->text, cr, arrival->last ? LS_FONT_STRONG : LS_FONT_LABEL,
                     LS_ALIGN_LEFT, MARGIN_PX, y, KEY_PX - 6,
                     arrival->last ? theme->text : theme->text_soft, arrival->label);
        ls_fill_rect(cr, left, round(y) - 1, right - left, 2, theme->grid);
        ls_fill_rect(cr, round(left + (right - left - 6) * arrival->at), round(y) - 5, 6, 10,
                     arrival->last ? theme->alarm : theme->accent);
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_RIGHT, width - MARGIN_PX, y, 62,
                     theme->text_soft, late);
    }
    return y + 6;
}

static double
draw_parts(LsPainter *painter, cairo_t *cr, const GArray *parts, double y, double width)
{
    const LsTheme *theme = painter->theme;
    double left = MARGIN_PX + KEY_PX + 8, right = width - MARGIN_PX - 62;
    y = draw_title(painter, cr, y, width, "Where its time went");
    for (guint i = 0; i < parts->len; i++, y += 19) {
        const LsInspectPart *part = &g_array_index(parts, LsInspectPart, i);
        g_autofree char *time = ls_format_ns(part->time_ns);
        LsBox box = {left, left + MAX(round((right - left) * part->length), 2), round(y) - 5,
                     round(y) + 5};
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, MARGIN_PX, y, KEY_PX + 4,
                     theme->text_soft, part->label);
        ls_draw_swatch(painter, cr, part->role, part->form, &box);
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_RIGHT, width - MARGIN_PX, y, 62,
                     theme->text, time);
    }
    return y + 6;
}

double
ls_draw_inspector(LsPainter *painter, cairo_t *cr, const LsInspect *inspect, double width,
                  double height)
{
    const LsTheme *theme = painter->theme;
    double y = 20;
    ls_fill_rect(cr, 0, 0, width, height, theme->panel);
    if (!inspect)
        return 0;
    cairo_save(cr);
    cairo_rectangle(cr, 0, 0, width, height);
    cairo_clip(cr);
    ls_text_draw(painter->text, cr, LS_FONT_TITLE, LS_ALIGN_LEFT, MARGIN_PX, y,
                 width - 2 * MARGIN_PX, theme->text, inspect->title);
    y = draw_pairs(painter, cr, inspect->pairs, y + 23, width);
    if (inspect->arrivals->len > 0)
        y = draw_arrivals(painter, cr, inspect->arrivals, y + 9, width);
    if (inspect->parts->len > 0)
        y = draw_parts(painter, cr, inspect->parts, y + 9, width);
    if (inspect->sentence)
        y += ls_text_draw_wrapped(painter->text, cr, LS_FONT_LABEL, MARGIN_PX, y + 4,
                                  width - 2 * MARGIN_PX, theme->text, inspect->sentence);
    cairo_restore(cr);
    return y + 12;
}
