/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/format/native-fixture.h: trace files by an encoder of its own (samples/synth-file) in
 * a folder of their own, and the processes that are read of them. */
#pragma once

#include "format/format.h"
#include "samples/synth-file.h"
#include "tests/folder.h"

#include <string.h>
#include <unistd.h>

typedef struct Fixture {
    char *folder;
    GPtrArray *processes; /* LsProcess */
} Fixture;

static inline void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->folder = g_dir_make_tmp("native-XXXXXX", NULL);
    g_assert_nonnull(fixture->folder);
    fixture->processes = g_ptr_array_new_with_free_func((GDestroyNotify)ls_process_free);
}

static inline void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_ptr_array_unref(fixture->processes);
    folder_remove(fixture->folder);
    g_free(fixture->folder);
}

static inline char *
path_of(const Fixture *fixture, const char *name)
{
    return g_build_filename(fixture->folder, name, NULL);
}

static LsProcess *
load(Fixture *fixture, const char *name, guint n_expected)
{
    g_autofree char *path = path_of(fixture, name);
    g_autoptr(GError) error = NULL;
    g_ptr_array_set_size(fixture->processes, 0);
    bool done = ls_format_load(path, fixture->processes, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(done);
    g_assert_cmpuint(fixture->processes->len, ==, n_expected);
    return g_ptr_array_index(fixture->processes, 0);
}

static inline void
put(const Fixture *fixture, const char *name, const void *data, size_t length)
{
    g_autofree char *path = path_of(fixture, name);
    g_assert_true(g_file_set_contents(path, data, (gssize)length, NULL));
}

static inline size_t
get(const Fixture *fixture, const char *name, char **ret_data)
{
    g_autofree char *path = path_of(fixture, name);
    size_t length;
    g_assert_true(g_file_get_contents(path, ret_data, &length, NULL));
    return length;
}

static LsSynthFile *
begin(const Fixture *fixture, const char *name, uint32_t rank)
{
    g_autofree char *path = path_of(fixture, name);
    LsSynthFile *file = ls_synth_file_open(path, rank, 1000 + rank);
    g_assert_nonnull(file);
    return file;
}

static inline void
add(LsSynthFile *file, uint32_t thread, uint16_t kind, const char *name, int64_t start, int64_t end,
    const int64_t *args, size_t n_args)
{
    LsRecord record = {
        .kind = kind, .name = ls_synth_file_name(file, name), .start_ns = start, .end_ns = end};
    memcpy(record.args, args, n_args * sizeof *args);
    ls_synth_file_add(file, thread, &record);
}
#define ADD(file, thread, kind, name, start, end, ...)                                             \
    add(file, thread, LS_RECORD_##kind, name, start, end, (const int64_t[]){__VA_ARGS__},          \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Severity of the finding that holds the text, -1: there is none. */
static inline int
severity_of(const LsProcess *process, const char *text)
{
    for (guint i = 0; i < process->findings->len; i++) {
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, i);
        if (strstr(finding->text, text))
            return (int)finding->severity;
    }
    return -1;
}

#define TEST(name, function)                                                                       \
    g_test_add("/format/native/" name, Fixture, NULL, set_up, function, tear_down)
