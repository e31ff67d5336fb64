/* SPDX-License-Identifier: Apache-2.0
 * format/native.h: Lockstep's own trace file (capture/format.h) into processes. */
#pragma once

#include "base/progress.h"
#include "capture/format.h"
#include "format/input.h"
#include "trace/process.h"

/* Whether these first bytes are, or hold, a chunk of ours. */
bool ls_native_probe(const uint8_t *data, size_t length);

/* Bytes of the chunk at the beginning of these, 0 unless it is there in whole and its checksum is
 * right. *ret_header: what stands there, zeros where nothing does. */
size_t ls_native_measure_chunk(const uint8_t *at, size_t left, LsChunkHeader *ret_header);

/* One process per process that the input holds; files put one behind another are a valid file. */
bool ls_native_load(LsInput *input, const char *source, GPtrArray *ret_processes,
                    LsProgress *progress, GError **error);
