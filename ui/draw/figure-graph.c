/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/figure-graph.c: the left side of the figure of groups: a group's name and what it holds,
 * the tensors as nodes under one another, and edges as arcs beside them: the farther apart, the
 * wider.
 */
#include <math.h>

#include "base/units.h"
#include "ui/draw/figure-private.h"

void
ls_figure_draw_labels(Figure *figure)
{
    const LsTheme *theme = figure->painter->theme;
    LsText *text = figure->painter->text;
    for (guint s = 0; s < figure->n; s++) {
        const LsFigureSection *section = FIGURE_AT(figure->data->sections, LsFigureSection, s);
        g_autofree char *bytes = ls_format_bytes(section->bytes);
        bool named = *section->scope != '\0';
        g_autofree char *held =
            g_strdup_printf("%s%s%u tensor%s, %s", named ? section->label : "", named ? ", " : "",
                            section->n, section->n == 1 ? "" : "s", bytes);
        double y = ls_figure_get_middle(figure, s);
        if (figure->many) {
            ls_text_draw_tail(text, figure->cr, LS_FONT_LABEL, FIGURE_LABEL_X, y,
                              FIGURE_LABEL_WIDTH - 8, theme->text,
                              named ? section->scope : section->label);
            continue;
        }
        ls_text_draw_tail(text, figure->cr, LS_FONT_STRONG, FIGURE_LABEL_X, y - 7,
                          FIGURE_LABEL_WIDTH - 8, theme->text,
                          named ? section->scope : section->label);
        ls_text_draw(text, figure->cr, LS_FONT_SMALL, LS_ALIGN_LEFT, FIGURE_LABEL_X, y + 8,
                     FIGURE_LABEL_WIDTH - 8, theme->text_soft, held);
    }
}

static void
draw_arc(const Figure *figure, double y0, double y1, LsColour colour)
{
    cairo_t *cr = figure->cr;
    double bulge = MIN(FIGURE_ARC_WIDTH - 12, 10 + 5.0 * sqrt(fabs(y1 - y0)));
    double x = FIGURE_NODE_X;
    cairo_move_to(cr, x - 2, y0);
    cairo_curve_to(cr, x - bulge, y0 + (y1 - y0) * 0.15, x - bulge, y1 - (y1 - y0) * 0.15, x - 2,
                   y1);
    cairo_set_line_width(cr, 1);
    ls_set_colour(cr, colour);
    cairo_stroke(cr);
}

/* Folded, edges between two groups are one. */
static void
draw_arcs(const Figure *figure)
{
    const LsGroupsFigure *data = figure->data;
    const LsTheme *theme = figure->painter->theme;
    g_autoptr(GHashTable) drawn = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = 0; i < data->edges->len; i++) {
        const LsFigureEdge *edge = FIGURE_AT(data->edges, LsFigureEdge, i);
        guint from = FIGURE_AT(data->members, LsFigureMember, edge->needed)->section;
        guint to = FIGURE_AT(data->members, LsFigureMember, edge->needing)->section;
        double y0 = ls_figure_y(figure, edge->needed), y1 = ls_figure_y(figure, edge->needing);
        gpointer key = GSIZE_TO_POINTER((gsize)from << 32 | to);
        if (from >= figure->n || to >= figure->n)
            continue;
        if (figure->line <= 0 && (from == to || !g_hash_table_add(drawn, key)))
            continue;
        draw_arc(figure, y0, y1, ls_colour_mix(theme->surface, ls_figure_colour(figure, to), 0.62));
    }
}

static void
draw_node(const Figure *figure, double y, double radius, LsColour colour)
{
    cairo_t *cr = figure->cr;
    cairo_new_sub_path(cr);
    cairo_arc(cr, FIGURE_NODE_X, y, radius, 0, 2 * G_PI);
    ls_set_colour(cr, colour);
    cairo_fill_preserve(cr);
    cairo_set_line_width(cr, 0.75);
    ls_set_colour(cr, figure->painter->theme->surface);
    cairo_stroke(cr);
}

void
ls_figure_draw_graph(Figure *figure)
{
    const LsGroupsFigure *data = figure->data;
    const LsTheme *theme = figure->painter->theme;
    double radius = figure->many ? 3 : figure->line <= 0 ? 6 : MIN(figure->line / 2 - 0.25, 4.5);
    draw_arcs(figure);
    for (guint i = 0; i < figure->n_members; i++) {
        const LsFigureMember *member = FIGURE_AT(data->members, LsFigureMember, i);
        const LsFigureSection *section =
            FIGURE_AT(data->sections, LsFigureSection, member->section);
        double y = ls_figure_y(figure, i);
        if (figure->line > 0 || i == section->first)
            draw_node(figure, y, radius, ls_figure_colour(figure, member->section));
        if (figure->line < 12)
            continue;
        const char *name = ls_trace_get_string(ls_model_get_trace(data->model), member->tensor);
        ls_text_draw_tail(figure->painter->text, figure->cr, LS_FONT_LABEL, FIGURE_NODE_X + 11, y,
                          FIGURE_NAME_WIDTH - 22, theme->text_soft, name);
    }
}
