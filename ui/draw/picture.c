/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole picture: title, steps, ruler, rows, legend, headline and inspector in their places.
 */
#include <glib.h>
#include <math.h>

#include "ui/draw/file.h"
#include "ui/draw/painter.h"

enum { LEAST_ROWS_PX = 40 };

/* The height of as many lines of the headline, from the first on, as leave room for the rows. */
static double
find_foot(const LsPicture *picture, double room)
{
    if (picture->n_lines == 0)
        return 0;
    LsPainter *painter = ls_painter_new(ls_theme_find("light"));
    double height;
    size_t n = picture->n_lines + 1;
    do
        height =
            ls_draw_headline(painter, NULL, picture->lines, --n, picture->width, picture->height);
    while (n > 1 && height > room);
    ls_painter_free(painter);
    return height;
}

void
ls_picture_place(const LsPicture *picture, const LsModel *model, LsPlaces *ret_places)
{
    LsPlaces p = {0};
    double width = picture->width, height = picture->height;
    double side = picture->inspect ? MIN(LS_DRAW_INSPECTOR_WIDTH, width * 0.35) : 0;
    double left = MIN(LS_DRAW_HEADER_WIDTH, width * 0.3), main = width - side - left;
    size_t n_steps;
    ls_model_get_steps(model, &n_steps);
    double steps = n_steps > 1 ? LS_DRAW_STEPS_HEIGHT : LS_DRAW_MINIMAP_HEIGHT;
    double y = LS_DRAW_TITLE_HEIGHT;
    double frame = y + steps + LS_DRAW_RULER_HEIGHT + LS_DRAW_LEGEND_HEIGHT;
    double foot = find_foot(picture, height - frame - LEAST_ROWS_PX);
    p.title = (LsRect){0, 0, width, y};
    p.steps = (LsRect){left, y, main, steps};
    y += steps;
    p.corner = (LsRect){0, y - steps, left, steps + LS_DRAW_RULER_HEIGHT};
    p.ruler = (LsRect){left, y, main, LS_DRAW_RULER_HEIGHT};
    y += LS_DRAW_RULER_HEIGHT;
    double rows = MAX(height - y - foot - LS_DRAW_LEGEND_HEIGHT, 16);
    p.headers = (LsRect){0, y, left, rows};
    p.timeline = (LsRect){left, y, main, rows};
    p.legend = (LsRect){left, y + rows, main, LS_DRAW_LEGEND_HEIGHT};
    p.headline = (LsRect){0, height - foot, width, foot};
    p.inspector =
        (LsRect){width - side, LS_DRAW_TITLE_HEIGHT, side, height - foot - LS_DRAW_TITLE_HEIGHT};
    *ret_places = p;
}

static void
begin(cairo_t *cr, const LsRect *rect)
{
    cairo_save(cr);
    cairo_translate(cr, rect->x, rect->y);
    cairo_rectangle(cr, 0, 0, rect->width, rect->height);
    cairo_clip(cr);
}

/* What must be said of the run stands left of the title, or under it where that is too narrow. */
static void
draw_title(LsPainter *painter, cairo_t *cr, const LsPicture *picture, const LsScene *scene,
           const LsRect *rect)
{
    const LsTheme *theme = painter->theme;
    const char *title = picture->title ? picture->title : "", *banner = scene->banner;
    double middle = rect->width / 2,
           half =
               MIN(ls_text_get_width(painter->text, LS_FONT_TITLE, title), rect->width * 0.6) / 2;
    bool beside =
        !*banner || ls_text_get_width(painter->text, LS_FONT_STRONG, banner) < middle - half - 40;
    ls_fill_rect(cr, 0, 0, rect->width, rect->height, theme->panel);
    ls_fill_rect(cr, 0, rect->height - 1, rect->width, 1, theme->line);
    ls_text_draw(painter->text, cr, LS_FONT_TITLE, LS_ALIGN_CENTRE, middle, 16, rect->width * 0.6,
                 theme->text, title);
    ls_text_draw(painter->text, cr, LS_FONT_SMALL, LS_ALIGN_CENTRE, middle, 33, rect->width * 0.9,
                 beside ? theme->text_soft : theme->alarm,
                 !beside             ? banner
                 : picture->subtitle ? picture->subtitle
                                     : "");
    if (beside)
        ls_text_draw(painter->text, cr, LS_FONT_STRONG, LS_ALIGN_LEFT, 16, 17, middle, theme->alarm,
                     banner);
}

