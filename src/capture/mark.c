/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of a training program. A step or phase is written open when it begins, so that a process
 * that dies within it shows where, and again whole when it ends. Each thread keeps what it has
 * begun in a small stack. A signal handler may set marks, too; where it has interrupted one, its
 * own are counted as lost.
 */
#include "capture/lockstep-mark.h"

#include <errno.h>
#include <string.h>

#include "capture/recorder-private.h"
#include "capture/visit.h"

#define DEPTH 24

typedef struct Mark {
    uint32_t life;
    uint16_t kind;
    uint32_t name;
    int64_t start_ns, number;
} Mark;

typedef struct Marks {
    Mark open[DEPTH];
    int n;
} Marks;
static __thread Marks marks;

/* Phases by their numbers, and the step. */
static const char *const texts[] = {"forward", "backward",   "optimizer",
                                    "input",   "checkpoint", "step"};
enum { STEP = sizeof texts / sizeof texts[0] - 1, N_TEXTS };

static bool
is_phase(lockstep_phase phase)
{
    return (int)phase >= 0 && (int)phase < STEP;
}

/* The name of a text, which is asked for once in the recorder's life: life << 32 | name. */
static uint32_t
find_name(int text)
{
    static _Atomic uint64_t known[N_TEXTS];
    uint64_t life = atomic_load(&ls_gate->opening);
    uint64_t found = atomic_load_explicit(&known[text], memory_order_relaxed);
    if (found >> 32 == life && (uint32_t)found != 0)
        return (uint32_t)found;
    uint32_t name = ls_recorder_name(texts[text]);
    atomic_store_explicit(&known[text], life << 32 | name, memory_order_relaxed);
    return name;
}

/* NULL: a signal handler, which must not wait for what it has interrupted. */
static LsWhereabouts *
enter(void)
{
    LsWhereabouts *own = ls_own(&ls_whereabouts);
    if (own->is_marking || own->visits > 0) {
        ls_thread_lose();
        return NULL;
    }
    own->is_marking = true;
    atomic_signal_fence(memory_order_seq_cst);
    return own;
}

static void
leave(LsWhereabouts *own)
{
    atomic_signal_fence(memory_order_seq_cst);
    own->is_marking = false;
}

static bool
is_recording(void)
{
    if (!ls_recorder_active())
        ls_recorder_open_for_marks();
    return ls_recorder_active();
}

static void
begin(uint16_t kind, int text, int64_t number)
{
    int error = errno;
    if (is_recording()) {
        LsRecord record = {.kind = kind, .flags = LS_RECORD_OPEN, .name = find_name(text)};
        record.start_ns = record.end_ns = ls_recorder_now();
        record.args[0] = kind == LS_RECORD_STEP ? number : 0;
        /* Deeper than any program nests: the oldest is never ended, and stays open in the trace. */
        if (marks.n == DEPTH)
            memmove(&marks.open[0], &marks.open[1], sizeof marks.open[0] * (size_t)--marks.n);
        marks.open[marks.n++] =
            (Mark){atomic_load(&ls_gate->opening), kind, record.name, record.start_ns, number};
        ls_recorder_write(&record);
    }
    errno = error;
}

/* Takes the latest of this kind and name off the stack. */
static bool
take(uint16_t kind, uint32_t name, Mark *ret_mark)
{
    uint32_t life = atomic_load(&ls_gate->opening);
    for (int i = marks.n; i-- > 0;) {
        Mark *mark = &marks.open[i];
        if (mark->kind != kind || mark->name != name || mark->life != life)
            continue;
        *ret_mark = *mark;
        memmove(mark, mark + 1, sizeof *mark * (size_t)(marks.n - i - 1));
        marks.n--;
        return true;
    }
    return false;
}

static void
end(uint16_t kind, int text, int64_t first, int64_t second)
{
    int error = errno;
    Mark mark;
    int64_t now = ls_recorder_now();
    /* What ends outside of the window is forgotten. */
    if (ls_recorder_is_open() && take(kind, find_name(text), &mark) && ls_recorder_active()) {
        LsRecord record = {
            .kind = kind, .name = mark.name, .start_ns = mark.start_ns, .end_ns = now};
        if (kind == LS_RECORD_STEP) {
            record.args[0] = mark.number;
            record.args[1] = first;
            record.args[2] = second;
        } else {
            record.args[0] = first;
        }
        ls_recorder_write(&record);
    }
    errno = error;
}

void
lockstep_step_begin(int64_t number)
{
    LsWhereabouts *own = enter();
    if (own == NULL)
        return;
    LsVisit visit = ls_visit_begin();
    is_recording();
    if (ls_recorder_is_open())
        ls_window_begin_step(&ls_recorder.window, number, ls_recorder_now());
    ls_visit_end(visit);
    begin(LS_RECORD_STEP, STEP, number);
    leave(own);
}

void
lockstep_step_end(int64_t samples, int64_t operations)
{
    LsWhereabouts *own = enter();
    if (own == NULL)
        return;
    end(LS_RECORD_STEP, STEP, samples, operations);
    LsVisit visit = ls_visit_begin();
    if (ls_recorder_is_open())
        ls_window_end_step(&ls_recorder.window, ls_recorder_now());
    ls_visit_end(visit);
    leave(own);
}

void
lockstep_phase_begin(lockstep_phase phase)
{
    LsWhereabouts *own = is_phase(phase) ? enter() : NULL;
    if (own == NULL)
        return;
    begin(LS_RECORD_PHASE, (int)phase, 0);
    leave(own);
}

void
lockstep_phase_end(lockstep_phase phase, int64_t operations)
{
    LsWhereabouts *own = is_phase(phase) ? enter() : NULL;
    if (own == NULL)
        return;
    end(LS_RECORD_PHASE, (int)phase, operations, 0);
    leave(own);
}

static void
write_instant(uint16_t kind, const char *name, int64_t argument)
{
    LsWhereabouts *own = enter();
    if (own == NULL)
        return;
    int error = errno;
    if (is_recording()) {
        LsRecord record = {.kind = kind, .name = ls_recorder_name(name), .args = {argument}};
        record.start_ns = record.end_ns = ls_recorder_now();
        ls_recorder_write(&record);
    }
    errno = error;
    leave(own);
}

void
lockstep_counter(const char *name, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    write_instant(LS_RECORD_COUNTER, name, bits);
}

void
lockstep_instant(const char *name)
{
    write_instant(LS_RECORD_INSTANT, name, 0);
}
