/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-file.c: the trace file, encoded a second time.
 *
 * Each thread's records are gathered in a chunk of up to CHUNK_BYTES; before a thread's chunk goes
 * out, the process's own chunk with the names it needs goes out. All names are said again every
 * REPEAT_CHUNKS chunks, so that any suffix can be read.
 */
#include "samples/synth-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES   32768u
#define REPEAT_CHUNKS 256u

typedef struct Chunk {
    uint32_t thread;
    uint64_t lost;
    bool timed; /* first_ns is set */
    int64_t first_ns, last_ns, previous_ns;
    uint8_t *bytes;
    size_t length, room;
} Chunk;

struct LsSynthFile {
    FILE *stream;
    bool failed;
    int failure;
    uint32_t rank, pid;
    uint32_t sequence;
    uint64_t records;
    Chunk *chunks; /* [0] is the process's own */
    size_t n_chunks;
    char **names; /* id - 1 */
    uint32_t n_names;
    uint32_t *slots; /* open addressing by hash of the text: id or 0 */
    uint32_t n_slots;
};

uint32_t
ls_synth_crc32c(uint32_t crc, const void *data, size_t length)
{
    static uint32_t table[256]; /* filled by whoever comes first; always the same values */
    const uint8_t *bytes = data;

    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++)
                value = (value >> 1) ^ ((value & 1u) ? 0x82f63b78u : 0u);
            table[i] = value;
        }
    }
    crc = ~crc;
    for (size_t i = 0; i < length; i++)
        crc = table[(crc ^ bytes[i]) & 0xffu] ^ (crc >> 8);
    return ~crc;
}

static void
put_bytes(LsSynthFile *file, Chunk *chunk, const void *data, size_t length)
{
    if (chunk->length + length > chunk->room) {
        size_t room = (chunk->length + length) * 2;
        uint8_t *bytes = realloc(chunk->bytes, room);
        if (bytes == NULL) {
            file->failed = true;
            file->failure = ENOMEM;
            return;
        }
        chunk->bytes = bytes;
        chunk->room = room;
    }
    memcpy(chunk->bytes + chunk->length, data, length);
    chunk->length += length;
}

