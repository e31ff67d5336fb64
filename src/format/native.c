/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native.c: the trace file, chunk by chunk: which bytes are sound, and to which process they
 * belong. A chunk that fails its checksum is left out and reading goes on at the next magic that
 * begins a sound chunk; a file may begin or end in the middle of a chunk. Chunks of one process
 * count from 0: one that comes before its turn waits until those before it have been read, or all
 * have. Where a number comes again with other content, another process (or another life) begins.
 */
#include "format/native.h"

#include "base/error.h"
#include "capture/crc32c.h"
#include "format/native-private.h"

#include <string.h>

#define PAYLOAD_MAX (1u << 20) /* recorders write 32 KB; far more is damage */

/* As it lies in the file: little-endian. */
static const uint8_t magic[4] = {LS_CHUNK_MAGIC & 255, LS_CHUNK_MAGIC >> 8 & 255,
                                 LS_CHUNK_MAGIC >> 16 & 255, LS_CHUNK_MAGIC >> 24};

typedef struct Reader {
    LsInput *input;
    const char *source;
    GPtrArray *natives; /* Native, in order of appearance */
    Native *current;
    GPtrArray *homeless; /* char *: findings before the first process */
    GArray *homeless_offsets;
} Reader;

static bool
header_is_plausible(const LsChunkHeader *header)
{
    return header->magic == LS_CHUNK_MAGIC && header->version >= 1 &&
           header->header_bytes >= sizeof *header && header->header_bytes <= 4096 &&
           header->payload_bytes <= PAYLOAD_MAX;
}

bool
ls_native_probe(const uint8_t *data, size_t length)
{
    const uint8_t *at = data;
    while ((at = memmem(at, length - (size_t)(at - data), magic, sizeof magic))) {
        LsChunkHeader header = {0};
        size_t left = length - (size_t)(at - data);
        memcpy(&header, at, MIN(left, sizeof header));
        if (left < sizeof header ? at == data : header_is_plausible(&header))
            return true;
        at++;
    }
    return false;
}

/* Says it of the process at hand, or keeps it until there is one. */
static void G_GNUC_PRINTF(4, 5)
    add_fault(Reader *reader, LsSeverity severity, int64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    if (reader->current) {
        ls_process_add_finding(reader->current->process, severity, offset, "%s", text);
        reader->current->process->rank.damaged++;
    } else {
        g_ptr_array_add(reader->homeless, g_steal_pointer(&text));
        g_array_append_val(reader->homeless_offsets, offset);
    }
}

static bool
belongs_to(const Native *native, const LsChunkHeader *header)
{
    bool rank_agrees = native->rank == header->rank || native->rank == LS_RANK_UNKNOWN ||
                       header->rank == LS_RANK_UNKNOWN;
    gpointer sum;
    if (native->pid != header->pid || !rank_agrees || native->incarnation != header->incarnation)
        return false;
    /* The same number with other content: the recorder was opened anew, and counts from 0. */
    return !g_hash_table_lookup_extended(native->chunks, GUINT_TO_POINTER(header->sequence), NULL,
                                         &sum) ||
           GPOINTER_TO_UINT(sum) == header->crc32c;
}

static Native *
find_native(Reader *reader, const LsChunkHeader *header)
{
    if (reader->current && belongs_to(reader->current, header))
        return reader->current;
    for (size_t i = reader->natives->len; i > 0; i--)
        if (belongs_to(g_ptr_array_index(reader->natives, i - 1), header))
            return g_ptr_array_index(reader->natives, i - 1);
    Native *native = ls_native_new(reader->source, header->pid, header->rank, header->incarnation);
    g_ptr_array_add(reader->natives, native);
    return native;
}

static void
settle_homeless(Reader *reader)
{
    Native *native = reader->current;
    for (size_t i = 0; i < reader->homeless->len; i++) {
        ls_process_add_finding(native->process, LS_FAULT,
                               g_array_index(reader->homeless_offsets, int64_t, i), "%s",
                               (const char *)g_ptr_array_index(reader->homeless, i));
        native->process->rank.damaged++;
    }
    g_ptr_array_set_size(reader->homeless, 0);
    g_array_set_size(reader->homeless_offsets, 0);
}

