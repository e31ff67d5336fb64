/* SPDX-License-Identifier: Apache-2.0
 *
 * A victim that counts is killed at a random moment, or `lockstep record` above it is: whatever its
 * trace holds then must be the numbers from 0 on, in order, each whole and once, and what is
 * missing between two must be told as lost. 30 kills under the wrapper; 1,000 in the long form
 * (LOCKSTEP_LONG). 1,000 kills of a victim without one, whose rings this process then drains.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/format.h"
#include "capture/process.h"
#include "capture/recover.h"
#include "lks.h"

#define PATIENCE_MS 120000

typedef struct Place {
    char *folder, *shm;
} Place;

static void
empty(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        g_remove(child);
    }
}

static GPid
start(const Place *place)
{
    const char *argv[] = {
        g_getenv("LOCKSTEP_RECORD"), "-o",    place->folder, "--as-rank", "0", "--quiet", "--",
        g_getenv("LOCKSTEP_VICTIM"), "count", NULL};
    g_auto(GStrv) vector = g_strdupv((char **)(uintptr_t)argv);
    g_auto(GStrv) environment = g_get_environ();
    g_autoptr(GError) error = NULL;
    GPid pid;
    environment = g_environ_setenv(environment, "LOCKSTEP_SHM_DIR", place->shm, TRUE);
    environment = g_environ_setenv(environment, "LOCKSTEP_KEEP_FREE", "64K", TRUE);
    g_spawn_async(NULL, vector, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error);
    g_assert_no_error(error);
    return pid;
}

/* The child of the wrapper that is the victim; 0: it is not there yet. */
static GPid
find_victim(GPid wrapper)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", wrapper, wrapper);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 0;
    g_auto(GStrv) pids = g_strsplit(g_strstrip(text), " ", -1);
    for (char **pid = pids; *pid != NULL; pid++) {
        g_autofree char *program = g_strdup_printf("/proc/%s/exe", *pid);
        g_autofree char *target = g_file_read_link(program, NULL);
        if (target != NULL && g_str_has_suffix(target, "/victim"))
            return (GPid)g_ascii_strtoll(*pid, NULL, 10);
    }
    return 0;
}

static bool
has_ended(GPid pid, uint64_t start_ticks)
{
    return ls_process_has_ended((uint32_t)pid, start_ticks, ls_process_namespace());
}

static bool
is_empty(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    return g_dir_read_name(dir) == NULL;
}

/* Kills one of the two, every third time while the victim may be starting still; both are gone
 * afterwards. */
static void
kill_at_random(const Place *place, GPid wrapper, int number)
{
    bool kills_wrapper = number % 2 == 1;
    GPid victim = 0;
    int status;
    for (int i = 0; i < PATIENCE_MS && (victim = find_victim(wrapper)) == 0; i++)
        g_usleep(1000);
    for (int i = 0; i < PATIENCE_MS && number % 3 != 0 && is_empty(place->shm); i++)
        g_usleep(1000);
    g_assert_cmpint(victim, >, 0);
    uint64_t start_ticks = ls_process_start_ticks((uint32_t)victim);
    g_usleep((gulong)g_random_int_range(0, 120000));
    g_assert_cmpint(kill(kills_wrapper ? wrapper : victim, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(wrapper, &status, 0), ==, wrapper);
    g_assert_true(WIFSIGNALED(status));
    g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
    /* With all its threads: before that nobody may touch its rings. */
    for (int i = 0; i < PATIENCE_MS && !has_ended(victim, start_ticks); i++)
        g_usleep(1000);
    g_assert_true(has_ended(victim, start_ticks));
}

/* Without a wrapper; killed while it starts, or soon after it has rings. */
static void
kill_alone(const Place *place, bool while_it_starts, int soon_us)
{
    const char *argv[] = {g_getenv("LOCKSTEP_VICTIM"), "count", NULL};
    g_auto(GStrv) vector = g_strdupv((char **)(uintptr_t)argv);
    g_auto(GStrv) environment = g_get_environ();
    g_autoptr(GError) error = NULL;
    GPid pid;
    int status;
    environment = g_environ_setenv(environment, "LOCKSTEP_RUN", place->folder, TRUE);
    environment = g_environ_setenv(environment, "LOCKSTEP_KEEP_FREE", "64K", TRUE);
    environment = g_environ_setenv(environment, "LOCKSTEP_DRAIN_MS", "1", TRUE);
    g_spawn_async(NULL, vector, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error);
    g_assert_no_error(error);
    for (int i = 0; i < PATIENCE_MS && !while_it_starts && is_empty(place->shm); i++)
        g_usleep(1000);
    g_usleep((gulong)g_random_int_range(0, soon_us));
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
}

/* How many numbers are there; a wrong one fails the test. */
static uint64_t
check_file(const char *path)
{
    g_autoptr(LksFile) file = lks_read(path);
    uint64_t n = 0, missing = 0;
    double expected = 0;
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        double value = 0;
        if (record->kind != LS_RECORD_COUNTER)
            continue;
        if (record->n_args > 0)
            memcpy(&value, &record->args[0], sizeof value);
        g_assert_cmpfloat(value, >=, expected);
        g_assert_cmpstr(lks_name(file, record->name), ==, "count");
        missing += (uint64_t)(value - expected);
        expected = value + 1;
        n++;
    }
    /* On a busy machine the ring may have been full: told as lost. */
    g_assert_cmpuint(missing, <=, lks_sum_lost(file));
    return n;
}

