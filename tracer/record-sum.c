/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks, events, losses and bytes of a folder, from the files themselves. Counting stops after two
 * seconds: a job must not wait for its sum. What a library dropped (CUPTI) is lost as well; ranks
 * that had not ended when the counting began are not there yet, and the line says so. A process
 * that does not know its rank is none, unless it is alone.
 */
#include "tracer/record-sum.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/clock.h"
#include "tracer/record-chunks.h"

#define BUDGET_NS   INT64_C(2000000000)
#define RANKS_MAX   65536
#define FIRST_EVENT 16 /* kinds below are the file's own words */

typedef struct Sum {
    uint64_t events, lost, bytes;
    uint64_t gone; /* lost by no one thread: above all, overwritten at the bound of the file */
    uint32_t ranks, files, strangers; /* strangers: files of no rank */
    int64_t until_ns;
    bool is_cut, is_known; /* is_known: the file under way says its rank */
    uint8_t seen[RANKS_MAX / 8];
} Sum;

static void
add_rank(Sum *sum, uint32_t rank)
{
    if (rank >= RANKS_MAX || (sum->seen[rank / 8] & 1u << rank % 8) != 0)
        return;
    sum->seen[rank / 8] |= (uint8_t)(1u << rank % 8);
    sum->ranks++;
}

static bool
add_chunk(void *user, const LsChunk *chunk)
{
    Sum *sum = user;
    LsChunkCursor cursor;
    LsChunkRecord record;
    add_rank(sum, chunk->head.rank);
    sum->is_known = sum->is_known || chunk->head.rank != LS_RANK_UNKNOWN;
    ls_chunk_begin(&cursor, chunk);
    while (ls_chunk_next(&cursor, &record)) {
        if (record.kind == LS_RECORD_LOST && record.args[0] == 0)
            sum->gone += (uint64_t)record.args[1];
        else if (record.kind == LS_RECORD_LOST)
            sum->lost += (uint64_t)record.args[1];
        else if (record.kind == LS_RECORD_DROPPED)
            sum->lost += (uint64_t)record.args[0];
        else if (record.kind >= FIRST_EVENT && !record.is_open)
            sum->events++;
    }
    sum->is_cut = ls_clock_now() > sum->until_ns;
    return !sum->is_cut;
}

static bool
add_file(void *user, const char *path, const char *name)
{
    Sum *sum = user;
    uint64_t bytes;
    sum->files++;
    sum->is_known = false;
    if (ls_chunks_read(path, add_chunk, sum, &bytes) == LS_OK)
        sum->bytes += bytes;
    sum->strangers += !sum->is_known;
    return !sum->is_cut;
}

/* 1234567 -> "1,234,567" */
static const char *
group(uint64_t number, char room[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *at = room;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return room;
}

static const char *
size_text(uint64_t bytes, char room[32])
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1000 && unit < 4; unit++)
        size /= 1000;
    snprintf(room, 32, unit == 0 || size >= 100 ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return room;
}

/* "4 ranks", "3 of 4 ranks so far", "2 ranks and 1 process of no rank", "3 processes of no rank" */
static const char *
who_text(const Sum *sum, int32_t world, char room[96])
{
    uint32_t ranks = sum->ranks, strangers = sum->strangers;
    char of[32] = "", others[48] = "";
    if (ranks == 0 && sum->files == 1) {
        ranks = 1;
        strangers = 0;
    }
    if (world > 0 && ranks > 0 && ranks < (uint32_t)world)
        snprintf(of, sizeof of, " of %d", world);
    if (strangers > 0)
        snprintf(others, sizeof others, "%s%u process%s of no rank", ranks > 0 ? " and " : "",
                 strangers, strangers == 1 ? "" : "es");
    if (ranks == 0 && strangers > 0)
        snprintf(room, 96, "%s", others);
    else
        snprintf(room, 96, "%u%s rank%s%s%s", ranks, of, ranks == 1 && of[0] == '\0' ? "" : "s",
                 of[0] != '\0' ? " so far" : "", others);
    return room;
}

/* A flight recorder gives up its oldest events by request: that is no loss. */
static const char *
lost_text(const Sum *sum, const char *flight, char room[160])
{
    uint64_t lost = sum->lost + (flight == NULL ? sum->gone : 0);
    char number[32], older[32];
    const char *word = lost > 0 ? group(lost, number) : "none";
    if (flight != NULL && sum->gone > 0)
        snprintf(room, 160, "%s lost, %s older ones given up to keep the newest %.20s as asked",
                 word, group(sum->gone, older), flight);
    else
        snprintf(room, 160, "%s lost", word);
    return room;
}

void
ls_record_say_sum(const char *folder, int32_t world, const char *flight)
{
    Sum sum = {0};
    char who[96], events[32], lost[160], bytes[32], line[2048];
    sum.until_ns = ls_clock_now() + BUDGET_NS;
    ls_traces_list(folder, add_file, &sum);
    int length = snprintf(line, sizeof line, "lockstep: %s%s, %s event%s, %s, %s in %.1000s\n",
                          sum.is_cut ? "at least " : "", who_text(&sum, world, who),
                          group(sum.events, events), sum.events == 1 ? "" : "s",
                          lost_text(&sum, flight, lost), size_text(sum.bytes, bytes), folder);
    /* One call: lines of several ranks do not mix. */
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}
