/* SPDX-License-Identifier: Apache-2.0
 * format/native.h: Lockstep's own trace file (capture/format.h) into processes. */
#pragma once

#include "base/progress.h"
#include "format/input.h"
#include "trace/process.h"

/* Whether these first bytes are, or hold, a chunk of ours. */
bool ls_native_probe(const uint8_t *data, size_t length);

/* One process per process that the input holds; files put one behind another are a valid file. */
bool ls_native_load(LsInput *input, const char *source, GPtrArray *ret_processes,
                    LsProgress *progress, GError **error);
