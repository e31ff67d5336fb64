/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/loop.c: when a cycle starts, and what one does.
 *
 * A cycle is a blocking exchange among all ranks, so it lasts until the last of them has come. By
 * event (default) a rank comes at once when it has something to say or a tensor pending; one that
 * has neither pauses, and comes back after the cycle time, so that warnings, errors and a wish to
 * leave reach it. The pause doubles to idle_time_ms while nothing happens anywhere and falls back
 * with the first submission. A long pause delays no tensor: a tensor is agreed only when every rank
 * has submitted it, and the submission here is what ends the pause. What is submitted while a
 * buffer is under way waits for the next cycle, which is how tensors gather for fusion.
 *
 * By clock cycles start a cycle time apart whatever is submitted (Horovod's loop, facts B1), later
 * where the cycle itself takes longer; there is no catching up.
 */
#include "reduce/loop.h"

#include "capture/format.h"
#include "reduce/clock.h"
#include "reduce/failure.h"
#include "reduce/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of one cycle on standard error; the trace has them all. */
#define STALLS_SAID 6

/* With a cycle time of 0 an idle rank still must not spin. */
#define LEAST_PAUSE_NS 50000

#define GRAPH_PIECE 512

struct LsLoop {
    LsLoopConfig config;
    LsControl *control;
    int64_t cycle;       /* number of the current one; -1: not running yet */
    int64_t pause_ns;    /* of a rank that has nothing to submit */
    int stalls;          /* of this cycle */
    int64_t linger_from; /* when this rank began to want to leave; 0: it does not */
    LsStage stage;       /* under way since stage_ns */
    int64_t stage_ns;
    bool staged;
    uint32_t *groups; /* owned; ids of their names */
    size_t drawn;     /* records of the graph that are written */
    bool graph_done;
};

/* What one cycle came to. */
typedef struct LsOutcome {
    LsResponseList responses;
    bool shut_down;
    int path;
    size_t requests;
} LsOutcome;

static int64_t
monotonic_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t
number(const LsLoop *loop, LsSettingId id)
{
    return loop->config.settings->numbers[id];
}

static void
end_stage(LsLoop *loop)
{
    if (loop->staged)
        ls_instrument_stage(loop->config.instrument, loop->stage, loop->stage_ns, loop->cycle);
    loop->staged = false;
}

static void
begin_stage(LsLoop *loop, LsStage stage)
{
    end_stage(loop);
    loop->stage = stage;
    loop->stage_ns = ls_instrument_now();
    loop->staged = true;
}

static void
on_stage(void *user, LsControlStage stage)
{
    begin_stage(user, stage == LS_CONTROL_PARSE ? LS_STAGE_PARSE : LS_STAGE_BUILD);
}

static void
on_stall(void *user, const char *tensor, int missing_rank, int64_t waited_ns)
{
    LsLoop *loop = user;
    char text[LS_FAILURE_TEXT_MAX];
    const char *group = ls_groups_name_of(loop->config.groups, tensor);
    ls_instrument_stall(loop->config.instrument, tensor, group,
                        loop->config.world->infos[missing_rank].job_rank, waited_ns);
    if (loop->stalls++ >= STALLS_SAID)
        return;
    snprintf(text, sizeof text,
             "tensor %s%s%s has waited %lld ms for rank %d, which has not submitted it", tensor,
             group != NULL ? " of group " : "", group != NULL ? group : "",
             (long long)(waited_ns / 1000000), missing_rank);
    ls_instrument_tell(text);
}

static void
end_stalls(LsLoop *loop)
{
    char text[128];
    if (loop->stalls > STALLS_SAID) {
        snprintf(text, sizeof text, "%d more waits of a tensor for a rank are in cycle %lld",
                 loop->stalls - STALLS_SAID, (long long)loop->cycle);
        ls_instrument_tell(text);
    }
    loop->stalls = 0;
}

static void
on_gate(void *user, const char *tensor, int group, const char *last)
{
    LsLoop *loop = user;
    const LsEntry *entry = ls_queue_find(loop->config.queue, tensor);
    const LsEntry *latest = ls_queue_find(loop->config.queue, last);
    if (entry == NULL || latest == NULL)
        return;
    /* Threads that submit at once may come into the queue in another order than their clocks say.
     */
    int64_t time_ns = latest->submit_ns > entry->submit_ns ? latest->submit_ns : entry->submit_ns;
    ls_instrument_gate(loop->config.instrument, entry->record_name, time_ns, entry->occurrence,
                       ls_group_name(loop->config.groups, group), &loop->groups[group]);
}

static void
on_cache(void *user, const LsCacheCount *count)
{
    LsLoop *loop = user;
    ls_instrument_cache(loop->config.instrument, loop->cycle, count);
}

/* A piece of it in a cycle, so that a large one does not flood the ring. */
static void
record_graph(LsLoop *loop)
{
    if (!loop->graph_done && loop->config.world->rank == 0)
        loop->graph_done = ls_instrument_graph(loop->config.instrument, loop->config.graph,
                                               loop->config.groups, GRAPH_PIECE, &loop->drawn);
}

/* Of what all ranks do alike one is enough to tell. */
static void
on_notice(void *user, const char *text)
{
    const LsLoop *loop = user;
    if (loop->config.world->rank == 0)
        ls_instrument_say(text);
}

void
ls_loop_message(void *user, LsTransportCall call, int64_t start_ns, int64_t end_ns,
                const LsMessageCount *count)
{
    LsLoop *loop = user;
    if (loop->cycle < 0) /* ranks are still meeting */
        return;
    ls_instrument_message(loop->config.instrument, call, start_ns, end_ns, loop->cycle, count);
}

LsLoop *
ls_loop_new(const LsLoopConfig *config)
{
    LsLoop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return NULL;
    loop->config = *config;
    loop->cycle = -1;
    loop->pause_ns = number(loop, LS_SETTING_CYCLE_TIME_MS);
    int64_t interval = number(loop, LS_SETTING_CLOCK_INTERVAL_MS);
    LsControlConfig control = {
        .rank = config->world->rank,
        .ranks = config->world->ranks,
        .fusion_threshold_bytes = number(loop, LS_SETTING_FUSION_THRESHOLD_BYTES),
        .fusion_padding_bytes = 1,
        .stall_warning_ns = number(loop, LS_SETTING_STALL_WARNING_S),
        .stall_limit_ns = number(loop, LS_SETTING_STALL_LIMIT_S),
        .clock_peers = interval > 0 ? ls_clock_pairs(config->world) : 0,
        .clock_interval_ns = interval,
        .tree_radix = (int)number(loop, LS_SETTING_TREE_RADIX),
        .poll_ns = number(loop, LS_SETTING_CYCLE_START) == LS_CYCLE_CLOCK
                       ? 0
                       : number(loop, LS_SETTING_CYCLE_TIME_MS),
        .groups = config->groups,
        .groups_alone = number(loop, LS_SETTING_GROUP_ALONE) != 0,
        .cache_capacity = (size_t)number(loop, LS_SETTING_CACHE_CAPACITY),
    };
    LsControlEvents events = {.stall = on_stall,
                              .gate = on_gate,
                              .cache = on_cache,
                              .notice = on_notice,
                              .stage = on_stage,
                              .user = loop};
    loop->groups = calloc((size_t)ls_groups_count(config->groups) + 1, sizeof *loop->groups);
    if (loop->groups != NULL)
        loop->control = config->class->open(&control, &events);
    if (loop->control != NULL)
        return loop;
    free(loop->groups);
    free(loop);
    return NULL;
}

void
ls_loop_free(LsLoop *loop)
{
    loop->config.class->close(loop->control);
    free(loop->groups);
    free(loop);
}

/* Leaves when its own tensors are done, or have been waited for long enough. */
static bool
wants_to_leave(LsLoop *loop, const LsQueueState *state)
{
    if (!state->leaving)
        return false;
    int64_t now = monotonic_now();
    if (loop->linger_from == 0)
        loop->linger_from = now;
    return state->on_way == 0 || now - loop->linger_from >= number(loop, LS_SETTING_LINGER_MS);
}

/* Begin to DONE: the control's actions, each carried out by the transport. */
static lockstep_status
negotiate(LsLoop *loop, LsRequestList *requests, bool leaving)
{
    const LsControlClass *class = loop->config.class;
    LsTransport *transport = loop->config.transport;
    LsResult result;
    LsAction action;
    const LsResult *previous = NULL;
    begin_stage(loop, LS_STAGE_BUILD);
    if (!class->begin(loop->control, requests, leaving, monotonic_now()))
        return ls_fail(LOCKSTEP_ERR_INTERNAL, "%s", class->error(loop->control));
    for (;;) {
        end_stage(loop); /* the control tells of what takes time in it */
        if (!class->advance(loop->control, previous, &action))
            return ls_fail(LOCKSTEP_ERR_INTERNAL, "%s", class->error(loop->control));
        if (action.kind == LS_ACTION_DONE)
            return LOCKSTEP_OK;
        if (ls_queue_state(loop->config.queue).ended)
            return ls_fail(LOCKSTEP_ERR_PEER_LOST, "the context has ended");
        begin_stage(loop, LS_STAGE_EXCHANGE);
        if (!transport->class->perform(transport, &action, &result))
            return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
        previous = &result;
    }
}

static lockstep_status
run_cycle(LsLoop *loop, LsOutcome *ret_outcome)
{
    const LsControlClass *class = loop->config.class;
    LsRequestList requests = {0};
    LsOutcome outcome = {.responses = LS_RESPONSE_LIST_INIT};
    int64_t start = ls_instrument_now();
    LsQueueState state = ls_queue_state(loop->config.queue);
    record_graph(loop);
    begin_stage(loop, LS_STAGE_DRAIN);
    ls_queue_take(loop->config.queue, &requests);
    outcome.requests = requests.n;
    lockstep_status status = negotiate(loop, &requests, wants_to_leave(loop, &state));
    end_stage(loop);
    end_stalls(loop);
    ls_request_list_clear(&requests);
    if (status != LOCKSTEP_OK)
        return status;
    class->take(loop->control, &outcome.responses, &outcome.shut_down, &outcome.path);
    ls_instrument_cycle(loop->config.instrument, class->name, start, loop->cycle, outcome.path,
                        outcome.requests, outcome.responses.n);
    if (outcome.shut_down && loop->config.leave != NULL)
        loop->config.leave(loop->config.user);
    if (outcome.responses.clock_peer >= 0)
        status = ls_clock_measure(loop->config.world, loop->config.instrument,
                                  outcome.responses.clock_peer, loop->cycle);
    if (status == LOCKSTEP_OK)
        status = ls_executor_run(loop->config.executor, &outcome.responses, loop->cycle);
    ls_response_list_clear(&outcome.responses);
    *ret_outcome = outcome;
    return status;
}

/* The pause of the next cycle of a rank that has nothing to submit. */
static void
adapt_pause(LsLoop *loop, const LsOutcome *outcome)
{
    bool idle = outcome->requests == 0 && outcome->path == LS_PATH_IDLE &&
                loop->config.class->pending(loop->control) == 0;
    int64_t least = number(loop, LS_SETTING_CYCLE_TIME_MS);
    int64_t most = number(loop, LS_SETTING_IDLE_TIME_MS);
    if (!idle) {
        loop->pause_ns = least;
        return;
    }
    if (loop->pause_ns < LEAST_PAUSE_NS)
        loop->pause_ns = LEAST_PAUSE_NS;
    if (loop->pause_ns < most)
        loop->pause_ns = loop->pause_ns * 2 < most ? loop->pause_ns * 2 : most;
}

/* Until the next cycle is due. started: the last one, on CLOCK_MONOTONIC. */
static void
pause_until_due(LsLoop *loop, int64_t started)
{
    bool by_clock = number(loop, LS_SETTING_CYCLE_START) == LS_CYCLE_CLOCK;
    LsQueueState state = ls_queue_state(loop->config.queue);
    int64_t now = monotonic_now();
    int64_t deadline =
        by_clock ? started + number(loop, LS_SETTING_CYCLE_TIME_MS) : now + loop->pause_ns;
    bool due = by_clock ? deadline <= now
                        : state.waiting > 0 || loop->config.class->pending(loop->control) > 0 ||
                              wants_to_leave(loop, &state);
    if (due || state.ended)
        return;
    int64_t start = ls_instrument_now();
    ls_queue_sleep(loop->config.queue, &state, deadline, !by_clock);
    ls_instrument_sleep(loop->config.instrument, start, loop->cycle);
}

/* Nobody goes before all have heard that all go: a rank that ends earlier is dead. */
static lockstep_status
part(LsLoop *loop)
{
    LsTransport *transport = loop->config.transport;
    uint64_t nothing = 0;
    LsAction action = {.kind = LS_ACTION_AND, .data = &nothing, .length = sizeof nothing};
    LsResult result;
    if (ls_queue_state(loop->config.queue).ended ||
        transport->class->perform(transport, &action, &result))
        return LOCKSTEP_OK;
    return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
}

lockstep_status
ls_loop_run(LsLoop *loop)
{
    LsQueue *queue = loop->config.queue;
    LsOutcome outcome = {0};
    lockstep_status status = LOCKSTEP_OK;
    ls_instrument_thread(loop->config.instrument, "reduce");
    loop->cycle = 0;
    while (!ls_queue_state(queue).ended) {
        int64_t started = monotonic_now();
        status = run_cycle(loop, &outcome);
        if (status != LOCKSTEP_OK || outcome.shut_down)
            break;
        loop->cycle++;
        adapt_pause(loop, &outcome);
        pause_until_due(loop, started);
    }
    if (status == LOCKSTEP_OK && outcome.shut_down)
        status = part(loop);
    if (ls_queue_state(queue).ended)
        return LOCKSTEP_OK;
    if (status == LOCKSTEP_OK) {
        bool own = ls_queue_state(queue).leaving;
        ls_queue_close(queue, LOCKSTEP_ERR_SHUT_DOWN,
                       own ? "this rank has shut down" : "another rank has shut down");
        return LOCKSTEP_OK;
    }
    char text[LS_FAILURE_TEXT_MAX];
    snprintf(text, sizeof text, "%s", ls_failure_text());
    ls_instrument_error(loop->config.instrument, status, text);
    ls_instrument_tell(text);
    ls_queue_close(queue, status, text);
    return ls_fail(status, "%s", text); /* a callback may have failed at something else since */
}
