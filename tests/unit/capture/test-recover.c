/* SPDX-License-Identifier: Apache-2.0
 *
 * A process is killed in the middle of recording: what the file and its rings hold together is
 * every record it made, each once, but a torn one.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/recorder.h"
#include "capture/recover.h"
#include "lks.h"

enum { THREADS = 2 };

typedef struct Shared {
    _Atomic int64_t made[THREADS]; /* records whose write has returned */
} Shared;

typedef struct Place {
    char *folder, *shm;
} Place;

static Place *
place_new(void)
{
    Place *place = g_new0(Place, 1);
    place->folder = g_dir_make_tmp("lockstep-run-XXXXXX", NULL);
    place->shm = g_dir_make_tmp("lockstep-shm-XXXXXX", NULL);
    g_setenv("LOCKSTEP_SHM_DIR", place->shm, TRUE);
    return place;
}

static int
remove_all(const char *folder)
{
    int n = 0;
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL; n++) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_remove(path);
    }
    g_dir_close(dir);
    return n;
}

static void
place_free(Place *place)
{
    remove_all(place->folder);
    remove_all(place->shm);
    g_assert_cmpint(g_rmdir(place->folder), ==, 0);
    g_assert_cmpint(g_rmdir(place->shm), ==, 0);
    g_free(place->folder);
    g_free(place->shm);
    g_free(place);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Place, place_free)

typedef struct Producer {
    Shared *shared;
    int index;
} Producer;

static void *
produce(void *user)
{
    const Producer *producer = user;
    uint32_t name = ls_recorder_name(producer->index == 0 ? "zero" : "one");
    for (int64_t n = 0;; n++) {
        int64_t now = ls_recorder_now();
        LsRecord record = {LS_RECORD_OPERATION, 0, name, now, now, {n, producer->index}};
        ls_recorder_write(&record);
        atomic_store(&producer->shared->made[producer->index], n + 1);
        if (n % 64 == 0)
            g_usleep(100);
    }
    return NULL;
}

static int64_t
measure_file(const Place *place)
{
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    GStatBuf status;
    return paths->len == 1 && g_stat(paths->pdata[0], &status) == 0 ? status.st_size : -1;
}

/* A child that records until it is killed, `ms` after each thread has made a record and the file
 * has `least` bytes (-1: it need not be there). */
static pid_t
kill_recorder(const Place *place, Shared *shared, int64_t least, int ms)
{
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t threads[THREADS];
        static Producer producers[THREADS];
        if (ls_recorder_open(place->folder) != LS_OK)
            _exit(1);
        ls_recorder_set_rank(2, 4, 2);
        for (int i = 0; i < THREADS; i++) {
            producers[i] = (Producer){shared, i};
            pthread_create(&threads[i], NULL, produce, &producers[i]);
        }
        pause();
    }
    while (atomic_load(&shared->made[0]) < 1 || atomic_load(&shared->made[1]) < 1 ||
           measure_file(place) < least)
        g_usleep(500);
    g_usleep((gulong)ms * 1000);
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    return pid;
}

/* Each number of each thread once, from 0 on, up to what was made or one more; losses told.
 * `words`: of the recorder's own records that many may be among the lost. */
static void
count_numbers(GPtrArray *files, const Shared *shared, uint64_t words)
{
    uint64_t lost = 0, missing = 0;
    for (int t = 0; t < THREADS; t++) {
        int64_t made = atomic_load(&shared->made[t]), highest = -1;
        g_autofree uint8_t *seen = g_malloc0((size_t)made + 2);
        for (guint f = 0; f < files->len; f++) {
            const LksFile *file = files->pdata[f];
            for (guint i = 0; i < file->records->len; i++) {
                const LksRecord *record = &g_array_index(file->records, LksRecord, i);
                if (record->kind != LS_RECORD_OPERATION || record->args[1] != t)
                    continue;
                g_assert_cmpint(record->args[0], <=, made);
                g_assert_cmpint(seen[record->args[0]]++, ==, 0);
                highest = MAX(highest, record->args[0]);
            }
        }
        for (int64_t n = 0; n < made; n++)
            missing += seen[n] == 0;
    }
    for (guint f = 0; f < files->len; f++)
        lost += lks_sum_lost(files->pdata[f]);
    g_assert_cmpuint(missing, <=, lost);
    g_assert_cmpuint(lost, <=, missing + words);
}

