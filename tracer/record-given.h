/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-given.h: what we were given by whoever started us, and the command must find.
 */
#pragma once

#include <signal.h>
#include <sys/time.h>

#define LS_RECORD_TIMERS 3 /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */

typedef struct LsRecordGiven {
    sigset_t mask;
    struct sigaction child_action; /* of SIGCHLD */
    struct itimerval timers[LS_RECORD_TIMERS];
    char **environment; /* before ours came into it; NULL: no memory for it */
} LsRecordGiven;

/* Keeps it. From here on children are waited for, and writing into a pipe that nobody reads, beyond
 * a limit or from the background is an error of the call and ends nobody. */
void ls_record_given_take(LsRecordGiven *ret_given);

/* In the process that becomes the command: as it was, but for the environment. */
void ls_record_given_restore(const LsRecordGiven *given);
