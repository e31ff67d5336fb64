/* SPDX-License-Identifier: Apache-2.0
 *
 * format/format.h: the table of file formats: probe by content, load into processes.
 *
 * gzip and zstd are transparent. A damaged file never aborts: what is sound is kept, each fault is a
 * finding with its byte offset. One thread per call; calls for different files may run at once.
 */
#pragma once

#include <glib.h>

#include "base/progress.h"
#include "trace/process.h"

/* Adds one process per process that the file holds to `ret_processes` (LsProcess). A file that was begun
 * and holds no event adds none and returns true. LS_ERROR_BAD_FILE with one sentence when the
 * content is of no known format, or the file cannot be read. */
bool ls_format_load(const char *path, GPtrArray *ret_processes, LsProgress *progress, GError **error);

/* The same from memory; `source` is what findings name. */
bool ls_format_load_bytes(const void *data, size_t length, const char *source,
                          GPtrArray *ret_processes, LsProgress *progress, GError **error);

/* Whether a format would load it; false and an error as above. */
bool ls_format_probe(const char *path, GError **error);
