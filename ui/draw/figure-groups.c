/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/figure-groups.c: the figure of groups as a whole: how high a tensor's line can be, where
 * everything stands, title and foot.
 */
#include <math.h>

#include "ui/draw/figure-private.h"
#include "ui/draw/file.h"

/* A line holds a name, or is seen as a dot, or is none: the group has one. */
static void
choose_lines(Figure *figure, int scale)
{
    const LsGroupsFigure *data = figure->data;
    guint n = data->members->len, most = FIGURE_HIGHEST / (FIGURE_MANY_HEIGHT * (guint)scale);
    figure->many = data->sections->len >= FIGURE_MANY;
    figure->line = figure->many || n > 400 ? 0 : n <= 64 ? 16 : 7;
    figure->n = figure->many ? MIN(data->sections->len, most) : data->sections->len;
    while (figure->n_members < n &&
           FIGURE_AT(data->members, LsFigureMember, figure->n_members)->section < figure->n)
        figure->n_members++;
}

static double
get_section_height(const Figure *figure, guint s)
{
    const LsFigureSection *section = FIGURE_AT(figure->data->sections, LsFigureSection, s);
    double lines = figure->line > 0 ? figure->line * section->n : 18;
    if (figure->many)
        return FIGURE_MANY_HEIGHT;
    return MAX(lines + FIGURE_READY_HEIGHT, FIGURE_LEAST_HEIGHT) + FIGURE_GAP;
}

enum {
    HEAD = FIGURE_TITLE_HEIGHT + FIGURE_PHASES_HEIGHT + FIGURE_CYCLES_HEIGHT + FIGURE_RULER_HEIGHT,
};

/* scale: of a PNG, which cannot be of any height. */
static double
get_height(const LsGroupsFigure *data, int scale)
{
    Figure figure = {.data = data};
    double height = HEAD + FIGURE_GAP + FIGURE_LEGEND_HEIGHT + FIGURE_FOOT_HEIGHT;
    choose_lines(&figure, scale);
    for (guint s = 0; s < figure.n; s++)
        height += get_section_height(&figure, s);
    return height;
}

double
ls_figure_get_middle(const Figure *figure, guint section)
{
    return (figure->tops[section] + figure->tops[section + 1] - (figure->many ? 0 : FIGURE_GAP)) /
           2;
}

LsColour
ls_figure_colour(const Figure *figure, guint section)
{
    return figure->painter->theme->rank[section % 7];
}

double
ls_figure_x(const Figure *figure, int64_t time_ns)
{
    double share = (double)(time_ns - figure->t0) / (double)(figure->t1 - figure->t0);
    return figure->x0 + share * (figure->x1 - figure->x0);
}

double
ls_figure_y(const Figure *figure, guint index)
{
    const LsFigureMember *member = FIGURE_AT(figure->data->members, LsFigureMember, index);
    const LsFigureSection *section =
        FIGURE_AT(figure->data->sections, LsFigureSection, member->section);
    double height = figure->tops[member->section + 1] - figure->tops[member->section] - FIGURE_GAP -
                    FIGURE_READY_HEIGHT;
    if (figure->many)
        return ls_figure_get_middle(figure, member->section);
    if (figure->line <= 0)
        return figure->tops[member->section] + height / 2;
    double above = (height - figure->line * section->n) / 2;
    return figure->tops[member->section] + above +
           figure->line * ((double)(index - section->first) + 0.5);
}

static void
place(Figure *figure, const LsFigureFrame *frame)
{
    const LsGroupsFigure *data = figure->data;
    figure->width = frame->width;
    choose_lines(figure, frame->scale);
    figure->y0 = HEAD + FIGURE_GAP;
    figure->tops = g_new(double, figure->n + 1);
    figure->tops[0] = figure->y0;
    for (guint s = 0; s < figure->n; s++)
        figure->tops[s + 1] = figure->tops[s] + get_section_height(figure, s);
    figure->x0 = FIGURE_NODE_X + (figure->line >= 12 ? FIGURE_NAME_WIDTH : 18);
    figure->x1 = MAX(frame->width - FIGURE_COLUMNS_WIDTH, figure->x0 + 100);
    int64_t margin = MAX((data->end_ns - data->start_ns) / 40, 1000);
    figure->t0 = data->start_ns - margin;
    figure->t1 = data->end_ns + margin;
}

