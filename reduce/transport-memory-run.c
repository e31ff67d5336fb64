/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-memory-run.c: a scheduler. Each rank in turn runs its control until it has come
 * to a collective or has left; when no rank can go on, either all have come, and the collective is
 * done, or some wait for what never comes.
 */
#include "reduce/transport-memory-private.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum RankState {
    RANK_BETWEEN, /* before a cycle */
    RANK_GOES,    /* in a cycle, not at the meeting point */
    RANK_WAITS,   /* at the meeting point */
    RANK_LEFT,
} RankState;

typedef struct Run {
    LsMemory *memory;
    const LsControlClass *class;
    LsControl *const *controls;
    const LsMemoryProgram *program;
    RankState *states;
    int64_t *cycles; /* left to do */
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

/* From here to the next collective; `result` of the last one, NULL at the start of a cycle. */
static void
go(Run *run, int rank, const LsResult *result)
{
    LsAction action;
    if (!run->class->advance(run->controls[rank], result, &action)) {
        fail_rank(run, rank, run->class->error(run->controls[rank]));
    } else if (action.kind == LS_ACTION_DONE) {
        end_cycle(run, rank);
    } else {
        run->states[rank] = RANK_WAITS;
        if (!ls_memory_post(run->memory, rank, &action))
            run->states[rank] = RANK_LEFT;
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

/* Brings every rank to its next collective, or out. The results of the last one are there until all
 * have come to the next. */
static void
sweep(Run *run)
{
    for (int rank = 0; rank < run->memory->ranks && !run->memory->failed; rank++) {
        if (run->states[rank] == RANK_WAITS) {
            LsResult result = ls_memory_result(run->memory, rank);
            tell_rank(run, rank);
            go(run, rank, &result);
        }
        while (run->states[rank] == RANK_BETWEEN) {
            begin_cycle(run, rank);
            if (run->states[rank] == RANK_GOES)
                go(run, rank, NULL);
        }
    }
}

const char *
ls_memory_run(LsMemory *memory, const LsControlClass *class, LsControl *const *controls,
              const LsMemoryProgram *program, int64_t cycles)
{
    Run run = {memory, class, controls, program, NULL, NULL};
    run.states = calloc((size_t)memory->ranks, sizeof *run.states);
    run.cycles = calloc((size_t)memory->ranks, sizeof *run.cycles);
    if (run.states == NULL || run.cycles == NULL) {
        snprintf(memory->error, sizeof memory->error, "out of memory");
        goto out;
    }
    for (int rank = 0; rank < memory->ranks; rank++)
        run.cycles[rank] = cycles;
    uint64_t completed;
    do {
        completed = memory->completed;
        sweep(&run);
    } while (memory->completed != completed && !memory->failed);
    if (!memory->failed && waits(&run))
        note_deadlock(&run);
out:
    free(run.states);
    free(run.cycles);
    return memory->error[0] != '\0' ? memory->error : NULL;
}
