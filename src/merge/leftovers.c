/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/leftovers.c: the file of a dead process up to its last commit, continued by its rings.
 *
 * What stands in the file behind the last commit may be torn, and is in the rings as well: chunks
 * from the rest's first number on are left out of the file.
 */
#include "merge/leftovers.h"

#include "capture/format.h"
#include "capture/recover.h"
#include "format/native.h"

#include <string.h>

static void
free_rest(void *data)
{
    LsLeftoverRest *rest = data;

    g_free(rest->path);
    g_free(rest->sentence);
    g_clear_pointer(&rest->chunks, g_byte_array_unref);
    g_free(rest);
}

GPtrArray *
ls_leftovers_new(void)
{
    return g_ptr_array_new_with_free_func(free_rest);
}

typedef struct Visit {
    const char *folder;
    GPtrArray *rests;
} Visit;

static void
visit(void *user, const LsLeftover *leftover)
{
    const Visit *visit = user;
    LsLeftoverRest *rest = g_new0(LsLeftoverRest, 1);

    rest->has_file = leftover->file[0] != '\0';
    rest->path = rest->has_file ? g_build_filename(visit->folder, leftover->file, NULL)
                                : g_strdup(leftover->rings);
    rest->rank = leftover->rank == LS_RANK_UNKNOWN ? -1 : (int32_t)leftover->rank;
    rest->sequence = leftover->sequence;
    rest->records = leftover->records;
    if (leftover->is_elsewhere) {
        rest->sentence = g_strdup_printf(
            "Process %u left its last records in rings on host %s; they can be read there only.",
            leftover->pid, leftover->host);
    } else {
        rest->chunks = g_byte_array_new();
        g_byte_array_append(rest->chunks, leftover->chunks, (guint)leftover->n_bytes);
        rest->sentence =
            g_strdup_printf("Process %u died without closing its trace; %" G_GUINT64_FORMAT
                            " records were read from the rings it left.",
                            leftover->pid, leftover->records);
    }
    g_ptr_array_add(visit->rests, rest);
}

void
ls_leftovers_read(const char *folder, GPtrArray *rests)
{
    Visit to = {folder, rests};

    /* No rings, or none that can be read: the files are all there is. */
    ls_recover_read(folder, NULL, visit, &to);
}

/* Up to where the next chunk may begin. */
static size_t
find_magic(const uint8_t *at, size_t left)
{
    static const uint8_t magic[] = {LS_CHUNK_MAGIC & 255, LS_CHUNK_MAGIC >> 8 & 255,
                                    LS_CHUNK_MAGIC >> 16 & 255, LS_CHUNK_MAGIC >> 24};
    const uint8_t *next = memmem(at + 1, left - 1, magic, sizeof magic);

    return next != NULL ? (size_t)(next - at) : left;
}

/* A length is believed of a sound chunk only: one that is damaged may say any, and what follows it
 * is looked at for itself. Zeros and damage stay, for the reader to judge. */
GByteArray *
ls_leftovers_join(const char *bytes, size_t length, const LsLeftoverRest *rest)
{
    GByteArray *joined = g_byte_array_new();

    for (size_t at = 0; at < length;) {
        const uint8_t *piece = (const uint8_t *)bytes + at;
        LsChunkHeader header;
        size_t n = ls_native_measure_chunk(piece, length - at, &header);

        if (n == 0)
            n = find_magic(piece, length - at);
        if (header.magic != LS_CHUNK_MAGIC || header.sequence < rest->sequence)
            g_byte_array_append(joined, piece, (guint)n);
        at += n;
    }
    g_byte_array_append(joined, rest->chunks->data, rest->chunks->len);
    return joined;
}

/* The recorder names its rings at the beginning and says at the end how it ended. */
void
ls_leftovers_check_closed(LsProcess *process)
{
    const char *rings = g_hash_table_lookup(process->facts, "recorder.rings");

    if (rings == NULL || g_hash_table_contains(process->facts, "recorder.end"))
        return;
    ls_process_add_finding(
        process, LS_WARNING, -1,
        "The trace was not closed: the process was killed or still runs, and what "
        "it had not written yet is missing; rings left on host %s: %s.",
        process->rank.host != NULL ? process->rank.host : "?", rings);
}
