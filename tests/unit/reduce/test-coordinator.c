/* SPDX-License-Identifier: Apache-2.0
 * The coordinator case by case: order, stalls, leaving, clocks. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

static void
test_the_last_rank_makes_it_ready(void)
{
    Team team = {0};
    team_open(&team, 3);
    team_submit_all(&team, "a", 4);
    team_submit(&team, 2, "b", 4);
    team_submit(&team, 0, "c", 4);
    team_cycle(&team);
    team_check_answers(&team, "a");
    team_submit(&team, 1, "c", 4);
    team_submit(&team, 1, "b", 4);
    team_submit(&team, 2, "c", 4);
    team_submit(&team, 0, "b", 4);
    team_cycle(&team);
    team_check_answers(&team, "b c"); /* rank 1 completed b, after it rank 2 c */
    g_assert_cmpint(ls_control_coordinator.pending(team.controls[1]), ==, 0);
    team_cycle(&team);
    team_check_answers(&team, "");
    for (int rank = 0; rank < 3; rank++)
        g_assert_cmpint(team.path[rank], ==, LS_PATH_IDLE);
    team_close(&team);
}

static void
test_names_come_again(void)
{
    Team team = {.config = {.fusion_threshold_bytes = 1 << 20}};
    team_open(&team, 2);
    for (int64_t i = 0; i < 20; i++) {
        team_submit_all(&team, "", 0);
        team_submit_all(&team, "a", i); /* another shape each time */
        team_cycle(&team);
        team_check_answers(&team, "+a");
        g_assert_cmpint(team.responses[1].items[0].counts[1], ==, i);
    }
    team_close(&team);
}

static void
test_many_tensors_in_one_cycle(void)
{
    Team team = {.config = {.fusion_threshold_bytes = 1 << 30}};
    team_open(&team, 4);
    for (int i = 0; i < 5000; i++) {
        g_autofree char *name = g_strdup_printf("tensor %d", i * 7919 % 5000);
        team_submit_all(&team, name, i);
    }
    team_cycle(&team);
    for (int rank = 0; rank < 4; rank++) {
        g_assert_cmpint(team.responses[rank].n, ==, 1);
        g_assert_cmpint(team.responses[rank].items[0].n, ==, 5000);
        g_assert_cmpstr(team.responses[rank].items[0].names[1], ==, "tensor 2919");
    }
    team_close(&team);
}

static void
test_a_stall_is_told_and_fails_everywhere(void)
{
    Team team = {.config = {.stall_warning_ns = 10, .stall_limit_ns = 25}};
    team_open(&team, 3);
    team.now_ns = 1000;
    team_submit(&team, 0, "a", 4);
    team_submit(&team, 1, "b", 4);
    team_cycle(&team);
    team.now_ns = 1009;
    team_submit(&team, 2, "b", 4);
    team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "");
    team.now_ns = 1010;
    team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "a:1:10 a:2:10 b:0:10 ");
    team_submit(&team, 0, "b", 4);
    team_cycle(&team);
    team_check_answers(&team, "b");
    team.now_ns = 1025;
    g_string_truncate(team.stalls, 0);
    team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "a:1:25 a:2:25 ");
    g_autofree char *root = team_text(&team, 0), *other = team_text(&team, 1);
    g_assert_cmpstr(root, ==, "!a");
    g_assert_cmpstr(other, ==, ""); /* it has not submitted it yet */
    g_assert_cmpint(team.responses[0].items[0].status, ==, LOCKSTEP_ERR_STALLED);
    team_close(&team);
}

/* The late ones get the failure that the others had; the next submission is the next for all. */
static void
test_a_late_rank_meets_the_failure(void)
{
    Team team = {.config = {.stall_limit_ns = 10}};
    team_open(&team, 3);
    team_submit(&team, 0, "a", 4);
    team_cycle(&team);
    team.now_ns = 10;
    team_cycle(&team);
    team_submit_all(&team, "a", 4); /* rank 0's second, the others' first */
    team_cycle(&team);
    for (int rank = 1; rank < 3; rank++) {
        g_autofree char *text = team_text(&team, rank);
        g_assert_cmpstr(text, ==, "!a");
        g_assert_cmpstr(team.responses[rank].items[0].error, ==,
                        "tensor 'a' waited 0.0 s for ranks 1-2 to submit it (limit 0.0 s)");
        g_assert_cmpint(team.responses[rank].items[0].status, ==, LOCKSTEP_ERR_STALLED);
        team_submit(&team, rank, "a", 4);
    }
    g_assert_cmpint(team.responses[0].n, ==, 0);
    team_cycle(&team);
    team_check_answers(&team, "a");
    team_close(&team);
}

static void
test_one_that_leaves_takes_all_along(void)
{
    Team team = {0};
    team_open(&team, 3);
    team_submit_all(&team, "a", 4);
    team_submit(&team, 0, "b", 4);
    team_submit(&team, 1, "b", 4);
    team.shut_down[2] = true;
    team_cycle(&team);
    team_check_answers(&team, "a"); /* what was agreed is still executed */
    for (int rank = 0; rank < 3; rank++) {
        g_assert_true(team.left[rank]);
        g_assert_cmpint(ls_control_coordinator.pending(team.controls[rank]), ==, rank < 2);
    }
    team_close(&team);
}

static void
test_clock_pairs_take_turns(void)
{
    static const int64_t now[] = {0, 50, 99, 100, 101, 250, 349, 350};
    static const int32_t peers[] = {0, -1, -1, 1, -1, 2, -1, 0};
    Team team = {.config = {.clock_peers = 3, .clock_interval_ns = 100}};
    team_open(&team, 2);
    for (size_t i = 0; i < G_N_ELEMENTS(now); i++) {
        team.now_ns = now[i];
        team_cycle(&team);
        for (int rank = 0; rank < 2; rank++)
            g_assert_cmpint(team.responses[rank].clock_peer, ==, peers[i]);
    }
    team_close(&team);
}

static void
test_a_rank_alone_agrees_with_itself(void)
{
    Team team = {.config = {.fusion_threshold_bytes = 100}};
    team_open(&team, 1);
    team_submit(&team, 0, "a", 4);
    team_submit(&team, 0, "b", 4);
    team_cycle(&team);
    team_check_answers(&team, "a+b");
    team_close(&team);
}

static void
test_controls_are_found_by_name(void)
{
    g_assert_true(ls_control_find("coordinator") == &ls_control_coordinator);
    g_assert_null(ls_control_find("coordinator "));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add_func("/reduce/coordinator/" path, function)
    ADD("the-last-rank-makes-it-ready", test_the_last_rank_makes_it_ready);
    ADD("names-come-again", test_names_come_again);
    ADD("many-tensors-in-one-cycle", test_many_tensors_in_one_cycle);
    ADD("a-stall-is-told-and-fails-everywhere", test_a_stall_is_told_and_fails_everywhere);
    ADD("a-late-rank-meets-the-failure", test_a_late_rank_meets_the_failure);
    ADD("one-that-leaves-takes-all-along", test_one_that_leaves_takes_all_along);
    ADD("clock-pairs-take-turns", test_clock_pairs_take_turns);
    ADD("a-rank-alone-agrees-with-itself", test_a_rank_alone_agrees_with_itself);
    ADD("controls-are-found-by-name", test_controls_are_found_by_name);
#undef ADD
    return g_test_run();
}
