/* SPDX-License-Identifier: Apache-2.0
 * The tree control case by case, over the memory transport: who talks to whom, who is named in a
 * stall, what a fault on one rank does to all. */
#include <glib.h>

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/control.h"
#include "reduce/lockstep.h"
#include "reduce/transport-memory.h"

#define RANKS_MAX 32

typedef struct Submission {
    int64_t at_ns;
    uint32_t ranks; /* a bit each */
    const char *name;
    int64_t extent;
    bool done[RANKS_MAX];
} Submission;

typedef struct Play {
    LsControlConfig config;
    Submission *submissions;
    int n_submissions;
    int64_t end_ns;
    GString *answers[RANKS_MAX]; /* "a+b c !d " */
    GString *stalls;             /* "tensor:rank " in order, of all ranks */
    int64_t first_warning_ns;
    int64_t sent[RANKS_MAX], received[RANKS_MAX];
    char *fault;
    int failed; /* ranks that failed with that sentence's reason */
} Play;

typedef struct Seat {
    Play *play;
    int rank;
} Seat;

static void
note_stall(void *user, const char *tensor, int missing_rank, int64_t waited_ns)
{
    Play *play = user;
    if (play->first_warning_ns == 0)
        play->first_warning_ns = waited_ns;
    g_string_append_printf(play->stalls, "%s:%d ", tensor, missing_rank);
}

static void
count_call(void *user, LsTransportCall call, int64_t start_ns, int64_t end_ns,
           const LsMessageCount *count)
{
    const Seat *seat = user;
    seat->play->sent[seat->rank] += count->messages_out;
    seat->play->received[seat->rank] += count->messages_in;
}

static void
submit(void *user, int rank, int64_t now_ns, LsRequestList *requests, bool *ret_shut_down)
{
    Play *play = user;
    for (int i = 0; i < play->n_submissions; i++) {
        Submission *submission = &play->submissions[i];
        if (now_ns < submission->at_ns || (submission->ranks >> rank & 1) == 0 ||
            submission->done[rank])
            continue;
        LsRequest request = {.rank = rank, .ndim = 1, .operation = LS_OPERATION_ALLREDUCE};
        request.name = strdup(submission->name);
        request.shape = malloc(sizeof *request.shape);
        request.shape[0] = submission->extent;
        g_assert_true(ls_request_list_take(requests, &request));
        submission->done[rank] = true;
    }
    *ret_shut_down = now_ns >= play->end_ns;
}

static int64_t
execute(void *user, int rank, int64_t now_ns, const LsResponseList *responses, bool shut_down,
        int path)
{
    Play *play = user;
    for (size_t i = 0; i < responses->n; i++) {
        const LsResponse *response = &responses->items[i];
        g_string_append(play->answers[rank], response->error != NULL ? "!" : "");
        for (size_t k = 0; k < response->n; k++)
            g_string_append_printf(play->answers[rank], "%s%s", k > 0 ? "+" : "",
                                   response->names[k]);
        if (response->error != NULL)
            g_string_append_printf(play->answers[rank], "(%s)", response->error);
        g_string_append_c(play->answers[rank], ' ');
    }
    return 10;
}

static void
play_open(Play *play, int ranks, int radix)
{
    play->config.ranks = ranks;
    play->config.tree_radix = radix;
    play->config.fusion_threshold_bytes = 1 << 20;
    play->stalls = g_string_new(NULL);
    for (int rank = 0; rank < ranks; rank++)
        play->answers[rank] = g_string_new(NULL);
}

static void
play_run(Play *play)
{
    const LsMemoryCost cost = {.alpha_ns = 3};
    const LsControlEvents control_events = {.stall = note_stall, .user = play};
    LsMemory *memory = ls_memory_new(play->config.ranks, &cost);
    LsControl *controls[RANKS_MAX];
    LsTransportEvents events[RANKS_MAX];
    Seat seats[RANKS_MAX];
    const LsMemoryProgram program = {submit, execute, events, play};
    for (int rank = 0; rank < play->config.ranks; rank++) {
        play->config.rank = rank;
        seats[rank] = (Seat){play, rank};
        events[rank] = (LsTransportEvents){count_call, &seats[rank]};
        controls[rank] = ls_control_tree.open(&play->config, &control_events);
    }
    play->fault = g_strdup(ls_memory_run(memory, &ls_control_tree, controls, &program, 100000));
    for (int rank = 0; rank < play->config.ranks; rank++) {
        const char *error = ls_control_tree.error(controls[rank]);
        play->failed += error[0] != '\0' && g_str_has_suffix(play->fault, error);
        ls_control_tree.close(controls[rank]);
    }
    ls_memory_free(memory);
}

static void
play_close(Play *play)
{
    g_string_free(play->stalls, TRUE);
    for (int rank = 0; rank < play->config.ranks; rank++)
        g_string_free(play->answers[rank], TRUE);
    g_free(play->fault);
}

static void
check_all(const Play *play, const char *expected)
{
    g_assert_null(play->fault);
    for (int rank = 0; rank < play->config.ranks; rank++)
        g_assert_cmpstr(play->answers[rank]->str, ==, expected);
}

/* One tensor, all at once: a request up each edge, an answer down it; then the leaving: a wish up,
 * the list down, and the word that nothing more comes, up. */
