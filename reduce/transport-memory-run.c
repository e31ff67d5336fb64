/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-memory-run.c: a scheduler. Of the ranks that can go on, the one whose time is
 * the earliest runs its control until it has come to a collective, or waits for a message, or has
 * left; so that whatever arrives by then has been sent. When none can go on, all have left or some
 * wait for what never comes.
 */
#include "reduce/transport-memory-private.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum RankState {
    RANK_BETWEEN, /* before a cycle */
    RANK_GOES,    /* in a cycle, not at the meeting point */
    RANK_WAITS,   /* at the meeting point */
    RANK_POLLS,   /* for a message, not for ever */
    RANK_LEFT,
} RankState;

typedef struct Run {
    LsMemory *memory;
    const LsControlClass *class;
    LsControl *const *controls;
    const LsMemoryProgram *program;
    RankState *states;
    int64_t *cycles;  /* left to do */
    uint64_t *posted; /* collectives that were complete when it came to the one it waits in */
} Run;

/* The first failure is the one that is told. */
static void
fail_rank(Run *run, int rank, const char *text)
{
    LsMemory *memory = run->memory;
    if (memory->error[0] == '\0')
        snprintf(memory->error, sizeof memory->error, "rank %d: %s", rank, text);
    run->states[rank] = RANK_LEFT;
}

/* The result of the collective that the rank waited in is there. */
static void
tell_rank(const Run *run, int rank)
{
    LsTransport transport = {.rank = rank, .ranks = run->memory->ranks};
    if (run->program->events == NULL)
        return;
    transport.events = run->program->events[rank];
    ls_memory_tell(run->memory, &transport);
}

static void
begin_cycle(Run *run, int rank)
{
    LsRequestList requests = {0};
    bool shut_down = false;
    int64_t now_ns = ls_memory_now(run->memory, rank);
    if (run->cycles[rank]-- == 0) {
        run->states[rank] = RANK_LEFT;
        return;
    }
    run->program->submit(run->program->user, rank, now_ns, &requests, &shut_down);
    run->states[rank] = RANK_GOES;
    if (!run->class->begin(run->controls[rank], &requests, shut_down, now_ns))
        fail_rank(run, rank, run->class->error(run->controls[rank]));
    ls_request_list_clear(&requests);
}

static void
end_cycle(Run *run, int rank)
{
    LsResponseList responses;
    bool shut_down;
    int path;
    run->class->take(run->controls[rank], &responses, &shut_down, &path);
    int64_t ns = run->program->execute(run->program->user, rank, ls_memory_now(run->memory, rank),
                                       &responses, shut_down, path);
    ls_response_list_clear(&responses);
    ls_memory_spend(run->memory, rank, ns);
    run->states[rank] = shut_down ? RANK_LEFT : RANK_BETWEEN;
}

/* Of one of the rank's messages. */
static void
tell_mail(const Run *run, int rank)
{
    if (run->memory->slots[rank].action.kind == LS_ACTION_SEND ||
        run->memory->slots[rank].held != NULL)
        tell_rank(run, rank);
}

/* From here to the next collective or look; `result` of the last one, NULL at the start of a cycle.
 */
static void
go(Run *run, int rank, const LsResult *result)
{
    LsMemory *memory = run->memory;
    LsAction action;
    LsResult none = {0};
    run->states[rank] = RANK_GOES;
    while (run->states[rank] == RANK_GOES) {
        if (!run->class->advance(run->controls[rank], result, &action)) {
            fail_rank(run, rank, run->class->error(run->controls[rank]));
        } else if (action.kind == LS_ACTION_DONE) {
            end_cycle(run, rank);
        } else if (action.kind == LS_ACTION_POLL) {
            memory->slots[rank].action = action;
            run->states[rank] = RANK_POLLS;
        } else if (action.kind == LS_ACTION_SEND) {
            if (!ls_memory_mail(memory, rank, &action, &none))
                run->states[rank] = RANK_LEFT;
            else
                tell_mail(run, rank);
            result = &none;
        } else {
            run->states[rank] = RANK_WAITS;
            run->posted[rank] = memory->completed;
            if (!ls_memory_post(memory, rank, &action))
                run->states[rank] = RANK_LEFT;
        }
    }
}

static bool
waits(const Run *run)
{
    for (int rank = 0; rank < run->memory->ranks; rank++)
        if (run->states[rank] == RANK_WAITS)
            return true;
    return false;
}

/* Some ranks came, not all, and none is under way. */
static void
note_deadlock(Run *run)
{
    LsMemory *memory = run->memory;
    int waiting = 0, absent = 0;
    while (run->states[waiting] != RANK_WAITS)
        waiting++;
    while (absent < memory->ranks - 1 && run->states[absent] == RANK_WAITS)
        absent++;
    if (memory->error[0] == '\0')
        snprintf(memory->error, sizeof memory->error,
                 "rank %d waits in a collective to which rank %d, which has left, does not come",
                 waiting, absent);
    memory->failed = true;
}

/* When the rank can go on; INT64_MAX: not now. */
static int64_t
next_ns(const Run *run, int rank)
{
    const LsMemory *memory = run->memory;
    switch (run->states[rank]) {
    case RANK_BETWEEN:
        return memory->slots[rank].now_ns;
    case RANK_POLLS:
        return ls_memory_poll_end(memory, rank, &memory->slots[rank].action);
    case RANK_WAITS:
        return memory->completed > run->posted[rank] ? memory->slots[rank].now_ns : INT64_MAX;
    default:
        return INT64_MAX;
    }
}

/* The rank goes on. The results of a collective are there until all have come to the next. */
static void
step(Run *run, int rank)
{
    LsResult result;
    if (run->states[rank] == RANK_BETWEEN) {
        begin_cycle(run, rank);
        if (run->states[rank] == RANK_GOES)
            go(run, rank, NULL);
    } else if (run->states[rank] == RANK_POLLS) {
        LsAction action = run->memory->slots[rank].action;
        ls_memory_mail(run->memory, rank, &action, &result);
        tell_mail(run, rank);
        go(run, rank, &result);
    } else {
        result = ls_memory_result(run->memory, rank);
        tell_rank(run, rank);
        go(run, rank, &result);
    }
}

/* -1: none can go on. */
static int
find_earliest(const Run *run)
{
    int64_t earliest_ns = INT64_MAX;
    int found = -1;
    for (int rank = 0; rank < run->memory->ranks; rank++) {
        int64_t ns = next_ns(run, rank);
        if (ns >= earliest_ns)
            continue;
        earliest_ns = ns;
        found = rank;
    }
    return found;
}

const char *
ls_memory_run(LsMemory *memory, const LsControlClass *class, LsControl *const *controls,
              const LsMemoryProgram *program, int64_t cycles)
{
    Run run = {memory, class, controls, program, NULL, NULL, NULL};
    run.states = calloc((size_t)memory->ranks, sizeof *run.states);
    run.cycles = calloc((size_t)memory->ranks, sizeof *run.cycles);
    run.posted = calloc((size_t)memory->ranks, sizeof *run.posted);
    if (run.states == NULL || run.cycles == NULL || run.posted == NULL) {
        snprintf(memory->error, sizeof memory->error, "out of memory");
        goto out;
    }
    for (int rank = 0; rank < memory->ranks; rank++)
        run.cycles[rank] = cycles;
    int rank;
    while (!memory->failed && (rank = find_earliest(&run)) >= 0)
        step(&run, rank);
    if (!memory->failed && waits(&run))
        note_deadlock(&run);
out:
    free(run.states);
    free(run.cycles);
    free(run.posted);
    return memory->error[0] != '\0' ? memory->error : NULL;
}
