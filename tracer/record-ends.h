/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-ends.h: how rank 0's wrapper knows that the others have written what they had.
 *
 * Each wrapper of a rank leaves a file `.ended/RANK` in the run folder when it has. One that is
 * there from a life before goes at the start.
 */
#pragma once

#include "capture/identity.h"

/* The rank begins. */
void ls_record_ends_begin(const char *folder, const LsIdentity *identity);
/* All of this rank is in the folder. */
void ls_record_ends_mark(const char *folder, const LsIdentity *identity);
/* Waits until all ranks of the job have ended; gives up when half a second has brought no further
 * one, and after two. */
void ls_record_ends_wait(const char *folder, const LsIdentity *identity);
