/* SPDX-License-Identifier: Apache-2.0
 * The memory transport: what arrives, when, at which count; the same from threads and again. */
#include <glib.h>

#include <string.h>

#include "reduce/transport-memory.h"

#define RANKS 5

typedef struct Ends {
    LsMemory *memory;
    LsTransport *transport;
    int rank, rounds;
    int64_t calls, in, out, bytes_in, bytes_out, last_end_ns;
    bool sound;
} Ends;

static void
note_call(void *user, LsTransportCall call, int64_t start_ns, int64_t end_ns,
          const LsMessageCount *count)
{
    Ends *ends = user;
    ends->calls++;
    ends->in += count->messages_in;
    ends->out += count->messages_out;
    ends->bytes_in += count->bytes_in;
    ends->bytes_out += count->bytes_out;
    ends->sound = ends->sound && start_ns == ends->last_end_ns && end_ns >= start_ns;
    ends->last_end_ns = end_ns;
}

static bool
perform(Ends *ends, LsActionKind kind, int root, const void *data, size_t length, LsResult *result)
{
    const LsAction action = {.kind = kind, .root = root, .data = data, .length = length};
    return ends->transport->class->perform(ends->transport, &action, result);
}

/* Gathers rank + 1 bytes at rank 2, broadcasts 7 from rank 1, ANDs and ORs a word. */
static void
play_round(Ends *ends)
{
    uint8_t own[RANKS];
    uint64_t word = UINT64_C(1) << ends->rank | UINT64_C(1) << 40;
    LsResult result;
    memset(own, 'a' + ends->rank, sizeof own);
    ends->sound = perform(ends, LS_ACTION_GATHER, 2, own, (size_t)ends->rank + 1, &result) &&
                  ends->sound && result.n_parts == (ends->rank == 2 ? RANKS : 0);
    for (int rank = 0; rank < result.n_parts && ends->sound; rank++) {
        const LsPiece *piece = &result.parts[rank];
        ends->sound = piece->length == (size_t)rank + 1;
        for (size_t i = 0; i < piece->length; i++)
            ends->sound = ends->sound && ((const uint8_t *)piece->data)[i] == 'a' + rank;
    }
    ends->sound =
        ends->sound && perform(ends, LS_ACTION_BROADCAST, 1, ends->rank == 1 ? "message" : NULL,
                               ends->rank == 1 ? 7 : 0, &result);
    ends->sound = ends->sound && result.n_parts == 1 && result.parts[0].length == 7 &&
                  memcmp(result.parts[0].data, "message", 7) == 0;
    uint64_t both, either;
    ends->sound = ends->sound && perform(ends, LS_ACTION_AND, 0, &word, 8, &result);
    memcpy(&both, result.parts[0].data, 8);
    ends->sound = ends->sound && perform(ends, LS_ACTION_OR, 0, &word, 8, &result);
    memcpy(&either, result.parts[0].data, 8);
    ends->sound = ends->sound && both == UINT64_C(1) << 40 &&
                  either == ((UINT64_C(1) << 40) | ((1u << RANKS) - 1));
}

static void *
play(void *user)
{
    Ends *ends = user;
    for (int i = 0; i < ends->rounds && ends->sound; i++)
        play_round(ends);
    return NULL;
}

/* All ranks on threads; returns the virtual time of each at the end. */
static void
play_all(const LsMemoryCost *cost, int rounds, Ends *ends, int64_t *ret_now)
{
    LsMemory *memory = ls_memory_new(RANKS, cost);
    GThread *threads[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        const LsTransportEvents events = {note_call, &ends[rank]};
        ends[rank] = (Ends){.memory = memory, .rank = rank, .rounds = rounds, .sound = true};
        ends[rank].transport = ls_memory_transport(memory, rank, &events);
    }
    for (int rank = 0; rank < RANKS; rank++)
        threads[rank] = g_thread_new("rank", play, &ends[rank]);
    for (int rank = 0; rank < RANKS; rank++)
        g_thread_join(threads[rank]);
    for (int rank = 0; rank < RANKS; rank++) {
        g_assert_true(ends[rank].sound);
        ret_now[rank] = ls_memory_now(memory, rank);
        ends[rank].transport->class->close(ends[rank].transport);
    }
    ls_memory_free(memory);
}

