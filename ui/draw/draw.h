/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/draw.h: paints a scene with Cairo: no GTK, no trace. The same code makes the window, PNG,
 * SVG and PDF. All parts paint from (0, 0) of the given cairo_t, in logical pixels; whoever calls
 * translates, and scales by view.scale where the surface is in device pixels (GTK does that
 * itself).
 *
 * A painter holds fonts, cached glyphs and the surface of rastered lanes; one thread uses it.
 */
#pragma once

#include <cairo.h>

#include "ui/draw/theme.h"
#include "layout/inspect.h"
#include "layout/scene.h"

typedef struct LsPainter LsPainter;

LsPainter *ls_painter_new(const LsTheme *theme);
void ls_painter_free(LsPainter *painter);
void ls_painter_set_theme(LsPainter *painter, const LsTheme *theme);
/* true: nothing is rastered, however dense (SVG, PDF whose rows must stay sharp). By itself a
 * painter keeps vector surfaces vector up to 20,000 items and rasters dense lanes beyond. */
void ls_painter_set_vector(LsPainter *painter, bool vector);

/* -- Parts: each fills the size given, or the size of the scene's view -- */

/* The rows, or the overview, as the mode says; background and grid included. */
void ls_draw_timeline(LsPainter *painter, cairo_t *cr, const LsScene *scene);
/* The labels of the rows, left of it; same height and scroll. */
void ls_draw_headers(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width);
void ls_draw_ruler(LsPainter *painter, cairo_t *cr, const LsScene *scene, double height);
void ls_draw_step_bars(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                       double height);
/* The whole recording with the visible range marked; where there are no steps it replaces the bars.
 */
void ls_draw_minimap(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                     double height);
void ls_draw_legend(LsPainter *painter, cairo_t *cr, const LsScene *scene, double width,
                    double height);

typedef struct LsDrawLine {
    const char *label, *text; /* of the headline; plain UTF-8 */
} LsDrawLine;

/* Lines too long for the width are wrapped. Returns the height it takes: LS_DRAW_HEADLINE_HEIGHT
 * or less for five that are not. cr NULL: only measured. */
double ls_draw_headline(LsPainter *painter, cairo_t *cr, const LsDrawLine *lines, size_t n_lines,
                        double width, double height);
/* Returns the height it takes; links are not drawn (the window has its own buttons). */
double ls_draw_inspector(LsPainter *painter, cairo_t *cr, const LsInspect *inspect, double width,
                         double height);
/* Over the timeline: a rubber band, the pointer's time; cheap, for a node of its own. */
void ls_draw_range(LsPainter *painter, cairo_t *cr, const LsScene *scene, int64_t start_ns,
                   int64_t end_ns);

/* -- A whole picture -- */

typedef struct LsPicture {
    const char *title, *subtitle;
    const LsDrawLine *lines; /* headline */
    size_t n_lines;
    const LsInspect *inspect; /* NULL: no inspector */
    double width, height;
} LsPicture;

enum {
    LS_DRAW_HEADER_WIDTH = 179,
    LS_DRAW_TITLE_HEIGHT = 47,
    LS_DRAW_STEPS_HEIGHT = 46,
    LS_DRAW_MINIMAP_HEIGHT = 24,
    LS_DRAW_RULER_HEIGHT = 28,
    LS_DRAW_LEGEND_HEIGHT = 34,
    LS_DRAW_HEADLINE_HEIGHT = 112,
    LS_DRAW_INSPECTOR_WIDTH = 330,
};

typedef struct LsRect {
    double x, y, width, height;
} LsRect;

/* Where the parts of a picture of this size stand: for the view's size before the scene is made,
 * and for whoever lays out a window alike. */
typedef struct LsPlaces {
    LsRect title, steps, corner, ruler, headers, timeline, legend, headline, inspector;
} LsPlaces;

void ls_picture_place(const LsPicture *picture, const LsModel *model, LsPlaces *ret_places);
/* To a file by the end of its name (.png, .svg, .pdf); PNG in scene->view.scale. LS_ERROR_USAGE for
 * another ending, LS_ERROR_WRITE with one sentence. The scene's view must have the size of
 * places.timeline. */
bool ls_picture_write(LsPainter *painter, const LsPicture *picture, const LsScene *scene,
                      const char *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsPainter, ls_painter_free)
