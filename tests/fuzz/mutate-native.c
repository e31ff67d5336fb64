/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate-native.c: changes a trace file as one that knows what it is made of: chunks of a header
 * and records, records of numbers. Plain changes of bytes hardly ever leave a chunk that can be
 * read, and never make two records agree in a number. Three of four changes are made to records
 * and chunks (a number, a record, a chunk: other, once more, elsewhere, gone), the fourth is
 * libFuzzer's own. The first byte is odd after a change: the reader's fuzzers then make the
 * checksums right.
 */
#include "capture/format.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define CHUNKS_MAX  64
#define RECORDS_MAX 256
#define NUMBERS_MAX 16
#define RECORD_MAX  (NUMBERS_MAX * 10 + 256) /* its length, its numbers, a text */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
                                 size_t two_size, uint8_t *to, size_t to_max, unsigned seed);

typedef struct Piece {
    size_t at, n; /* a whole chunk or a whole record */
} Piece;

/* The input under change. */
typedef struct Work {
    uint8_t *data;
    size_t size, max;
    uint64_t random;
    Piece chunks[CHUNKS_MAX];
    size_t n_chunks;
} Work;

/* A record taken apart; of a TEXT only kind and id are numbers. */
typedef struct Parts {
    uint64_t numbers[NUMBERS_MAX];
    size_t n;
    uint8_t text[256];
    size_t text_length;
} Parts;

/* xorshift64* */
static uint64_t
draw(Work *work)
{
    work->random ^= work->random >> 12;
    work->random ^= work->random << 25;
    work->random ^= work->random >> 27;
    return work->random * 0x2545f4914f6cdd1du;
}

static size_t
draw_below(Work *work, size_t n)
{
    return n > 0 ? (size_t)((draw(work) >> 16) % n) : 0;
}

static void
find_chunks(Work *work)
{
    LsChunkHeader header;
    work->n_chunks = 0;
    for (size_t at = 1; at + sizeof header <= work->size && work->n_chunks < CHUNKS_MAX;) {
        memcpy(&header, work->data + at, sizeof header);
        size_t whole = sizeof header + header.payload_bytes;
        if (header.magic != LS_CHUNK_MAGIC || header.header_bytes != sizeof header ||
            whole > work->size - at) {
            at++;
            continue;
        }
        work->chunks[work->n_chunks++] = (Piece){at, whole};
        at += whole;
    }
}