/* None are left; those that had no header yet go when they are old enough. */
static void
check_no_rings(const Place *place)
{
    if (g_rmdir(place->shm) == 0)
        return;
    g_usleep(2100000);
    g_mkdir(place->folder, 0700);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
    g_rmdir(place->folder);
    g_assert_cmpint(g_rmdir(place->shm), ==, 0);
}

static void
test_kills_alone(void)
{
    enum { KILLS = 1000, SOON_US = 10000 };
    int soon_us = SOON_US;
    Place place = {g_dir_make_tmp("lockstep-kills-XXXXXX", NULL),
                   g_dir_make_tmp("lockstep-shm-XXXXXX", NULL)};
    uint64_t numbers = 0, with_records = 0;
    g_setenv("LOCKSTEP_SHM_DIR", place.shm, TRUE);
    for (int i = 0; i < KILLS; i++) {
        bool while_it_starts = i % 5 == 0;
        kill_alone(&place, while_it_starts, while_it_starts ? SOON_US : soon_us);
        g_assert_cmpint(ls_recover_folder(place.folder, NULL), ==, LS_OK);
        g_autoptr(GPtrArray) paths = lks_list(place.folder);
        uint64_t before = numbers;
        for (guint k = 0; k < paths->len; k++)
            numbers += check_file(paths->pdata[k]);
        with_records += numbers > before;
        /* A busy machine takes longer to come to the first record. The time shrinks more slowly
         * than it grows, so that far more than half come to it, however long it takes. */
        if (!while_it_starts)
            soon_us =
                numbers > before ? MAX(SOON_US, soon_us / 8 * 7) : MIN(2 * soon_us, 1000 * SOON_US);
        empty(place.folder);
        empty(place.shm); /* killed before they had a header */
    }
    g_assert_cmpuint(with_records, >, KILLS / 2);
    g_test_message("%" G_GUINT64_FORMAT " of %d with records, %" G_GUINT64_FORMAT
                   " numbers, in order",
                   with_records, KILLS, numbers);
    g_rmdir(place.folder);
    g_rmdir(place.shm);
    g_free(place.folder);
    g_free(place.shm);
}

static void
test_kills(void)
{
    int n_kills = g_getenv("LOCKSTEP_LONG") != NULL ? 1000 : 30;
    Place place = {g_dir_make_tmp("lockstep-kills-XXXXXX", NULL),
                   g_dir_make_tmp("lockstep-shm-XXXXXX", NULL)};
    uint64_t numbers = 0;
    g_setenv("LOCKSTEP_SHM_DIR", place.shm, TRUE);
    for (int i = 0; i < n_kills; i++) {
        kill_at_random(&place, start(&place), i);
        g_assert_cmpint(ls_recover_folder(place.folder, NULL), ==, LS_OK);
        g_autoptr(GPtrArray) paths = lks_list(place.folder);
        for (guint k = 0; k < paths->len; k++)
            numbers += check_file(paths->pdata[k]);
        empty(place.folder);
        g_rmdir(place.folder); /* the next wrapper makes it: it waits at one that is there */
        check_no_rings(&place);
        g_assert_cmpint(g_mkdir(place.shm, 0700), ==, 0);
    }
    g_assert_cmpuint(numbers, >, (guint64)n_kills * 10);
    g_test_message("%d kills, %" G_GUINT64_FORMAT " numbers, in order", n_kills, numbers);
    g_rmdir(place.folder);
    g_rmdir(place.shm);
    g_free(place.folder);
    g_free(place.shm);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/inject/record/killed-at-random-moments", test_kills);
    g_test_add_func("/inject/rings/1000-kills-at-random-moments", test_kills_alone);
    return g_test_run();
}
