/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/figure-lines.c: the right side of the figure of groups: the time axis with phases and
 * cycles, what became of each tensor, the ranks' readiness, and the cycles as numbers.
 *
 * Form before colour, as in the timeline: waiting for the own group is pale, waiting for other
 * ranks is hatched, being sent is strong.
 */
#include <math.h>

#include "base/units.h"
#include "ui/draw/figure-private.h"

enum { TICK_PX = 92, IDLE_PX = 5 };

static double
get_end(const Figure *figure)
{
    return figure->tops[figure->n];
}

/* 1, 2, 5 x a power of ten. */
static int64_t
find_tick(int64_t least_ns)
{
    int64_t power = 1;
    while (power <= INT64_MAX / 100 && power * 10 <= least_ns)
        power *= 10;
    return least_ns <= power       ? power
           : least_ns <= power * 2 ? power * 2
           : least_ns <= power * 5 ? power * 5
                                   : power * 10;
}

static void
draw_ruler(const Figure *figure, double y)
{
    const LsTheme *theme = figure->painter->theme;
    const LsGroupsFigure *data = figure->data;
    double per_px = (double)(figure->t1 - figure->t0) / (figure->x1 - figure->x0);
    int64_t tick = find_tick((int64_t)(per_px * TICK_PX)), at = figure->t0 - data->zero_ns;
    at = (at / tick - (at < 0)) * tick;
    for (; at <= figure->t1 - data->zero_ns; at += tick) {
        double x = round(ls_figure_x(figure, at + data->zero_ns));
        g_autofree char *label = tick >= 1000000
                                     ? g_strdup_printf("%" G_GINT64_FORMAT " ms", at / 1000000)
                                     : g_strdup_printf("%.3g ms", (double)at / 1e6);
        if (x < figure->x0 || x > figure->x1 - 30)
            continue;
        ls_fill_rect(figure->cr, x, y + 4, 1, FIGURE_RULER_HEIGHT - 4, theme->line);
        ls_text_draw(figure->painter->text, figure->cr, LS_FONT_LABEL, LS_ALIGN_LEFT, x + 4,
                     y + FIGURE_RULER_HEIGHT / 2.0 + 1, 80, theme->text_soft, label);
    }
    g_autofree char *what =
        data->step >= 0 ? g_strdup_printf("after the start of step %" G_GINT64_FORMAT, data->step)
                        : g_strdup("after the first submission");
    ls_text_draw(figure->painter->text, figure->cr, LS_FONT_LABEL, LS_ALIGN_RIGHT, figure->x0 - 8,
                 y + FIGURE_RULER_HEIGHT / 2.0 + 1, figure->x0 - 20, theme->text_soft, what);
}

static void
draw_phases(const Figure *figure, double y)
{
    static const struct {
        const char *name;
        LsRole role;
    } ROLES[] = {{"forward", LS_ROLE_FORWARD},
                 {"backward", LS_ROLE_BACKWARD},
                 {"optimizer", LS_ROLE_OPTIMIZER},
                 {"input", LS_ROLE_INPUT}};
    const LsTheme *theme = figure->painter->theme;
    const LsGroupsFigure *data = figure->data;
    for (guint i = 0; i < data->phases->len; i++) {
        const LsFigurePhase *phase = FIGURE_AT(data->phases, LsFigurePhase, i);
        const char *name = ls_trace_get_string(ls_model_get_trace(data->model), phase->name);
        LsRole role = LS_ROLE_OTHER;
        for (size_t k = 0; k < G_N_ELEMENTS(ROLES); k++)
            if (g_strcmp0(ROLES[k].name, name) == 0)
                role = ROLES[k].role;
        double x0 = MAX(ls_figure_x(figure, phase->start_ns), figure->x0);
        double x1 = MIN(ls_figure_x(figure, phase->end_ns), figure->x1);
        if (x1 - x0 < 1)
            continue;
        ls_fill_rect(figure->cr, x0, y + 4, x1 - x0 - 1, FIGURE_PHASES_HEIGHT - 6,
                     theme->role[role]);
        if (x1 - x0 > 40)
            ls_text_draw(figure->painter->text, figure->cr, LS_FONT_SMALL, LS_ALIGN_LEFT, x0 + 5,
                         y + FIGURE_PHASES_HEIGHT / 2.0 + 1, x1 - x0 - 8, theme->ink[role], name);
    }
    if (data->phases->len > 0)
        ls_text_draw(figure->painter->text, figure->cr, LS_FONT_LABEL, LS_ALIGN_RIGHT,
                     figure->x0 - 8, y + FIGURE_PHASES_HEIGHT / 2.0 + 1, 160, theme->text_soft,
                     "phase of the step");
}

