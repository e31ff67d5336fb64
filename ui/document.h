/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/document.h: one run as the window needs it: loaded, indexed, summed up. Made on a worker
 * thread, immutable then.
 */
#pragma once

#include "base/progress.h"
#include "layout/model.h"
#include "report/report.h"

typedef struct LsDocument {
    LsTrace *trace;
    LsActivity *activity;
    LsModel *model;
    LsHeadline *headline;
    char *title;    /* name of the folder or file */
    char *subtitle; /* "4 ranks on 2 hosts, 40 steps" */
} LsDocument;

/* The files of one run. Any thread; long. */
LsDocument *ls_document_load(const char *const *paths, size_t n_paths, LsProgress *progress,
                             GError **error);
void ls_document_free(LsDocument *document);
/* Nothing was recorded: there is nothing to draw. */
bool ls_document_is_empty(const LsDocument *document);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsDocument, ls_document_free)
