/* SPDX-License-Identifier: Apache-2.0
 *
 * When records are kept: each bound alone and together, and where a flight recorder stops.
 */
#include <glib.h>
#include <glib/gstdio.h>

#include "capture/clock.h"
#include "capture/freeze.h"
#include "capture/gate.h"
#include "capture/window.h"

#define MS INT64_C(1000000)

static LsWindow window = {.lock = PTHREAD_MUTEX_INITIALIZER};

static LsSettings
open_window(const char *variable, const char *value)
{
    LsSettings settings;
    const char *bad;
    if (variable != NULL)
        g_setenv(variable, value, TRUE);
    ls_settings_load(&settings, &bad);
    g_assert_null(bad);
    if (variable != NULL)
        g_unsetenv(variable);
    ls_window_open(&window, &settings, 3);
    return settings;
}

static bool
keeps(void)
{
    g_assert_cmpuint(ls_gate->opening, ==, 3);
    return ls_gate->life == 3;
}

static void
run_step(int64_t number, int64_t length_ns)
{
    static int64_t now = 1;
    ls_window_begin_step(&window, number, now);
    ls_window_end_step(&window, now += length_ns);
}

static void
test_unbounded(void)
{
    open_window(NULL, NULL);
    g_assert_true(keeps());
    run_step(7, MS);
    g_assert_true(keeps());
    ls_window_close(&window);
    g_assert_cmpuint(ls_gate->life | ls_gate->opening, ==, 0);
    ls_window_set_range(&window, true);
    g_assert_cmpuint(ls_gate->life, ==, 0);
}

static void
test_steps(void)
{
    open_window("LOCKSTEP_STEPS", "3:4");
    g_assert_false(keeps());
    for (int64_t step = 0; step < 8; step++) {
        ls_window_begin_step(&window, step, step);
        g_assert_cmpint(keeps(), ==, step == 3 || step == 4);
        ls_window_end_step(&window, step);
        g_assert_cmpint(keeps(), ==, step == 3);
    }
    ls_window_close(&window);
}

static void
test_time(void)
{
    LsSettings settings;
    const char *bad;
    g_setenv("LOCKSTEP_DELAY_MS", "100", TRUE);
    g_setenv("LOCKSTEP_DURATION_MS", "50", TRUE);
    ls_settings_load(&settings, &bad);
    ls_window_open(&window, &settings, 3);
    g_assert_false(keeps());
    ls_window_tick(&window, window.opened_ns + 99 * MS);
    g_assert_false(keeps());
    ls_window_tick(&window, window.opened_ns + 100 * MS);
    g_assert_true(keeps());
    ls_window_tick(&window, window.opened_ns + 149 * MS);
    g_assert_true(keeps());
    ls_window_tick(&window, window.opened_ns + 150 * MS);
    g_assert_false(keeps());
    ls_window_close(&window);
    g_unsetenv("LOCKSTEP_DELAY_MS");
    g_unsetenv("LOCKSTEP_DURATION_MS");
}

/* Each time that a bound ends is told once; the one that lasts until the recorder closes is not. */
static void
test_cut_is_told_once(void)
{
    LsWindowSpan span;
    open_window("LOCKSTEP_CAPTURE_RANGE", "epoch 3");
    g_assert_false(ls_window_take_cut(&window, &span));
    for (int i = 0; i < 2; i++) {
        int64_t before_ns = ls_clock_now();
        ls_window_set_range(&window, true);
        g_assert_false(ls_window_take_cut(&window, &span));
        ls_window_set_range(&window, false);
        g_assert_true(ls_window_take_cut(&window, &span));
        g_assert_cmpint(span.start_ns, >=, before_ns);
        g_assert_cmpint(span.end_ns, >=, span.start_ns);
        g_assert_cmpint(span.end_ns, <=, ls_clock_now());
        g_assert_false(ls_window_take_cut(&window, &span));
    }
    ls_window_set_range(&window, true);
    ls_window_close(&window);
    g_assert_false(ls_window_take_cut(&window, &span));
    /* More than are kept: the latest. */
    open_window("LOCKSTEP_CAPTURE_RANGE", "epoch 3");
    for (int i = 0; i < LS_WINDOW_SPANS + 5; i++) {
        ls_window_set_range(&window, true);
        ls_window_set_range(&window, false);
    }
    int told = 0;
    while (ls_window_take_cut(&window, &span))
        told++;
    g_assert_cmpint(told, ==, LS_WINDOW_SPANS);
    ls_window_close(&window);
}

static void
test_range(void)
{
    open_window("LOCKSTEP_CAPTURE_RANGE", "epoch 3");
    g_assert_false(keeps());
    ls_window_set_range(&window, true);
    g_assert_true(keeps());
    ls_window_set_range(&window, false);
    g_assert_false(keeps());
    ls_window_close(&window);
}

/* What is told of later is judged by its own time. */
static void
test_told_later(void)
{
    open_window("LOCKSTEP_CAPTURE_RANGE", "epoch 3");
    g_assert_cmpint(ls_window_was_open(&window, 0, INT64_MAX), ==, 0);
    ls_window_set_range(&window, true);
    int64_t inside = ls_clock_now();
    g_assert_cmpint(ls_window_was_open(&window, inside, inside), ==, 1);
    ls_window_set_range(&window, false);
    int64_t outside = ls_clock_now() + MS;
    g_assert_cmpint(ls_window_was_open(&window, inside, outside), ==, 1);
    g_assert_cmpint(ls_window_was_open(&window, outside, outside + MS), ==, 0);
    g_assert_cmpint(ls_window_was_open(&window, 0, 1), ==, 0);
    for (int i = 0; i < LS_WINDOW_SPANS; i++) {
        ls_window_set_range(&window, true);
        ls_window_set_range(&window, false);
    }
    g_assert_cmpint(ls_window_was_open(&window, inside, inside), ==, -1);
    g_assert_cmpint(ls_window_was_open(&window, inside, INT64_MAX), ==, 1);
    ls_window_close(&window);
}

