/* SPDX-License-Identifier: Apache-2.0
 * The bitvector control case by case: exact exchanges (facts B6, seeds' oracles), what is answered,
 * and what a rank raises. A: and, O: or (words behind), G: gather, B: broadcast. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

#define TENSORS 12 /* as in the runs of real Horovod that the counts come from */

static void
open_team(Team *team, int ranks, size_t capacity)
{
    team->class = &ls_control_bitvector;
    team->config.cache_capacity = capacity;
    team->config.fusion_threshold_bytes = 1 << 20;
    team_open(team, ranks);
}

static void
submit_layers(Team *team, int tensors, int64_t count)
{
    for (int i = 0; i < tensors; i++) {
        g_autofree char *name = g_strdup_printf("layer%d", i);
        team_submit_all(team, name, count);
    }
}

static void
check_path(const Team *team, const char *calls, int path)
{
    g_assert_cmpstr(team->calls->str, ==, calls);
    for (int rank = 0; rank < team->ranks; rank++) {
        g_assert_true(team->done[rank]);
        g_assert_cmpint(team->path[rank], ==, path);
    }
}

static void
test_steady_state_is_one_and_of_one_word(void)
{
    Team team = {0};
    open_team(&team, 4, 1024);
    submit_layers(&team, TENSORS, 4);
    team_cycle(&team);
    check_path(&team, "A1GB", LS_PATH_SLOW);
    for (int step = 0; step < 20; step++) {
        submit_layers(&team, TENSORS, 4);
        team_cycle(&team);
        check_path(&team, "A1", LS_PATH_BYPASS);
        g_assert_cmpint(team.responses[3].n, ==, 1);
        g_assert_cmpint(team.responses[3].items[0].n, ==, TENSORS);
        team_cycle(&team);
        check_path(&team, "A1", LS_PATH_IDLE);
    }
    team_close(&team);
}

static void
test_without_a_cache_it_is_the_coordinator(void)
{
    Team team = {0};
    open_team(&team, 4, 0);
    for (int step = 0; step < 3; step++) {
        submit_layers(&team, TENSORS, 4);
        team_cycle(&team);
        check_path(&team, "GB", LS_PATH_SLOW);
        team_cycle(&team);
        check_path(&team, "GB", LS_PATH_IDLE);
    }
    team_close(&team);
}

static void
test_words_are_as_many_as_the_bits_need(void)
{
    static const int rows[][2] = {{1, 1},   {61, 1},  {62, 2},   {125, 2},
                                  {126, 3}, {161, 3}, {1024, 17}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Team team = {0};
        g_autofree char *calls = g_strdup_printf("A%d", rows[i][1]);
        open_team(&team, 2, 1024);
        submit_layers(&team, rows[i][0], 1);
        team_cycle(&team);
        check_path(&team, "A1GB", LS_PATH_SLOW);
        submit_layers(&team, rows[i][0], 1);
        team_cycle(&team);
        check_path(&team, calls, LS_PATH_BYPASS);
        g_assert_cmpint(team.responses[1].items[0].n, ==, rows[i][0]);
        team_close(&team);
    }
}

/* One or right after the and of that cycle, then the round; after it hits again. */
static void
test_a_changed_shape_costs_one_or(void)
{
    Team team = {0};
    open_team(&team, 4, 1024);
    submit_layers(&team, TENSORS, 4);
    team_cycle(&team);
    for (int64_t count = 5; count < 9; count++) {
        team_submit_all(&team, "layer3", count);
        team_cycle(&team);
        team_check_cycle(&team, "A1O1GB", "layer3", LS_PATH_SLOW);
        g_assert_cmpint(team.responses[2].items[0].counts[0], ==, count);
        team_submit_all(&team, "layer3", count);
        team_cycle(&team);
        team_check_cycle(&team, "A1", "layer3", LS_PATH_BYPASS);
    }
    team_close(&team);
}