typedef struct Seen {
    int n;
    uint32_t sequence;
    uint64_t records;
    char *file;
    GByteArray *chunks;
} Seen;

static void
see(void *user, const LsLeftover *leftover)
{
    Seen *seen = user;
    seen->n++;
    seen->sequence = leftover->sequence;
    seen->records += leftover->records;
    g_free(seen->file);
    seen->file = g_strdup(leftover->file);
    g_assert_false(leftover->is_elsewhere);
    g_byte_array_append(seen->chunks, leftover->chunks, (guint)leftover->n_bytes);
}

static void
check_in_memory(const Place *place, const Shared *shared)
{
    Seen seen = {.chunks = g_byte_array_new()};
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func((GDestroyNotify)lks_free);
    g_assert_cmpint(ls_recover_read(place->folder, place->shm, see, &seen), ==, LS_OK);
    g_assert_cmpint(seen.n, ==, 1);
    if (seen.file[0] != '\0') {
        g_autofree char *path = g_build_filename(place->folder, seen.file, NULL);
        g_autofree char *data = NULL;
        gsize length;
        g_assert_true(g_file_get_contents(path, &data, &length, NULL));
        g_ptr_array_add(files, lks_read_bytes((uint8_t *)data, length, seen.sequence));
    }
    g_ptr_array_add(files, lks_read_bytes(seen.chunks->data, seen.chunks->len, UINT32_MAX));
    count_numbers(files, shared, 0);
    g_byte_array_unref(seen.chunks);
    g_free(seen.file);
}

static void
check_in_file(const Place *place, const Shared *shared, uint64_t words)
{
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func((GDestroyNotify)lks_free);
    g_assert_cmpuint(paths->len, ==, 1);
    g_ptr_array_add(files, lks_read(paths->pdata[0]));
    count_numbers(files, shared, words);
    const LksFile *file = files->pdata[0];
    g_assert_cmpuint(file->damaged_bytes, ==, 0);
    g_assert_cmpstr(lks_fact(file, "recorder.end"), ==, "recovered");
    g_assert_cmpstr(lks_fact(file, "rank"), ==, "2");
    g_assert_true(lks_has_notice(file, "ended without closing"));
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind == LS_RECORD_OPERATION)
            g_assert_cmpstr(lks_name(file, record->name), ==,
                            record->args[1] == 0 ? "zero" : "one");
    }
}