static void
test_what_is_sent_arrives_on_every_thread(void)
{
    Ends ends[RANKS];
    int64_t now[RANKS];
    play_all(NULL, 50, ends, now);
    for (int rank = 0; rank < RANKS; rank++) {
        g_assert_cmpint(ends[rank].calls, ==, 50 * 6);
        g_assert_cmpint(now[rank], ==, 0); /* messages cost nothing here */
    }
    /* 1 as receiver of the gather at 2 and root of the broadcast, 2 the other way round; each in
     * two calls; and, or: 1 in and 1 out. */
    g_assert_cmpint(ends[1].out, ==, 50 * (2 + 2 * 4 + 2));
    g_assert_cmpint(ends[1].in, ==, 50 * 2);
    g_assert_cmpint(ends[2].in, ==, 50 * (2 * 4 + 2 + 2));
    g_assert_cmpint(ends[2].bytes_in, ==, 50 * (4 * 4 + (1 + 2 + 4 + 5) + 4 + 7 + 16));
    g_assert_cmpint(ends[1].bytes_out, ==, 50 * (4 + 2 + 4 * 4 + 4 * 7 + 16));
    g_assert_cmpint(ends[4].bytes_out, ==, 50 * (4 + 5 + 16));
}

static void
test_times_repeat_under_any_order_of_threads(void)
{
    const LsMemoryCost cost = {.alpha_ns = 900, .beta_ps = 5000, .jitter_ns = 700, .seed = 42};
    const LsMemoryCost other = {.alpha_ns = 900, .beta_ps = 5000, .jitter_ns = 700, .seed = 43};
    Ends ends[RANKS];
    int64_t first[RANKS], again[RANKS], different[RANKS];
    play_all(&cost, 20, ends, first);
    play_all(&other, 20, ends, different);
    for (int i = 0; i < 5; i++) {
        play_all(&cost, 20, ends, again);
        g_assert_cmpmem(first, sizeof first, again, sizeof again);
    }
    g_assert_cmpint(first[0], !=, different[0]);
}

static void
test_times_follow_from_the_cost(void)
{
    const LsMemoryCost cost = {.alpha_ns = 100, .beta_ps = 1000000}; /* 1 us a byte */
    Ends ends[RANKS];
    int64_t now[RANKS];
    play_all(&cost, 1, ends, now);
    /* Gather at 2: four lengths of 4,100 ns one after another; each sender goes on at once. Its
     * bytes, 1, 2, 4 and 5 of them, find the root busy until 16,400: + 12,400 = 28,800. Senders are
     * through with both at 4,100 + 100 + 1,000 (rank + 1). Broadcast from 1 (at 6,200): lengths
     * leave at 6,200 + 4,100 k, then 7,100 k more; the last call leaves rank 4 at 51,000. The
     * root of the gather is beyond that only for the first of them. All meet in the AND: the latest
     * is rank 4 (fourth to be served) and rank 1: 6,200 + 16,400 + 28,400 = 51,000. Then twice
     * three rounds of 8,100. */
    for (int rank = 0; rank < RANKS; rank++)
        g_assert_cmpint(now[rank], ==, 51000 + 2 * 3 * 8100);
}

static void
test_a_rank_alone_needs_nobody(void)
{
    LsMemory *memory = ls_memory_new(1, NULL);
    LsTransport *transport = ls_memory_transport(memory, 0, NULL);
    LsResult result;
    const LsAction gather = {.kind = LS_ACTION_GATHER, .root = 0, .data = "abc", .length = 3};
    const LsAction broadcast = {.kind = LS_ACTION_BROADCAST, .root = 0, .data = "", .length = 0};
    g_assert_true(transport->class->perform(transport, &gather, &result));
    g_assert_cmpint(result.n_parts, ==, 1);
    g_assert_cmpint(result.parts[0].length, ==, 3);
    g_assert_cmpmem(result.parts[0].data, 3, "abc", 3);
    g_assert_true(transport->class->perform(transport, &broadcast, &result));
    g_assert_cmpint(result.parts[0].length, ==, 0);
    g_assert_cmpstr(transport->class->name, ==, "memory");
    transport->class->close(transport);
    ls_memory_free(memory);
}

static void *
wait_for_others(void *user)
{
    Ends *ends = user;
    LsResult result;
    ends->sound = perform(ends, LS_ACTION_GATHER, 0, "x", 1, &result);
    return NULL;
}

static void
test_who_waits_hears_that_a_rank_left(void)
{
    LsMemory *memory = ls_memory_new(2, NULL);
    Ends waiting = {.memory = memory, .rank = 0};
    LsTransport *leaves = ls_memory_transport(memory, 1, NULL);
    waiting.transport = ls_memory_transport(memory, 0, NULL);
    GThread *thread = g_thread_new("rank", wait_for_others, &waiting);
    g_usleep(1000);
    leaves->class->close(leaves);
    g_thread_join(thread);
    g_assert_false(waiting.sound);
    g_assert_cmpstr(waiting.transport->class->error(waiting.transport), ==, "rank 1 has left");
    waiting.transport->class->close(waiting.transport);
    ls_memory_free(memory);
}

