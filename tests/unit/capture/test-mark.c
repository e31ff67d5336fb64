/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of a signal handler, which may have interrupted the thread anywhere: where it holds a lock
 * of ours, the mark is lost and counted, and exit() leaves the rings as they are. No signal is
 * sent: a visit that is open, with its lock taken, is what the handler finds.
 */
#include <glib/gstdio.h>

#include "capture/lockstep-mark.h"
#include "capture/recorder-private.h"
#include "capture/visit.h"

static uint64_t
count_lost(void)
{
    return atomic_load(&ls_recorder.area.header->ringless_lost);
}

static void
set_each_mark(void)
{
    lockstep_step_begin(7);
    lockstep_phase_begin(LOCKSTEP_PHASE_FORWARD);
    lockstep_instant("of a handler");
    lockstep_counter("of a handler", 1);
    lockstep_phase_end(LOCKSTEP_PHASE_FORWARD, 0);
    lockstep_step_end(0, 0);
}

#define N_MARKS 6

static void
test_no_lock_is_waited_for(void)
{
    pthread_mutex_t *locks[] = {&ls_recorder.lock, &ls_recorder.word_lock, &ls_recorder.mark_lock,
                                &ls_recorder.names.lock, &ls_recorder.window.lock};
    for (size_t i = 0; i < G_N_ELEMENTS(locks); i++) {
        uint64_t before = count_lost();
        LsVisit visit = ls_visit_begin();
        pthread_mutex_lock(locks[i]);
        set_each_mark();
        pthread_mutex_unlock(locks[i]);
        ls_visit_end(visit);
        g_assert_cmpuint(count_lost() - before, ==, N_MARKS);
    }
    uint64_t before = count_lost();
    set_each_mark();
    g_assert_cmpuint(count_lost(), ==, before);
}

static void *
set_in_thread(void *user)
{
    set_each_mark();
    return NULL;
}

/* The interrupted thread alone is held to have a lock. */
static void
test_others_go_on(void)
{
    pthread_t thread;
    uint64_t before = count_lost();
    LsVisit visit = ls_visit_begin();
    g_assert_cmpint(pthread_create(&thread, NULL, set_in_thread, NULL), ==, 0);
    pthread_join(thread, NULL);
    ls_visit_end(visit);
    g_assert_cmpuint(count_lost(), ==, before);
}

static void
test_exit_does_not_wait(void)
{
    LsVisit visit = ls_visit_begin();
    pthread_mutex_lock(&ls_recorder.lock);
    pthread_mutex_lock(&ls_recorder.names.lock);
    ls_recorder_close_at_exit();
    g_assert_true(ls_recorder_is_open());
    pthread_mutex_unlock(&ls_recorder.names.lock);
    pthread_mutex_unlock(&ls_recorder.lock);
    ls_visit_end(visit);
    ls_recorder_close_at_exit();
    g_assert_false(ls_recorder_is_open());
}

static void
remove_all(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = g_dir_make_tmp("lockstep-mark-XXXXXX", NULL);
    g_setenv("LOCKSTEP_RUN", folder, TRUE);
    set_each_mark();
    g_test_add_func("/capture/mark/no-lock-is-waited-for", test_no_lock_is_waited_for);
    g_test_add_func("/capture/mark/other-threads-go-on", test_others_go_on);
    g_test_add_func("/capture/mark/exit-does-not-wait", test_exit_does_not_wait);
    int status = g_test_run();
    remove_all(folder);
    return status;
}
