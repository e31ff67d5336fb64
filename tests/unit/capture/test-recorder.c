/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder as our libraries use it: opened, shared, closed, opened again.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"
#include "capture/recorder.h"
#include "lks.h"

typedef struct Place {
    char *folder;
} Place;

static Place *
place_new(void)
{
    Place *place = g_new0(Place, 1);
    place->folder = g_dir_make_tmp("lockstep-recorder-XXXXXX", NULL);
    return place;
}

static void
place_free(Place *place)
{
    GDir *dir = g_dir_open(place->folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(place->folder, name, NULL);
        g_remove(path);
    }
    g_dir_close(dir);
    g_rmdir(place->folder);
    g_free(place->folder);
    g_free(place);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Place, place_free)

static void
write_one(const char *name, int64_t argument)
{
    int64_t now = ls_recorder_now();
    LsRecord record = {LS_RECORD_SUBMIT, 0, ls_recorder_name(name), now, now, {argument}};
    ls_recorder_write(&record);
}

static LksFile *
read_only_file(const Place *place)
{
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_assert_cmpuint(paths->len, ==, 1);
    return lks_read(paths->pdata[0]);
}

static void
test_off(void)
{
    g_unsetenv("LOCKSTEP_RUN");
    g_assert_cmpint(ls_recorder_open(NULL), ==, LS_ERR_OFF);
    g_assert_false(ls_recorder_active());
    g_assert_cmpuint(ls_recorder_name("x"), ==, 0);
    write_one("x", 1);
    lockstep_step_begin(1);
    lockstep_step_end(1, 1);
    ls_recorder_set_rank(1, 2, 3);
    ls_recorder_set_info("a", "b");
    ls_recorder_flush();
    ls_recorder_close();
}

static void
test_shared_and_counted(void)
{
    g_autoptr(Place) place = place_new();
    g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
    g_assert_cmpint(ls_recorder_open("/elsewhere"), ==, LS_OK);
    ls_recorder_set_rank(6, 8, 2);
    ls_recorder_set_info("reduce.cycle_time_ms", "1");
    ls_recorder_set_info("reduce.cycle_time_ms", "5");
    ls_recorder_set_thread_name("background");
    write_one("conv", 1);
    ls_recorder_close();
    g_assert_true(ls_recorder_active());
    write_one("conv", 2);
    ls_recorder_notice(0, "a note");
    ls_recorder_flush();
    g_autoptr(LksFile) open = read_only_file(place);
    g_assert_cmpuint(lks_count(open, LS_RECORD_SUBMIT), ==, 2);
    g_assert_null(lks_fact(open, "recorder.end"));
    ls_recorder_close();
    g_assert_false(ls_recorder_active());
    g_autoptr(LksFile) file = read_only_file(place);
    const LksRecord *last = &g_array_index(file->records, LksRecord, file->records->len - 1);
    g_assert_cmpuint(last->rank, ==, 6);
    g_assert_cmpstr(lks_fact(file, "rank"), ==, "6");
    g_assert_cmpstr(lks_fact(file, "world"), ==, "8");
    g_assert_cmpstr(lks_fact(file, "reduce.cycle_time_ms"), ==, "5");
    g_assert_cmpstr(lks_fact(file, "recorder.end"), ==, "closed");
    g_assert_nonnull(lks_fact(file, "boot_id"));
    g_assert_true(lks_has_notice(file, "a note"));
    bool is_named = false;
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        is_named = is_named || (record->kind == LS_RECORD_THREAD && record->args[0] == getpid() &&
                                strcmp(lks_name(file, record->name), "background") == 0);
    }
    g_assert_true(is_named);
}

typedef struct Cost {
    int64_t span_ns, drain_ns;
} Cost;