static void
test_freeze(void)
{
    open_window("LOCKSTEP_FLIGHT", "8M");
    for (int64_t step = 0; step < 20; step++)
        run_step(step, 10 * MS);
    int64_t stop = ls_window_find_stop(&window, 300 * MS);
    g_assert_cmpint(stop, ==, 19 + 30 + 2);
    ls_window_freeze(&window, stop);
    for (int64_t step = 20; step < stop; step++) {
        run_step(step, 10 * MS);
        g_assert_true(keeps());
    }
    ls_window_begin_step(&window, stop, 0);
    g_assert_true(keeps());
    ls_window_end_step(&window, 1);
    g_assert_false(keeps());
    g_assert_true(ls_window_is_frozen(&window));
    run_step(stop + 1, MS);
    g_assert_false(keeps());
    ls_window_close(&window);
}

/* What stops it mostly is one slow step: the steps until all have heard of it are as short as
 * before. */
static void
test_freeze_after_slow_step(void)
{
    open_window("LOCKSTEP_FLIGHT", "8M");
    run_step(0, 10000 * MS); /* the first one, which makes everything */
    for (int64_t step = 1; step < 20; step++)
        run_step(step, 10 * MS);
    run_step(20, 3000 * MS);
    run_step(21, 10 * MS);
    g_assert_cmpint(ls_window_find_stop(&window, 300 * MS), >=, 21 + 300 / 12);
    g_assert_cmpint(ls_window_find_stop(&window, 300 * MS), <=, 21 + 300 / 10 + 2);
    for (int64_t step = 22; step < 60; step++) /* from now on they are long */
        run_step(step, 100 * MS);
    g_assert_cmpint(ls_window_find_stop(&window, 300 * MS), <=, 59 + 300 / 90 + 2);
    ls_window_close(&window);
}

/* A rank that hears of it too late, and one that marks no steps. */
static void
test_freeze_late(void)
{
    open_window("LOCKSTEP_FLIGHT", "8M");
    run_step(50, MS);
    ls_window_freeze(&window, 49);
    g_assert_false(keeps());
    ls_window_close(&window);
    open_window("LOCKSTEP_FLIGHT", "8M");
    g_assert_cmpint(ls_window_find_stop(&window, 300 * MS), ==, LS_STEP_UNKNOWN);
    ls_window_freeze(&window, 49);
    g_assert_false(keeps());
    ls_window_close(&window);
}

static void
test_trigger(void)
{
    LsSettings settings = open_window("LOCKSTEP_FLIGHT", "8M");
    ls_window_close(&window);
    settings.trigger_ms = 100;
    ls_window_open(&window, &settings, 3);
    run_step(0, 500 * MS); /* warm-up */
    for (int64_t step = 1; step < 10; step++)
        run_step(step, 20 * MS);
    g_assert_cmpint(ls_window_take_trigger(&window), ==, LS_STEP_UNKNOWN);
    run_step(10, 101 * MS);
    g_assert_cmpint(ls_window_take_trigger(&window), ==, 10);
    run_step(11, 500 * MS);
    g_assert_cmpint(ls_window_take_trigger(&window), ==, LS_STEP_UNKNOWN);
    ls_window_close(&window);
}

static void
test_first_answer_holds(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-freeze-XXXXXX", NULL);
    g_autofree char *ask = g_build_filename(folder, ".freeze", NULL);
    g_autofree char *answer = g_build_filename(folder, ".freeze-at", NULL);
    int64_t stop;
    g_assert_false(ls_freeze_is_asked(folder));
    g_assert_cmpint(ls_freeze_ask(folder), ==, LS_OK);
    g_assert_true(ls_freeze_is_asked(folder));
    g_assert_false(ls_freeze_read(folder, &stop));
    g_assert_cmpint(ls_freeze_answer(folder, 120), ==, LS_OK);
    g_assert_cmpint(ls_freeze_answer(folder, 130), ==, LS_OK);
    g_assert_true(ls_freeze_read(folder, &stop));
    g_assert_cmpint(stop, ==, 120);
    g_assert_cmpint(ls_freeze_ask("/proc/lockstep"), ==, LS_ERR_SYSTEM);
    g_remove(ask);
    g_remove(answer);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/window/unbounded-until-it-closes", test_unbounded);
    g_test_add_func("/capture/window/steps-by-number", test_steps);
    g_test_add_func("/capture/window/delay-and-duration", test_time);
    g_test_add_func("/capture/window/inside-a-range", test_range);
    g_test_add_func("/capture/window/a-cut-is-told-once", test_cut_is_told_once);
    g_test_add_func("/capture/window/what-is-told-later-goes-by-its-own-time", test_told_later);
    g_test_add_func("/capture/window/freezes-at-the-end-of-a-step", test_freeze);
    g_test_add_func("/capture/window/freezes-in-time-after-a-slow-step",
                    test_freeze_after_slow_step);
    g_test_add_func("/capture/window/freezes-late-or-without-steps", test_freeze_late);
    g_test_add_func("/capture/window/slow-step-after-warm-up", test_trigger);
    g_test_add_func("/capture/freeze/first-answer-holds", test_first_answer_holds);
    return g_test_run();
}
