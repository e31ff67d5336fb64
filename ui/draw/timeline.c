/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows: background and ruler's lines, the bars (rastered where they are dense, rectangles where
 * they are sparse), their edges and labels, and over them ticks, lines and pills.
 */
#include <glib.h>
#include <math.h>

#include "base/units.h"
#include "ui/draw/painter.h"

enum { DENSE_ROW = 64, DENSE_SCENE = 20000, EDGE_PX = 4, LABEL_PX = 16 };

static bool
is_vector(const LsPainter *painter, cairo_t *cr)
{
    cairo_surface_type_t type = cairo_surface_get_type(cairo_get_target(cr));
    return painter->vector || type == CAIRO_SURFACE_TYPE_SVG || type == CAIRO_SURFACE_TYPE_PDF ||
           type == CAIRO_SURFACE_TYPE_PS || type == CAIRO_SURFACE_TYPE_SCRIPT;
}

static bool
is_rastered(const LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row)
{
    if (painter->vector || row->n_items <= DENSE_ROW)
        return false;
    return !is_vector(painter, cr) || scene->items->len > DENSE_SCENE;
}

static bool
is_in_sight(const LsScene *scene, const LsRow *row)
{
    double top = row->y - scene->view.scroll_y;
    return top < scene->view.height && top + row->height > 0;
}

static void
draw_background(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    const LsView *view = &scene->view;
    double px = 1.0 / view->scale;
    ls_fill_rect(cr, 0, 0, view->width, view->height, painter->theme->surface);
    for (guint i = 0; i < scene->ruler->len; i++)
        cairo_rectangle(cr, g_array_index(scene->ruler, LsRulerTick, i).at, 0, 1, view->height);
    ls_set_colour(cr, painter->theme->grid);
    cairo_fill(cr);
    for (guint i = 0; i < scene->lines->len; i++) {
        const LsLine *line = &g_array_index(scene->lines, LsLine, i);
        if (line->role == LS_ROLE_STEP)
            cairo_rectangle(cr, line->x * px, 0, 1, view->height);
    }
    ls_set_colour(cr, ls_colour_mix(painter->theme->line, painter->theme->text_faint, 0.4));
    cairo_fill(cr);
}

/* Lines over ranks and groups. */
static void
draw_separators(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    for (guint i = 1; i < scene->rows->len; i++) {
        const LsRow *row = &g_array_index(scene->rows, LsRow, i);
        if (ls_row_has_line(scene, i) && is_in_sight(scene, row))
            cairo_rectangle(cr, 0, round(row->y - scene->view.scroll_y) - 2, scene->view.width, 1);
    }
    ls_set_colour(cr, painter->theme->line);
    cairo_fill(cr);
}

static void
fill_item(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row,
          const LsItem *item)
{
    LsBox box = ls_item_get_box(scene, row, item);
    if (item->form == LS_FORM_HATCHED) {
        ls_fill_hatched(painter, cr, &box);
        return;
    }
    box.x1 -= (double)ls_item_get_gap(scene, item) / scene->view.scale;
    ls_fill_rect(cr, box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0,
                 ls_item_get_colour(painter, scene, row, item));
}

static void
stroke_box(cairo_t *cr, const LsBox *box, double width, LsColour colour)
{
    cairo_rectangle(cr, box->x0 + width / 2, box->y0 + width / 2, box->x1 - box->x0 - width,
                    box->y1 - box->y0 - width);
    cairo_set_line_width(cr, width);
    ls_set_colour(cr, colour);
    cairo_stroke(cr);
}

/* It had not ended when the recording did: teeth of the surface's colour at its right end. */
static void
draw_open_end(LsPainter *painter, cairo_t *cr, const LsBox *box)
{
    double tooth = (box->y1 - box->y0) / 4;
    cairo_move_to(cr, box->x1 + 0.5, box->y0);
    for (int i = 0; i < 4; i++) {
        cairo_line_to(cr, box->x1 - tooth, box->y0 + tooth * (i + 0.5));
        cairo_line_to(cr, box->x1 + 0.5, box->y0 + tooth * (i + 1));
    }
    cairo_close_path(cr);
    ls_set_colour(cr, painter->theme->surface);
    cairo_fill(cr);
}

static LsColour
get_ink(const LsPainter *painter, const LsItem *item)
{
    if (item->form == LS_FORM_STRONG)
        return painter->theme->text_on_strong;
    if (item->form == LS_FORM_HATCHED)
        return painter->theme->text;
    return painter->theme->ink[item->role];
}

