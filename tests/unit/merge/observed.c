/* SPDX-License-Identifier: Apache-2.0
 * observed.c: one line of a log is one record. */
#include "observed.h"

#include "samples/synth-file.h"
#include "tests/folder.h"

#include <stdio.h>
#include <string.h>

#define RANKS 4

char *
observed_find(const char *name, const char *suffix)
{
    const char *shared = g_getenv("LOCKSTEP_SHARED");
    g_autofree char *file = g_strdup_printf("%s%s", name, suffix);
    char *path =
        g_build_filename(shared != NULL ? shared : "../shared", "horovod-observed", file, NULL);

    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        g_clear_pointer(&path, g_free);
    return path;
}

/* "3841776794.3" microseconds. */
static int64_t
parse_time(const char *text)
{
    unsigned long long us, tenth;

    g_assert_cmpint(sscanf(text, "%llu.%1llu", &us, &tenth), ==, 2);
    return (int64_t)(us * 1000 + tenth * 100);
}

static char **
read_lines(const char *name, int rank, const char *kind)
{
    g_autofree char *suffix = g_strdup_printf(".%d.%s.txt", rank, kind);
    g_autofree char *path = observed_find(name, suffix), *text = NULL;

    g_assert_nonnull(path);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return g_strsplit(g_strchomp(text), "\n", -1);
}

/* time start ID dom DOMAIN msg MESSAGE payload BYTES; time end ID */
static void
add_range_line(LsSynthFile *file, const char *line, bool with_mirror)
{
    LsRecord record = {0};
    char time[32], domain[64];
    long long id;

    if (sscanf(line, "%31s end %lld", time, &id) == 2) {
        record.kind = LS_RECORD_RANGE_END;
        record.args[0] = id;
    } else if (sscanf(line, "%31s start %lld dom %63s msg", time, &id, domain) == 3) {
        const char *message = strstr(line, " msg ") + 5, *payload = g_strrstr(line, " payload ");
        g_autofree char *text = g_strndup(message, (gsize)(payload - message));

        if (!with_mirror && strcmp(domain, "HorovodOps") != 0)
            return;
        record.kind = LS_RECORD_RANGE_START;
        record.name = ls_synth_file_name(file, text);
        record.args[0] = id;
        record.args[1] = ls_synth_file_name(file, domain);
        record.args[2] = g_ascii_strtoll(payload + 9, NULL, 10);
        record.args[3] = 2; /* int64 */
    } else {
        return; /* domains and registered strings, as they were made */
    }
    record.start_ns = record.end_ns = parse_time(time);
    ls_synth_file_add(file, 7, &record);
}

static void
add_ranges(LsSynthFile *file, const char *name, int rank, const ObservedOptions *options)
{
    g_auto(GStrv) lines = read_lines(name, rank, "nvtx");

    for (unsigned i = 0; lines[i] != NULL; i++)
        if (options->change == NULL || options->change(rank, i, &lines[i]))
            add_range_line(file, lines[i], options->with_mirror);
}

/* start end thread call bytes op communicator-size */
static void
add_call_line(LsSynthFile *file, const char *line)
{
    static const struct {
        const char *word, *name;
        int operation;
    } calls[] = {{"allreduce", "MPI_Allreduce", LS_OPERATION_ALLREDUCE},
                 {"allgather", "MPI_Allgather", LS_OPERATION_ALLGATHER},
                 {"bcast", "MPI_Bcast", LS_OPERATION_BROADCAST},
                 {"gather", "MPI_Gather", LS_OPERATION_UNKNOWN},
                 {"gatherv", "MPI_Gatherv", LS_OPERATION_UNKNOWN}};
    LsRecord record = {.kind = LS_RECORD_MPI_CALL};
    char start[32], end[32], word[32], reduction[32];
    unsigned thread;
    long long bytes;

    g_assert_cmpint(
        sscanf(line, "%31s %31s %u %31s %lld %31s", start, end, &thread, word, &bytes, reduction),
        ==, 6);
    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
        if (strcmp(word, calls[i].word) == 0) {
            record.name = ls_synth_file_name(file, calls[i].name);
            record.args[3] = calls[i].operation;
        }
    g_assert_cmpint(record.name, !=, 0);
    record.args[0] = 1;
    record.args[1] = bytes;
    record.args[2] = word[0] == 'b' || word[0] == 'g' ? 0 : -1;
    if (word[0] == 'a' && reduction[0] != '-')
        record.args[3] |= (strcmp(reduction, "band") == 0  ? LS_MPI_REDUCTION_BAND
                           : strcmp(reduction, "bor") == 0 ? LS_MPI_REDUCTION_BOR
                                                           : LS_MPI_REDUCTION_SUM)
                          << 16;
    record.start_ns = parse_time(start);
    record.end_ns = parse_time(end);
    ls_synth_file_add(file, thread, &record);
}