/* Not cached after it, so that there is no second or: an error each time, with both shapes. */
static void
test_a_shape_changed_on_one_rank_is_an_error_each_time(void)
{
    Team team = {0};
    open_team(&team, 4, 1024);
    submit_layers(&team, TENSORS, 4);
    team_cycle(&team);
    for (int step = 0; step < 5; step++) {
        for (int rank = 0; rank < 4; rank++)
            team_submit(&team, rank, "layer3", rank == 2 ? 2 : 4);
        team_submit_all(&team, "layer4", 4);
        team_cycle(&team);
        team_check_cycle(&team, step == 0 ? "A1O1GB" : "A1GB", "layer4 !layer3", LS_PATH_MIXED);
        team_check_error(&team, 1, LOCKSTEP_ERR_MISMATCH,
                         "tensor 'layer3': shape is [4] on ranks 0-1, 3 but [2] on rank 2");
    }
    team_submit_all(&team, "layer3", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1GB", "layer3", LS_PATH_SLOW);
    team_close(&team);
}

static void
test_a_small_cache_makes_every_step_slow(void)
{
    Team team = {0};
    open_team(&team, 4, 6);
    for (int step = 0; step < 10; step++) {
        submit_layers(&team, TENSORS, 4);
        team_cycle(&team);
        check_path(&team, "A1GB", step == 0 ? LS_PATH_SLOW : LS_PATH_MIXED);
        g_assert_cmpint(team.responses[1].items[0].n, ==, TENSORS);
    }
    for (int rank = 0; rank < 4; rank++) { /* one warning each, ever */
        g_autofree char *head =
            g_strdup_printf("%d:more tensors than the cache_capacity of 6", rank);
        char *place = strstr(team.notices->str, head);
        g_assert_nonnull(place);
        g_assert_null(strstr(place + 1, head));
    }
    team_close(&team);
}

static void
test_what_not_all_have_waits(void)
{
    Team team = {0};
    open_team(&team, 3, 16);
    submit_layers(&team, 3, 4);
    team_cycle(&team);
    team_submit(&team, 0, "layer1", 4);
    team_submit(&team, 1, "layer1", 4);
    team_submit(&team, 1, "layer0", 4);
    team_submit(&team, 2, "layer0", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1", "", LS_PATH_IDLE);
    g_assert_cmpint(team.class->pending(team.controls[1]), ==, 2);
    team_submit(&team, 0, "layer0", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1", "layer0", LS_PATH_BYPASS);
    team_submit(&team, 2, "layer1", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1", "layer1", LS_PATH_BYPASS);
    g_assert_cmpint(team.class->pending(team.controls[1]), ==, 0);
    team_close(&team);
}

/* What the and has agreed comes first, by bit; then what is new; and they share buffers. */
static void
test_a_mixed_cycle_answers_both(void)
{
    Team team = {0};
    open_team(&team, 3, 16);
    submit_layers(&team, 2, 4);
    team_cycle(&team);
    team_submit_all(&team, "new", 4);
    team_submit_all(&team, "layer1", 4);
    team_submit_all(&team, "layer0", 4);
    team_submit(&team, 1, "unready", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1GB", "layer0+layer1+new", LS_PATH_MIXED);
    team_submit_all(&team, "new", 4);
    team_submit(&team, 0, "unready", 4);
    team_submit(&team, 2, "unready", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1GB", "new+unready", LS_PATH_MIXED);
    team_close(&team);
}

/* The order is that of the bits, whatever the order of submission; only an erasure changes it. */
static void
test_order_is_that_of_the_bits(void)
{
    Team team = {0};
    open_team(&team, 2, 16);
    for (int i = 0; i < 4; i++) {
        const char *names[] = {"a", "b", "c", "d"};
        team_submit_all(&team, names[i], 4);
    }
    team_cycle(&team);
    team_submit_all(&team, "a", 4); /* used later than the others, but no erasure */
    team_cycle(&team);
    for (int i = 3; i >= 0; i--) {
        const char *names[] = {"a", "b", "c", "d"};
        team_submit_all(&team, names[i], 4);
    }
    team_cycle(&team);
    team_check_cycle(&team, "A1", "a+b+c+d", LS_PATH_BYPASS);
    team_submit_all(&team, "b", 4);
    team_cycle(&team);
    team_submit_all(&team, "c", 5); /* erased, put in anew: by use a d b c */
    team_cycle(&team);
    team_check_cycle(&team, "A1O1GB", "c", LS_PATH_SLOW);
    team_submit_all(&team, "a", 4);
    team_submit_all(&team, "b", 4);
    team_submit_all(&team, "c", 5);
    team_submit_all(&team, "d", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1", "a+d+b+c", LS_PATH_BYPASS);
    team_close(&team);
}

static void
test_another_operation_under_the_name_is_no_hit(void)
{
    Team team = {0};
    open_team(&team, 2, 16);
    team_submit_all(&team, "a", 4);
    team_cycle(&team);
    for (int rank = 0; rank < 2; rank++)
        team_submit(&team, rank, "a", 4)->operation = LS_OPERATION_BROADCAST;
    team_cycle(&team);
    team_check_cycle(&team, "A1O1GB", "a", LS_PATH_SLOW);
    g_assert_cmpint(team.responses[1].items[0].operation, ==, LS_OPERATION_BROADCAST);
    for (int rank = 0; rank < 2; rank++) /* a broadcast is never kept */
        team_submit(&team, rank, "a", 4)->operation = LS_OPERATION_BROADCAST;
    team_cycle(&team);
    team_check_cycle(&team, "A1GB", "a", LS_PATH_SLOW);
    team_close(&team);
}

static void
test_leaving_is_heard_without_a_round(void)
{
    Team team = {0};
    open_team(&team, 3, 16);
    team_submit_all(&team, "a", 4);
    team_cycle(&team);
    team_submit_all(&team, "a", 4);
    team.shut_down[2] = true;
    team_cycle(&team);
    team_check_cycle(&team, "A1", "a", LS_PATH_BYPASS);
    for (int rank = 0; rank < 3; rank++)
        g_assert_true(team.left[rank]);
    team_close(&team);
}

/* The warning comes in time, though the first half of it passed on the fast path. */
static void
test_a_cached_stall_names_the_missing(void)
{
    Team team = {.config = {.stall_warning_ns = 100, .stall_limit_ns = 250}};
    open_team(&team, 4, 16);
    team_submit_all(&team, "a", 4);
    team_cycle(&team);
    team_submit(&team, 1, "a", 4);
    team_submit(&team, 3, "a", 4);
    team_cycle(&team);
    team_check_cycle(&team, "A1", "", LS_PATH_IDLE);
    team.now_ns = 50;
    team_cycle(&team);
    team_check_cycle(&team, "A1O1GB", "", LS_PATH_SLOW);
    g_assert_cmpstr(team.stalls->str, ==, "");
    team.now_ns = 100;
    team_cycle(&team);
    team_check_cycle(&team, "A1GB", "", LS_PATH_IDLE);
    g_assert_cmpstr(team.stalls->str, ==, "a:0:100 a:2:100 ");
    team.now_ns = 249;
    team_submit(&team, 2, "a", 4);
    team_cycle(&team);
    g_string_truncate(team.stalls, 0);
    team.now_ns = 250;
    team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "a:0:250 ");
    for (int rank = 0; rank < 4; rank++) {
        g_autofree char *text = team_text(&team, rank);
        g_assert_cmpstr(text, ==, rank == 0 ? "" : "!a");
    }
    g_assert_cmpstr(team.responses[1].items[0].error, ==,
                    "tensor 'a' waited 0.0 s for rank 0 to submit it (limit 0.0 s)");
    team_close(&team);
}

static void
test_clocks_are_announced_in_a_spare_bit(void)
{
    static const int64_t now[] = {0, 50, 100, 150, 200, 300, 400};
    static const int32_t peers[] = {0, -1, 1, -1, 2, 0, 1};
    for (int tensors = 60; tensors <= 62; tensors++) { /* with 61 there is no spare bit */
        Team team = {.config = {.clock_peers = 3, .clock_interval_ns = 100}};
        open_team(&team, 2, 1024);
        submit_layers(&team, tensors, 1);
        team.now_ns = -1000;
        team_cycle(&team);
        int32_t first = team.responses[1].clock_peer;
        g_assert_cmpint(first, ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(now); i++) {
            team.now_ns = now[i];
            team_cycle(&team);
            const char *calls = tensors == 62 ? "A2" : "A1";
            if (tensors == 61 && peers[i] >= 0)
                calls = "A1GB";
            g_assert_cmpstr(team.calls->str, ==, calls);
            for (int rank = 0; rank < 2; rank++)
                g_assert_cmpint(team.responses[rank].clock_peer, ==,
                                peers[i] < 0 ? -1 : (peers[i] + 1) % 3);
        }
        team_close(&team);
    }
}

static void
test_a_fault_on_one_rank_all_learn(void)
{
    Team team = {0};
    open_team(&team, 3, 16);
    team_submit_all(&team, "a", 4);
    team_cycle(&team);
    team_submit_all(&team, "a", 4);
    team_submit(&team, 2, "a", 4);
    team_cycle(&team);
    team_check_failure(&team, "rank 2: 'a' was submitted again before it was answered");
    team_close(&team);
}

static void
check_counts(const Team *team, int rank, const LsCacheCount *count)
{
    g_assert_cmpuint(team->counts[rank].hits, ==, count->hits);
    g_assert_cmpuint(team->counts[rank].misses, ==, count->misses);
    g_assert_cmpuint(team->counts[rank].invalid, ==, count->invalid);
    g_assert_cmpuint(team->counts[rank].evicted, ==, count->evicted);
}

/* A request counts in the cycle in which it is first looked up, however long it waits; what is
 * evicted, when it falls out. */
static void
test_what_the_cache_was_asked_is_told(void)
{
    Team team = {0};
    open_team(&team, 2, 3);
    submit_layers(&team, 3, 4);
    team_cycle(&team);
    check_counts(&team, 0, &(LsCacheCount){.misses = 3});
    check_counts(&team, 1, &(LsCacheCount){.misses = 3});
    submit_layers(&team, 2, 4);
    team_submit(&team, 0, "layer2", 4);
    team_cycle(&team);
    check_counts(&team, 0, &(LsCacheCount){.hits = 3});
    check_counts(&team, 1, &(LsCacheCount){.hits = 2});
    team_cycle(&team);
    check_counts(&team, 0, &(LsCacheCount){0});
    team_submit(&team, 1, "layer2", 4);
    team_submit_all(&team, "new", 4);
    team_submit_all(&team, "layer1", 9);
    team_cycle(&team);
    check_counts(&team, 0, &(LsCacheCount){.misses = 1, .invalid = 1, .evicted = 1});
    check_counts(&team, 1, &(LsCacheCount){.hits = 1, .misses = 1, .invalid = 1, .evicted = 1});
    team_submit_all(&team, "newer", 4);
    team_cycle(&team);
    check_counts(&team, 0, &(LsCacheCount){.misses = 1, .evicted = 1});
    check_counts(&team, 1, &(LsCacheCount){.misses = 1, .evicted = 1});
    team_close(&team);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add_func("/reduce/bitvector/" path, function)
    ADD("steady-state-is-one-and-of-one-word", test_steady_state_is_one_and_of_one_word);
    ADD("without-a-cache-it-is-the-coordinator", test_without_a_cache_it_is_the_coordinator);
    ADD("words-are-as-many-as-the-bits-need", test_words_are_as_many_as_the_bits_need);
    ADD("a-changed-shape-costs-one-or", test_a_changed_shape_costs_one_or);
    ADD("a-shape-changed-on-one-rank-is-an-error-each-time",
        test_a_shape_changed_on_one_rank_is_an_error_each_time);
    ADD("a-small-cache-makes-every-step-slow", test_a_small_cache_makes_every_step_slow);
    ADD("what-not-all-have-waits", test_what_not_all_have_waits);
    ADD("a-mixed-cycle-answers-both", test_a_mixed_cycle_answers_both);
    ADD("order-is-that-of-the-bits", test_order_is_that_of_the_bits);
    ADD("another-operation-under-the-name-is-no-hit",
        test_another_operation_under_the_name_is_no_hit);
    ADD("leaving-is-heard-without-a-round", test_leaving_is_heard_without_a_round);
    ADD("a-cached-stall-names-the-missing", test_a_cached_stall_names_the_missing);
    ADD("clocks-are-announced-in-a-spare-bit", test_clocks_are_announced_in_a_spare_bit);
    ADD("what-the-cache-was-asked-is-told", test_what_the_cache_was_asked_is_told);
    ADD("a-fault-on-one-rank-all-learn", test_a_fault_on_one_rank_all_learn);
#undef ADD
    return g_test_run();
}