static bool
get_number(const uint8_t *data, size_t end, size_t *at, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = data[(*at)++];
        *ret |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static size_t
put_number(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

static size_t
find_records(const Work *work, const Piece *chunk, Piece *records)
{
    size_t n = 0, end = chunk->at + chunk->n;
    for (size_t at = chunk->at + sizeof(LsChunkHeader); at < end && n < RECORDS_MAX;) {
        size_t first = at;
        uint64_t length;
        if (!get_number(work->data, end, &at, &length) || length > end - at)
            break;
        at += length;
        records[n++] = (Piece){first, at - first};
    }
    return n;
}

static bool
is_text(const Parts *parts)
{
    return parts->numbers[0] >> 1 == LS_RECORD_NAME || parts->numbers[0] >> 1 == LS_RECORD_INFO;
}

static void
take_apart(const uint8_t *data, const Piece *record, Parts *parts)
{
    size_t at = record->at, end = record->at + record->n;
    uint64_t length;
    *parts = (Parts){0};
    get_number(data, end, &at, &length);
    while (at < end && parts->n < NUMBERS_MAX && !(parts->n == 2 && is_text(parts)) &&
           get_number(data, end, &at, &parts->numbers[parts->n]))
        parts->n++;
    if (parts->n == 2 && is_text(parts)) {
        parts->text_length = MIN(end - at, sizeof parts->text);
        memcpy(parts->text, data + at, parts->text_length);
    }
}

static size_t
put_together(const Parts *parts, uint8_t *to)
{
    uint8_t body[RECORD_MAX];
    size_t n = 0;
    for (size_t i = 0; i < parts->n; i++)
        n += put_number(body + n, parts->numbers[i]);
    memcpy(body + n, parts->text, parts->text_length);
    n += parts->text_length;
    size_t head = put_number(to, n);
    memcpy(to + head, body, n);
    return head + n;
}

/* Bytes of a chunk's payload for others; nothing is done where there is no room. */
static void
splice(Work *work, const Piece *chunk, Piece old, const uint8_t *bytes, size_t n)
{
    LsChunkHeader header;
    if (work->size - old.n + n > work->max)
        return;
    memmove(work->data + old.at + n, work->data + old.at + old.n, work->size - old.at - old.n);
    if (n > 0)
        memcpy(work->data + old.at, bytes, n);
    work->size = work->size - old.n + n;
    memcpy(&header, work->data + chunk->at, sizeof header);
    header.payload_bytes = (uint32_t)(header.payload_bytes - old.n + n);
    memcpy(work->data + chunk->at, &header, sizeof header);
}

static const Piece *
draw_chunk(Work *work)
{
    return &work->chunks[draw_below(work, work->n_chunks)];
}

static bool
draw_record(Work *work, const Piece **ret_chunk, Piece *ret)
{
    Piece records[RECORDS_MAX];
    const Piece *chunk = *ret_chunk = draw_chunk(work);
    size_t n = find_records(work, chunk, records);
    *ret = records[draw_below(work, n)];
    return n > 0;
}

/* A number that is small, at an edge, another's, or any. */
static uint64_t
draw_number(Work *work, uint64_t old)
{
    static const uint64_t edges[] = {
        0,
        UINT64_MAX,
        UINT64_MAX - 1,
        INT64_MAX,
        UINT32_MAX,
        INT32_MAX,
        UINT64_C(1) << 63,
        UINT64_C(1) << 62,
        UINT64_C(1) << 61,
        (UINT64_C(1) << 62) + 1,
        (UINT64_C(1) << 62) - 1,
        UINT64_C(1) << 33,
        255,
        1 << 24,
    };
    const Piece *chunk;
    Piece record;
    Parts parts;
    switch (draw_below(work, 6)) {
    case 0:
        return draw_below(work, 16);
    case 1:
        return edges[draw_below(work, G_N_ELEMENTS(edges))] + draw_below(work, 3) - 1;
    case 2:
        return old + 1;
    case 3:
        return old - 1;
    case 4:
        return draw(work) >> draw_below(work, 64);
    default:
        if (!draw_record(work, &chunk, &record))
            return 0;
        take_apart(work->data, &record, &parts);
        return parts.numbers[draw_below(work, parts.n)];
    }
}

static void
change_number(Work *work)
{
    const Piece *chunk;
    Piece record;
    Parts parts;
    uint8_t bytes[RECORD_MAX + 10];
    if (!draw_record(work, &chunk, &record))
        return;
    take_apart(work->data, &record, &parts);
    size_t i = draw_below(work, MIN(parts.n + 1, NUMBERS_MAX));
    if (i == parts.n && !is_text(&parts))
        parts.n++;
    parts.numbers[i] = draw_number(work, parts.numbers[i]);
    splice(work, chunk, record, bytes, put_together(&parts, bytes));
}

static void
copy_record(Work *work)
{
    const Piece *chunk;
    Piece record, place;
    if (!draw_record(work, &chunk, &record))
        return;
    g_autofree uint8_t *copy = g_memdup2(work->data + record.at, record.n);
    if (draw_record(work, &chunk, &place))
        splice(work, chunk, (Piece){place.at, 0}, copy, record.n);
}

static void
drop_record(Work *work)
{
    const Piece *chunk;
    Piece record;
    if (draw_record(work, &chunk, &record))
        splice(work, chunk, record, NULL, 0);
}

static void
add_record(Work *work)
{
    const Piece *chunk = draw_chunk(work);
    Parts parts = {.n = 3 + draw_below(work, 6)};
    uint8_t bytes[RECORD_MAX + 10];
    for (size_t i = 0; i < parts.n; i++)
        parts.numbers[i] = i < 2 ? draw_below(work, 16) : draw_number(work, 64);
    parts.numbers[0] = draw_below(work, 2 * 100);
    if (is_text(&parts)) {
        parts.n = 2;
        parts.text_length = 3;
        memcpy(parts.text, "abc", 3);
    }
    splice(work, chunk, (Piece){chunk->at + chunk->n, 0}, bytes, put_together(&parts, bytes));
}

/* One field behind the checksum. */
static void
change_header(Work *work)
{
    static const size_t fields[] = {
        offsetof(LsChunkHeader, rank),     offsetof(LsChunkHeader, pid),
        offsetof(LsChunkHeader, thread),   offsetof(LsChunkHeader, sequence),
        offsetof(LsChunkHeader, lost),     offsetof(LsChunkHeader, first_ns),
        offsetof(LsChunkHeader, last_ns),  offsetof(LsChunkHeader, incarnation),
        offsetof(LsChunkHeader, features),
    };
    size_t field = fields[draw_below(work, G_N_ELEMENTS(fields))];
    bool is_wide =
        field >= offsetof(LsChunkHeader, lost) && field <= offsetof(LsChunkHeader, last_ns);
    uint8_t *at = work->data + draw_chunk(work)->at + field;
    uint64_t value = 0;
    memcpy(&value, at, is_wide ? 8 : 4);
    value = draw_number(work, value);
    memcpy(at, &value, is_wide ? 8 : 4);
}

/* Once more at another place, or away from where it is. */
static void
move_chunk(Work *work)
{
    Piece chunk = *draw_chunk(work);
    size_t to = draw_chunk(work)->at;
    bool is_copy = draw_below(work, 2) == 0;
    g_autofree uint8_t *copy = g_memdup2(work->data + chunk.at, chunk.n);
    if (is_copy && work->size + chunk.n <= work->max) {
        memmove(work->data + to + chunk.n, work->data + to, work->size - to);
        memcpy(work->data + to, copy, chunk.n);
        work->size += chunk.n;
    } else if (!is_copy) {
        memmove(work->data + chunk.at, work->data + chunk.at + chunk.n,
                work->size - chunk.at - chunk.n);
        work->size -= chunk.n;
    }
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static void (*const changes[])(Work *) = {change_number, change_number, change_number,
                                              change_number, copy_record,   drop_record,
                                              add_record,    change_header, move_chunk};
    Work work = {.data = data, .size = size, .max = max_size, .random = seed * 2 + UINT64_C(1)};
    draw(&work);
    find_chunks(&work);
    if (work.n_chunks == 0 || draw_below(&work, 4) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (size_t left = 1 + draw_below(&work, 4); left > 0 && work.n_chunks > 0; left--) {
        changes[draw_below(&work, G_N_ELEMENTS(changes))](&work);
        find_chunks(&work);
    }
    data[0] |= 1;
    return work.size;
}

/* The chunks of one up to some place, those of the other from some place on. */
size_t
LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size,
                          uint8_t *to, size_t to_max, unsigned seed)
{
    Work first = {
        .data = (uint8_t *)(uintptr_t)one, .size = one_size, .random = seed * 2 + UINT64_C(1)};
    Work other = {.data = (uint8_t *)(uintptr_t)two, .size = two_size};
    draw(&first);
    find_chunks(&first);
    find_chunks(&other);
    if (first.n_chunks == 0 || other.n_chunks == 0)
        return 0;
    const Piece *last = draw_chunk(&first);
    size_t head = last->at + last->n, from = other.chunks[draw_below(&first, other.n_chunks)].at;
    size_t tail = two_size - from;
    if (head + tail > to_max)
        return 0;
    memcpy(to, one, head);
    memcpy(to + head, two + from, tail);
    to[0] |= 1;
    return head + tail;
}
