/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/control-coordinator.c: Horovod's original protocol (facts B2; seeds 1.1): one round
 * (reduce/round.h) in each cycle.
 *
 * GATHER, BROADCAST, DONE: always both, also with nothing to say. The smallest control: a pattern
 * for others.
 */
#include "reduce/control.h"

#include <stdlib.h>

#include "reduce/round.h"

typedef enum State {
    STATE_IDLE,      /* begin() is next */
    STATE_BEGUN,     /* the gather is to be asked for */
    STATE_GATHER,    /* asked for */
    STATE_BROADCAST, /* asked for */
    STATE_DONE,      /* take() is next */
    STATE_LOST,
} State;

struct LsControl {
    LsRound round;
    State state;
};

static void
coordinator_close(LsControl *control)
{
    if (control == NULL)
        return;
    ls_round_clear(&control->round);
    free(control);
}

static LsControl *
coordinator_open(const LsControlConfig *config, const LsControlEvents *events)
{
    LsControl *control = calloc(1, sizeof *control);
    if (control == NULL || ls_round_open(&control->round, config, events))
        return control;
    coordinator_close(control);
    return NULL;
}

static bool
lose(LsControl *control, const char *text)
{
    ls_fault_note(&control->round.fault, text);
    control->state = STATE_LOST;
    return false;
}

static bool
coordinator_begin(LsControl *control, LsRequestList *requests, bool shut_down, int64_t now_ns)
{
    LsRound *round = &control->round;
    if (control->state != STATE_IDLE)
        return lose(control, "a cycle begins before the last one was taken");
    control->state = STATE_BEGUN;
    ls_round_begin(round, requests, shut_down, now_ns);
    while (round->pending.first != NULL && !ls_fault_is(&round->fault))
        ls_round_add(round, round->pending.first);
    return true; /* a failure is told in step with the others */
}

static bool
coordinator_advance(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    LsRound *round = &control->round;
    *ret_action = (LsAction){.kind = LS_ACTION_DONE};
    switch (control->state) {
    case STATE_BEGUN:
        control->state = STATE_GATHER;
        ls_round_gather(round, ret_action);
        return true;
    case STATE_GATHER:
        control->state = STATE_BROADCAST;
        ls_round_answer(round, result, ret_action);
        return true;
    case STATE_BROADCAST:
        control->state = STATE_DONE;
        if (ls_round_end(round, result) && ls_round_settle(round))
            return true;
        control->state = STATE_LOST;
        return false;
    default:
        return lose(control, "no cycle is under way");
    }
}

static void
coordinator_take(LsControl *control, LsResponseList *ret_responses, bool *ret_shut_down,
                 int *ret_path)
{
    ls_round_take(&control->round, ret_responses, ret_shut_down, ret_path);
    control->state = STATE_IDLE;
}

static size_t
coordinator_pending(const LsControl *control)
{
    return control->round.pending.waiting.n;
}

static const char *
coordinator_error(const LsControl *control)
{
    return control->round.fault.text;
}

const LsControlClass ls_control_coordinator = {
    .name = "coordinator",
    .open = coordinator_open,
    .close = coordinator_close,
    .begin = coordinator_begin,
    .advance = coordinator_advance,
    .take = coordinator_take,
    .pending = coordinator_pending,
    .error = coordinator_error,
};
