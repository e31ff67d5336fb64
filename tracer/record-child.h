/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-child.h: the command as our child.
 */
#pragma once

#include <stdbool.h>

#include "tracer/record-given.h"

typedef struct LsRecordCommand {
    char **words;
    const char *preload; /* LD_PRELOAD, in it alone; NULL: as it is */
    const LsRecordGiven *given;
    bool may_speak; /* standard error stays open for a line of ours */
} LsRecordCommand;

/* Runs the command until it ends; signals that reach us are passed on. Returns its wait status; -1:
 * it could not be executed, with errno. `started` is called when the command runs and this process
 * has let go of all that it inherited. */
int ls_record_run(LsRecordCommand *command, void (*started)(void *), void *user);

/* Ends this process as the child ended: the same status, or by the same signal. */
void ls_record_end_as(int status) __attribute__((noreturn));
