/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/failure.h: the sentence that goes with a status below 0, kept per thread.
 *
 * The function that discovers the fault writes the whole sentence and returns the status; callers
 * pass the status on. lockstep_last_error() reads it.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stdarg.h>

/* Room for one sentence, its end included. */
#define LS_FAILURE_TEXT_MAX 640

/* Keeps the sentence as the calling thread's latest and returns the status. */
lockstep_status ls_fail(lockstep_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The calling thread's latest sentence, "" before any. */
const char *ls_failure_text(void);
