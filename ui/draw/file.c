/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/file.c: a surface by the end of the name. PNG in device pixels; SVG and PDF in logical
 * ones.
 */
#include "ui/draw/file.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <errno.h>

#include "base/error.h"

static cairo_surface_t *
create(const LsDrawFile *file)
{
    if (g_str_has_suffix(file->path, ".png"))
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(file->width * file->scale),
                                          (int)(file->height * file->scale));
    if (g_str_has_suffix(file->path, ".svg"))
        return cairo_svg_surface_create(file->path, file->width, file->height);
    if (!g_str_has_suffix(file->path, ".pdf"))
        return NULL;
    cairo_surface_t *surface = cairo_pdf_surface_create(file->path, file->width, file->height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE,
                                   file->title ? file->title : "");
    return surface;
}

bool
ls_draw_file_write(const LsDrawFile *file, GError **error)
{
    bool image = g_str_has_suffix(file->path, ".png");
    cairo_surface_t *surface = create(file);
    if (!surface) {
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "%s is no picture that can be written: its name must end in .png, .svg or "
                    ".pdf.",
                    file->path);
        return false;
    }
    cairo_t *cr = cairo_create(surface);
    if (image)
        cairo_scale(cr, file->scale, file->scale);
    file->draw(cr, file->user);
    cairo_destroy(cr);
    errno = 0;
    cairo_status_t status = cairo_surface_status(surface);
    if (image && status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png(surface, file->path);
    if (!image) {
        cairo_surface_finish(surface);
        status = cairo_surface_status(surface);
    }
    cairo_surface_destroy(surface);
    if (status != CAIRO_STATUS_SUCCESS)
        g_set_error(error, LS_ERROR, LS_ERROR_WRITE, "%s could not be written: %s.", file->path,
                    status == CAIRO_STATUS_WRITE_ERROR && errno ? g_strerror(errno)
                                                                : cairo_status_to_string(status));
    return status == CAIRO_STATUS_SUCCESS;
}