static Cost
record_some(int n)
{
    g_autoptr(Place) place = place_new();
    g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
    ls_recorder_set_rank(0, 1, 0);
    for (int i = 0; i < n; i++) {
        write_one("conv", i);
        if (i % 400 == 0)
            ls_recorder_flush();
    }
    ls_recorder_close();
    g_autoptr(LksFile) file = read_only_file(place);
    g_assert_nonnull(lks_fact(file, "recorder.cost_ns"));
    g_assert_nonnull(lks_fact(file, "recorder.drain_ns"));
    return (Cost){g_ascii_strtoll(lks_fact(file, "recorder.cost_ns"), NULL, 10),
                  g_ascii_strtoll(lks_fact(file, "recorder.drain_ns"), NULL, 10)};
}

/* Measured, not guessed: a span is neither free nor as slow as a system call each; and what the
 * thread took of the processor grows with what it has written. The least of five: a processor that
 * is a virtual machine's counts what others take of it, too. */
static void
test_says_its_cost(void)
{
    Cost least[2] = {{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}};
    for (int i = 0; i < 10; i++) {
        Cost cost = record_some(i % 2 ? 40000 : 1), *best = &least[i % 2];
        g_test_message("%" G_GINT64_FORMAT " ns a span, thread %" G_GINT64_FORMAT " ns",
                       cost.span_ns, cost.drain_ns);
        g_assert_cmpint(cost.span_ns, >, 2);
        g_assert_cmpint(cost.drain_ns, >, 0);
        best->span_ns = MIN(best->span_ns, cost.span_ns);
        best->drain_ns = MIN(best->drain_ns, cost.drain_ns);
    }
    g_assert_cmpint(MIN(least[0].span_ns, least[1].span_ns), <, 20000);
    g_assert_cmpint(least[1].drain_ns, >, least[0].drain_ns);
}

static void
test_opened_again(void)
{
    g_autoptr(Place) place = place_new();
    for (int life = 0; life < 3; life++) {
        g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
        ls_recorder_set_rank(0, 1, 0);
        write_one("a", life);
        ls_recorder_close();
    }
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_assert_cmpuint(paths->len, ==, 3);
    int seen = 0;
    for (guint i = 0; i < paths->len; i++) {
        g_autoptr(LksFile) file = lks_read(paths->pdata[i]);
        g_assert_cmpuint(lks_count(file, LS_RECORD_SUBMIT), ==, 1);
        seen |= 1 << g_ascii_strtoll(lks_fact(file, "incarnation"), NULL, 10);
    }
    g_assert_cmpint(seen, ==, 7);
}

/* A forked rank may record for itself, into a file of its own. */
static void
test_child_opens_its_own(void)
{
    if (g_strcmp0(g_getenv("LOCKSTEP_SANITIZE"), "thread") == 0) {
        g_test_skip("the thread sanitizer cannot follow a forked child that starts threads");
        return;
    }
    g_autoptr(Place) place = place_new();
    int status;
    /* What the address sanitizer has locked for another thread at the fork stays locked in the
     * child, whose recorder then never ends. So the parent's thread is asleep: flushed, and not to
     * wake. */
    g_setenv("LOCKSTEP_DRAIN_MS", "600000", TRUE);
    g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
    ls_recorder_set_rank(0, 2, 0);
    write_one("parent", 1);
    ls_recorder_flush();
    pid_t pid = fork();
    if (pid == 0) {
        if (ls_recorder_active() || ls_recorder_open(place->folder) != LS_OK)
            _exit(1);
        ls_recorder_set_rank(1, 2, 1);
        write_one("child", 1);
        ls_recorder_close();
        _exit(0);
    }
    g_unsetenv("LOCKSTEP_DRAIN_MS");
    waitpid(pid, &status, 0);
    g_assert_cmpint(status, ==, 0);
    write_one("parent", 2);
    ls_recorder_close();
    g_autoptr(GPtrArray) paths = lks_list(place->folder);
    g_assert_cmpuint(paths->len, ==, 2);
    g_autoptr(LksFile) parent = lks_read(paths->pdata[0]);
    g_autoptr(LksFile) child = lks_read(paths->pdata[1]);
    g_assert_cmpuint(lks_count(parent, LS_RECORD_SUBMIT), ==, 2);
    g_assert_cmpuint(lks_count(child, LS_RECORD_SUBMIT), ==, 1);
    g_assert_cmpstr(lks_fact(child, "rank"), ==, "1");
}

