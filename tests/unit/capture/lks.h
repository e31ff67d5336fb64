/* SPDX-License-Identifier: Apache-2.0
 *
 * lks.h: reads trace files for the tests of capture. Written from FORMAT.md, sharing nothing with
 * the encoder but the record kinds, so that the two cannot be wrong together.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct LksRecord {
    uint32_t rank, pid, thread, sequence, incarnation;
    uint64_t lost;
    uint64_t offset; /* of the chunk */
    int kind;
    bool is_open;
    uint32_t name;    /* TEXT: id */
    const char *text; /* TEXT: the bytes */
    size_t text_length;
    int64_t start_ns, duration_ns;
    int n_args;
    int64_t args[8];
} LksRecord;

typedef struct LksFile {
    GArray *records;   /* LksRecord */
    GHashTable *names; /* id -> text */
    GHashTable *facts; /* key -> value */
    uint8_t *data;
    size_t length;
    int n_chunks;
    uint64_t damaged_bytes; /* that are neither chunk nor zero */
} LksFile;

/* min_sequence: chunks from this sequence on are left out; UINT32_MAX: none. */
LksFile *lks_read_bytes(const uint8_t *data, size_t length, uint32_t min_sequence);
LksFile *lks_read(const char *path);
void lks_free(LksFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LksFile, lks_free)

/* Records of a kind; of LOST, the sum of the losses they tell. */
uint64_t lks_count(const LksFile *file, int kind);
uint64_t lks_sum_lost(const LksFile *file);
const char *lks_fact(const LksFile *file, const char *key);
const char *lks_name(const LksFile *file, uint32_t id);
bool lks_has_notice(const LksFile *file, const char *part);

/* The trace files of a folder, sorted. */
GPtrArray *lks_list(const char *folder);
