/* SPDX-License-Identifier: Apache-2.0
 * A file that its process is still writing, read again and again: whatever the moment, the chunks
 * that were whole before are there, the one under way costs nothing but itself, nothing is said to
 * be damaged. The file is made first, so that how many phases its first n bytes hold is known. */
#include "format/format.h"
#include "samples/synth-file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNKS          300
#define PHASES_OF_CHUNK 20

typedef struct Growing {
    char *bytes, *path;
    size_t length;
    gint written; /* bytes; atomic */
} Growing;

static void
make_bytes(Growing *growing, const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "whole.lks", NULL);
    LsSynthFile *file = ls_synth_file_open(path, 0, 4711);
    LsRecord record = {.kind = LS_RECORD_PHASE, .args = {1}};
    for (int c = 0; c < CHUNKS; c++) {
        for (int i = 0; i < PHASES_OF_CHUNK; i++) {
            record.name = ls_synth_file_name(file, i % 2 ? "forward" : "backward");
            record.start_ns = (c * PHASES_OF_CHUNK + i) * INT64_C(1000);
            record.end_ns = record.start_ns + 700;
            ls_synth_file_add(file, 7, &record);
        }
        ls_synth_file_flush(file, 7);
    }
    g_assert_true(ls_synth_file_close(file));
    g_assert_true(g_file_get_contents(path, &growing->bytes, &growing->length, NULL));
    g_unlink(path);
}

/* Phases in the whole chunks of the first n bytes. */
static guint
count_phases(const Growing *growing, size_t n)
{
    guint phases = 0;
    for (size_t at = 0; at < growing->length;) {
        LsChunkHeader header;
        memcpy(&header, growing->bytes + at, sizeof header);
        at += header.header_bytes + header.payload_bytes;
        phases += at <= n && header.thread == 7 ? PHASES_OF_CHUNK : 0;
    }
    return phases;
}

/* A few bytes at a time, most of them not a whole chunk. */
static gpointer
grow(gpointer user)
{
    Growing *growing = user;
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    int fd = open(growing->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    for (size_t at = 0; at < growing->length;) {
        size_t n = MIN(growing->length - at, (size_t)g_rand_int_range(rand, 1, 200));
        g_assert_cmpint(write(fd, growing->bytes + at, n), ==, (gssize)n);
        at += n;
        g_atomic_int_set(&growing->written, (gint)at);
        g_usleep(100); /* so that it is read in the middle; nothing hangs on how often */
    }
    close(fd);
    return NULL;
}

static void
check_process(const LsProcess *process, guint at_least)
{
    g_assert_cmpuint(process->phases->len, >=, at_least);
    g_assert_cmpuint(process->phases->len % PHASES_OF_CHUNK, ==, 0);
    for (guint i = 0; i < process->phases->len; i++)
        g_assert_cmpint(g_array_index(process->phases, LsPhase, i).start_ns, ==, i * 1000);
    for (guint i = 0; i < process->findings->len; i++) {
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, i);
        g_assert_cmpint(finding->severity, !=, LS_FAULT);
        g_assert_nonnull(strstr(finding->text, "is writing still"));
    }
}

static void
test_what_is_whole_is_there(void)
{
    g_autofree char *folder = g_dir_make_tmp("growing-XXXXXX", NULL);
    Growing growing = {.path = g_build_filename(folder, "rank-00000.here.4711.lks", NULL)};
    make_bytes(&growing, folder);
    g_assert_true(g_file_set_contents(growing.path, "", 0, NULL));
    GThread *writer = g_thread_new("writer", grow, &growing);
    int middle = 0;
    for (size_t before = 0; before < growing.length;) {
        g_autoptr(GPtrArray) processes =
            g_ptr_array_new_with_free_func((GDestroyNotify)ls_process_free);
        before = (size_t)g_atomic_int_get(&growing.written);
        guint whole = count_phases(&growing, before);
        g_assert_true(ls_format_load(growing.path, processes, NULL, NULL) || whole == 0);
        size_t after = (size_t)g_atomic_int_get(&growing.written) + 200; /* written, not yet said */
        g_assert_cmpuint(processes->len, <=, 1);
        g_assert_true(processes->len == 1 || whole == 0);
        if (processes->len == 0)
            continue;
        const LsProcess *process = g_ptr_array_index(processes, 0);
        check_process(process, whole);
        middle += process->phases->len < CHUNKS * PHASES_OF_CHUNK;
        g_assert_cmpuint(process->phases->len, <=, count_phases(&growing, after));
    }
    g_thread_join(writer);
    g_test_message("%d times read in the middle", middle);
    g_unlink(growing.path);
    g_rmdir(folder);
    g_free(growing.path);
    g_free(growing.bytes);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/format/growing/what-is-whole-is-there", test_what_is_whole_is_there);
    return g_test_run();
}