static void
check_messages(int ranks, int radix, const int *edges)
{
    Submission submissions[] = {{0, UINT32_MAX, "a", 4, {false}}};
    Play play = {.submissions = submissions, .n_submissions = 1, .end_ns = 5000};
    play_open(&play, ranks, radix);
    play_run(&play);
    check_all(&play, "a ");
    for (int rank = 0; rank < ranks; rank++) {
        int children = edges[rank], own = rank > 0;
        int64_t wishes = play.sent[rank] - 2 * children - 2 * own;
        g_assert_cmpint(wishes, >=, 0); /* one that hears that all go need not wish it any more */
        g_assert_cmpint(wishes, <=, own);
        g_assert_cmpint(play.received[rank], >=, 2 * children + 2 * own);
        g_assert_cmpint(play.received[rank], <=, 3 * children + 2 * own);
    }
    play_close(&play);
}

static void
test_a_rank_talks_to_its_neighbours_only(void)
{
    static const int alone[] = {0}, flat[] = {6, 0, 0, 0, 0, 0, 0};
    static const int binary[] = {2, 2, 0, 0, 2, 0, 0};
    static const int ternary[] = {3, 2, 0, 0, 2, 0, 0, 2, 0, 0};
    static const int chain[] = {1, 1, 1, 1, 0};
    check_messages(1, 2, alone);
    check_messages(7, 0, flat);
    check_messages(7, 99, flat);
    check_messages(10, 3, ternary);
    check_messages(5, 1, chain);
    check_messages(7, 2, binary);
}

static void
test_what_a_subtree_lacks_is_not_forwarded(void)
{
    Submission submissions[] = {{0, 0x7f, "a", 4, {false}},
                                {0, 0x7f & ~(1u << 5), "b", 4, {false}},
                                {2000, 1u << 5, "b", 4, {false}}};
    Play play = {.submissions = submissions, .n_submissions = 3, .end_ns = 5000};
    play_open(&play, 7, 2);
    play_run(&play);
    check_all(&play, "a b ");
    play_close(&play);
}

/* In time, and nobody else: what incomplete subtrees have travels up by half the time. */
static void
test_the_missing_rank_is_named(void)
{
    for (int missing = 0; missing < 15; missing++) {
        Submission submissions[] = {{0, 0x7fff & ~(1u << missing), "a", 4, {false}},
                                    {1500, 1u << missing, "a", 4, {false}}};
        Play play = {.config = {.stall_warning_ns = 1000},
                     .submissions = submissions,
                     .n_submissions = 2,
                     .end_ns = 5000};
        g_autofree char *expected = g_strdup_printf("a:%d ", missing);
        play_open(&play, 15, 2);
        play_run(&play);
        check_all(&play, "a ");
        g_assert_cmpstr(play.stalls->str, ==, expected);
        g_assert_cmpint(play.first_warning_ns, >=, 1000);
        g_assert_cmpint(play.first_warning_ns, <, 1100);
        play_close(&play);
    }
}

static void
test_the_limit_ends_it_for_all_that_have_it(void)
{
    Submission submissions[] = {{0, 0x40, "a", 4, {false}}, {3000, 0x3f, "a", 4, {false}}};
    Play play = {.config = {.stall_limit_ns = 1000},
                 .submissions = submissions,
                 .n_submissions = 2,
                 .end_ns = 6000};
    play_open(&play, 7, 2);
    play_run(&play);
    check_all(&play, "!a(tensor 'a' waited 0.0 s for ranks 0-5 to submit it (limit 0.0 s)) ");
    play_close(&play);
}

/* Subtrees in which all are alike send one request for all; the sentence still names ranks. */
static void
test_disagreements_name_values_and_ranks(void)
{
    Submission submissions[] = {{0, 0x7fff & ~0x0810u, "a", 4, {false}},
                                {0, 0x0810u, "a", 5, {false}},
                                {0, 0x7fff, "b", 1, {false}}};
    Play play = {.submissions = submissions, .n_submissions = 3, .end_ns = 5000};
    play_open(&play, 15, 2);
    play_run(&play);
    g_assert_null(play.fault);
    for (int rank = 0; rank < 15; rank++)
        g_assert_nonnull(strstr(play.answers[rank]->str,
                                "!a(tensor 'a': shape is [4] on ranks 0-3, 5-10, 12-14 but [5] on "
                                "ranks 4, 11) "));
    play_close(&play);
}

static void
test_a_fault_on_one_rank_all_learn(void)
{
    for (int rank = 0; rank < 7; rank++) {
        Submission submissions[] = {{0, 1u << rank, "a", 4, {false}},
                                    {0, 1u << rank, "a", 4, {false}}};
        Play play = {.submissions = submissions, .n_submissions = 2, .end_ns = INT64_MAX};
        g_autofree char *text =
            g_strdup_printf("rank %d: 'a' was submitted again before it was answered", rank);
        play_open(&play, 7, 2);
        play_run(&play);
        g_assert_nonnull(play.fault);
        g_assert_nonnull(strstr(play.fault, text));
        g_assert_cmpint(play.failed, ==, 7);
        play_close(&play);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add_func("/reduce/tree/" path, function)
    ADD("a-rank-talks-to-its-neighbours-only", test_a_rank_talks_to_its_neighbours_only);
    ADD("what-a-subtree-lacks-is-not-forwarded", test_what_a_subtree_lacks_is_not_forwarded);
    ADD("the-missing-rank-is-named", test_the_missing_rank_is_named);
    ADD("the-limit-ends-it-for-all-that-have-it", test_the_limit_ends_it_for_all_that_have_it);
    ADD("disagreements-name-values-and-ranks", test_disagreements_name_values_and_ranks);
    ADD("a-fault-on-one-rank-all-learn", test_a_fault_on_one_rank_all_learn);
#undef ADD
    return g_test_run();
}