static size_t
encode_varint(uint8_t *at, uint64_t value)
{
    size_t n = 0;
    while (value >= 0x80) {
        at[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    at[n++] = (uint8_t)value;
    return n;
}

static size_t
encode_signed(uint8_t *at, int64_t value)
{
    return encode_varint(at, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static void
put_framed(LsSynthFile *file, Chunk *chunk, const uint8_t *head, size_t n_head, const void *tail,
           size_t n_tail)
{
    uint8_t length[10];
    put_bytes(file, chunk, length, encode_varint(length, n_head + n_tail));
    put_bytes(file, chunk, head, n_head);
    if (n_tail > 0)
        put_bytes(file, chunk, tail, n_tail);
}

static void
put_text(LsSynthFile *file, LsRecordKind kind, uint32_t id, const char *text)
{
    uint8_t head[20];
    size_t n = encode_varint(head, (uint64_t)kind << 1);
    n += encode_varint(head + n, id);
    put_framed(file, &file->chunks[0], head, n, text, strlen(text));
}

static void
write_chunk(LsSynthFile *file, Chunk *chunk)
{
    LsChunkHeader header = {
        .magic = LS_CHUNK_MAGIC,
        .version = LS_FORMAT_VERSION,
        .header_bytes = sizeof(LsChunkHeader),
        .payload_bytes = (uint32_t)chunk->length,
        .rank = file->rank,
        .pid = file->pid,
        .thread = chunk->thread,
        .sequence = file->sequence++,
        .lost = chunk->lost,
        .first_ns = chunk->first_ns,
        .last_ns = chunk->last_ns,
    };
    if (chunk->length == 0)
        return;
    header.crc32c =
        ls_synth_crc32c(ls_synth_crc32c(0, &header, sizeof header), chunk->bytes, chunk->length);
    if (fwrite(&header, sizeof header, 1, file->stream) != 1 ||
        fwrite(chunk->bytes, chunk->length, 1, file->stream) != 1) {
        file->failed = true;
        file->failure = errno;
    }
    chunk->length = 0;
    chunk->timed = false;
    chunk->first_ns = chunk->last_ns = 0;
}

void
ls_synth_file_flush(LsSynthFile *file, uint32_t thread)
{
    for (size_t i = 0; i < file->n_chunks; i++) {
        Chunk *chunk = &file->chunks[i];
        if (chunk->thread != thread || chunk->length == 0)
            continue;
        if (i > 0 && file->sequence % REPEAT_CHUNKS >= REPEAT_CHUNKS - 2)
            for (uint32_t id = 1; id <= file->n_names; id++)
                put_text(file, LS_RECORD_NAME, id, file->names[id - 1]);
        if (i > 0 && file->chunks[0].length > 0)
            write_chunk(file, &file->chunks[0]);
        write_chunk(file, &file->chunks[i]);
        return;
    }
}

static Chunk *
get_chunk(LsSynthFile *file, uint32_t thread)
{
    for (size_t i = 0; i < file->n_chunks; i++)
        if (file->chunks[i].thread == thread)
            return &file->chunks[i];

    Chunk *chunks = realloc(file->chunks, (file->n_chunks + 1) * sizeof(Chunk));
    if (chunks == NULL) {
        file->failed = true;
        file->failure = ENOMEM;
        return &file->chunks[0];
    }
    file->chunks = chunks;
    chunks[file->n_chunks] = (Chunk){.thread = thread};
    return &chunks[file->n_chunks++];
}

LsSynthFile *
ls_synth_file_open(const char *path, uint32_t rank, uint32_t pid)
{
    LsSynthFile *file = calloc(1, sizeof *file);
    int fd = -1;
    if (file == NULL)
        return NULL;
    *file = (LsSynthFile){.rank = rank, .pid = pid};
    file->chunks = calloc(1, sizeof(Chunk));
    if (file->chunks == NULL)
        goto err_free;
    file->n_chunks = 1;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        goto err_free;
    file->stream = fdopen(fd, "wb");
    if (file->stream == NULL)
        goto err_close;
    return file;

err_close:
    close(fd);
err_free:
    free(file->chunks);
    free(file);
    return NULL;
}

bool
ls_synth_file_close(LsSynthFile *file)
{
    bool failed;
    int failure;

    ls_synth_file_flush(file, 0);
    for (size_t i = 1; i < file->n_chunks; i++)
        ls_synth_file_flush(file, file->chunks[i].thread);
    failed = file->failed;
    failure = file->failure;
    if (fclose(file->stream) != 0 && !failed) {
        failed = true;
        failure = errno;
    }
    for (size_t i = 0; i < file->n_chunks; i++)
        free(file->chunks[i].bytes);
    for (uint32_t i = 0; i < file->n_names; i++)
        free(file->names[i]);
    free(file->chunks);
    free(file->names);
    free(file->slots);
    free(file);
    errno = failure;
    return !failed;
}

static uint32_t *
find_slot(const LsSynthFile *file, const char *text)
{
    uint32_t hash = ls_synth_crc32c(0, text, strlen(text));
    for (uint32_t i = hash & (file->n_slots - 1);; i = (i + 1) & (file->n_slots - 1))
        if (file->slots[i] == 0 || strcmp(file->names[file->slots[i] - 1], text) == 0)
            return &file->slots[i];
}

static bool
grow_names(LsSynthFile *file)
{
    uint32_t n_slots = file->n_slots == 0 ? 64 : file->n_slots * 2;
    char **names = realloc(file->names, n_slots * sizeof *names);
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (names != NULL)
        file->names = names;
    if (names == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(file->slots);
    file->slots = slots;
    file->n_slots = n_slots;
    for (uint32_t id = 1; id <= file->n_names; id++)
        *find_slot(file, file->names[id - 1]) = id;
    return true;
}

uint32_t
ls_synth_file_name(LsSynthFile *file, const char *text)
{
    if (text[0] == '\0')
        return 0;
    if (file->n_names * 2 >= file->n_slots && !grow_names(file))
        goto err_memory;
    uint32_t *slot = find_slot(file, text);
    if (*slot != 0)
        return *slot;
    file->names[file->n_names] = strdup(text);
    if (file->names[file->n_names] == NULL)
        goto err_memory;
    *slot = ++file->n_names;
    put_text(file, LS_RECORD_NAME, *slot, text);
    return *slot;

err_memory:
    file->failed = true;
    file->failure = ENOMEM;
    return 0;
}

void
ls_synth_file_info(LsSynthFile *file, const char *key, const char *value)
{
    put_text(file, LS_RECORD_INFO, ls_synth_file_name(file, key), value);
}

static LsRecordShape
get_shape(uint16_t kind)
{
    switch (kind) {
#define LS_RECORD(id, SYMBOL, text, shape, since, ...)                                             \
    case id:                                                                                       \
        return shape;
#include "capture/records.def"
#undef LS_RECORD
    default:
        return LS_SHAPE_INSTANT;
    }
}

void
ls_synth_file_add(LsSynthFile *file, uint32_t thread, const LsRecord *record)
{
    Chunk *chunk = get_chunk(file, thread);
    uint8_t bytes[LS_RECORD_BYTES_MAX];
    size_t n_args = LS_RECORD_ARGS_MAX;
    size_t n;

    if (!chunk->timed) {
        chunk->timed = true;
        chunk->first_ns = chunk->previous_ns = record->start_ns;
        chunk->last_ns = record->end_ns;
    }
    while (n_args > 0 && record->args[n_args - 1] == 0)
        n_args--;
    n = encode_varint(bytes, (uint64_t)record->kind << 1 | (record->flags & LS_RECORD_OPEN));
    n += encode_varint(bytes + n, record->name);
    n += encode_signed(bytes + n, record->start_ns - chunk->previous_ns);
    if (get_shape(record->kind) == LS_SHAPE_SPAN)
        n += encode_varint(bytes + n, (uint64_t)(record->end_ns - record->start_ns));
    for (size_t i = 0; i < n_args; i++)
        n += encode_signed(bytes + n, record->args[i]);
    put_framed(file, chunk, bytes, n, NULL, 0);

    chunk->previous_ns = record->start_ns;
    if (record->end_ns > chunk->last_ns)
        chunk->last_ns = record->end_ns;
    file->records++;
    if (chunk->length >= CHUNK_BYTES)
        ls_synth_file_flush(file, thread);
}

void
ls_synth_file_add_unknown(LsSynthFile *file, uint32_t thread, uint32_t kind)
{
    uint8_t bytes[32];
    size_t n = encode_varint(bytes, (uint64_t)kind << 1);
    put_framed(file, get_chunk(file, thread), bytes, n, "what later versions may say", 27);
}

void
ls_synth_file_add_lost(LsSynthFile *file, uint32_t thread, uint64_t records)
{
    get_chunk(file, thread)->lost += records;
}

uint64_t
ls_synth_file_get_records(const LsSynthFile *file)
{
    return file->records;
}
