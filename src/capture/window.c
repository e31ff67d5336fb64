/* SPDX-License-Identifier: Apache-2.0
 *
 * Each bound is one bit; records are kept while none is set. Steps are bounded by their number as
 * the program marks it, so that all ranks keep the same ones.
 */
#include "capture/window.h"

#include <string.h>

#include "capture/clock.h"
#include "capture/gate.h"

#define MILLISECOND    INT64_C(1000000)
#define WARM_UP        5 /* steps that set off no trigger: the first are slow in any job */
#define STOP_STEPS_MAX 10000

enum { BEFORE_DELAY = 1, AFTER_DURATION = 2, OTHER_STEP = 4, OUTSIDE_RANGE = 8, FROZEN = 16 };

/* Under the lock. */
static void
update(LsWindow *window)
{
    uint32_t life = window->is_open && window->reasons == 0 ? window->life : 0;
    LsWindowSpan *last = &window->spans[(window->n_spans - 1) % LS_WINDOW_SPANS];
    bool is_kept = window->n_spans > 0 && last->end_ns == INT64_MAX;
    if (life != 0 && !is_kept)
        window->spans[window->n_spans++ % LS_WINDOW_SPANS] =
            (LsWindowSpan){ls_clock_now(), INT64_MAX, false};
    else if (life == 0 && is_kept) {
        last->end_ns = ls_clock_now();
        last->is_cut = window->is_open;
    }
    atomic_store_explicit(&ls_gate->life, life, memory_order_release);
}

static void
set_reason(LsWindow *window, uint32_t reason, bool is_set)
{
    window->reasons = is_set ? window->reasons | reason : window->reasons & ~reason;
    update(window);
}

static void
load(LsWindow *window, const LsSettings *settings)
{
    window->delay_ns = settings->delay_ms * MILLISECOND;
    window->duration_ns = settings->duration_ms * MILLISECOND;
    window->trigger_ns = settings->trigger_ms * MILLISECOND;
    window->is_flight = settings->flight > 0;
    window->first_step = 0;
    window->last_step = INT64_MAX;
    bool has_range = settings->steps[0] != '\0' &&
                     ls_parse_range(settings->steps, &window->first_step, &window->last_step);
    window->reasons = (window->delay_ns > 0 ? BEFORE_DELAY : 0) | (has_range ? OTHER_STEP : 0) |
                      (settings->capture_range[0] != '\0' ? OUTSIDE_RANGE : 0);
    atomic_store(&window->has_steps, has_range || window->is_flight);
}

void
ls_window_open(LsWindow *window, const LsSettings *settings, uint32_t life)
{
    pthread_mutex_lock(&window->lock);
    load(window, settings);
    window->is_open = true;
    window->life = life;
    window->opened_ns = ls_clock_now();
    window->step = window->slow_step = LS_STEP_UNKNOWN;
    window->steps = window->usual_ns = 0;
    window->stop_step = INT64_MAX;
    window->n_spans = window->n_taken = 0;
    atomic_store(&ls_gate->opening, life);
    update(window);
    pthread_mutex_unlock(&window->lock);
}

void
ls_window_close(LsWindow *window)
{
    pthread_mutex_lock(&window->lock);
    window->is_open = false;
    update(window);
    atomic_store(&ls_gate->opening, 0);
    pthread_mutex_unlock(&window->lock);
}

void
ls_window_tick(LsWindow *window, int64_t now_ns)
{
    if (window->delay_ns <= 0 && window->duration_ns <= 0)
        return;
    int64_t age = now_ns - window->opened_ns - window->delay_ns;
    pthread_mutex_lock(&window->lock);
    set_reason(window, BEFORE_DELAY, age < 0);
    set_reason(window, AFTER_DURATION, window->duration_ns > 0 && age >= window->duration_ns);
    pthread_mutex_unlock(&window->lock);
}

/* Under the lock. Rather too small than too great, since who hears of a stop too late stops
 * elsewhere: one slow step, which is why most are asked to stop, hardly counts, nor does a long
 * first one. */
static void
learn_usual(LsWindow *window, int64_t length_ns)
{
    int64_t more_ns = length_ns - window->usual_ns;
    if (window->steps == 1)
        window->usual_ns = length_ns;
    else if (more_ns < 0)
        window->usual_ns += more_ns / 2;
    else
        window->usual_ns += (more_ns < window->usual_ns ? more_ns : window->usual_ns + 8) / 8;
}