static void
draw_frame(const Figure *figure, const LsFigureFrame *frame, double height)
{
    const LsTheme *theme = figure->painter->theme;
    LsText *text = figure->painter->text;
    cairo_t *cr = figure->cr;
    double middle = frame->width / 2;
    ls_fill_rect(cr, 0, 0, frame->width, height, theme->surface);
    ls_fill_rect(cr, 0, 0, frame->width, FIGURE_TITLE_HEIGHT, theme->panel);
    ls_fill_rect(cr, 0, FIGURE_TITLE_HEIGHT - 1, frame->width, 1, theme->line);
    ls_text_draw(text, cr, LS_FONT_TITLE, LS_ALIGN_CENTRE, middle, 16, frame->width * 0.9,
                 theme->text, frame->title);
    ls_text_draw(text, cr, LS_FONT_LABEL, LS_ALIGN_CENTRE, middle, 33, frame->width * 0.95,
                 theme->text_soft, frame->subtitle);
    double foot = height - FIGURE_FOOT_HEIGHT;
    ls_fill_rect(cr, 0, foot, frame->width, FIGURE_FOOT_HEIGHT, theme->panel);
    ls_fill_rect(cr, 0, foot, frame->width, 1, theme->line);
    ls_text_draw(text, cr, LS_FONT_TEXT, LS_ALIGN_LEFT, FIGURE_LABEL_X,
                 foot + FIGURE_FOOT_HEIGHT / 2.0, frame->width - 2 * FIGURE_LABEL_X, theme->text,
                 frame->foot);
}

/* Every other group on a ground of its own, so that the eye keeps the line. */
static void
draw_grounds(const Figure *figure)
{
    const LsTheme *theme = figure->painter->theme;
    double gap = figure->many ? 1 : FIGURE_GAP;
    for (guint s = 0; s < figure->n; s++) {
        double top = figure->tops[s], height = figure->tops[s + 1] - top;
        if (s % 2 == 0)
            ls_fill_rect(figure->cr, 0, round(top - gap / 2.0), figure->width, round(height),
                         theme->header);
        ls_fill_rect(figure->cr, 6, top, 4, height - gap, ls_figure_colour(figure, s));
    }
    if (figure->n < figure->data->sections->len) {
        g_autofree char *text =
            g_strdup_printf("%u more are not shown", figure->data->sections->len - figure->n);
        ls_text_draw(figure->painter->text, figure->cr, LS_FONT_STRONG, LS_ALIGN_RIGHT,
                     figure->width - 14, figure->tops[figure->n] + 12, 300, theme->alarm, text);
    }
}

static void
draw_figure(LsPainter *painter, cairo_t *cr, const LsGroupsFigure *data, const LsFigureFrame *frame)
{
    Figure figure = {.painter = painter, .cr = cr, .data = data};
    double height = get_height(data, frame->scale);
    place(&figure, frame);
    draw_frame(&figure, frame, height);
    draw_grounds(&figure);
    ls_figure_draw_axis(&figure);
    ls_figure_draw_lines(&figure);
    ls_figure_draw_graph(&figure);
    ls_figure_draw_labels(&figure);
    ls_figure_draw_columns(&figure);
    ls_figure_draw_legend(&figure, height - FIGURE_FOOT_HEIGHT - FIGURE_LEGEND_HEIGHT);
    g_free(figure.tops);
}

typedef struct Job {
    LsPainter *painter;
    const LsGroupsFigure *data;
    const LsFigureFrame *frame;
} Job;

static void
draw_job(cairo_t *cr, void *user)
{
    const Job *job = user;
    draw_figure(job->painter, cr, job->data, job->frame);
}

bool
ls_figure_groups_write(LsPainter *painter, const LsGroupsFigure *data, const LsFigureFrame *frame,
                       const char *path, GError **error)
{
    Job job = {painter, data, frame};
    LsDrawFile file = {path,         frame->title, frame->width, get_height(data, frame->scale),
                       frame->scale, draw_job,     &job};
    return ls_draw_file_write(&file, error);
}
