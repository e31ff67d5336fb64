/* SPDX-License-Identifier: Apache-2.0
 * A process records steps and is killed: a reader finds them all, and writes nothing. */
#include "merge/run.h"

#include "capture/crc32c.h"
#include "capture/format.h"
#include "capture/lockstep-mark.h"
#include "capture/recorder.h"
#include "merge/leftovers.h"
#include "tests/folder.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 300

/* Half of the steps are in the file, the other half in the rings only when it dies. */
static void
record_and_die(const char *folder)
{
    pid_t child = fork();
    int status;

    g_assert_cmpint(child, >=, 0);
    if (child == 0) {
        if (ls_recorder_open(folder) != LS_OK)
            _exit(9);
        ls_recorder_set_rank(0, 1, 0);
        for (int i = 0; i < STEPS; i++) {
            lockstep_step_begin(i);
            lockstep_step_end(32, 0);
            if (i == STEPS / 2)
                ls_recorder_flush();
        }
        raise(SIGKILL);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSIGNALED(status));
}

static char *
list(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    GString *text = g_string_new(NULL);
    const char *name;

    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        GStatBuf status;

        g_assert_cmpint(g_stat(path, &status), ==, 0);
        g_string_append_printf(text, "%s %" G_GINT64_FORMAT "\n", name, (gint64)status.st_size);
    }
    return g_string_free(text, FALSE);
}

static void
check_steps(const char *folder, bool recovered)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(LsTrace) trace = ls_run_load(&folder, 1, NULL, NULL, &error);
    const LsFinding *findings;
    const LsStep *steps;
    bool said = false;
    size_t n;

    g_assert_no_error(error);
    steps = ls_trace_get_steps(trace, &n);
    g_assert_cmpuint(n, ==, STEPS);
    for (int64_t i = 0; i < STEPS; i++)
        g_assert_cmpint(steps[i].number, ==, i);
    g_assert_nonnull(ls_trace_get_ranks(trace, &n));
    g_assert_cmpuint(n, ==, 1);
    findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpint(findings[i].severity, !=, LS_FAULT);
        said |= strstr(findings[i].text, "read from the rings it left") != NULL;
    }
    g_assert_true(said == recovered);
}

static void
test_killed(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-run-XXXXXX", NULL);
    g_autofree char *rings = g_dir_make_tmp("lockstep-shm-XXXXXX", NULL);
    g_autofree char *before = NULL, *after = NULL;

    g_setenv("LOCKSTEP_SHM_DIR", rings, TRUE);
    record_and_die(folder);
    before = list(folder);
    /* Twice the same, and nothing written. */
    check_steps(folder, true);
    check_steps(folder, true);
    after = list(folder);
    g_assert_cmpstr(before, ==, after);
    folder_remove(folder);
    folder_remove(rings);
}

/* The rings are gone, or on another host: what the file has is there, and what is missing is said.
 */
static void
test_rings_elsewhere(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-run-XXXXXX", NULL);
    g_autofree char *rings = g_dir_make_tmp("lockstep-shm-XXXXXX", NULL);
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GError) error = NULL;
    const char *paths[] = {folder};
    const LsFinding *findings;
    bool said = false;
    size_t n;

    g_setenv("LOCKSTEP_SHM_DIR", rings, TRUE);
    record_and_die(folder);
    folder_remove(rings);
    trace = ls_run_load(paths, 1, NULL, NULL, &error);
    g_assert_no_error(error);
    ls_trace_get_steps(trace, &n);
    g_assert_cmpuint(n, >, STEPS / 2);
    findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++)
        said |= strstr(findings[i].text, "The trace was not closed") != NULL &&
                strstr(findings[i].text, rings) != NULL && findings[i].rank == 0;
    g_assert_true(said);
    folder_remove(folder);
}

static void
append_chunk(GByteArray *bytes, uint32_t sequence, const char *payload)
{
    LsChunkHeader header = {.magic = LS_CHUNK_MAGIC,
                            .version = LS_FORMAT_VERSION,
                            .header_bytes = sizeof header,
                            .payload_bytes = (uint32_t)strlen(payload),
                            .sequence = sequence};

    header.crc32c = ls_crc32c(ls_crc32c(0, &header, sizeof header), payload, strlen(payload));
    g_byte_array_append(bytes, (const guint8 *)&header, sizeof header);
    g_byte_array_append(bytes, (const guint8 *)payload, (guint)strlen(payload));
}

/* Chunks out of order, zeros between them, a torn one at the end: those of the rings are left out,
 * and nothing else. */
static void
test_join(void)
{
    g_autoptr(GByteArray) file = g_byte_array_new(), expected = g_byte_array_new();
    g_autoptr(GByteArray) chunks = g_byte_array_new(), joined = NULL;
    LsLeftoverRest rest = {.sequence = 7, .chunks = chunks};
    static const guint8 zeros[192];

    append_chunk(chunks, 7, "from the rings");
    for (int i = 0; i < 2; i++) {
        GByteArray *bytes = i ? expected : file;

        append_chunk(bytes, 0, "the first");
        g_byte_array_append(bytes, zeros, sizeof zeros);
        append_chunk(bytes, 6, "newer");
        if (i == 0)
            append_chunk(bytes, 7, "not committed");
        append_chunk(bytes, 3, "older, behind it");
        if (i == 0) {
            append_chunk(bytes, 8, "torn");
            g_byte_array_set_size(bytes, bytes->len - 3);
        }
    }
    append_chunk(expected, 7, "from the rings");
    joined = ls_leftovers_join((const char *)file->data, file->len, &rest);
    g_assert_cmpmem(joined->data, joined->len, expected->data, expected->len);
}

/* A length that is damaged may reach over sound chunks, or say nothing at all: they are kept. */
static void
test_damaged_length(void)
{
    static const uint32_t lengths[] = {1000000, 60, 0, UINT32_MAX};

    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_autoptr(GByteArray) file = g_byte_array_new(), sound = g_byte_array_new();
        g_autoptr(GByteArray) chunks = g_byte_array_new(), joined = NULL;
        LsLeftoverRest rest = {.sequence = 7, .chunks = chunks};

        append_chunk(chunks, 7, "from the rings");
        append_chunk(sound, 4, "sound");
        append_chunk(sound, 5, "and sound too");
        append_chunk(file, i < 2 ? 3 : 8, "damaged");
        memcpy(file->data + offsetof(LsChunkHeader, payload_bytes), &lengths[i], sizeof lengths[i]);
        g_byte_array_append(file, sound->data, sound->len);
        joined = ls_leftovers_join((const char *)file->data, file->len, &rest);
        g_assert_nonnull(memmem(joined->data, joined->len, sound->data, sound->len));
        g_assert_nonnull(memmem(joined->data, joined->len, chunks->data, chunks->len));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/leftovers/only-what-the-rings-repeat-is-left-out", test_join);
    g_test_add_func("/merge/leftovers/damaged-length-takes-nothing-with-it", test_damaged_length);
    g_test_add_func("/merge/leftovers/killed-process-is-whole", test_killed);
    g_test_add_func("/merge/leftovers/rings-elsewhere-are-named", test_rings_elsewhere);
    return g_test_run();
}
