/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/recorder.h: a double of capture/recorder.h that keeps all records in memory. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "capture/format.h"

/* Forgets all and begins to keep. */
void recorder_start(void);
guint recorder_count(LsRecordKind kind, const char *name); /* name NULL: any; open ones left out */
/* The nth of the kind and name (NULL: any) in order of writing; NULL: there is none. */
const LsRecord *recorder_get(LsRecordKind kind, const char *name, guint n);
/* The first stall of the tensor for want of this rank; NULL: there is none. */
const LsRecord *recorder_find_stall(const char *tensor, int missing);
const char *recorder_name(const LsRecord *record);
/* Whether a notice held this text. */
bool recorder_heard(const char *part);
/* Waits for n of the kind, whose first argument is `first` (-1: any); false: not within a minute.
 */
bool recorder_await(LsRecordKind kind, int64_t first, guint n);
/* Called by the communication thread before its first cycle. */
void recorder_set_thread_hook(void (*hook)(void));
/* Records with the open flag. */
guint recorder_count_open(LsRecordKind kind);
