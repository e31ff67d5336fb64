/* SPDX-License-Identifier: Apache-2.0
 * samples/synth-run.h: a made-up job as a folder of trace files. Libc only. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "samples/synth-job.h"

/* Writes one file per rank into `folder` (made if absent) and, if not NULL, the truth as JSON.
 * false: `ret_error` has the sentence. */
bool ls_synth_run_write(const LsSynthOptions *options, const char *folder, FILE *truth,
                        char *ret_error, size_t error_size);

/* A big file per rank for load and draw benchmarks: `spans` spans in all, on `threads` threads a
 * rank, each with nested pairs of 1 to 50 us, about 90 % busy. */
bool ls_synth_spans_write(const char *folder, uint32_t ranks, uint32_t threads, uint64_t spans,
                          uint64_t seed, char *ret_error, size_t error_size);

/* Inverts `count` bytes of the rank's file from `offset` on. */
bool ls_synth_run_damage(const char *folder, uint32_t rank, uint32_t ranks_per_host, int64_t offset,
                         int64_t count, char *ret_error, size_t error_size);

/* "FOLDER/rank-00003.node1.10003.lks" */
void ls_synth_run_get_path(const char *folder, uint32_t rank, uint32_t ranks_per_host,
                           char *ret_path, size_t size);
