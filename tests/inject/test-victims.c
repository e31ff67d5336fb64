/* SPDX-License-Identifier: Apache-2.0
 *
 * Each victim runs twice, without and with recording: its output, exit status and signal must be
 * the same, and with recording every instant it made must be in the trace or told as lost. With
 * LOCKSTEP_RECORD, the path of lockstep-record, the second run is under it.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/format.h"
#include "capture/recover.h"
#include "lks.h"

typedef struct Outcome {
    char *output, *errors;
    int status;
    int64_t took_s;
} Outcome;

static void
outcome_free(Outcome *outcome)
{
    g_free(outcome->output);
    g_free(outcome->errors);
    g_free(outcome);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Outcome, outcome_free)

typedef struct Place {
    char *folder, *shm; /* shm: where the rings lie */
    bool is_mounted;
} Place;

static void
remove_tree(const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        if (g_file_test(child, G_FILE_TEST_IS_DIR))
            remove_tree(child);
        else
            g_remove(child);
    }
    if (dir != NULL)
        g_dir_close(dir);
    g_rmdir(path);
}

static Place *
place_new(void)
{
    Place *place = g_new0(Place, 1);
    place->folder = g_dir_make_tmp("lockstep-run-XXXXXX", NULL);
    place->shm = g_dir_make_tmp("lockstep-shm-XXXXXX", NULL);
    return place;
}

static void
place_free(Place *place)
{
    if (place->is_mounted) {
        umount2(place->folder, MNT_DETACH);
        umount2(place->shm, MNT_DETACH);
    }
    remove_tree(place->folder);
    remove_tree(place->shm);
    g_free(place->folder);
    g_free(place->shm);
    g_free(place);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Place, place_free)

/* Runs it; folder NULL: without recording. Kills it if it does not end. */
static Outcome *
run(const char *const *words, const char *folder, const char *shm, const char *where)
{
    Outcome *outcome = g_new0(Outcome, 1);
    g_auto(GStrv) environment = g_get_environ();
    g_autoptr(GError) error = NULL;
    const char *argv[24] = {"timeout", "--foreground", "--preserve-status", "-k", "2", "300"};
    const char *record = g_getenv("LOCKSTEP_RECORD");
    const char *const under[] = {record, "-o", folder, "--as-rank", "0", "--quiet", "--", NULL};
    size_t n = 6;
    for (size_t i = 0; folder != NULL && record != NULL && under[i] != NULL; i++)
        argv[n++] = under[i];
    environment = g_environ_unsetenv(environment, "LOCKSTEP_RUN");
    /* Of a build with the address sanitizer: its leak check speaks about threads of forked
     * children. */
    environment = g_environ_setenv(environment, "ASAN_OPTIONS", "detect_leaks=0", TRUE);
    if (folder != NULL) {
        if (record == NULL)
            environment = g_environ_setenv(environment, "LOCKSTEP_RUN", folder, TRUE);
        environment = g_environ_setenv(environment, "LOCKSTEP_SHM_DIR", shm, TRUE);
        environment = g_environ_setenv(environment, "LOCKSTEP_KEEP_FREE", "64K", TRUE);
        environment = g_environ_setenv(environment, "LOCKSTEP_RANK", "0", TRUE);
    }
    for (; *words != NULL && n < G_N_ELEMENTS(argv) - 1; words++)
        argv[n++] = *words;
    g_auto(GStrv) vector = g_strdupv((char **)(uintptr_t)argv);
    int64_t begin_us = g_get_monotonic_time();
    g_spawn_sync(where, vector, environment, G_SPAWN_SEARCH_PATH, NULL, NULL, &outcome->output,
                 &outcome->errors, &outcome->status, &error);
    g_assert_no_error(error);
    outcome->took_s = (g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
    return outcome;
}

typedef struct Sum {
    uint64_t instants, lost, others;
    const char *file;
    uint32_t sequence;
} Sum;

static void
add_file(Sum *sum, const LksFile *file)
{
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        bool is_made = strcmp(lks_name(file, record->name), "made") == 0;
        if (record->kind == LS_RECORD_INSTANT)
            *(is_made ? &sum->instants : &sum->others) += 1;
    }
    sum->lost += lks_sum_lost(file);
}

static Sum
sum_folder(const char *folder)
{
    Sum sum = {0};
    g_autoptr(GPtrArray) paths = lks_list(folder);
    for (guint i = 0; i < paths->len; i++) {
        g_autoptr(LksFile) file = lks_read(paths->pdata[i]);
        g_assert_cmpuint(file->damaged_bytes, ==, 0);
        add_file(&sum, file);
    }
    return sum;
}

static uint64_t
read_made(const Outcome *outcome)
{
    const char *last = g_strrstr(outcome->output, "made ");
    g_assert_nonnull(last);
    return g_ascii_strtoull(last + strlen("made "), NULL, 10);
}