static void
draw_label(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsItem *item,
           const LsBox *box)
{
    LsFont font = box->y1 - box->y0 < 13 ? LS_FONT_SMALL : LS_FONT_LABEL;
    const char *string = ls_scene_get_text(scene, item->text);
    double room = box->x1 - box->x0 - 9, y = (box->y0 + box->y1) / 2;
    if (!*string || box->y1 - box->y0 < 9 || room < 8)
        return;
    if (g_ascii_isdigit(*string) && ls_text_get_width(painter->text, font, string) > room)
        return; /* a number without its end is another number */
    if (item->form == LS_FORM_HATCHED) {
        /* Text on strokes is not read: a plate under it, if enough of the strokes is left. */
        double width = ls_text_get_width(painter->text, font, string);
        if (width + 40 > room)
            return;
        ls_fill_rect(cr, box->x0 + 3, box->y0, width + 5, box->y1 - box->y0,
                     painter->theme->surface);
    }
    ls_text_draw(painter->text, cr, font, LS_ALIGN_LEFT, box->x0 + 5, y, room,
                 get_ink(painter, item), string);
}

static void
draw_item_edges(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row,
                const LsItem *item)
{
    LsBox box = ls_item_get_box(scene, row, item);
    double width = box.x1 - box.x0;
    if (item->form == LS_FORM_STRONG && width >= EDGE_PX && box.y1 - box.y0 > 6)
        stroke_box(cr, &box, 1.5, painter->theme->strong_edge);
    if (item->flags & LS_ITEM_OPEN)
        draw_open_end(painter, cr, &box);
    if (item->text != 0 && width >= LABEL_PX)
        draw_label(painter, cr, scene, item, &box);
}

/* One frame around the pieces of what is selected: those that touch, or a tensor's whole life. */
static void
draw_selection(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row)
{
    const LsItem *items = &g_array_index(scene->items, LsItem, row->first_item);
    for (size_t i = 0; i < row->n_items; i++) {
        if (!(items[i].flags & LS_ITEM_SELECTED))
            continue;
        LsBox box = ls_item_get_box(scene, row, &items[i]);
        while (i + 1 < row->n_items && (items[i + 1].flags & LS_ITEM_SELECTED) &&
               (row->kind == LS_ROW_TENSOR ||
                (items[i + 1].x0 <= items[i].x1 && items[i + 1].ref == items[i].ref))) {
            LsBox next = ls_item_get_box(scene, row, &items[++i]);
            box.x0 = MIN(box.x0, next.x0);
            box.x1 = MAX(box.x1, next.x1);
        }
        box = (LsBox){box.x0 - 2, box.x1 + 2, box.y0 - 2, box.y1 + 2};
        stroke_box(cr, &box, 2, painter->theme->selection);
    }
}

static void
draw_row(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row, bool rastered)
{
    const LsItem *items = &g_array_index(scene->items, LsItem, row->first_item);
    if (row->n_items == 0)
        return;
    if (rastered) {
        for (size_t i = 0; row->edged && i < row->n_items; i++)
            if ((items[i].x1 - items[i].x0 >= EDGE_PX * scene->view.scale &&
                 (items[i].text != 0 || items[i].form == LS_FORM_STRONG)) ||
                (items[i].flags & LS_ITEM_OPEN))
                draw_item_edges(painter, cr, scene, row, &items[i]);
    } else {
        for (size_t i = 0; i < row->n_items; i++) {
            fill_item(painter, cr, scene, row, &items[i]);
            draw_item_edges(painter, cr, scene, row, &items[i]);
        }
    }
    if (row->selected)
        draw_selection(painter, cr, scene, row);
}

/* Background and dense rows together: as pixels, where any row is dense. Returns those rows. */
static GArray *
draw_pixels(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    GArray *dense = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (guint i = 0; i < scene->rows->len; i++) {
        const LsRow *row = &g_array_index(scene->rows, LsRow, i);
        if (is_in_sight(scene, row) && is_rastered(painter, cr, scene, row))
            g_array_append_val(dense, i);
    }
    if (dense->len > 0)
        ls_raster_rows(painter, cr, scene, (const uint32_t *)(void *)dense->data, dense->len);
    else
        draw_background(painter, cr, scene);
    return dense;
}

static void
draw_rows(LsPainter *painter, cairo_t *cr, const LsScene *scene, const GArray *dense)
{
    guint next = 0;
    for (guint i = 0; i < scene->rows->len; i++) {
        const LsRow *row = &g_array_index(scene->rows, LsRow, i);
        bool rastered = next < dense->len && g_array_index(dense, uint32_t, next) == i;
        next += rastered;
        if (is_in_sight(scene, row))
            draw_row(painter, cr, scene, row, rastered);
    }
}

