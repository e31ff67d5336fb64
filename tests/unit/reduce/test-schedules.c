/* SPDX-License-Identifier: Apache-2.0
 *
 * Random schedules of the coordinator over the memory transport, held against a reference that is
 * written from the rules alone: who is answered in which cycle, in which order, in which buffer,
 * with which status, at the price of which messages. One number makes a schedule; the one that
 * fails is printed. LOCKSTEP_SEED=n repeats schedule n, LOCKSTEP_SCHEDULES=n runs n of them.
 */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

static Cycle *
cycle_of(Schedule *s, int rank)
{
    return &s->cycles[s->number[rank] % 2];
}

static void
submit(void *user, int rank, int64_t now_ns, LsRequestList *requests, bool *ret_shut_down)
{
    Schedule *s = user;
    Cycle *cycle = cycle_of(s, rank);
    if (!cycle->begun) {
        memset(cycle, 0, sizeof *cycle);
        cycle->begun = true;
    }
    if (rank == 0)
        cycle->now_ns = now_ns;
    for (int i = 0; i < s->tensors; i++) {
        int t = s->order[rank][i];
        if (s->submit_ns[rank][t] > now_ns)
            continue;
        LsRequest request = schedule_request(s, rank, t);
        g_assert_true(ls_request_list_take(requests, &request));
        s->submit_ns[rank][t] = INT64_MAX;
        s->submitted[rank][t]++;
        cycle->requests[rank][cycle->n_requests[rank]++] = t;
    }
    bool leaves = s->open == 0 || (rank == s->leaver && now_ns >= s->leave_ns);
    cycle->shut_down |= leaves;
    *ret_shut_down = leaves;
}

static void
check_buffer(const Schedule *s, const Buffer *expected, const LsResponse *found)
{
    EXPECT(s, found->operation == expected->operation);
    EXPECT(s, found->status == expected->status);
    EXPECT(s, (int)found->n == expected->n);
    for (int i = 0; i < expected->n; i++)
        EXPECT(s, strcmp(found->names[i], s->tensor[expected->tensor[i]].name) == 0);
    if (expected->status != LOCKSTEP_OK)
        return;
    EXPECT(s, found->dtype == expected->dtype && found->reduction == expected->reduction);
    EXPECT(s, found->root == expected->root);
    for (int i = 0; i < expected->n; i++)
        EXPECT(s, found->counts[i] == s->tensor[expected->tensor[i]].count);
}

static void
check_mismatch(const Schedule *s, const Tensor *tensor, const LsResponse *found)
{
    char place[32];
    g_snprintf(place, sizeof place, "on rank %d", tensor->bad_rank);
    EXPECT(s, strstr(found->error, place) != NULL);
    EXPECT(s, strstr(found->error, schedule_field_text(tensor->bad_field)) != NULL);
}

/* An answer for one tensor on this rank. */
static void
note_answer(Schedule *s, int rank, int t, int32_t status, int64_t now_ns)
{
    int occurrence = s->answered[rank][t]++;
    EXPECT(s, s->answered[rank][t] <= s->submitted[rank][t]);
    s->open--;
    EXPECT(s, s->status[t][occurrence] == status); /* of the reference: the same on every rank */
    if (s->answered[rank][t] < s->tensor[t].times)
        s->submit_ns[rank][t] = now_ns + schedule_random(s, s->span_ns / 4);
}

static int64_t
execute(void *user, int rank, int64_t now_ns, const LsResponseList *responses, bool shut_down,
        int path)
{
    Schedule *s = user;
    Cycle *cycle = cycle_of(s, rank);
    size_t at = 0;
    if (!cycle->judged)
        reference_cycle(s, cycle);
    EXPECT(s, s->calls[rank] == 4);
    s->calls[rank] = 0;
    EXPECT(s, shut_down == cycle->shut_down);
    EXPECT(s, path == (cycle->slow ? LS_PATH_SLOW : LS_PATH_IDLE));
    EXPECT(s, responses->clock_peer == cycle->clock_peer);
    for (int i = 0; i < cycle->n_buffers; i++) {
        const Buffer *buffer = &cycle->buffers[i];
        if ((buffer->ranks >> rank & 1) == 0)
            continue;
        EXPECT(s, at < responses->n);
        check_buffer(s, buffer, &responses->items[at]);
        if (buffer->status == LOCKSTEP_ERR_MISMATCH)
            check_mismatch(s, &s->tensor[buffer->tensor[0]], &responses->items[at]);
        for (int k = 0; k < buffer->n; k++)
            note_answer(s, rank, buffer->tensor[k], buffer->status, now_ns);
        at++;
    }
    for (int i = 0; i < cycle->n_late[rank]; i++, at++) {
        EXPECT(s, at < responses->n && responses->items[at].status == LOCKSTEP_ERR_STALLED);
        note_answer(s, rank, cycle->late[rank][i], LOCKSTEP_ERR_STALLED, now_ns);
    }
    EXPECT(s, at == responses->n);
    s->number[rank]++;
    if (++cycle->executed == s->ranks)
        cycle->begun = false;
    s->left += shut_down;
    return schedule_random(s, s->cycle_ns);
}