/* Lines where cycles began: strong where something was sent; idle ones only where there is room. */
static void
draw_cycles(const Figure *figure, double y)
{
    const LsTheme *theme = figure->painter->theme;
    const LsGroupsFigure *data = figure->data;
    double end = get_end(figure) - FIGURE_GAP, last = -1e9, free_from = figure->x0;
    for (int pass = 0; pass < 2; pass++) {
        for (guint i = 0; i < data->cycles->len; i++) {
            const LsFigureCycle *cycle = FIGURE_AT(data->cycles, LsFigureCycle, i);
            double x = round(ls_figure_x(figure, cycle->start_ns));
            if (cycle->sends != (pass == 1) || x < figure->x0 || x > figure->x1)
                continue;
            if (pass == 0 && x - last < IDLE_PX)
                continue;
            last = x;
            double top = y + FIGURE_CYCLES_HEIGHT + FIGURE_RULER_HEIGHT;
            ls_fill_rect(figure->cr, x, top, 1, end - top,
                         pass == 0 ? theme->grid
                                   : ls_colour_mix(theme->surface, theme->accent, 0.55));
            ls_fill_rect(figure->cr, x, y + FIGURE_CYCLES_HEIGHT - (pass ? 7 : 4), 1, pass ? 7 : 4,
                         pass == 0 ? theme->line : theme->accent);
            g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, cycle->number);
            double width = ls_text_get_width(figure->painter->text, LS_FONT_SMALL, number);
            if (pass == 0 || x - width / 2 < free_from || x + width / 2 > figure->x1)
                continue;
            ls_text_draw(figure->painter->text, figure->cr, LS_FONT_SMALL, LS_ALIGN_CENTRE, x,
                         y + 8, width + 2, theme->accent, number);
            free_from = x + width / 2 + 5;
        }
    }
    if (data->cycles->len > 0)
        ls_text_draw(figure->painter->text, figure->cr, LS_FONT_LABEL, LS_ALIGN_RIGHT,
                     figure->x0 - 8, y + FIGURE_CYCLES_HEIGHT / 2.0, 160, theme->text_soft,
                     "start of a cycle that sends");
}

void
ls_figure_draw_axis(Figure *figure)
{
    double y = FIGURE_TITLE_HEIGHT;
    draw_phases(figure, y);
    draw_cycles(figure, y + FIGURE_PHASES_HEIGHT);
    y += FIGURE_PHASES_HEIGHT + FIGURE_CYCLES_HEIGHT;
    draw_ruler(figure, y);
    ls_fill_rect(figure->cr, 0, y + FIGURE_RULER_HEIGHT - 1, figure->width, 1,
                 figure->painter->theme->line);
}

/* From submission to the end of its buffer; LS_TIME_NONE: that is not known. */
static void
draw_life(const Figure *figure, const int64_t times[5], double y, double height, LsColour colour)
{
    const LsTheme *theme = figure->painter->theme;
    cairo_t *cr = figure->cr;
    double x[5], top = y - height / 2;
    for (int i = 0; i < 5; i++)
        x[i] = times[i] != LS_TIME_NONE ? ls_figure_x(figure, times[i]) : i > 0 ? x[i - 1] : 0;
    if (x[1] > x[0])
        ls_fill_rect(cr, x[0], top, x[1] - x[0], height,
                     ls_colour_mix(theme->surface, colour, theme->dark ? 0.45 : 0.34));
    if (x[2] - x[1] > 0.5) {
        LsBox box = {x[1], x[2], top, top + height};
        ls_fill_hatched(figure->painter, cr, &box);
    }
    if (x[3] > x[2])
        ls_fill_rect(cr, x[2], y - MIN(height / 6, 1), x[3] - x[2], MAX(MIN(height / 3, 2), 1),
                     colour);
    if (times[3] != LS_TIME_NONE && times[4] != LS_TIME_NONE)
        ls_fill_rect(cr, x[3], top, MAX(x[4] - x[3], 1.5), height, colour);
}

static void
draw_section_line(const Figure *figure, guint s)
{
    const LsGroupsFigure *data = figure->data;
    const LsFigureSection *section = FIGURE_AT(data->sections, LsFigureSection, s);
    const int64_t times[5] = {section->submit_ns, section->ready_ns, section->agreed_ns,
                              section->start_ns, section->end_ns};
    double y = ls_figure_y(figure, section->first);
    LsColour colour = ls_figure_colour(figure, s);
    draw_life(figure, times, y, figure->many ? 9 : 12, colour);
    for (guint i = section->first; i < section->first + section->n; i++) {
        const LsFigureMember *member = FIGURE_AT(data->members, LsFigureMember, i);
        ls_fill_rect(figure->cr, ls_figure_x(figure, member->submit_ns) - 0.5, y - 6, 1,
                     figure->many ? 4 : 5,
                     ls_colour_mix(figure->painter->theme->text, colour, 0.55));
    }
}