static void
add_calls(LsSynthFile *file, const char *name, int rank)
{
    g_auto(GStrv) lines = read_lines(name, rank, "mpi");
    LsRecord communicator = {.kind = LS_RECORD_MPI_COMMUNICATOR, .args = {1, RANKS, rank}};
    char first[32];

    g_assert_cmpint(sscanf(lines[0], "%31s", first), ==, 1);
    communicator.start_ns = communicator.end_ns = parse_time(first);
    ls_synth_file_add(file, 7, &communicator);
    for (unsigned i = 0; lines[i] != NULL; i++)
        add_call_line(file, lines[i]);
}

static int64_t
find_number(const char *text, const char *before)
{
    const char *at = strstr(text, before);

    g_assert_nonnull(at);
    return g_ascii_strtoll(at + strlen(before), NULL, 10);
}

/* Both clocks at the first negotiation, which the file and the log have. */
static void
add_wall(LsSynthFile *file, const char *name)
{
    g_autofree char *path = observed_find(name, ".0.json"), *text = NULL;
    g_auto(GStrv) lines = read_lines(name, 0, "nvtx");
    LsRecord record = {.kind = LS_RECORD_CLOCK, .args = {0, 40}};
    unsigned i = 0;
    char time[32];

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    while (strstr(lines[i], "msg NEGOTIATE_") == NULL)
        i++;
    g_assert_cmpint(sscanf(lines[i], "%31s", time), ==, 1);
    record.start_ns = record.end_ns = parse_time(time);
    record.args[0] = 1000 * (find_number(text, "start_time_since_epoch_in_micros\":") +
                             find_number(strstr(text, "NEGOTIATE_"), "\"ts\": "));
    ls_synth_file_add(file, 7, &record);
}

static void
write_rank(const char *folder, const char *name, int rank, const ObservedOptions *options)
{
    g_autofree char *base = g_strdup_printf("rank-%05d.host.%d.lks", rank, 100 + rank);
    g_autofree char *path = g_build_filename(folder, base, NULL);
    LsSynthFile *file = ls_synth_file_open(path, (uint32_t)rank, (uint32_t)(100 + rank));

    g_assert_nonnull(file);
    ls_synth_file_info(file, "boot_id", "0b5e7f3a-0000-4000-a000-000000000001");
    ls_synth_file_info(file, "host", "host");
    ls_synth_file_info(file, "world", "4");
    if (options->with_wall && rank == 0)
        add_wall(file, name);
    add_ranges(file, name, rank, options);
    if (options->with_calls)
        add_calls(file, name, rank);
    g_assert_true(ls_synth_file_close(file));
}

/* As Horovod leaves a file whose writer was not drained: closed, without the last records. */
static void
cut_timeline(char *text, unsigned lost)
{
    char *at = text + strlen(text);

    for (unsigned i = 0; i < lost; i++) {
        *at = '\0';
        at = g_strrstr(text, "{\"ph\"");
        g_assert_nonnull(at);
    }
    if (lost > 0)
        strcpy(at - 1, "]"); /* over the comma */
}

char *
observed_make_run(const char *name, const ObservedOptions *options)
{
    g_autofree char *there = observed_find(name, ".0.nvtx.txt");
    g_autofree char *timeline = observed_find(name, ".0.json");
    char *folder;

    if (there == NULL)
        return NULL;
    folder = g_dir_make_tmp("lockstep-observed-XXXXXX", NULL);
    g_assert_nonnull(folder);
    for (int rank = 0; rank < RANKS; rank++)
        write_rank(folder, name, rank, options);
    if (options->with_timeline && timeline != NULL) {
        g_autofree char *path = g_build_filename(folder, "horovod-00000.json", NULL);
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(timeline, &text, NULL, NULL));
        cut_timeline(text, options->lost_records);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
    }
    return folder;
}

void
observed_remove_run(char *folder)
{
    folder_remove(folder);
    g_free(folder);
}
