/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-decode.c: the payload of one chunk: varints to records. Every length is checked
 * against the record's, the record's against the chunk's. A record that makes no sense is passed
 * over by its length; a length that leads beyond the chunk ends it.
 */
#include "format/native-private.h"

#include <string.h>

typedef struct Cursor {
    const uint8_t *at, *end;
    const uint8_t *readable; /* end of the chunk: what lies before may be looked at */
    bool failed;
} Cursor;

static const uint8_t shapes[LS_RECORD_KINDS] = {
#define LS_RECORD(id, SYMBOL, text, shape, since, ...) [id] = (shape) + 1,
#include "capture/records.def"
#undef LS_RECORD
};

/* The lower seven bits of eight bytes, one behind another: pairs, fours, eights. */
static inline uint64_t
join_sevens(uint64_t bytes)
{
    bytes = (bytes & 0x7f007f007f007f00) >> 1 | (bytes & 0x007f007f007f007f);
    bytes = (bytes & 0xffff0000ffff0000) >> 2 | (bytes & 0x0000ffff0000ffff);
    return (bytes & 0xffffffff00000000) >> 4 | (bytes & 0x00000000ffffffff);
}

static uint64_t
get_by_byte(Cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->failed = true;
    return 0;
}

/* Eight bytes at a time, without a branch on the length: that of a time or a duration is a throw of
 * dice, and a wrong guess costs the processor more than all of this. */
static inline uint64_t
get_varint(Cursor *cursor)
{
    if (G_LIKELY(cursor->at < cursor->end && *cursor->at < 0x80))
        return *cursor->at++;
    if (cursor->readable - cursor->at < 8)
        return get_by_byte(cursor);
    uint64_t word;
    memcpy(&word, cursor->at, sizeof word);
    word = GUINT64_FROM_LE(word);
    uint64_t stops = ~word & 0x8080808080808080;
    if (G_UNLIKELY(stops == 0))
        return get_by_byte(cursor);
    cursor->at += ((unsigned)__builtin_ctzll(stops) + 1) / 8;
    cursor->failed |= cursor->at > cursor->end;
    return join_sevens(word & (stops ^ (stops - 1)));
}

static inline int64_t
get_signed(Cursor *cursor)
{
    uint64_t value = get_varint(cursor);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static bool
add_text(Native *native, uint16_t kind, Cursor *cursor)
{
    uint64_t id = get_varint(cursor);
    if (cursor->failed || id > UINT32_MAX)
        return false;
    const char *text = (const char *)cursor->at;
    size_t length = (size_t)(cursor->end - cursor->at);
    if (kind == LS_RECORD_NAME)
        ls_native_set_name(native, (uint32_t)id, text, length);
    else
        ls_native_set_info(native, (uint32_t)id, text, length);
    return true;
}

/* Times are differences from the previous record's start, which is kept even of a record that is
 * refused. */
static bool
add_timed(Native *native, uint16_t kind, bool open, bool span, Cursor *cursor, int64_t *previous_ns)
{
    uint64_t name = get_varint(cursor);
    int64_t start = (int64_t)((uint64_t)*previous_ns + (uint64_t)get_signed(cursor));
    uint64_t duration = span ? get_varint(cursor) : 0;
    if (cursor->failed)
        return false;
    *previous_ns = start;
    LsRecord record = {.kind = kind, .flags = open ? LS_RECORD_OPEN : 0, .name = (uint32_t)name};
    for (unsigned i = 0; i < LS_RECORD_ARGS_MAX && cursor->at < cursor->end; i++)
        record.args[i] = get_signed(cursor);
    if (cursor->failed || name > UINT32_MAX || start < -LS_TIME_MAX || start > LS_TIME_MAX ||
        duration > (uint64_t)(LS_TIME_MAX - start))
        return false;
    record.start_ns = start;
    record.end_ns = start + (int64_t)duration;
    native->last_ns = MAX(native->last_ns, record.end_ns);
    native->first_ns = MIN(native->first_ns, start);
    if (G_UNLIKELY(open)) {
        ls_native_open_record(native, &record);
        return true;
    }
    if (G_UNLIKELY(native->open_of_kind[kind] > 0))
        ls_native_close_record(native, &record);
    native->records++;
    ls_native_add_record(native, &record);
    return true;
}

void
ls_native_add_chunk(Native *native, const LsChunkHeader *header, const uint8_t *payload,
                    int64_t offset)
{
    const uint8_t *at = payload, *end = payload + header->payload_bytes;
    int64_t previous_ns = header->first_ns;
    native->sequence = header->sequence;
    native->thread = ls_native_get_thread(native, header->thread);
    native->thread->lost = MAX(native->thread->lost, MIN(header->lost, (uint64_t)LS_AMOUNT_MAX));
    while (at < end) {
        Cursor cursor = {.at = at, .end = end, .readable = end};
        uint64_t length = get_varint(&cursor);
        if (cursor.failed || length > (uint64_t)(end - cursor.at)) {
            ls_process_add_finding(native->process, LS_FAULT, offset + (at - payload),
                                   "A record is longer than its chunk; %zu bytes are left out.",
                                   (size_t)(end - at));
            native->process->rank.damaged++;
            return;
        }
        cursor.end = at = cursor.at + length;
        uint64_t tag = get_varint(&cursor);
        uint64_t kind = tag >> 1;
        uint8_t shape = kind < G_N_ELEMENTS(shapes) ? shapes[kind] : 0;
        bool good = !cursor.failed;
        if (good && shape == 0)
            native->unknown++;
        else if (good && shape == LS_SHAPE_TEXT + 1)
            good = add_text(native, (uint16_t)kind, &cursor);
        else if (good)
            good = add_timed(native, (uint16_t)kind, tag & 1, shape == LS_SHAPE_SPAN + 1, &cursor,
                             &previous_ns);
        native->broken += !good;
    }
}