static void
draw_member_line(const Figure *figure, guint i)
{
    const LsFigureMember *member = FIGURE_AT(figure->data->members, LsFigureMember, i);
    const int64_t times[5] = {member->submit_ns, member->ready_ns, member->agreed_ns,
                              member->start_ns, member->end_ns};
    double y = ls_figure_y(figure, i),
           height = figure->line > 10 ? figure->line - 5 : figure->line - 1;
    LsColour colour = ls_figure_colour(figure, member->section);
    draw_life(figure, times, y, height, colour);
    double width = figure->line > 10 ? 2.5 : 2;
    ls_fill_rect(figure->cr, ls_figure_x(figure, member->submit_ns) - width / 2, y - height / 2,
                 width, height, ls_colour_mix(figure->painter->theme->text, colour, 0.55));
}

/* One mark a rank under the group; the last rank's is named. */
static void
draw_ready(const Figure *figure, guint s)
{
    const LsGroupsFigure *data = figure->data;
    const LsTheme *theme = figure->painter->theme;
    const LsFigureSection *section = FIGURE_AT(data->sections, LsFigureSection, s);
    double y = figure->tops[s + 1] - FIGURE_GAP - FIGURE_READY_HEIGHT / 2.0 + 1;
    double first = 1e9, last = -1e9;
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(ls_model_get_trace(data->model), &n_ranks);
    for (guint i = section->first_ready; i < section->first_ready + section->n_ready; i++) {
        double x = ls_figure_x(figure, FIGURE_AT(data->ready, LsFigureReady, i)->ready_ns);
        first = MIN(first, x);
        last = MAX(last, x);
    }
    if (section->n_ready < 2)
        return;
    first = CLAMP(first, figure->x0, figure->x1);
    last = CLAMP(last, figure->x0, figure->x1);
    ls_fill_rect(figure->cr, first, y - 0.5, last - first, 1, theme->text_soft);
    for (guint i = section->first_ready; i < section->first_ready + section->n_ready; i++) {
        const LsFigureReady *ready = FIGURE_AT(data->ready, LsFigureReady, i);
        double x = CLAMP(ls_figure_x(figure, ready->ready_ns), figure->x0, figure->x1);
        bool is_last = i == section->last_ready;
        ls_fill_rect(figure->cr, x - 0.75, y - (is_last ? 4 : 3), is_last ? 2 : 1.5,
                     is_last ? 8 : 6, is_last ? theme->text : theme->text_soft);
    }
    uint32_t rank = FIGURE_AT(data->ready, LsFigureReady, section->last_ready)->rank;
    g_autofree char *label = ranks[rank].rank >= 0
                                 ? g_strdup_printf("rank %d last", ranks[rank].rank)
                                 : g_strdup("unknown rank last");
    bool fits = last + 75 < figure->x1;
    ls_text_draw(figure->painter->text, figure->cr, LS_FONT_SMALL,
                 fits ? LS_ALIGN_LEFT : LS_ALIGN_RIGHT, fits ? last + 5 : first - 5, y, 80,
                 theme->text_soft, label);
}

void
ls_figure_draw_lines(Figure *figure)
{
    cairo_save(figure->cr);
    cairo_rectangle(figure->cr, figure->x0, 0, figure->x1 - figure->x0, get_end(figure));
    cairo_clip(figure->cr);
    for (guint i = 0; i < figure->n_members && figure->line > 0; i++)
        draw_member_line(figure, i);
    for (guint s = 0; s < figure->n; s++) {
        if (figure->line <= 0)
            draw_section_line(figure, s);
        if (!figure->many)
            draw_ready(figure, s);
    }
    cairo_restore(figure->cr);
}

static char *
format_cycles(int64_t first, int64_t last)
{
    if (first < 0)
        return g_strdup("-");
    return first == last ? g_strdup_printf("%" G_GINT64_FORMAT, first)
                         : g_strdup_printf("%" G_GINT64_FORMAT "–%" G_GINT64_FORMAT, first, last);
}

