/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/file.h: anything that draws with Cairo into a file by the end of its name: .png, .svg,
 * .pdf. For this folder.
 */
#pragma once

#include <cairo.h>
#include <glib.h>
#include <stdbool.h>

typedef struct LsDrawFile {
    const char *path, *title;
    double width, height; /* logical pixels */
    int scale;            /* device pixels of each, in PNG */
    void (*draw)(cairo_t *cr, void *user);
    void *user;
} LsDrawFile;

/* LS_ERROR_USAGE for another ending, LS_ERROR_WRITE with one sentence. The same file for the same
 * drawing: no date of now. */
bool ls_draw_file_write(const LsDrawFile *file, GError **error);
