/* SPDX-License-Identifier: Apache-2.0
 *
 * Random schedules of every control over the memory transport. Coordinator and bitvector are held
 * against a reference that is written from the rules alone: who is answered in which cycle, in
 * which order, in which buffer, with which status, at the price of which messages. The tree has no
 * cycles that all share: there all ranks must execute the same in the same order, and every message
 * must be received. One number makes a schedule; the one that fails is printed. LOCKSTEP_SEED=n
 * repeats schedule n, LOCKSTEP_SCHEDULES=n runs n of them.
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

static bool
is_tree(const Schedule *s)
{
    return s->class == &ls_control_tree;
}

/* The gate: what the rank reports now that it submits this one; its group in order of submission.
 */
static void
report(Schedule *s, int rank, int t)
{
    Cycle *cycle = cycle_of(s, rank);
    int group = s->tensor[t].group, size = 1, held = 1;
    for (int i = 0; i < s->tensors && group >= 0; i++) {
        size += i != t && s->tensor[i].group == group;
        held += i != t && s->tensor[i].group == group && s->held[rank][i] > 0;
    }
    s->held[rank][t] = held;
    if (held < size)
        return;
    for (int place = 1; place <= size; place++)
        for (int i = 0; i < s->tensors; i++)
            if (s->held[rank][i] == place &&
                (i == t || (group >= 0 && s->tensor[i].group == group))) {
                cycle->requests[rank][cycle->n_requests[rank]++] = i;
                s->held[rank][i] = 0;
                break;
            }
}

static void
submit(void *user, int rank, int64_t now_ns, LsRequestList *requests, bool *ret_shut_down)
{
    Schedule *s = user;
    Cycle *cycle = cycle_of(s, rank);
    if (!cycle->begun && !is_tree(s)) {
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
        if (!is_tree(s))
            report(s, rank, t);
    }
    bool leaves = s->open == 0 || (rank == s->leaver && now_ns >= s->leave_ns);
    cycle->shut_down |= leaves;
    *ret_shut_down = leaves;
}