static void
take_chunk(Reader *reader, const LsChunkHeader *header, const uint8_t *payload, int64_t offset)
{
    Native *native = reader->current = find_native(reader, header);
    native->process->part_read = ls_input_get_fraction(reader->input);
    settle_homeless(reader);
    if (!g_hash_table_insert(native->chunks, GUINT_TO_POINTER(header->sequence),
                             GUINT_TO_POINTER(header->crc32c)))
        return; /* once more: recovered, or the file twice */
    if (header->rank != LS_RANK_UNKNOWN && header->rank <= LS_RANK_MAX) {
        native->rank = header->rank;
        native->process->rank.rank = (int32_t)header->rank;
    }
    if (header->features != 0)
        add_fault(reader, LS_FAULT, offset,
                  "This chunk needs a newer Lockstep (feature bits %#x); its records are left out.",
                  header->features);
    else if (header->sequence > native->next_sequence)
        ls_native_defer_chunk(native, header, payload, offset);
    else
        ls_native_add_chunk(native, header, payload, offset);
    if (header->sequence == native->next_sequence)
        native->next_sequence++;
}

static bool
checksum_is_right(const uint8_t *chunk, const LsChunkHeader *header)
{
    static const uint8_t zero[4];
    const size_t field = offsetof(LsChunkHeader, crc32c), after = field + sizeof zero;
    uint32_t sum = ls_crc32c(0, chunk, field);
    sum = ls_crc32c(sum, zero, sizeof zero);
    sum = ls_crc32c(sum, chunk + after, header->header_bytes - after + header->payload_bytes);
    return sum == header->crc32c;
}

typedef enum ChunkState { CHUNK_SOUND, CHUNK_DAMAGED, CHUNK_CUT, CHUNK_NONE } ChunkState;

/* The chunk at the reading position, if one is there in whole and sound. */
static ChunkState
peek_chunk(LsInput *input, LsChunkHeader *ret_header, const uint8_t **ret_chunk, size_t *ret_have)
{
    const uint8_t *at = ls_input_peek(input, sizeof *ret_header, ret_have);
    if (*ret_have < sizeof *ret_header)
        return CHUNK_CUT;
    memcpy(ret_header, at, sizeof *ret_header);
    if (!header_is_plausible(ret_header))
        return CHUNK_NONE;
    size_t whole = (size_t)ret_header->header_bytes + ret_header->payload_bytes;
    *ret_chunk = ls_input_peek(input, whole, ret_have);
    if (*ret_have < whole)
        return CHUNK_CUT;
    return checksum_is_right(*ret_chunk, ret_header) ? CHUNK_SOUND : CHUNK_DAMAGED;
}

size_t
ls_native_measure_chunk(const uint8_t *at, size_t left, LsChunkHeader *ret_header)
{
    size_t whole;

    memset(ret_header, 0, sizeof *ret_header);
    memcpy(ret_header, at, MIN(left, sizeof *ret_header));
    if (left < sizeof *ret_header || !header_is_plausible(ret_header))
        return 0;
    whole = (size_t)ret_header->header_bytes + ret_header->payload_bytes;
    return whole <= left && checksum_is_right(at, ret_header) ? whole : 0;
}

/* Zeros between chunks are padding. false: the end. */
static bool
skip_padding(LsInput *input)
{
    size_t have, n = 0;
    const uint8_t *at;
    do {
        at = ls_input_peek(input, 1, &have);
        for (n = 0; n < have && at[n] == 0; n++)
            ;
        ls_input_skip(input, n);
    } while (have > 0 && n == have);
    return have > 0;
}

/* To the next magic after the position, or to the end. A false magic inside a payload fails the
 * checks that follow and is passed over in turn. */
static void
skip_to_magic(LsInput *input)
{
    size_t have;
    const uint8_t *at = ls_input_peek(input, 1, &have);
    if (have == 0)
        return;
    ls_input_skip(input, 1);
    for (;;) {
        at = ls_input_peek(input, 65536, &have);
        const uint8_t *found = have > 0 ? memmem(at, have, magic, sizeof magic) : NULL;
        if (found) {
            ls_input_skip(input, (size_t)(found - at));
            return;
        }
        if (have < 65536) {
            ls_input_skip(input, have);
            return;
        }
        ls_input_skip(input, have - (sizeof magic - 1));
    }
}