static gpointer
write_burst(gpointer user)
{
    ls_recorder_expect_bursts();
    for (int i = 0; i < 12000; i++)
        write_one("burst", i);
    return user;
}

/* 12,000 records at once: a usual ring holds 1,024, a large one 16,384. */
static void
test_large_ring_takes_a_burst(void)
{
    g_autoptr(Place) place = place_new();
    g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
    ls_recorder_set_rank(0, 1, 0);
    g_thread_join(g_thread_new("burst", write_burst, NULL));
    ls_recorder_close();
    g_autoptr(LksFile) file = read_only_file(place);
    g_assert_cmpuint(lks_count(file, LS_RECORD_SUBMIT), ==, 12000);
    g_assert_cmpuint(lks_sum_lost(file), ==, 0);
}

/* Begun and not ended, nested, ended out of order, never begun. */
static void
test_marks(void)
{
    g_autoptr(Place) place = place_new();
    g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
    ls_recorder_set_rank(0, 1, 0);
    lockstep_phase_end(LOCKSTEP_PHASE_INPUT, 5);
    lockstep_step_begin(41);
    lockstep_phase_begin(LOCKSTEP_PHASE_FORWARD);
    lockstep_phase_begin(LOCKSTEP_PHASE_BACKWARD);
    lockstep_phase_end(LOCKSTEP_PHASE_FORWARD, 100);
    lockstep_step_end(32, 1000);
    for (int i = 0; i < 100; i++)
        lockstep_step_begin(100 + i);
    ls_recorder_close();
    g_autoptr(LksFile) file = read_only_file(place);
    int n_whole = 0, n_open = 0;
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind != LS_RECORD_STEP && record->kind != LS_RECORD_PHASE)
            continue;
        n_open += record->is_open;
        n_whole += !record->is_open;
        if (record->kind == LS_RECORD_STEP && !record->is_open) {
            g_assert_cmpint(record->args[0], ==, 41);
            g_assert_cmpint(record->args[1], ==, 32);
            g_assert_cmpint(record->args[2], ==, 1000);
        } else if (record->kind == LS_RECORD_PHASE && !record->is_open) {
            g_assert_cmpstr(lks_name(file, record->name), ==, "forward");
            g_assert_cmpint(record->args[0], ==, 100);
        }
    }
    g_assert_cmpint(n_whole, ==, 2);
    g_assert_cmpint(n_open, ==, 103);
}

static gpointer
write_many(gpointer user)
{
    for (int64_t i = 0; i < 20000; i++)
        write_one("many", i);
    return user;
}

/* Four threads as fast as they can: what is not in the file is told. */
static void
test_kept_and_lost_add_up(void)
{
    g_autoptr(Place) place = place_new();
    GThread *threads[4];
    g_assert_cmpint(ls_recorder_open(place->folder), ==, LS_OK);
    ls_recorder_set_rank(0, 1, 0);
    for (int i = 0; i < 4; i++)
        threads[i] = g_thread_new("many", write_many, NULL);
    for (int i = 0; i < 4; i++)
        g_thread_join(threads[i]);
    ls_recorder_close();
    g_autoptr(LksFile) file = read_only_file(place);
    g_assert_cmpuint(lks_count(file, LS_RECORD_SUBMIT) + lks_sum_lost(file), ==, 80000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/recorder/off-is-a-no-op", test_off);
    g_test_add_func("/capture/recorder/shared-and-counted", test_shared_and_counted);
    g_test_add_func("/capture/recorder/says-its-cost", test_says_its_cost);
    g_test_add_func("/capture/recorder/opened-again-is-another-life", test_opened_again);
    g_test_add_func("/capture/recorder/child-opens-its-own", test_child_opens_its_own);
    g_test_add_func("/capture/recorder/large-ring-takes-a-burst", test_large_ring_takes_a_burst);
    g_test_add_func("/capture/recorder/kept-and-lost-add-up", test_kept_and_lost_add_up);
    g_test_add_func("/capture/mark/begun-nested-and-never-ended", test_marks);
    return g_test_run();
}