void
ls_window_begin_step(LsWindow *window, int64_t number, int64_t now_ns)
{
    if (!atomic_load_explicit(&window->has_steps, memory_order_relaxed))
        return;
    pthread_mutex_lock(&window->lock);
    if (window->steps > 0)
        learn_usual(window, now_ns - window->step_ns);
    window->step = number;
    window->step_ns = now_ns;
    set_reason(window, OTHER_STEP, number < window->first_step || number > window->last_step);
    /* A rank that heard of the stop too late to end with that step. */
    if (number > window->stop_step)
        set_reason(window, FROZEN, true);
    pthread_mutex_unlock(&window->lock);
}

void
ls_window_end_step(LsWindow *window, int64_t now_ns)
{
    if (!atomic_load_explicit(&window->has_steps, memory_order_relaxed))
        return;
    pthread_mutex_lock(&window->lock);
    int64_t length = now_ns - window->step_ns;
    if (window->trigger_ns > 0 && length > window->trigger_ns && window->steps >= WARM_UP &&
        window->slow_step == LS_STEP_UNKNOWN)
        window->slow_step = window->step;
    window->steps++;
    if (window->step >= window->last_step)
        set_reason(window, OTHER_STEP, true);
    if (window->step >= window->stop_step)
        set_reason(window, FROZEN, true);
    pthread_mutex_unlock(&window->lock);
}

void
ls_window_set_range(LsWindow *window, bool is_inside)
{
    pthread_mutex_lock(&window->lock);
    if (window->is_open)
        set_reason(window, OUTSIDE_RANGE, !is_inside);
    pthread_mutex_unlock(&window->lock);
}

int
ls_window_was_open(LsWindow *window, int64_t from_ns, int64_t to_ns)
{
    int was_open = 0;
    pthread_mutex_lock(&window->lock);
    uint32_t n = window->n_spans, first = n > LS_WINDOW_SPANS ? n - LS_WINDOW_SPANS : 0;
    if (first > 0 && from_ns < window->spans[first % LS_WINDOW_SPANS].start_ns)
        was_open = -1;
    for (uint32_t i = n; i > first && was_open != 1; i--) {
        const LsWindowSpan *span = &window->spans[(i - 1) % LS_WINDOW_SPANS];
        if (span->end_ns < from_ns)
            break;
        if (span->start_ns <= to_ns)
            was_open = 1;
    }
    pthread_mutex_unlock(&window->lock);
    return was_open;
}

bool
ls_window_take_cut(LsWindow *window, LsWindowSpan *ret_span)
{
    bool is_found = false;
    pthread_mutex_lock(&window->lock);
    if (window->n_spans - window->n_taken > LS_WINDOW_SPANS)
        window->n_taken = window->n_spans - LS_WINDOW_SPANS;
    while (!is_found && window->n_taken < window->n_spans) {
        const LsWindowSpan *span = &window->spans[window->n_taken % LS_WINDOW_SPANS];
        if (span->end_ns == INT64_MAX)
            break;
        window->n_taken++;
        is_found = span->is_cut;
        *ret_span = *span;
    }
    pthread_mutex_unlock(&window->lock);
    return is_found;
}

/* -- Flight recorder -- */

int64_t
ls_window_take_trigger(LsWindow *window)
{
    pthread_mutex_lock(&window->lock);
    int64_t step = window->slow_step;
    if (step != LS_STEP_UNKNOWN) {
        window->slow_step = LS_STEP_UNKNOWN;
        window->trigger_ns = 0;
    }
    pthread_mutex_unlock(&window->lock);
    return step;
}

int64_t
ls_window_find_stop(LsWindow *window, int64_t spread_ns)
{
    pthread_mutex_lock(&window->lock);
    int64_t stop = LS_STEP_UNKNOWN;
    if (window->steps > 0) {
        int64_t ahead = spread_ns / (window->usual_ns > 0 ? window->usual_ns : 1) + 2;
        stop = window->step + (ahead < STOP_STEPS_MAX ? ahead : STOP_STEPS_MAX);
    }
    pthread_mutex_unlock(&window->lock);
    return stop;
}

void
ls_window_freeze(LsWindow *window, int64_t stop_step)
{
    pthread_mutex_lock(&window->lock);
    window->stop_step = stop_step;
    /* Unknown, or the last step that ended here was behind it already. */
    if (stop_step == LS_STEP_UNKNOWN || window->steps == 0 || window->step > stop_step)
        set_reason(window, FROZEN, true);
    pthread_mutex_unlock(&window->lock);
}

bool
ls_window_is_frozen(LsWindow *window)
{
    pthread_mutex_lock(&window->lock);
    bool is_frozen = (window->reasons & FROZEN) != 0;
    pthread_mutex_unlock(&window->lock);
    return is_frozen;
}