/* Both runs, compared; returns the recorded one's outcome. */
static Outcome *
compare(const Place *place, const char *const *words, const char *folder, const char *where)
{
    g_autoptr(Outcome) without = run(words, NULL, NULL, where);
    Outcome *with = run(words, folder, place->shm, where);
    if (strcmp(with->errors, without->errors) != 0)
        g_test_message("standard error: %s", with->errors);
    g_assert_cmpstr(with->output, ==, without->output);
    g_assert_cmpint(with->status, ==, without->status);
    return with;
}

static void
check_sum(const Place *place, const Outcome *outcome)
{
    g_setenv("LOCKSTEP_SHM_DIR", place->shm, TRUE);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
    Sum sum = sum_folder(place->folder);
    /* The recorder's own words may be among the lost: a reading of the clock each second, a few
     * notices. */
    uint64_t words = sum.lost > 0 ? 8 + (uint64_t)outcome->took_s : 0;
    g_assert_cmpuint(sum.instants + sum.lost, >=, read_made(outcome));
    g_assert_cmpuint(sum.instants + sum.lost, <=, read_made(outcome) + words);
    g_assert_cmpuint(sum.others, ==, 0);
    g_assert_cmpuint(sum.instants, >, 0);
}

/* That sanitizer keeps a thread of its own, cannot have 2,000 of the program's, and takes
 * descriptors of two tables for one. */
static bool
skip_with_thread_sanitizer(void)
{
    if (g_strcmp0(g_getenv("LOCKSTEP_SANITIZE"), "thread") != 0)
        return false;
    g_test_skip("not under the thread sanitizer");
    return true;
}

/* Nothing but the victim's own standard error, nothing lost, no rings left. */
static void
test_clean(gconstpointer user)
{
    if ((strcmp(user, "main-leaves") == 0 || g_str_has_prefix(user, "close")) &&
        skip_with_thread_sanitizer())
        return;
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), user, NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    g_assert_cmpstr(outcome->errors, ==, "");
    check_sum(place, outcome);
    g_assert_cmpuint(sum_folder(place->folder).lost, ==, 0);
    g_assert_cmpint(g_rmdir(place->shm), ==, 0);
}

static void
test_exec(void)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "exec", NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    check_sum(place, outcome);
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_assert_cmpuint(paths->len, ==, 2);
    g_autoptr(LksFile) first = lks_read(paths->pdata[0]);
    g_autoptr(LksFile) second = lks_read(paths->pdata[1]);
    g_assert_cmpstr(lks_fact(first, "incarnation"), !=, lks_fact(second, "incarnation"));
    g_assert_cmpstr(lks_fact(first, "pid"), ==, lks_fact(second, "pid"));
}

static void
test_relative_folder(void)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "chdir", NULL};
    g_autoptr(Place) place = place_new();
    g_autofree char *name = g_path_get_basename(place->folder);
    g_autofree char *parent = g_path_get_dirname(place->folder);
    g_autoptr(Outcome) outcome = compare(place, words, name, parent);
    g_assert_cmpstr(outcome->errors, ==, "");
    check_sum(place, outcome);
}

/* A folder that cannot be: one sentence, and nothing else changes. */
static void
test_no_folder(void)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "plain", NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) outcome = compare(place, words, "/proc/lockstep", NULL);
    g_assert_true(g_str_has_prefix(outcome->errors, "lockstep: cannot record into"));
    g_assert_cmpuint(strchr(outcome->errors, '\n') - outcome->errors, ==,
                     strlen(outcome->errors) - 1);
    g_assert_cmpint(g_rmdir(place->shm), ==, 0);
}

static bool
mount_small(Place *place, const char *folder_size, const char *shm_size)
{
    g_autofree char *folder_option = g_strconcat("size=", folder_size, NULL);
    g_autofree char *shm_option = g_strconcat("size=", shm_size, NULL);
    if (mount("none", place->folder, "tmpfs", 0, folder_option) != 0) {
        g_test_skip("tmpfs cannot be mounted here (needs root)");
        return false;
    }
    place->is_mounted = true;
    return mount("none", place->shm, "tmpfs", 0, shm_option) == 0;
}

static void
test_full_disk(void)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "much", NULL};
    g_autoptr(Place) place = place_new();
    if (!mount_small(place, "600K", "64M"))
        return;
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    g_assert_nonnull(strstr(outcome->errors, "nearly full"));
    check_sum(place, outcome);
    Sum sum = sum_folder(place->folder);
    g_assert_cmpuint(sum.instants, >, 1000);
    g_assert_cmpuint(sum.lost, >, 1000);
}

/* No room for any rings; for the first but not for all. */
static void
test_full_shm(gconstpointer user)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "much", NULL};
    g_autoptr(Place) place = place_new();
    if (!mount_small(place, "64M", user))
        return;
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    g_assert_cmpstr(outcome->errors, ==, "");
    check_sum(place, outcome);
    g_assert_cmpuint(sum_folder(place->folder).instants, ==, read_made(outcome));
}

