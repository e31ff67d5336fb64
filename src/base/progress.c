/* SPDX-License-Identifier: Apache-2.0
 * base/progress.c: progress as three atomics. The fraction is kept as an integer, so that a reader
 * never sees half of it; stage and fraction may be one update apart, which a progress bar can bear.
 */
#include "base/progress.h"

#include "base/error.h"

#include <stdatomic.h>

#define WHOLE 1000000

struct LsProgress {
    _Atomic(const char *) stage;
    atomic_int part;
    atomic_bool cancelled;
};

LsProgress *
ls_progress_new(void)
{
    LsProgress *progress = g_new0(LsProgress, 1);
    atomic_init(&progress->stage, "");
    return progress;
}

void
ls_progress_free(LsProgress *progress)
{
    g_free(progress);
}

void
ls_progress_set(LsProgress *progress, const char *stage, double fraction)
{
    if (!progress)
        return;
    atomic_store(&progress->stage, stage);
    atomic_store(&progress->part, (int)(CLAMP(fraction, 0.0, 1.0) * WHOLE));
}

double
ls_progress_get(LsProgress *progress, const char **ret_stage)
{
    if (ret_stage)
        *ret_stage = progress ? atomic_load(&progress->stage) : "";
    return progress ? (double)atomic_load(&progress->part) / WHOLE : 0.0;
}

void
ls_progress_cancel(LsProgress *progress)
{
    if (progress)
        atomic_store(&progress->cancelled, true);
}

bool
ls_progress_is_cancelled(LsProgress *progress, GError **error)
{
    if (!progress || !atomic_load(&progress->cancelled))
        return false;
    g_set_error_literal(error, LS_ERROR, LS_ERROR_CANCELLED, "Cancelled.");
    return true;
}
