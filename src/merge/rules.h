/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/rules.h: which spans count as compute, which as communication (metrics.md).
 *
 * A rule is a line of four words: source, category, name, class. Source is a name (lockstep,
 * horovod, kineto, tensorflow, mxnet, other, or * for any), with "/cpu" behind it only of processes
 * without any GPU record. Category and name are globs (*, ?), in quotes where they hold blanks;
 * category is the source's own, or the kind of track where the source has none. The first rule that
 * matches decides; a span that none matches has no class. # begins a comment.
 */
#pragma once

#include <stdbool.h>

#include "trace/process.h"

typedef struct LsRules LsRules;

/* The built-in rules; with a path the rules of that file before them. LS_ERROR_USAGE with file,
 * line and what was expected; LS_ERROR_BAD_FILE if it cannot be read. */
LsRules *ls_rules_load(const char *path, GError **error);
void ls_rules_free(LsRules *rules);

/* has_gpu: whether the process has any record of a GPU. Any thread. */
LsClass ls_rules_classify(const LsRules *rules, uint8_t source, bool has_gpu, const char *category,
                          const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsRules, ls_rules_free)
