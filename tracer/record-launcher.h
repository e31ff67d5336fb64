/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-launcher.h: a command that does not run the training itself.
 */
#pragma once

#include <stdbool.h>

/* Whether the command starts ranks elsewhere, where our environment does not follow it; then the
 * corrected line has been printed. `self`: how we were called; `n_ours`: words of argv before the
 * command. */
bool ls_record_refuse_launcher(const char *self, char **argv, int n_ours, char **command);

/* The command starts a container in which the libraries at `folder` are not seen: the line that
 * binds them, on standard error. */
void ls_record_hint_container(char **command, const char *folder, const char *run);
