/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/run.h: the files of one run become one trace on one clock.
 */
#pragma once

#include <glib.h>

#include "base/progress.h"
#include "trace/trace.h"

/* Loads the files (or the folder) named, decides which process is which rank (content first, then
 * name; conflicts are findings), aligns the clocks (merge/align.h), matches collectives
 * (merge/match.h), and freezes. A folder without a trace file, an absent path and a file of no
 * known format are LS_ERROR_BAD_FILE with one sentence; one bad file among good ones is a finding.
 * Reads only. Any thread; long: progress may be NULL. rules_path: file of classification rules over
 * the built-in ones, or NULL. */
LsTrace *ls_run_load(const char *const *paths, size_t n_paths, const char *rules_path,
                     LsProgress *progress, GError **error);

/* The built-in rules as text, in the form that rules_path takes. Caller frees. */
char *ls_rules_format(void);
