/* SPDX-License-Identifier: Apache-2.0
 *
 * Files are read in pieces, so that a large one costs no memory, and every length is checked: a
 * chunk counts if its checksum is right, whatever lies between two is stepped over.
 */
#include "tracer/record-chunks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/area.h"
#include "capture/crc32c.h"

#define PIECE_BYTES   (1u << 20)
#define CHUNK_MAX     (LS_HEADER_MAX + 32768u)
#define LS_HEADER_MAX 4096u

typedef struct Piece {
    int fd;
    uint8_t *data;
    size_t at, used; /* of data: looked at, read */
    uint64_t read;   /* of the file */
    bool is_at_end;
} Piece;

/* At least `wanted` bytes from `at` on, unless the file ends before. */
static size_t
fill(Piece *piece, size_t wanted)
{
    if (piece->used - piece->at < wanted && piece->at > 0) {
        memmove(piece->data, piece->data + piece->at, piece->used - piece->at);
        piece->used -= piece->at;
        piece->at = 0;
    }
    while (piece->used - piece->at < wanted && !piece->is_at_end) {
        ssize_t n = pread(piece->fd, piece->data + piece->used, PIECE_BYTES - piece->used,
                          (off_t)piece->read);
        if (n < 0 && errno == EINTR)
            continue;
        piece->is_at_end = n <= 0;
        piece->used += n > 0 ? (size_t)n : 0;
        piece->read += n > 0 ? (size_t)n : 0;
    }
    return piece->used - piece->at;
}

/* Whether a sound chunk stands at the reader's place. */
static bool
look(Piece *piece, LsChunk *ret_chunk)
{
    static const uint32_t zero = 0;
    LsChunkHeader *head = &ret_chunk->head;
    if (fill(piece, CHUNK_MAX) < sizeof *head)
        return false;
    const uint8_t *at = piece->data + piece->at;
    memcpy(head, at, sizeof *head);
    size_t bytes = (size_t)head->header_bytes + head->payload_bytes;
    if (head->magic != LS_CHUNK_MAGIC || head->header_bytes < sizeof *head ||
        head->header_bytes > LS_HEADER_MAX || head->payload_bytes > 32768 ||
        piece->used - piece->at < bytes)
        return false;
    size_t sum_at = offsetof(LsChunkHeader, crc32c), after = sum_at + sizeof zero;
    uint32_t sum = ls_crc32c(0, at, sum_at);
    sum = ls_crc32c(sum, &zero, sizeof zero);
    sum = ls_crc32c(sum, at + after, bytes - after);
    ret_chunk->data = at;
    ret_chunk->n_bytes = bytes;
    return sum == head->crc32c;
}

/* To the next byte that a chunk may begin with. */
static bool
step_over(Piece *piece)
{
    if (fill(piece, 2) < 2)
        return false;
    piece->at++;
    const uint8_t *from = piece->data + piece->at;
    const uint8_t *next = memchr(from, LS_CHUNK_MAGIC & 0xff, piece->used - piece->at);
    piece->at = next == NULL ? piece->used : (size_t)(next - piece->data);
    return fill(piece, 1) > 0;
}

LsStatus
ls_chunks_read(const char *path, LsChunkVisit visit, void *user, uint64_t *ret_bytes)
{
    Piece piece = {.fd = open(path, O_RDONLY | O_CLOEXEC), .data = malloc(PIECE_BYTES)};
    LsStatus status = LS_OK;
    bool goes_on = piece.fd >= 0 && piece.data != NULL;
    if (piece.fd < 0)
        status = LS_ERR_SYSTEM;
    else if (piece.data == NULL)
        status = LS_ERR_NO_MEMORY;
    while (goes_on) {
        LsChunk chunk;
        if (look(&piece, &chunk)) {
            goes_on = visit(user, &chunk);
            piece.at += chunk.n_bytes;
        } else {
            goes_on = step_over(&piece);
        }
    }
    if (ret_bytes != NULL)
        *ret_bytes = piece.fd < 0 ? 0 : (uint64_t)lseek(piece.fd, 0, SEEK_END);
    free(piece.data);
    if (piece.fd >= 0)
        close(piece.fd);
    return status;
}

/* -- Records -- */

static const uint8_t shapes[] = {
#define LS_RECORD(id, SYMBOL, text, shape, since, ...) [id] = shape,
#include "capture/records.def"
#undef LS_RECORD
};

static bool
get_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (int shift = 0; *at < end && shift < 70; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (byte < 128) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool
get_zigzag(const uint8_t **at, const uint8_t *end, int64_t *ret_value)
{
    uint64_t value;
    if (!get_varint(at, end, &value))
        return false;
    *ret_value = (int64_t)(value >> 1 ^ (0 - (value & 1)));
    return true;
}

void
ls_chunk_begin(LsChunkCursor *ret_cursor, const LsChunk *chunk)
{
    ret_cursor->at = chunk->data + chunk->head.header_bytes;
    ret_cursor->end = ret_cursor->at + chunk->head.payload_bytes;
    ret_cursor->previous_ns = chunk->head.first_ns;
}

static void
get_fields(LsChunkCursor *cursor, const uint8_t *at, const uint8_t *end, LsChunkRecord *record)
{
    uint64_t name, duration = 0;
    int64_t difference;
    bool is_span = shapes[record->kind] == LS_SHAPE_SPAN;
    if (!get_varint(&at, end, &name) || !get_zigzag(&at, end, &difference) ||
        (is_span && !get_varint(&at, end, &duration)))
        return;
    record->is_known = true;
    record->id = (uint32_t)name;
    record->start_ns = (int64_t)((uint64_t)cursor->previous_ns + (uint64_t)difference);
    record->end_ns = (int64_t)((uint64_t)record->start_ns + duration);
    cursor->previous_ns = record->start_ns;
    for (int i = 0; i < LS_RECORD_ARGS_MAX && get_zigzag(&at, end, &record->args[i]); i++)
        continue;
}

bool
ls_chunk_next(LsChunkCursor *cursor, LsChunkRecord *ret_record)
{
    uint64_t length, kind;
    if (!get_varint(&cursor->at, cursor->end, &length) ||
        length > (uint64_t)(cursor->end - cursor->at))
        return false;
    const uint8_t *at = cursor->at, *end = cursor->at + length;
    cursor->at = end;
    memset(ret_record, 0, sizeof *ret_record);
    if (!get_varint(&at, end, &kind) || kind >> 1 > UINT32_MAX)
        return false;
    ret_record->kind = (uint32_t)(kind >> 1);
    ret_record->is_open = (kind & 1) != 0;
    if (ret_record->kind == LS_RECORD_NAME || ret_record->kind == LS_RECORD_INFO)
        ret_record->id = get_varint(&at, end, &kind) ? (uint32_t)kind : 0;
    else if (ret_record->kind < sizeof shapes && ret_record->kind > 0)
        get_fields(cursor, at, end, ret_record);
    return true;
}

/* -- Folders -- */

LsStatus
ls_traces_list(const char *folder, LsTraceVisit visit, void *user)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return LS_ERR_SYSTEM;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[LS_AREA_PATH_MAX + LS_AREA_NAME_MAX + 2];
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, "rank-", 5) != 0 || length < 4 ||
            strcmp(entry->d_name + length - 4, ".lks") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!visit(user, path, entry->d_name))
            break;
    }
    closedir(dir);
    return LS_OK;
}