/* Left of the steps and the ruler: what they are of. */
static void
draw_corner(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRect *rect)
{
    const LsTheme *theme = painter->theme;
    double steps = rect->height - LS_DRAW_RULER_HEIGHT;
    ls_fill_rect(cr, 0, 0, rect->width, rect->height, theme->header);
    if (steps > 0) {
        ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, 16, steps / 2, rect->width,
                     theme->text_soft,
                     scene->step_bars->len > 1 ? scene->steps_label : "whole recording");
        ls_fill_rect(cr, 0, steps - 1, rect->width, 1, theme->line);
    }
    ls_text_draw(painter->text, cr, LS_FONT_LABEL, LS_ALIGN_LEFT, 16,
                 steps + LS_DRAW_RULER_HEIGHT / 2.0, rect->width, theme->text, scene->ruler_label);
    ls_fill_rect(cr, 0, rect->height - 1, rect->width, 1, theme->line);
    ls_fill_rect(cr, rect->width - 1, 0, 1, rect->height, theme->line);
}

static void
draw_picture(LsPainter *painter, cairo_t *cr, const LsPicture *picture, const LsScene *scene)
{
    LsPlaces p;
    ls_picture_place(picture, scene->model, &p);
    ls_fill_rect(cr, 0, 0, picture->width, picture->height, painter->theme->surface);
    begin(cr, &p.title);
    draw_title(painter, cr, picture, scene, &p.title);
    cairo_restore(cr);
    begin(cr, &p.steps);
    if (scene->step_bars->len > 1)
        ls_draw_step_bars(painter, cr, scene, p.steps.width, p.steps.height);
    else
        ls_draw_minimap(painter, cr, scene, p.steps.width, p.steps.height);
    cairo_restore(cr);
    begin(cr, &p.corner);
    draw_corner(painter, cr, scene, &p.corner);
    cairo_restore(cr);
    begin(cr, &p.ruler);
    ls_draw_ruler(painter, cr, scene, p.ruler.height);
    cairo_restore(cr);
    begin(cr, &p.headers);
    ls_draw_headers(painter, cr, scene, p.headers.width);
    cairo_restore(cr);
    begin(cr, &p.timeline);
    ls_draw_timeline(painter, cr, scene);
    cairo_restore(cr);
    ls_fill_rect(cr, 0, p.legend.y, p.headers.width, p.legend.height, painter->theme->header);
    ls_fill_rect(cr, p.headers.width - 1, p.legend.y, 1, p.legend.height, painter->theme->line);
    begin(cr, &p.legend);
    ls_draw_legend(painter, cr, scene, p.legend.width, p.legend.height);
    cairo_restore(cr);
    begin(cr, &p.headline);
    if (picture->n_lines > 0)
        ls_draw_headline(painter, cr, picture->lines, picture->n_lines, p.headline.width,
                         p.headline.height);
    cairo_restore(cr);
    begin(cr, &p.inspector);
    if (picture->inspect) {
        ls_draw_inspector(painter, cr, picture->inspect, p.inspector.width, p.inspector.height);
        ls_fill_rect(cr, 0, 0, 1, p.inspector.height, painter->theme->line);
    }
    cairo_restore(cr);
}

typedef struct Job {
    LsPainter *painter;
    const LsPicture *picture;
    const LsScene *scene;
} Job;

static void
draw_job(cairo_t *cr, void *user)
{
    const Job *job = user;
    draw_picture(job->painter, cr, job->picture, job->scene);
}

bool
ls_picture_write(LsPainter *painter, const LsPicture *picture, const LsScene *scene,
                 const char *path, GError **error)
{
    Job job = {painter, picture, scene};
    LsDrawFile file = {
        path, picture->title, picture->width, picture->height, scene->view.scale, draw_job, &job};
    return ls_draw_file_write(&file, error);
}
