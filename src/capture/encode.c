/* SPDX-License-Identifier: Apache-2.0
 *
 * The payload of a chunk: LEB128 varints, times as differences to the record before, trailing zero
 * arguments left out, a length in front of each record so that an unknown kind can be skipped.
 */
#include "capture/encode.h"

#include <string.h>

#include "capture/crc32c.h"

#define LENGTH_BYTES 2 /* of a text's length prefix: up to 16383 */

static const uint8_t shapes[] = {
#define LS_RECORD(id, SYMBOL, text, shape, since, ...) [id] = shape,
#include "capture/records.def"
#undef LS_RECORD
};

static uint8_t *
put_varint(uint8_t *at, uint64_t value)
{
    while (value >= 128) {
        *at++ = (uint8_t)(value | 128);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *
put_zigzag(uint8_t *at, int64_t value)
{
    return put_varint(at, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* Differences wrap as unsigned numbers do, so that no pair of times is out of reach. */
static int64_t
difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

void
ls_encoder_begin(LsEncoder *encoder, const LsChunkHeader *head, size_t room)
{
    encoder->begin = encoder->used;
    encoder->end = encoder->used + room;
    encoder->used += sizeof(LsChunkHeader);
    encoder->head = *head;
    encoder->is_open = true;
    encoder->has_time = false;
}

static void
note_time(LsEncoder *encoder, const LsRecord *record)
{
    LsChunkHeader *head = &encoder->head;
    int64_t last = record->end_ns > record->start_ns ? record->end_ns : record->start_ns;
    if (!encoder->has_time) {
        head->first_ns = record->start_ns;
        head->last_ns = last;
        encoder->previous_ns = record->start_ns;
        encoder->has_time = true;
    }
    if (last > head->last_ns)
        head->last_ns = last;
}

bool
ls_encoder_add(LsEncoder *encoder, const LsRecord *record)
{
    if (encoder->end - encoder->used < LS_RECORD_BYTES_MAX)
        return false;
    note_time(encoder, record);
    uint8_t *begin = encoder->data + encoder->used;
    uint8_t *at = begin + 1; /* LS_RECORD_BYTES_MAX < 128: the length is one byte */
    at = put_varint(at, (uint64_t)record->kind << 1 | (record->flags & LS_RECORD_OPEN));
    at = put_varint(at, record->name);
    at = put_zigzag(at, difference(record->start_ns, encoder->previous_ns));
    if (record->kind < sizeof shapes && shapes[record->kind] == LS_SHAPE_SPAN)
        at = put_varint(at, record->end_ns > record->start_ns
                                ? (uint64_t)difference(record->end_ns, record->start_ns)
                                : 0);
    int n_args = LS_RECORD_ARGS_MAX;
    while (n_args > 0 && record->args[n_args - 1] == 0)
        n_args--;
    for (int i = 0; i < n_args; i++)
        at = put_zigzag(at, record->args[i]);
    *begin = (uint8_t)(at - begin - 1);
    encoder->previous_ns = record->start_ns;
    encoder->used = (size_t)(at - encoder->data);
    return true;
}

bool
ls_encoder_add_text(LsEncoder *encoder, LsRecordKind kind, uint32_t id, const char *text,
                    size_t length)
{
    uint8_t head[16];
    uint8_t *at = put_varint(head, (uint64_t)kind << 1);
    at = put_varint(at, id);
    size_t head_bytes = (size_t)(at - head);
    if (length > LS_TEXT_MAX)
        length = LS_TEXT_MAX;
    if (encoder->end - encoder->used < LENGTH_BYTES + head_bytes + length)
        return false;
    at = put_varint(encoder->data + encoder->used, head_bytes + length);
    memcpy(at, head, head_bytes);
    memcpy(at + head_bytes, text, length);
    encoder->used = (size_t)(at - encoder->data) + head_bytes + length;
    return true;
}

bool
ls_encoder_end(LsEncoder *encoder, int64_t now_ns)
{
    LsChunkHeader *head = &encoder->head;
    uint8_t *begin = encoder->data + encoder->begin;
    size_t payload = encoder->used - encoder->begin - sizeof *head;
    encoder->is_open = false;
    if (payload == 0) {
        encoder->used = encoder->begin;
        return false;
    }
    if (!encoder->has_time)
        head->first_ns = head->last_ns = now_ns;
    head->magic = LS_CHUNK_MAGIC;
    head->version = LS_FORMAT_VERSION;
    head->header_bytes = sizeof *head;
    head->payload_bytes = (uint32_t)payload;
    head->features = 0;
    head->crc32c = 0;
    memcpy(begin, head, sizeof *head);
    head->crc32c = ls_crc32c(0, begin, sizeof *head + payload);
    memcpy(begin, head, sizeof *head);
    return true;
}

void
ls_encoder_pad(LsEncoder *encoder, size_t size)
{
    memset(encoder->data + encoder->used, 0, size);
    encoder->used += size;
}