void
ls_figure_draw_columns(Figure *figure)
{
    const LsGroupsFigure *data = figure->data;
    const LsTheme *theme = figure->painter->theme;
    LsText *text = figure->painter->text;
    const double ends[] = {figure->x1 + 92, figure->x1 + 172, figure->width - 14};
    static const char *const heads[] = {"ready in cycle", "sent in cycle", "waited here"};
    double y = FIGURE_TITLE_HEIGHT + FIGURE_PHASES_HEIGHT + FIGURE_CYCLES_HEIGHT +
               FIGURE_RULER_HEIGHT / 2.0;
    for (size_t i = 0; i < G_N_ELEMENTS(heads); i++)
        ls_text_draw(text, figure->cr, LS_FONT_LABEL, LS_ALIGN_RIGHT, ends[i], y, 90,
                     theme->text_soft, heads[i]);
    for (guint s = 0; s < figure->n; s++) {
        const LsFigureSection *section = FIGURE_AT(data->sections, LsFigureSection, s);
        g_autofree char *ready =
            format_cycles(section->first_ready_cycle, section->last_ready_cycle);
        g_autofree char *sent = format_cycles(section->sent_first_cycle, section->sent_last_cycle);
        bool known = section->agreed_ns != LS_TIME_NONE && section->ready_ns != LS_TIME_NONE;
        g_autofree char *waited =
            known ? ls_format_ns(section->agreed_ns - section->ready_ns) : g_strdup("-");
        const char *const cells[] = {ready, sent, waited};
        double middle = ls_figure_get_middle(figure, s);
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
            ls_text_draw(text, figure->cr, i == 1 ? LS_FONT_STRONG : LS_FONT_LABEL, LS_ALIGN_RIGHT,
                         ends[i], middle, 90, i == 1 ? theme->text : theme->text_soft, cells[i]);
    }
}

/* What the legend shows of itself. */
typedef enum Sample { SUBMITTED, GROUP, RANKS, SENT, READY, CYCLE, EDGE } Sample;

static void
draw_sample(const Figure *figure, Sample sample, double x, double y)
{
    const LsTheme *theme = figure->painter->theme;
    cairo_t *cr = figure->cr;
    LsColour colour = theme->rank[0];
    LsBox box = {x, x + 18, y - 5, y + 5};
    switch (sample) {
    case SUBMITTED:
        ls_fill_rect(cr, x + 8, y - 5, 2.5, 10, ls_colour_mix(theme->text, colour, 0.55));
        break;
    case GROUP:
        ls_fill_rect(cr, x, y - 5, 18, 10,
                     ls_colour_mix(theme->surface, colour, theme->dark ? 0.45 : 0.34));
        break;
    case RANKS:
        ls_fill_hatched(figure->painter, cr, &box);
        break;
    case SENT:
        ls_fill_rect(cr, x, y - 5, 18, 10, colour);
        break;
    case READY:
        ls_fill_rect(cr, x, y - 0.5, 17, 1, theme->text_soft);
        ls_fill_rect(cr, x, y - 3, 1.5, 6, theme->text_soft);
        ls_fill_rect(cr, x + 6, y - 3, 1.5, 6, theme->text_soft);
        ls_fill_rect(cr, x + 16, y - 4, 2, 8, theme->text);
        break;
    case CYCLE:
        ls_fill_rect(cr, x + 5, y - 6, 1, 12, theme->line);
        ls_fill_rect(cr, x + 12, y - 6, 1, 12, theme->accent);
        break;
    case EDGE:
        cairo_new_sub_path(cr);
        cairo_arc(cr, x + 14, y, 7, G_PI / 2, 3 * G_PI / 2);
        cairo_set_line_width(cr, 1);
        ls_set_colour(cr, colour);
        cairo_stroke(cr);
        break;
    }
}

void
ls_figure_draw_legend(Figure *figure, double y)
{
    const LsGroupsFigure *data = figure->data;
    const LsTheme *theme = figure->painter->theme;
    LsText *text = figure->painter->text;
    const struct {
        Sample sample;
        bool shown;
        const char *label;
    } entries[] = {
        {SUBMITTED, true, "tensor submitted on this rank"},
        {GROUP, data->grouped, "waits for the rest of its group"},
        {RANKS, true, "ready here, waits for other ranks and the next cycle"},
        {SENT, true, "sent: its buffer is under way"},
        {READY, !figure->many, "complete on each rank; the last one is named"},
        {CYCLE, data->cycles->len > 0, "start of a cycle; blue: it sends"},
        {EDGE, data->edges->len > 0, "the lower tensor becomes ready after the upper"},
    };
    double x = FIGURE_LABEL_X;
    y += 14;
    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
        double width = ls_text_get_width(text, LS_FONT_LABEL, entries[i].label);
        if (!entries[i].shown)
            continue;
        if (x + 24 + width > figure->width - FIGURE_LABEL_X) {
            x = FIGURE_LABEL_X;
            y += 20;
        }
        draw_sample(figure, entries[i].sample, x, y);
        ls_text_draw(text, figure->cr, LS_FONT_LABEL, LS_ALIGN_LEFT, x + 24, y, width + 2,
                     theme->text_soft, entries[i].label);
        x += 24 + width + 22;
    }
}
