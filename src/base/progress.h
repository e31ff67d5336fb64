/* SPDX-License-Identifier: Apache-2.0
 * base/progress.h: how far long work is, and whether somebody wants it to stop. One object, written
 * by the working thread, read by any. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct LsProgress LsProgress;

LsProgress *ls_progress_new(void);
void        ls_progress_free(LsProgress *progress);

/* All functions take NULL and then do nothing. `stage` must be a static string. */
void        ls_progress_set(LsProgress *progress, const char *stage, double fraction);
double      ls_progress_get(LsProgress *progress, const char **ret_stage);
void        ls_progress_cancel(LsProgress *progress);
/* true: the work should return false with LS_ERROR_CANCELLED, which this sets. */
bool        ls_progress_is_cancelled(LsProgress *progress, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsProgress, ls_progress_free)
