/* SPDX-License-Identifier: Apache-2.0
 * merge/loader.h: many files at once, one thread per processor. */
#pragma once

#include <glib.h>

#include "base/progress.h"
#include "merge/files.h"

/* What one file gave. */
typedef struct LsLoaded {
    char *path;
    GPtrArray *processes; /* LsProcess; empty if the file was begun and holds no event */
    GError *error;        /* NULL: loaded */
} LsLoaded;

/* An array of LsLoaded in the order of files->paths, whatever came first; NULL only when cancelled.
 * Progress goes from 0 to `share`. */
GArray *ls_loader_run(const LsFiles *files, double share, LsProgress *progress, GError **error);