static void
test_file_limit(gconstpointer user)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "file-limit", user, NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    check_sum(place, outcome);
}

/* More threads than rings: what found none is counted. The 1,008 rings are used again when they are
 * drained; how often, is the machine's doing. */
static void
test_threads(void)
{
    if (skip_with_thread_sanitizer())
        return;
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "threads", NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    if (WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == 77) {
        g_test_skip("this machine does not allow 2,000 threads");
        return;
    }
    g_assert_cmpuint(read_made(outcome), ==, 30000);
    check_sum(place, outcome);
    g_assert_cmpuint(sum_folder(place->folder).instants, >, 3 * 1008 + 500);
}

static void
test_dlclose(void)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM_DLCLOSE"), g_getenv("LOCKSTEP_CAPTURE"), NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) outcome = compare(place, words, place->folder, NULL);
    g_assert_cmpstr(outcome->errors, ==, "");
    check_sum(place, outcome);
}

/* Two lives of a rank in one folder: the second start finds the first's rings. */
static void
test_next_start_recovers(void)
{
    const char *killed[] = {g_getenv("LOCKSTEP_VICTIM"), "sigkill", NULL};
    const char *plain[] = {g_getenv("LOCKSTEP_VICTIM"), "plain", NULL};
    g_autoptr(Place) place = place_new();
    g_autoptr(Outcome) first = run(killed, place->folder, place->shm, NULL);
    g_autoptr(Outcome) second = run(plain, place->folder, place->shm, NULL);
    g_assert_cmpint(g_rmdir(place->shm), ==, 0);
    Sum sum = sum_folder(place->folder);
    g_assert_cmpuint(sum.instants, ==, read_made(first) + read_made(second));
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_assert_cmpuint(paths->len, ==, 2);
}

static void
test_modes(void)
{
    const char *words[] = {g_getenv("LOCKSTEP_VICTIM"), "plain", "--password", "hunter2", NULL};
    g_autoptr(Place) place = place_new();
    g_autofree char *folder = g_build_filename(place->folder, "run", NULL);
    g_autoptr(Outcome) outcome = run(words, folder, place->shm, NULL);
    g_autoptr(GPtrArray) paths = lks_list(folder);
    g_autofree char *manifest = g_build_filename(folder, "run.json", NULL);
    g_autofree char *text = NULL;
    GStatBuf status;
    g_assert_cmpint(WEXITSTATUS(outcome->status), ==, 7); /* as the victim ends */
    g_assert_cmpint(g_stat(folder, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0700);
    g_assert_cmpint(g_stat(paths->pdata[0], &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0600);
    g_assert_true(g_file_get_contents(manifest, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "\"--password\", \"*******\""));
    g_assert_null(strstr(text, "hunter2"));
    g_autoptr(LksFile) file = lks_read(paths->pdata[0]);
    g_assert_null(strstr(lks_fact(file, "command"), "hunter2"));
    g_assert_cmpstr(lks_fact(file, "recorder.end"), ==, "closed");
    g_assert_cmpuint(lks_count(file, LS_RECORD_STEP), ==, 40);
    g_assert_cmpuint(lks_count(file, LS_RECORD_PHASE), ==, 40);
    g_assert_cmpuint(lks_count(file, LS_RECORD_COUNTER), ==, 20);
    g_assert_cmpuint(lks_count(file, LS_RECORD_CLOCK), >=, 1);
}

int
main(int argc, char **argv)
{
    static const char *const clean[] = {"plain",      "fork",      "vfork",          "main-leaves",
                                        "quick-exit", "abort",     "exit-in-thread", "sigterm",
                                        "sigkill",    "close-all", "closed-output"};
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(clean); i++) {
        g_autofree char *path = g_strconcat("/inject/victim/", clean[i], NULL);
        g_test_add_data_func(path, clean[i], test_clean);
    }
    g_test_add_func("/inject/victim/exec", test_exec);
    g_test_add_func("/inject/victim/relative-folder-and-chdir", test_relative_folder);
    g_test_add_func("/inject/victim/folder-that-cannot-be", test_no_folder);
    g_test_add_func("/inject/victim/full-disk", test_full_disk);
    g_test_add_data_func("/inject/victim/shm-without-any-room", "64K", test_full_shm);
    g_test_add_data_func("/inject/victim/shm-too-small-for-a-ring", "340K", test_full_shm);
    g_test_add_data_func("/inject/victim/file-limit-from-the-start", "early", test_file_limit);
    g_test_add_data_func("/inject/victim/file-limit-later", NULL, test_file_limit);
    g_test_add_func("/inject/victim/10000-threads", test_threads);
    g_test_add_func("/inject/victim/dlclose", test_dlclose);
    g_test_add_func("/inject/victim/next-start-recovers", test_next_start_recovers);
    g_test_add_func("/inject/victim/private-files-and-masked-command", test_modes);
    return g_test_run();
}
