/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-chunks.h: what lockstep-record itself needs to read of trace files: their chunks,
 * and the few records that it counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"
#include "capture/status.h"

/* One sound chunk. Borrowed for the call. */
typedef struct LsChunk {
    LsChunkHeader head;
    const uint8_t *data; /* header and payload, as in the file */
    size_t n_bytes;
} LsChunk;

/* false: no further chunk is wanted. */
typedef bool (*LsChunkVisit)(void *user, const LsChunk *chunk);

/* Visits the sound chunks of a file in their order there. ret_bytes: the size of the file. */
LsStatus ls_chunks_read(const char *path, LsChunkVisit visit, void *user, uint64_t *ret_bytes);

/* A record of a chunk; texts have no times. */
typedef struct LsChunkRecord {
    uint32_t kind;
    bool is_open, is_known; /* is_known: of a kind with times, which are here */
    uint32_t id;            /* the name's; of a text: its own, or the key's */
    int64_t start_ns, end_ns;
    int64_t args[LS_RECORD_ARGS_MAX];
} LsChunkRecord;

typedef struct LsChunkCursor {
    const uint8_t *at, *end;
    int64_t previous_ns;
} LsChunkCursor;

void ls_chunk_begin(LsChunkCursor *ret_cursor, const LsChunk *chunk);
/* false: no further record, or damage. */
bool ls_chunk_next(LsChunkCursor *cursor, LsChunkRecord *ret_record);

/* Visits the trace files of a folder (rank-*.lks), by name in no order; false ends it. */
typedef bool (*LsTraceVisit)(void *user, const char *path, const char *name);
LsStatus ls_traces_list(const char *folder, LsTraceVisit visit, void *user);
