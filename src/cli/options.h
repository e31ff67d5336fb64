/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/options.h: what commands share: filters, loading a run with progress, exit statuses.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "trace/trace.h"

/* "0,8-15": one flag per row of ranks (caller frees). LS_ERROR_USAGE if it is no such list or names no
 * rank of the run. */
bool ls_options_parse_ranks(const char *text, const LsTrace *trace, bool **ret_shown,
                            GError **error);
/* "A:B", "A:", ":B" or "A": numbers, inclusive. */
bool ls_options_parse_steps(const char *text, int64_t *ret_first, int64_t *ret_last,
                            GError **error);
/* LS_ERROR_USAGE where the run has no step of these numbers; text: as they were given. */
bool ls_options_check_steps(const char *text, const LsTrace *trace, int64_t first, int64_t last,
                            GError **error);

/* ls_run_load, with a line of progress on standard error where that is a terminal. */
LsTrace *ls_options_load(const char *const *paths, const char *rules_path, GError **error);

/* The command's options out of argv, which keeps only its name. */
bool ls_options_parse(const char *summary, const GOptionEntry *entries, int argc, char **argv,
                      GError **error);
/* The same with a context of the command's own; --help prints it and ends the program. */
bool ls_options_parse_context(GOptionContext *context, const GOptionEntry *entries, int argc,
                              char **argv, GError **error);
/* LS_ERROR_USAGE where no run is named; where the format is none of the writers'. */
bool ls_options_need_run(const char *command, char *const *paths, GError **error);
bool ls_options_check_format(const char *format, GError **error);

/* Standard output where path is NULL. */
FILE *ls_options_open_output(const char *path, GError **error);
bool ls_options_close_output(FILE *out, const char *path, GError **error);

/* Prints "lockstep COMMAND: sentence" on standard error; returns the exit status of its code. */
int ls_options_fail(const char *command, const GError *error);