static void
check_buffer(const Schedule *s, int rank, const Buffer *expected, const LsResponse *found)
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
    for (int i = 0; i < expected->n; i++) {
        int t = expected->tensor[i];
        EXPECT(s, found->counts[i] == schedule_count(s, t, s->answered[rank][t]));
    }
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
    EXPECT(s, s->calls[rank] == cycle->calls);
    EXPECT(s, s->n_words[rank] == cycle->n_words);
    EXPECT(s, s->n_words[rank] == 0 || s->words[rank] == cycle->words);
    s->calls[rank] = s->n_words[rank] = 0;
    EXPECT(s, shut_down == cycle->shut_down);
    EXPECT(s, path == cycle->path);
    EXPECT(s, responses->clock_peer == cycle->clock_peer);
    for (int i = 0; i < cycle->n_buffers; i++) {
        const Buffer *buffer = &cycle->buffers[i];
        if ((buffer->ranks >> rank & 1) == 0)
            continue;
        EXPECT(s, at < responses->n);
        check_buffer(s, rank, buffer, &responses->items[at]);
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

static int
find_tensor(const Schedule *s, const char *name)
{
    int t = 0;
    while (t < s->tensors && strcmp(s->tensor[t].name, name) != 0)
        t++;
    EXPECT(s, t < s->tensors);
    return t;
}

/* The first rank that executes a buffer says which it is. */
static void
log_buffer(Schedule *s, const LsResponse *response)
{
    Buffer *buffer = &s->log[s->n_log++];
    *buffer = (Buffer){.operation = response->operation,
                       .dtype = response->dtype,
                       .reduction = response->reduction,
                       .root = response->root,
                       .status = response->status};
    for (size_t i = 0; i < response->n; i++) {
        int t = find_tensor(s, response->names[i]);
        const Tensor *tensor = &s->tensor[t];
        bool bad = s->done[t] == tensor->bad_time;
        EXPECT(s, response->status == (bad ? LOCKSTEP_ERR_MISMATCH : LOCKSTEP_OK));
        EXPECT(s, bad || (response->operation == tensor->operation &&
                          response->dtype == tensor->dtype &&
                          response->reduction == tensor->reduction));
        s->status[t][s->done[t]++] = response->status;
        buffer->tensor[buffer->n++] = t;
    }
}

static int64_t
execute_tree(void *user, int rank, int64_t now_ns, const LsResponseList *responses, bool shut_down,
             int path)
{
    Schedule *s = user;
    for (size_t i = 0; i < responses->n; i++) {
        const LsResponse *response = &responses->items[i];
        if (s->at[rank] == s->n_log)
            log_buffer(s, response);
        const Buffer *buffer = &s->log[s->at[rank]++];
        check_buffer(s, rank, buffer, response);
        if (buffer->status == LOCKSTEP_ERR_MISMATCH)
            check_mismatch(s, &s->tensor[buffer->tensor[0]], response);
        for (int k = 0; k < buffer->n; k++)
            note_answer(s, rank, buffer->tensor[k], buffer->status, now_ns);
    }
    EXPECT(s, responses->n == 0 || path == LS_PATH_SLOW);
    s->left += shut_down;
    return schedule_random(s, s->cycle_ns);
}

/* One of the calls of a round: its place in the cycle and its counts, exactly as facts B6 and the
 * rule of metrics.md say. */
static void
check_round_call(Schedule *s, int rank, LsTransportCall kind, const LsMessageCount *count)
{
    static const LsTransportCall order[] = {LS_CALL_GATHER, LS_CALL_GATHERV, LS_CALL_BCAST,
                                            LS_CALL_BCAST};
    Cycle *cycle = cycle_of(s, rank);
    int place = s->calls[rank]++, others = s->ranks - 1;
    bool root = rank == 0, gather = place < 2;
    EXPECT(s, place < 4 && kind == order[place]);
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

/* The and, and at once the or; before the round. */
static void
check_words(Schedule *s, int rank, const LsMessageCount *count)
{
    EXPECT(s, s->calls[rank] == 0 && s->n_words[rank]++ < 2);
    EXPECT(s, count->messages_in == 1 && count->messages_out == 1);
    EXPECT(s, count->bytes_in == count->bytes_out);
    EXPECT(s, s->n_words[rank] == 1 || s->words[rank] == (size_t)count->bytes_in / 8);
    s->words[rank] = (size_t)count->bytes_in / 8;
}

static void
call(void *user, LsTransportCall kind, int64_t start_ns, int64_t end_ns,
     const LsMessageCount *count)
{
    Rank *rank = user;
    Schedule *s = rank->schedule;
    EXPECT(s, end_ns >= start_ns);
    EXPECT(s, is_tree(s) == (kind == LS_CALL_SEND || kind == LS_CALL_RECV));
    if (is_tree(s)) {
        EXPECT(s, count->messages_out == (kind == LS_CALL_SEND));
        EXPECT(s, count->messages_in == (kind == LS_CALL_RECV));
        s->mail[0] += count->messages_out;
        s->mail[1] += count->messages_in;
        s->mail[2] += count->bytes_out;
        s->mail[3] += count->bytes_in;
    } else if (kind == LS_CALL_ALLREDUCE) {
        check_words(s, rank->rank, count);
    } else {
        check_round_call(s, rank->rank, kind, count);
    }
}

static void
check_end(const Schedule *s)
{
    EXPECT(s, s->left == s->ranks);
    EXPECT(s, s->mail[0] == s->mail[1] && s->mail[2] == s->mail[3]);
    for (int rank = 0; rank < s->ranks; rank++)
        for (int t = 0; t < s->tensors; t++) {
            int missing = s->submitted[rank][t] - s->answered[rank][t];
            EXPECT(s, missing >= 0);
            if (s->leaver < 0)
                EXPECT(s, s->answered[rank][t] == s->tensor[t].times);
        }
}

static void
run_schedule(uint32_t seed, const LsControlClass *class)
{
    Schedule *s = schedule_new(seed, class);
    LsControl *controls[RANKS_MAX];
    LsTransportEvents events[RANKS_MAX];
    LsMemory *memory = ls_memory_new(s->ranks, &s->cost);
    const LsMemoryProgram program = {submit, is_tree(s) ? execute_tree : execute, events, s};
    for (int rank = 0; rank < s->ranks; rank++) {
        s->config.rank = rank;
        controls[rank] = class->open(&s->config, NULL);
        events[rank] = (LsTransportEvents){call, &s->rank[rank]};
    }
    const char *fault = ls_memory_run(memory, class, controls, &program, 100000);
    if (fault != NULL)
        g_error("LOCKSTEP_SEED=%u of %s: %s", seed, class->name, fault);
    check_end(s);
    for (int rank = 0; rank < s->ranks; rank++) {
        size_t waiting = is_tree(s) ? 1 : 0; /* it has to close down */
        for (int t = 0; t < s->tensors; t++)
            waiting += (size_t)(s->submitted[rank][t] - s->answered[rank][t]);
        EXPECT(s, class->pending(controls[rank]) == waiting);
        class->close(controls[rank]);
    }
    ls_memory_free(memory);
    schedule_free(s);
}

static void
test_every_schedule_follows_the_rules(const void *class)
{
    const char *seed = g_getenv("LOCKSTEP_SEED"), *count = g_getenv("LOCKSTEP_SCHEDULES");
    uint32_t schedules = count != NULL ? (uint32_t)strtoul(count, NULL, 10) : 2000;
    if (seed != NULL)
        run_schedule((uint32_t)strtoul(seed, NULL, 10), class);
    for (uint32_t i = 1; i <= schedules && seed == NULL; i++)
        run_schedule(i, class);
}

/* The schedules must contain what they are there for. */
static void
test_schedules_are_varied(void)
{
    int leavers = 0, limits = 0, mismatches = 0, unfused = 0, empty = 0, changes = 0, groups = 0;
    int evictions = 0, many = 0;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        Schedule *s = schedule_new(seed, &ls_control_coordinator);
        leavers += s->leaver >= 0;
        limits += s->config.stall_limit_ns > 0;
        evictions += s->config.cache_capacity > 0 && (int)s->config.cache_capacity < s->tensors;
        many += s->ranks > 32;
        groups += s->groups != NULL;
        unfused += s->config.fusion_threshold_bytes == 0;
        for (int t = 0; t < s->tensors; t++) {
            mismatches += s->tensor[t].bad_time >= 0;
            empty += s->tensor[t].count == 0;
            changes +=
                s->tensor[t].change_time < s->tensor[t].times && s->tensor[t].change_time > 0;
        }
        schedule_free(s);
    }
    g_assert_cmpint(leavers, >, 10);
    g_assert_cmpint(limits, >, 10);
    g_assert_cmpint(mismatches, >, 50);
    g_assert_cmpint(unfused, >, 10);
    g_assert_cmpint(empty, >, 50);
    g_assert_cmpint(changes, >, 50);
    g_assert_cmpint(groups, >, 50);
    g_assert_cmpint(evictions, >, 50);
    g_assert_cmpint(many, >, 2);
}

int
main(int argc, char **argv)
{
    static const LsControlClass *const classes[] = {&ls_control_coordinator, &ls_control_bitvector,
                                                    &ls_control_tree};
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
        g_autofree char *path =
            g_strdup_printf("/reduce/%s/every-schedule-follows-the-rules", classes[i]->name);
        g_test_add_data_func(path, classes[i], test_every_schedule_follows_the_rules);
    }
    g_test_add_func("/reduce/schedules/are-varied", test_schedules_are_varied);
    return g_test_run();
}
