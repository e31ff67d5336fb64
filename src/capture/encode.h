/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/encode.h: records into chunks, as FORMAT.md has them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"

/* Longest text of a NAME or INFO; longer ones are cut when they come in. */
#define LS_TEXT_MAX 4000
/* A chunk whose room is this large takes any single record. */
#define LS_CHUNK_ROOM_MIN (sizeof(LsChunkHeader) + LS_TEXT_MAX + 16)

/* Bytes under construction: whole chunks, then at most one that is still open. */
typedef struct LsEncoder {
    uint8_t *data;
    size_t capacity, used;
    size_t begin; /* where the open chunk begins */
    size_t end;   /* it may not grow beyond */
    LsChunkHeader head;
    int64_t previous_ns; /* start of the record before */
    bool is_open, has_time;
} LsEncoder;

/* Opens a chunk that may take `room` bytes with its header (at least LS_CHUNK_ROOM_MIN, all within
 * the capacity). Of head the fields rank, pid, thread, sequence, lost, incarnation are used. */
void ls_encoder_begin(LsEncoder *encoder, const LsChunkHeader *head, size_t room);
/* false: no room; nothing changed. */
bool ls_encoder_add(LsEncoder *encoder, const LsRecord *record);
bool ls_encoder_add_text(LsEncoder *encoder, LsRecordKind kind, uint32_t id, const char *text,
                         size_t length);
/* Completes the header. `now_ns` stands for the times of a chunk without any. An empty chunk is
 * taken back: false. */
bool ls_encoder_end(LsEncoder *encoder, int64_t now_ns);
/* Zero bytes up to `size` more: padding, which a reader skips. */
void ls_encoder_pad(LsEncoder *encoder, size_t size);
