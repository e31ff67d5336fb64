/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/file.c: a surface by the end of the name. PNG in device pixels; SVG and PDF in logical
 * ones. Drawn into memory, written beside the name and moved there: who is killed or finds the disk
 * full leaves no torn picture, and an older one stays.
 */
#include "ui/draw/file.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "base/error.h"

static cairo_status_t
collect(void *user, const unsigned char *data, unsigned length)
{
    g_byte_array_append(user, data, length);
    return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *
create(const LsDrawFile *file, GByteArray *bytes)
{
    if (g_str_has_suffix(file->path, ".png"))
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(file->width * file->scale),
                                          (int)(file->height * file->scale));
    if (g_str_has_suffix(file->path, ".svg"))
        return cairo_svg_surface_create_for_stream(collect, bytes, file->width, file->height);
    if (!g_str_has_suffix(file->path, ".pdf"))
        return NULL;
    cairo_surface_t *surface =
        cairo_pdf_surface_create_for_stream(collect, bytes, file->width, file->height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE,
                                   file->title ? file->title : "");
    return surface;
}

static cairo_status_t
draw(const LsDrawFile *file, cairo_surface_t *surface, GByteArray *bytes)
{
    bool image = g_str_has_suffix(file->path, ".png");
    cairo_t *cr = cairo_create(surface);
    if (image)
        cairo_scale(cr, file->scale, file->scale);
    file->draw(cr, file->user);
    cairo_destroy(cr);
    cairo_status_t status = cairo_surface_status(surface);
    if (image && status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, collect, bytes);
    if (!image) {
        cairo_surface_finish(surface);
        status = cairo_surface_status(surface);
    }
    return status;
}

static bool
write_all(int fd, const GByteArray *bytes)
{
    for (size_t done = 0; done < bytes->len;) {
        ssize_t n = write(fd, bytes->data + done, bytes->len - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* false with errno. */
static bool
put(const char *path, const GByteArray *bytes)
{
    g_autofree char *beside = g_strconcat(path, ".XXXXXX", NULL);
    int fd = g_mkstemp_full(beside, O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool written = write_all(fd, bytes);
    int why = errno;
    if (close(fd) != 0 && written) {
        written = false;
        why = errno;
    }
    if (written && g_rename(beside, path) == 0)
        return true;
    if (written)
        why = errno;
    g_unlink(beside);
    errno = why;
    return false;
}

bool
ls_draw_file_write(const LsDrawFile *file, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    cairo_surface_t *surface = create(file, bytes);
    if (!surface) {
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "%s is no picture that can be written: its name must end in .png, .svg or "
                    ".pdf.",
                    file->path);
        return false;
    }
    cairo_status_t status = draw(file, surface, bytes);
    cairo_surface_destroy(surface);
    if (status == CAIRO_STATUS_SUCCESS && put(file->path, bytes))
        return true;
    g_set_error(error, LS_ERROR, LS_ERROR_WRITE, "%s could not be written: %s.", file->path,
                status == CAIRO_STATUS_SUCCESS ? g_strerror(errno)
                                               : cairo_status_to_string(status));
    return false;
}