static Shared *
shared_new(void)
{
    return mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Dead with all its threads, and not reaped. */
static void
wait_for_zombie(pid_t pid)
{
    siginfo_t info;
    g_assert_cmpint(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
}

static void
test_killed_at_any_time(void)
{
    for (int i = 0; i < 16; i++) {
        g_autoptr(Place) place = place_new();
        Shared *shared = shared_new();
        pid_t pid = kill_recorder(place, shared, -1, i * 4);
        /* A zombie is dead; reaped or not makes no difference. */
        if (i % 2 == 0)
            waitpid(pid, NULL, 0);
        else
            wait_for_zombie(pid);
        check_in_memory(place, shared);
        check_in_memory(place, shared);
        g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
        check_in_file(place, shared, 0);
        g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
        check_in_file(place, shared, 0);
        if (i % 2 != 0)
            waitpid(pid, NULL, 0);
        munmap(shared, sizeof *shared);
        g_assert_cmpint(remove_all(place->shm), ==, 0);
    }
}

/* A file at its bound is overwritten when the kill comes. */
static void
test_killed_at_the_bound(void)
{
    enum { FULL = 63 << 16 }; /* in the last of 64 blocks */
    g_autoptr(Place) place = place_new();
    Shared *shared = shared_new();
    int64_t begin_us = g_get_monotonic_time();
    g_setenv("LOCKSTEP_MAX_SIZE", "4M", TRUE);
    pid_t pid = kill_recorder(place, shared, FULL, 150);
    g_unsetenv("LOCKSTEP_MAX_SIZE");
    waitpid(pid, NULL, 0);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
    /* Its own words: a few, and a reading of the clock each second. */
    int64_t took_s = (g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
    check_in_file(place, shared, 8 + (uint64_t)took_s);
    g_assert_cmpint(measure_file(place), >=, FULL);
    g_assert_cmpint(measure_file(place), <=, 4 << 20);
    munmap(shared, sizeof *shared);
}

/* The one who recovers dies in the middle: what it wrote is written over. */
static void
test_recovered_twice(void)
{
    g_autoptr(Place) place = place_new();
    Shared *shared = shared_new();
    waitpid(kill_recorder(place, shared, -1, 30), NULL, 0);
    GDir *dir = g_dir_open(place->shm, 0, NULL);
    g_autofree char *rings = g_build_filename(place->shm, g_dir_read_name(dir), NULL);
    g_autofree char *copy = g_build_filename(place->folder, "copy", NULL);
    g_dir_close(dir);
    g_assert_cmpint(link(rings, copy), ==, 0);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
    g_assert_cmpint(g_access(rings, F_OK), !=, 0);
    g_assert_cmpint(link(copy, rings), ==, 0);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
    check_in_file(place, shared, 0);
    munmap(shared, sizeof *shared);
}

static void
test_live_owner_is_left_alone(void)
{
    g_autoptr(Place) place = place_new();
    Seen seen = {.chunks = g_byte_array_new()};
    int ready[2];
    char byte;
    g_assert_cmpint(pipe(ready), ==, 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (ls_recorder_open(place->folder) != LS_OK)
            _exit(1);
        ls_recorder_set_rank(0, 1, 0);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    ls_recover_read(place->folder, place->shm, see, &seen);
    g_assert_cmpint(seen.n, ==, 0);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), ==, LS_OK);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ls_recover_read(place->folder, place->shm, see, &seen);
    g_assert_cmpint(seen.n, ==, 1);
    g_byte_array_unref(seen.chunks);
    g_free(seen.file);
    close(ready[0]);
    close(ready[1]);
}

/* Nothing can be written: the rings stay, and a reader still has them. */
static void
test_folder_that_cannot_be_written(void)
{
    g_autoptr(Place) place = place_new();
    Shared *shared = shared_new();
    waitpid(kill_recorder(place, shared, 1, 30), NULL, 0);
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_autofree char *aside = g_strconcat(paths->pdata[0], ".aside", NULL);
    /* Root may write anything but a folder that stands in the file's place. */
    g_assert_cmpint(g_rename(paths->pdata[0], aside), ==, 0);
    g_assert_cmpint(g_mkdir(paths->pdata[0], 0700), ==, 0);
    g_assert_cmpint(ls_recover_folder(place->folder, NULL), !=, LS_OK);
    g_rmdir(paths->pdata[0]);
    g_rename(aside, paths->pdata[0]);
    check_in_memory(place, shared);
    munmap(shared, sizeof *shared);
}

/* The ring file may hold anything. */
static void
test_damaged_rings(void)
{
    g_autoptr(Place) place = place_new();
    Shared *shared = shared_new();
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    waitpid(kill_recorder(place, shared, -1, 10), NULL, 0);
    GDir *dir = g_dir_open(place->shm, 0, NULL);
    g_autofree char *rings = g_build_filename(place->shm, g_dir_read_name(dir), NULL);
    g_dir_close(dir);
    for (int i = 0; i < 300; i++) {
        Seen seen = {.chunks = g_byte_array_new()};
        FILE *file = fopen(rings, "r+");
        /* The header and the first ring headers, where it hurts. */
        fseek(file, g_rand_int_range(rand, i % 2 == 0 ? 0 : 4096, i % 2 == 0 ? 4096 : 5200),
              SEEK_SET);
        fputc(g_rand_int_range(rand, 0, 256), file);
        fclose(file);
        ls_recover_read(place->folder, place->shm, see, &seen);
        g_byte_array_unref(seen.chunks);
        g_free(seen.file);
    }
    munmap(shared, sizeof *shared);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/recover/killed-at-any-time-nothing-twice-nothing-lost",
                    test_killed_at_any_time);
    g_test_add_func("/capture/recover/killed-at-the-bound", test_killed_at_the_bound);
    g_test_add_func("/capture/recover/again-after-a-death-in-recovery", test_recovered_twice);
    g_test_add_func("/capture/recover/live-owner-is-left-alone", test_live_owner_is_left_alone);
    g_test_add_func("/capture/recover/folder-that-cannot-be-written",
                    test_folder_that_cannot_be_written);
    g_test_add_func("/capture/recover/damaged-rings-do-no-harm", test_damaged_rings);
    return g_test_run();
}
