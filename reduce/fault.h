/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/fault.h: why a control cannot go on. The first reason is kept: what follows from it is not
 * worth a word.
 */
#pragma once

#include <stdbool.h>

#define LS_FAULT_BYTES 256

typedef struct LsFault {
    char text[LS_FAULT_BYTES]; /* "" while all is well */
} LsFault;

bool ls_fault_is(const LsFault *fault);
void ls_fault_note(LsFault *fault, const char *text);
/* The reason lies with this rank. */
void ls_fault_note_rank(LsFault *fault, int rank, const char *text);
