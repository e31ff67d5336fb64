/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-file.h: writes one trace file, record by record.
 *
 * An encoder of its own, made from capture/format.h alone, so that it checks the recorder's and the
 * reader's understanding of the format and shares no mistake with either. Libc only. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"

typedef struct LsSynthFile LsSynthFile;

/* NULL and errno when the file cannot be made (it must not exist). */
LsSynthFile *ls_synth_file_open(const char *path, uint32_t rank, uint32_t pid);
/* Writes what is held and closes; false and errno where any write has failed. Frees in any case. */
bool ls_synth_file_close(LsSynthFile *file);

/* The id of a text; a NAME record is written before the first record that uses it. */
uint32_t ls_synth_file_name(LsSynthFile *file, const char *text);
void ls_synth_file_info(LsSynthFile *file, const char *key, const char *value);
/* thread 0: the process's own words. Trailing arguments that are 0 are left out. */
void ls_synth_file_add(LsSynthFile *file, uint32_t thread, const LsRecord *record);
/* A record of a kind that no reader knows, to see that it is skipped. */
void ls_synth_file_add_unknown(LsSynthFile *file, uint32_t thread, uint32_t kind);
/* The thread has lost that many more: said in its next chunks. */
void ls_synth_file_add_lost(LsSynthFile *file, uint32_t thread, uint64_t records);
/* Ends the thread's chunk here (0: the process's own), so that tests can choose chunk boundaries.
 */
void ls_synth_file_flush(LsSynthFile *file, uint32_t thread);
/* Records taken so far, timed ones only. */
uint64_t ls_synth_file_get_records(const LsSynthFile *file);

/* CRC32C (Castagnoli, RFC 3720 B.4), starting from or going on with `crc` (0 at first). */
uint32_t ls_synth_crc32c(uint32_t crc, const void *data, size_t length);
