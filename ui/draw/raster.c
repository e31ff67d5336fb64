/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense rows as own pixels: a row whose bars are all alike in height is one line of pixels, copied
 * down; other rows are filled line by line. Two orders of magnitude faster than a path per bar, and
 * the only way in which 115,000 bars fit a frame. One strip of pixels, which stays in the cache,
 * serves all rows.
 */
#include "ui/draw/painter.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static void
fill_line(uint32_t *line, int x0, int x1, LsColour colour)
{
    for (int x = x0; x < x1; x++)
        line[x] = colour;
}

static void
fill_hatched_line(const LsPainter *painter, uint32_t *line, int x0, int x1, int y, int scale)
{
    int period = LS_HATCH_PX * scale;
    for (int x = x0; x < x1; x++)
        line[x] = (x + y) % period < scale ? painter->theme->hatch : painter->theme->surface;
}

static void
make_strip(LsPainter *painter, int width, int height)
{
    if (painter->strip && cairo_image_surface_get_width(painter->strip) == width &&
        cairo_image_surface_get_height(painter->strip) >= height)
        return;
    if (painter->strip)
        cairo_surface_destroy(painter->strip);
    painter->strip = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    painter->background = g_renew(uint32_t, painter->background, (size_t)width);
}

/* What lies under the row: the surface, and the ruler's lines. */
static void
fill_background(LsPainter *painter, const LsScene *scene, int width)
{
    fill_line(painter->background, 0, width, painter->theme->surface);
    for (guint i = 0; i < scene->ruler->len; i++) {
        int x = (int)(g_array_index(scene->ruler, LsRulerTick, i).at * scene->view.scale);
        fill_line(painter->background, MAX(x, 0), MIN(x + scene->view.scale, width),
                  painter->theme->grid);
    }
}

static const LsItem *
get_items(const LsScene *scene, const LsRow *row)
{
    return &g_array_index(scene->items, LsItem, row->first_item);
}

/* Colours of the row's items; true: all bars are plain and of full height. */
static bool
find_colours(LsPainter *painter, const LsScene *scene, const LsRow *row)
{
    const LsItem *items = get_items(scene, row);
    bool even = true;
    if (painter->n_colours < row->n_items) {
        painter->n_colours = row->n_items;
        painter->colours = g_renew(LsColour, painter->colours, painter->n_colours);
    }
    for (size_t i = 0; i < row->n_items; i++) {
        painter->colours[i] = ls_item_get_colour(painter, scene, row, &items[i]);
        even &= items[i].form != LS_FORM_HATCHED && !(items[i].flags & LS_ITEM_THIN) &&
                (row->kind != LS_ROW_BAND || items[i].share == 255);
    }
    return even;
}

static void
fill_even(LsPainter *painter, const LsScene *scene, const LsRow *row, int height)
{
    const LsItem *items = get_items(scene, row);
    uint32_t *line = (uint32_t *)(void *)cairo_image_surface_get_data(painter->strip);
    size_t stride = (size_t)cairo_image_surface_get_stride(painter->strip);
    memcpy(line, painter->background,
           (size_t)cairo_image_surface_get_width(painter->strip) * sizeof *line);
    for (size_t i = 0; i < row->n_items; i++)
        fill_line(line, items[i].x0, items[i].x1 - ls_item_get_gap(scene, &items[i]),
                  painter->colours[i]);
    for (int y = 1; y < height; y++)
        memcpy((char *)line + (size_t)y * stride, line, stride);
}

static void
fill_uneven(LsPainter *painter, const LsScene *scene, const LsRow *row, int top, int height)
{
    const LsItem *items = get_items(scene, row);
    unsigned char *data = cairo_image_surface_get_data(painter->strip);
    size_t stride = (size_t)cairo_image_surface_get_stride(painter->strip);
    size_t width = (size_t)cairo_image_surface_get_width(painter->strip);
    int scale = scene->view.scale;
    for (int y = 0; y < height; y++)
        memcpy(data + (size_t)y * stride, painter->background, width * sizeof(uint32_t));
    for (size_t i = 0; i < row->n_items; i++) {
        const LsItem *item = &items[i];
        LsBox box = ls_item_get_box(scene, row, item);
        int y0 = MAX((int)lround(box.y0 * scale) - top, 0);
        int y1 = MIN((int)lround(box.y1 * scale) - top, height);
        int x1 = item->x1 - ls_item_get_gap(scene, item);
        for (int y = y0; y < y1; y++) {
            uint32_t *line = (uint32_t *)(void *)(data + (size_t)y * stride);
            if (item->form == LS_FORM_HATCHED)
                fill_hatched_line(painter, line, item->x0, x1, y + top, scale);
            else
                fill_line(line, item->x0, x1, painter->colours[i]);
        }
    }
}

void
ls_raster_row(LsPainter *painter, cairo_t *cr, const LsScene *scene, const LsRow *row)
{
    double y0, y1, scale = scene->view.scale;
    ls_row_get_bar(scene, row, &y0, &y1);
    int top = (int)lround(y0 * scale), height = (int)lround(y1 * scale) - top;
    int width = (int)(scene->view.width * scale);
    if (height < 1 || width < 1)
        return;
    make_strip(painter, width, MAX(height, (int)(32 * scale)));
    cairo_surface_flush(painter->strip);
    fill_background(painter, scene, width);
    if (find_colours(painter, scene, row))
        fill_even(painter, scene, row, height);
    else
        fill_uneven(painter, scene, row, top, height);
    cairo_surface_mark_dirty(painter->strip);
    cairo_save(cr);
    cairo_translate(cr, 0, top / scale);
    cairo_scale(cr, 1 / scale, 1 / scale);
    cairo_set_source_surface(cr, painter->strip, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cr, 0, 0, width, height);
    cairo_set_operator(cr, CAIRO_OPERATOR_SOURCE);
    cairo_fill(cr);
    cairo_restore(cr);
}