/* One call of the transport: its place in the cycle and its counts, exactly as facts B6 and the
 * rule of metrics.md say. */
static void
call(void *user, LsTransportCall kind, int64_t start_ns, int64_t end_ns,
     const LsMessageCount *count)
{
    static const LsTransportCall order[] = {LS_CALL_GATHER, LS_CALL_GATHERV, LS_CALL_BCAST,
                                            LS_CALL_BCAST};
    Rank *rank = user;
    Schedule *s = rank->schedule;
    Cycle *cycle = cycle_of(s, rank->rank);
    int place = s->calls[rank->rank]++, others = s->ranks - 1;
    bool root = rank->rank == 0, gather = place < 2;
    EXPECT(s, place < 4 && kind == order[place]);
    EXPECT(s, end_ns >= start_ns);
    EXPECT(s, count->messages_in == (gather ? (root ? others : 0) : (root ? 0 : 1)));
    EXPECT(s, count->messages_out == (gather ? (root ? 0 : 1) : (root ? others : 0)));
    int64_t bytes = root ? (gather ? count->bytes_in : count->bytes_out)
                         : (gather ? count->bytes_out : count->bytes_in);
    EXPECT(s, count->bytes_in + count->bytes_out == bytes);
    if (place % 2 == 0)
        EXPECT(s, bytes == 4 * (root ? others : 1));
    /* What the root counts is what the others count together. */
    cycle->bytes[place] += root ? -bytes : bytes;
    if (++cycle->counted[place] == s->ranks)
        EXPECT(s, cycle->bytes[place] == 0);
}

static void
check_end(const Schedule *s)
{
    EXPECT(s, s->left == s->ranks);
    for (int rank = 0; rank < s->ranks; rank++)
        for (int t = 0; t < s->tensors; t++) {
            int missing = s->submitted[rank][t] - s->answered[rank][t];
            EXPECT(s, missing >= 0);
            if (s->leaver < 0)
                EXPECT(s, s->answered[rank][t] == s->tensor[t].times);
        }
}

static void
run_schedule(uint32_t seed)
{
    Schedule *s = schedule_new(seed);
    LsControl *controls[RANKS_MAX];
    LsTransportEvents events[RANKS_MAX];
    LsMemory *memory = ls_memory_new(s->ranks, &s->cost);
    const LsMemoryProgram program = {submit, execute, events, s};
    for (int rank = 0; rank < s->ranks; rank++) {
        s->config.rank = rank;
        controls[rank] = ls_control_coordinator.open(&s->config, NULL);
        events[rank] = (LsTransportEvents){call, &s->rank[rank]};
    }
    const char *fault = ls_memory_run(memory, &ls_control_coordinator, controls, &program, 100000);
    if (fault != NULL)
        g_error("LOCKSTEP_SEED=%u: %s", seed, fault);
    check_end(s);
    for (int rank = 0; rank < s->ranks; rank++) {
        size_t waiting = 0;
        for (int t = 0; t < s->tensors; t++)
            waiting += (size_t)(s->submitted[rank][t] - s->answered[rank][t]);
        EXPECT(s, ls_control_coordinator.pending(controls[rank]) == waiting);
        ls_control_coordinator.close(controls[rank]);
    }
    ls_memory_free(memory);
    schedule_free(s);
}

static void
test_every_schedule_follows_the_rules(void)
{
    const char *seed = g_getenv("LOCKSTEP_SEED"), *count = g_getenv("LOCKSTEP_SCHEDULES");
    uint32_t schedules = count != NULL ? (uint32_t)strtoul(count, NULL, 10) : 2000;
    if (seed != NULL)
        run_schedule((uint32_t)strtoul(seed, NULL, 10));
    for (uint32_t i = 1; i <= schedules && seed == NULL; i++)
        run_schedule(i);
}

/* The schedules must contain what they are there for. */
static void
test_schedules_are_varied(void)
{
    int leavers = 0, limits = 0, mismatches = 0, unfused = 0, empty = 0;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        Schedule *s = schedule_new(seed);
        leavers += s->leaver >= 0;
        limits += s->config.stall_limit_ns > 0;
        unfused += s->config.fusion_threshold_bytes == 0;
        for (int t = 0; t < s->tensors; t++) {
            mismatches += s->tensor[t].bad_time >= 0;
            empty += s->tensor[t].count == 0;
        }
        schedule_free(s);
    }
    g_assert_cmpint(leavers, >, 10);
    g_assert_cmpint(limits, >, 10);
    g_assert_cmpint(mismatches, >, 50);
    g_assert_cmpint(unfused, >, 10);
    g_assert_cmpint(empty, >, 50);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/coordinator/every-schedule-follows-the-rules",
                    test_every_schedule_follows_the_rules);
    g_test_add_func("/reduce/coordinator/schedules-are-varied", test_schedules_are_varied);
    return g_test_run();
}
