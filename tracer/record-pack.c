/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace files put one behind another are a trace file. Of each, all chunks of the process's own
 * words (names, facts, clocks, losses) are taken, and those chunks of its threads that touch the
 * time of the steps asked for, as that rank marked them; what else such a chunk holds comes along,
 * but for the marks of other steps: what a step that is not whole came to would be wrong. The
 * records of a chunk come in any order (CUPTI's do), so its times are those of all of them. Chunks
 * are numbered anew, so that those left out are not taken for lost, and a fact says which steps
 * were asked for.
 */
#include "tracer/record-pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/area.h"
#include "capture/crc32c.h"
#include "capture/encode.h"
#include "capture/recover.h"
#include "capture/settings.h"
#include "tracer/record-chunks.h"
#include "tracer/record-squeeze.h"
#include "tracer/record-sync.h"

#define STATUS_USAGE      2
#define STATUS_UNREADABLE 3

typedef struct Pack {
    const char *folder, *file, *ranks, *steps;
    int64_t first_step, last_step;
    LsSqueeze *out;
    uint32_t files, skipped;
    /* Of the file under way. */
    LsChunkHeader last;   /* header of the latest chunk */
    uint32_t rank, names; /* names: the highest id */
    uint32_t sequence;
    bool has_steps;
    bool is_any; /* some file has a step that was asked for */
    int64_t from_ns, to_ns;
} Pack;

/* -- Which -- */

/* "0,8-15"; false with NULL as the rank asked for: not such a list. */
static bool
is_listed(const char *list, uint32_t rank, bool *ret_is_list)
{
    bool is_listed = false;
    *ret_is_list = true;
    for (const char *at = list; *at != '\0';) {
        char part[32];
        int64_t first, last;
        size_t length = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        char *dash = strchr(part, '-');
        if (dash != NULL)
            *dash = '\0';
        if (length == 0 || length >= sizeof part || !ls_parse_number(part, &first) ||
            !ls_parse_number(dash == NULL ? part : dash + 1, &last) || first < 0 || last < first) {
            *ret_is_list = false;
            return false;
        }
        is_listed = is_listed || (rank >= first && rank <= last);
        at += length + (at[length] == ',');
    }
    return is_listed;
}

/* The first look at a file: its rank, and the time of the steps. */
static bool
look_at_chunk(void *user, const LsChunk *chunk)
{
    Pack *pack = user;
    LsChunkCursor cursor;
    LsChunkRecord record;
    pack->last = chunk->head;
    if (chunk->head.rank != LS_RANK_UNKNOWN)
        pack->rank = chunk->head.rank;
    if (pack->steps == NULL)
        return true;
    ls_chunk_begin(&cursor, chunk);
    while (ls_chunk_next(&cursor, &record)) {
        if (record.id > pack->names)
            pack->names = record.id;
        if (record.kind != LS_RECORD_STEP)
            continue;
        pack->has_steps = true;
        if (record.args[0] < pack->first_step || record.args[0] > pack->last_step)
            continue;
        if (record.start_ns < pack->from_ns)
            pack->from_ns = record.start_ns;
        if (record.end_ns > pack->to_ns)
            pack->to_ns = record.end_ns;
    }
    return true;
}

static bool
is_asked_for(const Pack *pack, const LsChunkRecord *record)
{
    return record->kind != LS_RECORD_STEP ||
           (record->args[0] >= pack->first_step && record->args[0] <= pack->last_step);
}

/* Whether any record of it touches the steps; ret_others: it marks steps that were not asked for.
 */
static bool
touches_steps(const Pack *pack, const LsChunk *chunk, bool *ret_others)
{
    LsChunkCursor cursor;
    LsChunkRecord record;
    bool touches = false;
    *ret_others = false;
    ls_chunk_begin(&cursor, chunk);
    while (ls_chunk_next(&cursor, &record)) {
        touches = touches || !record.is_known ||
                  (record.start_ns <= pack->to_ns && record.end_ns >= pack->from_ns);
        *ret_others = *ret_others || !is_asked_for(pack, &record);
    }
    return touches;
}

/* The chunk without the marks of other steps. Records are written as they were read, so it cannot
 * grow; false: it holds other things than records that are known, or there is no memory. */
static bool
leave_out_others(const Pack *pack, const LsChunk *chunk, LsEncoder *encoder)
{
    LsChunkCursor cursor;
    LsChunkRecord record;
    bool is_sound = true;
    encoder->capacity = chunk->n_bytes + LS_RECORD_BYTES_MAX;
    encoder->data = malloc(encoder->capacity);
    if (encoder->data == NULL)
        return false;
    ls_encoder_begin(encoder, &chunk->head, encoder->capacity);
    ls_chunk_begin(&cursor, chunk);
    while (is_sound && ls_chunk_next(&cursor, &record)) {
        LsRecord copy = {.kind = (uint16_t)record.kind,
                         .name = record.id,
                         .flags = record.is_open ? LS_RECORD_OPEN : 0,
                         .start_ns = record.start_ns,
                         .end_ns = record.end_ns};
        memcpy(copy.args, record.args, sizeof copy.args);
        is_sound = record.is_known;
        if (is_sound && is_asked_for(pack, &record))
            is_sound = ls_encoder_add(encoder, &copy);
    }
    return is_sound && ls_encoder_end(encoder, chunk->head.last_ns);
}

static bool
put_chunk(Pack *pack, const LsChunkHeader *head, const uint8_t *data, size_t n_bytes)
{
    LsChunkHeader renumbered = *head;
    size_t own = sizeof renumbered;
    renumbered.sequence = pack->sequence++;
    renumbered.crc32c = 0;
    renumbered.crc32c = ls_crc32c(ls_crc32c(0, &renumbered, own), data + own, n_bytes - own);
    return ls_squeeze_write(pack->out, &renumbered, own) &&
           ls_squeeze_write(pack->out, data + own, n_bytes - own);
}

static bool
take_chunk(void *user, const LsChunk *chunk)
{
    Pack *pack = user;
    LsEncoder encoder = {0};
    bool has_others = false, is_put;
    if (chunk->head.thread != 0 && pack->steps != NULL && pack->has_steps &&
        !touches_steps(pack, chunk, &has_others))
        return true;
    if (has_others && leave_out_others(pack, chunk, &encoder))
        is_put = put_chunk(pack, &encoder.head, encoder.data, encoder.used);
    else
        is_put = put_chunk(pack, &chunk->head, chunk->data, chunk->n_bytes);
    free(encoder.data);
    return is_put;
}

/* "packed.steps", as one more chunk of the process's own words. */
static bool
tell_steps(Pack *pack)
{
    static const char key[] = "packed.steps";
    uint8_t data[LS_CHUNK_ROOM_MIN];
    LsEncoder encoder = {.data = data, .capacity = sizeof data};
    LsChunkHeader head = pack->last;
    head.thread = 0;
    head.sequence = pack->sequence++;
    ls_encoder_begin(&encoder, &head, sizeof data);
    ls_encoder_add_text(&encoder, LS_RECORD_NAME, pack->names + 1, key, sizeof key - 1);
    ls_encoder_add_text(&encoder, LS_RECORD_INFO, pack->names + 1, pack->steps,
                        strlen(pack->steps));
    ls_encoder_end(&encoder, head.last_ns);
    return ls_squeeze_write(pack->out, data, encoder.used);
}

static bool
take_file(void *user, const char *path, const char *name)
{
    Pack *pack = user;
    bool is_list;
    pack->rank = LS_RANK_UNKNOWN;
    pack->names = pack->sequence = 0;
    pack->has_steps = false;
    pack->from_ns = INT64_MAX;
    pack->to_ns = INT64_MIN;
    if (ls_chunks_read(path, look_at_chunk, pack, NULL) != LS_OK ||
        (pack->ranks != NULL && !is_listed(pack->ranks, pack->rank, &is_list))) {
        pack->skipped++;
        return true;
    }
    pack->files++;
    pack->is_any =
        pack->is_any || pack->steps == NULL || !pack->has_steps || pack->from_ns != INT64_MAX;
    if (pack->steps != NULL && !pack->has_steps)
        fprintf(stderr, "lockstep-record pack: %s marks no steps; it is taken whole\n", name);
    return ls_chunks_read(path, take_chunk, pack, NULL) == LS_OK &&
           (pack->steps == NULL || !pack->has_steps || tell_steps(pack));
}

/* Clocks between hosts are of no rank and of every step. */
static bool
take_clocks(void *user, const char *path, const char *name)
{
    Pack *pack = user;
    Pack whole = {.out = pack->out, .rank = LS_RANK_UNKNOWN};
    return ls_chunks_read(path, take_chunk, &whole, NULL) == LS_OK;
}

/* -- Words -- */

static int
complain(const char *what, const char *text)
{
    fprintf(stderr, "lockstep-record pack: %s%s\n", what, text);
    return STATUS_USAGE;
}

static int
parse(Pack *pack, int argc, char **argv)
{
    static const char *const names[] = {"-o", "--output", "--step", "--rank"};
    const char **const places[] = {&pack->file, &pack->file, &pack->steps, &pack->ranks};
    bool is_list = true;
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < sizeof names / sizeof names[0] && strcmp(argv[i], names[k]) != 0)
            k++;
        if (k < sizeof names / sizeof names[0] && i + 1 < argc)
            *places[k] = argv[++i];
        else if (argv[i][0] != '-' && pack->folder == NULL)
            pack->folder = argv[i];
        else
            return complain("cannot make sense of ", argv[i]);
    }
    if (pack->folder == NULL || pack->file == NULL)
        return complain("", "expected RUN -o FILE [--step A:B] [--rank LIST]");
    if (pack->steps != NULL && !ls_parse_range(pack->steps, &pack->first_step, &pack->last_step))
        return complain(pack->steps, " is no range of steps; expected A:B, A: or :B");
    if (pack->ranks != NULL)
        is_listed(pack->ranks, 0, &is_list);
    return is_list ? 0 : complain(pack->ranks, " is no list of ranks; expected 0,8-15");
}

