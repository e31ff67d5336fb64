/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/files.h: which files a run consists of, and what run.json says of it. Reads only.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct LsFiles {
    GPtrArray *paths; /* char *: what to load, in order */
    GPtrArray *rests; /* LsLeftoverRest: of processes of the folders that died */
    /* char *: files of a folder that hold no trace; none where the folder is ours */
    GPtrArray *unknown;
    GPtrArray *problems; /* char *: sentences about run.json */
    GHashTable *facts;   /* char * -> char *: "run.id", "command", "settings.cycle_time_ms", ... */
} LsFiles;

LsFiles *ls_files_new(void);
void ls_files_free(LsFiles *files);

/* Adds a file, or what a folder holds: *.lks, and others that some format knows. LS_ERROR_BAD_FILE
 * for a path that is not there and for a folder without a trace file. */
bool ls_files_add(LsFiles *files, const char *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsFiles, ls_files_free)