static void *
ask_for_a_broadcast(void *user)
{
    Ends *ends = user;
    LsResult result;
    ends->sound = perform(ends, LS_ACTION_BROADCAST, 0, NULL, 0, &result);
    return NULL;
}

static void
test_different_actions_are_told(void)
{
    LsMemory *memory = ls_memory_new(2, NULL);
    Ends one = {.memory = memory, .rank = 0}, other = {.memory = memory, .rank = 1};
    one.transport = ls_memory_transport(memory, 0, NULL);
    other.transport = ls_memory_transport(memory, 1, NULL);
    GThread *thread = g_thread_new("rank", ask_for_a_broadcast, &other);
    wait_for_others(&one);
    g_thread_join(thread);
    g_assert_false(one.sound);
    g_assert_false(other.sound);
    g_assert_cmpstr(one.transport->class->error(one.transport), ==,
                    "rank 0 is in a gather (root 0, 1 bytes), rank 1 in a broadcast (root 0, 0 "
                    "bytes)");
    one.transport->class->close(one.transport);
    other.transport->class->close(other.transport);
    ls_memory_free(memory);
}

/* A control that gathers once a cycle; rank 1 leaves after its first one, without the others. */
struct LsControl {
    int rank, step;
    bool fails; /* in its second cycle */
};

static bool
deserter_begin(LsControl *control, LsRequestList *requests, bool shut_down, int64_t now_ns)
{
    control->step = 0;
    return true;
}

static bool
deserter_advance(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = control->step++ == 0 ? LS_ACTION_GATHER : LS_ACTION_DONE};
    return !control->fails || control->step < 2;
}

static void
deserter_take(LsControl *control, LsResponseList *ret_responses, bool *ret_shut_down, int *ret_path)
{
    *ret_responses = LS_RESPONSE_LIST_INIT;
    *ret_shut_down = control->rank == 1;
    *ret_path = 0;
}

static const char *
deserter_error(const LsControl *control)
{
    return "no idea";
}

static void
submit_nothing(void *user, int rank, int64_t now_ns, LsRequestList *requests, bool *ret_shut_down)
{
}

static int64_t
execute_nothing(void *user, int rank, int64_t now_ns, const LsResponseList *responses,
                bool shut_down, int path)
{
    return 10;
}

static void
check_run(bool fails, int64_t cycles, const char *expected)
{
    static const LsControlClass class = {.begin = deserter_begin,
                                         .advance = deserter_advance,
                                         .take = deserter_take,
                                         .error = deserter_error};
    const LsMemoryProgram program = {submit_nothing, execute_nothing, NULL, NULL};
    LsControl states[] = {{.rank = 0}, {.rank = 1}, {.rank = 2, .fails = fails}};
    LsControl *const controls[] = {&states[0], &states[1], &states[2]};
    LsMemory *memory = ls_memory_new(3, NULL);
    g_assert_cmpstr(ls_memory_run(memory, &class, controls, &program, cycles), ==, expected);
    g_assert_cmpint(ls_memory_now(memory, 0), ==, 10);
    ls_memory_free(memory);
}

static void
test_a_run_ends_with_who_waits_for_whom(void)
{
    check_run(false, 1, NULL);
    check_run(false, 5,
              "rank 0 waits in a collective to which rank 1, which has left, does not come");
    check_run(true, 5, "rank 2: no idea");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/memory/what-is-sent-arrives-on-every-thread",
                    test_what_is_sent_arrives_on_every_thread);
    g_test_add_func("/reduce/memory/times-repeat-under-any-order-of-threads",
                    test_times_repeat_under_any_order_of_threads);
    g_test_add_func("/reduce/memory/times-follow-from-the-cost", test_times_follow_from_the_cost);
    g_test_add_func("/reduce/memory/a-rank-alone-needs-nobody", test_a_rank_alone_needs_nobody);
    g_test_add_func("/reduce/memory/who-waits-hears-that-a-rank-left",
                    test_who_waits_hears_that_a_rank_left);
    g_test_add_func("/reduce/memory/different-actions-are-told", test_different_actions_are_told);
    g_test_add_func("/reduce/memory/a-run-ends-with-who-waits-for-whom",
                    test_a_run_ends_with_who_waits_for_whom);
    return g_test_run();
}