/* How it came out. */
static int
say(const Pack *pack, uint64_t bytes, bool is_compressed)
{
    if (pack->files == 0) {
        fprintf(stderr, "lockstep-record pack: %s: no trace file of those ranks is there\n",
                pack->folder);
    } else if (!pack->is_any) {
        fprintf(stderr, "lockstep-record pack: %s: no step of %s is there\n", pack->folder,
                pack->steps);
    }
    if (!pack->is_any) {
        unlink(pack->file);
        return STATUS_UNREADABLE;
    }
    printf("%s: %u trace file%s, %llu bytes%s\n", pack->file, pack->files,
           pack->files == 1 ? "" : "s", (unsigned long long)bytes,
           is_compressed ? "" : ", not compressed (no libzstd.so.1 here)");
    return 0;
}

int
ls_record_pack(int argc, char **argv)
{
    Pack pack = {0};
    uint64_t bytes;
    bool is_compressed;
    int status = parse(&pack, argc, argv);
    if (status != 0)
        return status;
    /* What dead processes of this host left belongs in. Where the folder is another's, it cannot.
     */
    ls_recover_folder(pack.folder, NULL);
    int fd = open(pack.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pack.out = fd < 0 ? NULL : ls_squeeze_open(fd);
    if (pack.out == NULL) {
        fprintf(stderr, "lockstep-record pack: %s cannot be written: %s\n", pack.file,
                strerror(errno));
        return STATUS_UNREADABLE;
    }
    LsStatus listed = ls_traces_list(pack.folder, take_file, &pack);
    char clocks[LS_AREA_PATH_MAX];
    int error = errno;
    snprintf(clocks, sizeof clocks, "%s/" LS_SYNC_FOLDER, pack.folder);
    ls_recover_folder(clocks, NULL);
    ls_traces_list(clocks, take_clocks, &pack);
    bool is_whole = ls_squeeze_close(pack.out, &bytes, &is_compressed);
    error = listed != LS_OK ? error : errno;
    if (close(fd) != 0 || !is_whole) {
        fprintf(stderr, "lockstep-record pack: %s cannot be written: %s\n", pack.file,
                strerror(error));
        return STATUS_UNREADABLE;
    }
    if (listed != LS_OK) {
        fprintf(stderr, "lockstep-record pack: %s cannot be read: %s\n", pack.folder,
                strerror(error));
        unlink(pack.file);
        return STATUS_UNREADABLE;
    }
    return say(&pack, bytes, is_compressed);
}
