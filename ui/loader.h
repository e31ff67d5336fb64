/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/loader.h: loads a document on a thread, so that the window never freezes. Main thread only.
 */
#pragma once

#include <gio/gio.h>

#include "ui/document.h"

typedef struct LsLoader LsLoader;

/* Called on the main thread, once, unless the loader was freed before: the document (taken by the
 * callee), or NULL and the error (borrowed). */
typedef void (*LsLoaded)(LsDocument *document, const GError *error, void *user);

LsLoader *ls_loader_start(const char *const *paths, size_t n_paths, LsLoaded loaded, void *user);
/* Cancels if still under way; the callback does not come any more. */
void ls_loader_free(LsLoader *loader);
/* How far it is, for a progress bar: 0..1; *ret_stage is a static string. */
double ls_loader_get_progress(const LsLoader *loader, const char **ret_stage);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsLoader, ls_loader_free)
