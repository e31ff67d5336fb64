/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/window.h: when records are kept, while the recorder is open: after a delay, for a time,
 * in some steps, inside a range, until the flight recorder is frozen. Outside, the gate is closed,
 * so that the hot path needs no look of its own, and nothing counts as lost.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/settings.h"

#define LS_STEP_UNKNOWN INT64_C(-1)
#define LS_WINDOW_SPANS 1024

/* A time in which records were kept. */
typedef struct LsWindowSpan {
    int64_t start_ns, end_ns; /* INT64_MAX: still */
    bool is_cut;              /* ended by a bound, not with the recorder */
} LsWindowSpan;

typedef struct LsWindow {
    pthread_mutex_t lock;
    bool is_open;           /* the recorder is */
    uint32_t life;          /* of the recorder */
    uint32_t reasons;       /* bits: why nothing is kept */
    _Atomic bool has_steps; /* steps are worth telling to it */
    int64_t opened_ns, delay_ns, duration_ns;
    int64_t first_step, last_step; /* of LOCKSTEP_STEPS */
    bool is_flight;
    int64_t trigger_ns;      /* 0: none */
    int64_t step, step_ns;   /* the one under way, or the last */
    int64_t steps, usual_ns; /* ended so far; from begin to begin */
    int64_t slow_step;       /* has set off the trigger */
    int64_t stop_step;       /* the last to be kept; INT64_MAX: none */
    uint32_t n_spans;        /* so far; the last ones are there */
    uint32_t n_taken;        /* of these, by ls_window_take_cut */
    LsWindowSpan spans[LS_WINDOW_SPANS];
} LsWindow;

/* The gate opens, if the settings keep records from the start. */
void ls_window_open(LsWindow *window, const LsSettings *settings, uint32_t life);
/* It closes for good. */
void ls_window_close(LsWindow *window);

/* The time has gone on. */
void ls_window_tick(LsWindow *window, int64_t now_ns);
/* A step begins, a step ends; any thread. */
void ls_window_begin_step(LsWindow *window, int64_t number, int64_t now_ns);
void ls_window_end_step(LsWindow *window, int64_t now_ns);
/* Inside the range that LOCKSTEP_CAPTURE_RANGE names, or not. */
void ls_window_set_range(LsWindow *window, bool is_inside);

/* Whether records were kept at any time between the two: 1, 0; -1: it is too long ago to say. */
int ls_window_was_open(LsWindow *window, int64_t from_ns, int64_t to_ns);

/* The next time that a bound has ended, once; false: none has. */
bool ls_window_take_cut(LsWindow *window, LsWindowSpan *ret_span);

/* The step that was slower than the trigger, once; LS_STEP_UNKNOWN: none was. */
int64_t ls_window_take_trigger(LsWindow *window);
/* A step that no rank has ended yet when all have heard of it within `spread_ns`; LS_STEP_UNKNOWN
 * where no steps are marked. */
int64_t ls_window_find_stop(LsWindow *window, int64_t spread_ns);
/* Nothing is kept after that step; LS_STEP_UNKNOWN: from now on. */
void ls_window_freeze(LsWindow *window, int64_t stop_step);
bool ls_window_is_frozen(LsWindow *window);
