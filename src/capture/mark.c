/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of a training program. A step or phase is written open when it begins, so that a process
 * that dies within it shows where, and again whole when it ends. Each thread keeps what it has
 * begun in a small stack.
 */
#include "capture/lockstep-mark.h"

#include <errno.h>
#include <string.h>

#include "capture/recorder-private.h"

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

static const char *const phase_names[] = {"forward", "backward", "optimizer", "input",
                                          "checkpoint"};
#define N_PHASES ((int)(sizeof phase_names / sizeof phase_names[0]))

static bool
is_recording(void)
{
    if (!ls_recorder_active())
        ls_recorder_open_for_marks();
    return ls_recorder_active();
}

static void
begin(uint16_t kind, const char *text, int64_t number)
{
    int error = errno;
    if (is_recording()) {
        LsRecord record = {.kind = kind, .flags = LS_RECORD_OPEN, .name = ls_recorder_name(text)};
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
end(uint16_t kind, const char *text, int64_t first, int64_t second)
{
    int error = errno;
    Mark mark;
    int64_t now = ls_recorder_now();
    /* What ends outside of the window is forgotten. */
    if (ls_recorder_is_open() && take(kind, ls_recorder_name(text), &mark) &&
        ls_recorder_active()) {
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
    int error = errno;
    is_recording();
    if (ls_recorder_is_open())
        ls_window_begin_step(&ls_recorder.window, number, ls_recorder_now());
    errno = error;
    begin(LS_RECORD_STEP, "step", number);
}

void
lockstep_step_end(int64_t samples, int64_t operations)
{
    end(LS_RECORD_STEP, "step", samples, operations);
    int error = errno;
    if (ls_recorder_is_open())
        ls_window_end_step(&ls_recorder.window, ls_recorder_now());
    errno = error;
}

void
lockstep_phase_begin(lockstep_phase phase)
{
    if ((int)phase >= 0 && (int)phase < N_PHASES)
        begin(LS_RECORD_PHASE, phase_names[phase], 0);
}

void
lockstep_phase_end(lockstep_phase phase, int64_t operations)
{
    if ((int)phase >= 0 && (int)phase < N_PHASES)
        end(LS_RECORD_PHASE, phase_names[phase], operations, 0);
}

static void
write_instant(uint16_t kind, const char *name, int64_t argument)
{
    int error = errno;
    if (is_recording()) {
        LsRecord record = {.kind = kind, .name = ls_recorder_name(name), .args = {argument}};
        record.start_ns = record.end_ns = ls_recorder_now();
        ls_recorder_write(&record);
    }
    errno = error;
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
