/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-child.h: the command as our child.
 */
#pragma once

#include <stdbool.h>

/* Runs the command (LD_PRELOAD set to `preload` in it alone, NULL: left as it is) until it ends;
 * signals that reach us are passed on. Returns its wait status; -1: it could not be executed, with
 * errno. keeps_errors: standard error stays open for a line of ours. `started` is called when the
 * command runs and this process has let go of all that it inherited. */
int ls_record_run(char **command, const char *preload, bool keeps_errors, void (*started)(void *),
                  void *user);

/* Ends this process as the child ended: the same status, or by the same signal. */
void ls_record_end_as(int status) __attribute__((noreturn));
