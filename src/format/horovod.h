/* SPDX-License-Identifier: Apache-2.0
 * format/horovod.h: a Horovod timeline, of any version or descendant, into processes. */
#pragma once

#include "base/progress.h"
#include "format/input.h"
#include "trace/process.h"

/* A JSON array of Horovod's events, bare as Horovod writes it or as the traceEvents of an object;
 * or one that was begun and is empty. */
bool ls_horovod_probe(const uint8_t *data, size_t length);

/* The process that wrote the file, then one for each other rank that a tick names (rank.recorded
 * false: it is known through that file only). None where the file holds no event. */
bool ls_horovod_load(LsInput *input, const char *source, GPtrArray *ret_processes,
                     LsProgress *progress, GError **error);
