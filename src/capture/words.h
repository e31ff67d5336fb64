/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/words.h: the process's own words; for recorder.c and drain.c.
 */
#pragma once

#include "capture/format.h"

/* Remembers which file standard error is: a later one under its number is the host's own. */
void ls_words_open(void);
/* A record of the process itself, also while the recorder is closing. Any thread, but not in a
 * forked child. */
void ls_words_add(const LsRecord *record);
/* As ls_recorder_notice(). */
void ls_words_notice(int severity, const char *text);
/* The calling thread has a table of descriptors of its own, in which 2 is not standard error. */
void ls_words_use_private_descriptors(void);