/* Passes over bytes that are no sound chunk, and says so once however long they are. `header`: the
 * chunk's that lies there, or NULL. */
static void
pass_damage(Reader *reader, ChunkState state, const LsChunkHeader *header)
{
    int64_t begin = ls_input_get_offset(reader->input);
    ChunkState next = state;
    LsChunkHeader other;
    const uint8_t *chunk;
    size_t have;
    while (next == CHUNK_DAMAGED || next == CHUNK_NONE || next == CHUNK_CUT) {
        skip_to_magic(reader->input);
        ls_input_peek(reader->input, 1, &have);
        if (have == 0)
            break;
        next = peek_chunk(reader->input, &other, &chunk, &have);
    }
    int64_t bytes = ls_input_get_offset(reader->input) - begin;
    if (state == CHUNK_DAMAGED)
        add_fault(
            reader, LS_FAULT, begin,
            "A chunk of rank %d, pid %u fails its checksum; its %u bytes of records are lost.",
            (int)header->rank, header->pid, header->payload_bytes);
    else if (state == CHUNK_CUT && next != CHUNK_SOUND)
        add_fault(reader, LS_WARNING, begin,
                  "The file ends inside a chunk: %" G_GINT64_FORMAT
                  " bytes are left out. Its process died while writing, or is writing still.",
                  bytes);
    else
        add_fault(reader, LS_FAULT, begin,
                  "%" G_GINT64_FORMAT " bytes here are no chunk of a trace file.", bytes);
}

static bool
read_chunks(Reader *reader, LsInput *input, LsProgress *progress, GError **error)
{
    reader->input = input;
    for (;;) {
        LsChunkHeader header = {0};
        const uint8_t *chunk = NULL;
        size_t have;
        if (!skip_padding(input))
            break;
        int64_t offset = ls_input_get_offset(input);
        ChunkState state = peek_chunk(input, &header, &chunk, &have);
        if (state == CHUNK_SOUND) {
            take_chunk(reader, &header, chunk + header.header_bytes, offset + header.header_bytes);
            ls_input_skip(input, (size_t)header.header_bytes + header.payload_bytes);
        } else
            pass_damage(reader, state, &header);
        ls_progress_set(progress, "reading", ls_input_get_fraction(input));
        if (ls_progress_is_cancelled(progress, error))
            return false;
    }
    if (ls_input_get_damage(input))
        add_fault(reader, LS_FAULT, ls_input_get_offset(input), "Reading ended here: %s.",
                  ls_input_get_damage(input));
    return true;
}

static void
reader_init(Reader *reader, const char *source)
{
    *reader = (Reader){.source = source,
                       .natives = g_ptr_array_new(),
                       .homeless = g_ptr_array_new_with_free_func(g_free),
                       .homeless_offsets = g_array_new(FALSE, FALSE, sizeof(int64_t))};
}

/* A file of which nothing is sound still says so, by a process without events. */
static void
reader_finish(Reader *reader, bool keep, GPtrArray *ret_processes)
{
    if (reader->natives->len == 0 && reader->homeless->len > 0) {
        reader->current = ls_native_new(reader->source, 0, LS_RANK_UNKNOWN, 0);
        reader->current->process->rank.pid = -1;
        g_ptr_array_add(reader->natives, reader->current);
        settle_homeless(reader);
    }
    for (size_t i = 0; i < reader->natives->len; i++) {
        LsProcess *process = ls_native_finish(g_ptr_array_index(reader->natives, i));
        if (keep)
            g_ptr_array_add(ret_processes, process);
        else
            ls_process_free(process);
    }
    g_ptr_array_unref(reader->natives);
    g_ptr_array_unref(reader->homeless);
    g_array_unref(reader->homeless_offsets);
}

bool
ls_native_load(LsInput *input, const char *source, GPtrArray *ret_processes, LsProgress *progress,
               GError **error)
{
    Reader reader;
    reader_init(&reader, source);
    bool done = read_chunks(&reader, input, progress, error);
    reader_finish(&reader, done, ret_processes);
    return done;
}