/* Ranks that could not be placed are greyed, not guessed. */
static void
grey_rows(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    LsColour surface = painter->theme->surface;
    cairo_set_source_rgba(cr, (double)(surface >> 16 & 255) / 255,
                          (double)(surface >> 8 & 255) / 255, (double)(surface & 255) / 255, 0.65);
    for (guint i = 0; i < scene->rows->len; i++) {
        const LsRow *row = &g_array_index(scene->rows, LsRow, i);
        if (row->greyed && is_in_sight(scene, row))
            cairo_rectangle(cr, 0, row->y - scene->view.scroll_y, scene->view.width, row->height);
    }
    cairo_fill(cr);
}

/* An empty page says why. */
static void
draw_nothing(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    size_t n_ranks;
    ls_trace_get_ranks(ls_model_get_trace(scene->model), &n_ranks);
    const char *sentence =
        scene->view.mode == LS_VIEW_TENSORS
            ? "This run has no tensors by name; by rank it shows its kernels and calls."
        : n_ranks == 0 ? "No rank was recorded."
                       : "None of the ranks is shown.";
    double middle = scene->view.width / 2, y = round(MIN(scene->view.height / 2, 120));
    double width = ls_text_get_width(painter->text, LS_FONT_TEXT, sentence);
    ls_fill_rect(cr, middle - width / 2 - 6, y - 9, width + 12, 18, painter->theme->surface);
    ls_text_draw(painter->text, cr, LS_FONT_TEXT, LS_ALIGN_CENTRE, middle, y,
                 scene->view.width - 20, painter->theme->text_soft, sentence);
}

void
ls_draw_timeline(LsPainter *painter, cairo_t *cr, const LsScene *scene)
{
    const LsView *view = &scene->view;
    cairo_save(cr);
    cairo_rectangle(cr, 0, 0, view->width, view->height);
    cairo_clip(cr);
    if (view->mode == LS_VIEW_OVERVIEW) {
        ls_draw_overview(painter, cr, scene);
        cairo_restore(cr);
        return;
    }
    g_autoptr(GArray) dense = draw_pixels(painter, cr, scene);
    draw_separators(painter, cr, scene);
    draw_rows(painter, cr, scene, dense);
    ls_draw_points(painter, cr, scene);
    ls_draw_ticks(painter, cr, scene);
    grey_rows(painter, cr, scene);
    ls_draw_agreed(painter, cr, scene);
    ls_draw_pills(painter, cr, scene);
    if (scene->rows->len == 0)
        draw_nothing(painter, cr, scene);
    cairo_restore(cr);
}

/* How long the marked range is, on a plate in its middle, or beside it where it is narrow. */
static void
draw_length(LsPainter *painter, cairo_t *cr, const LsScene *scene, double x0, double x1,
            int64_t length_ns)
{
    g_autofree char *label = ls_format_ns(length_ns);
    double text = ls_text_get_width(painter->text, LS_FONT_STRONG, label), width = text + 14;
    double x =
        x1 - x0 >= width + 4 ? (MAX(x0, 0) + MIN(x1, scene->view.width) - width) / 2 : x1 + 3;
    if (x + width > scene->view.width)
        x = MAX(x0 - width - 3, 0);
    ls_fill_rect(cr, round(x), 3, round(width), 18, painter->theme->accent);
    ls_text_draw(painter->text, cr, LS_FONT_STRONG, LS_ALIGN_LEFT, round(x) + 7, 12, text + 1,
                 painter->theme->surface, label);
}

void
ls_draw_range(LsPainter *painter, cairo_t *cr, const LsScene *scene, int64_t start_ns,
              int64_t end_ns)
{
    LsColour accent = painter->theme->accent;
    double x0 = ls_view_x_of(&scene->view, start_ns), x1 = ls_view_x_of(&scene->view, end_ns);
    double red = (double)(accent >> 16 & 255) / 255, green = (double)(accent >> 8 & 255) / 255;
    double blue = (double)(accent & 255) / 255;
    cairo_set_source_rgba(cr, red, green, blue, 0.12);
    cairo_rectangle(cr, x0, 0, x1 - x0, scene->view.height);
    cairo_fill(cr);
    cairo_set_source_rgba(cr, red, green, blue, 0.8);
    cairo_rectangle(cr, floor(x0), 0, 1, scene->view.height);
    if (end_ns > start_ns)
        cairo_rectangle(cr, floor(x1), 0, 1, scene->view.height);
    cairo_fill(cr);
    if (end_ns > start_ns)
        draw_length(painter, cr, scene, x0, x1, end_ns - start_ns);
}
