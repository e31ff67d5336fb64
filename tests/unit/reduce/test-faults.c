/* SPDX-License-Identifier: Apache-2.0
 * What ranks do not agree on, and peers that make no sense: told to all, with values and ranks. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

static void
spoil_dtype(LsRequest *request)
{
    request->dtype = LOCKSTEP_FLOAT64;
}

static void
spoil_operation(LsRequest *request)
{
    request->operation = LS_OPERATION_BROADCAST;
}

static void
spoil_shape(LsRequest *request)
{
    request->shape[0] = 1200;
}

static void
spoil_dimensions(LsRequest *request)
{
    request->ndim = 0;
}

static void
spoil_reduction(LsRequest *request)
{
    request->reduction = LOCKSTEP_MAX;
}

static void
spoil_root(LsRequest *request)
{
    request->operation = LS_OPERATION_BROADCAST;
    request->root = 3;
}

static void
spoil_all(LsRequest *request)
{
    spoil_reduction(request);
    spoil_shape(request);
    spoil_operation(request);
    spoil_dtype(request);
}

static void
spoil_shape_and_reduction(LsRequest *request)
{
    spoil_reduction(request);
    spoil_shape(request);
}

static void
test_disagreements_name_values_and_ranks(void)
{
    const struct {
        void (*spoil)(LsRequest *request);
        uint8_t operation;
        int ranks; /* a bit for each that differs */
        const char *text;
    } rows[] = {
        {spoil_dtype, 0, 4, "dtype is float32 on ranks 0-1, 3 but float64 on rank 2"},
        {spoil_operation, 0, 1, "operation is broadcast on rank 0 but allreduce on ranks 1-3"},
        {spoil_shape, 0, 8, "shape is [12] on ranks 0-2 but [1200] on rank 3"},
        {spoil_dimensions, 0, 6, "shape is [12] on ranks 0, 3 but [] on ranks 1-2"},
        {spoil_reduction, 0, 2, "reduction is sum on ranks 0, 2-3 but max on rank 1"},
        {spoil_root, LS_OPERATION_BROADCAST, 12, "root is 0 on ranks 0-1 but 3 on ranks 2-3"},
        {spoil_all, 0, 4, "dtype is float32 on ranks 0-1, 3 but float64 on rank 2"},
        {spoil_shape_and_reduction, 0, 4, "shape is [12] on ranks 0-1, 3 but [1200] on rank 2"},
    };
    Team team = {.config = {.fusion_threshold_bytes = 1 << 20}};
    team_open(&team, 4);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strdup_printf("tensor 'conv1/w': %s", rows[i].text);
        team_submit_all(&team, "before", 1);
        for (int rank = 0; rank < 4; rank++) {
            LsRequest *request = team_submit(&team, rank, "conv1/w", 12);
            request->operation = rows[i].operation;
            if ((rows[i].ranks >> rank & 1) != 0)
                rows[i].spoil(request);
        }
        team_submit_all(&team, "after", 1);
        team_cycle(&team);
        team_check_answers(&team, "before+after !conv1/w"); /* and the library goes on */
        team_check_error(&team, 1, LOCKSTEP_ERR_MISMATCH, text);
    }
    team_submit_all(&team, "conv1/w", 12);
    team_cycle(&team);
    team_check_answers(&team, "conv1/w");
    team_close(&team);
}

/* Only what the operation uses must agree. */
static void
test_what_does_not_matter_may_differ(void)
{
    Team team = {0};
    team_open(&team, 2);
    team_submit(&team, 0, "a", 3)->root = 1;
    team_submit(&team, 1, "a", 3);
    for (int rank = 0; rank < 2; rank++) {
        LsRequest *request = team_submit(&team, rank, "b", 3);
        request->operation = LS_OPERATION_BROADCAST;
        request->reduction = (uint8_t)rank;
    }
    for (int rank = 0; rank < 2; rank++)
        team_submit(&team, rank, "c", 3 + rank)->operation = LS_OPERATION_BARRIER;
    team_cycle(&team);
    team_check_answers(&team, "a b c");
    team_close(&team);
}

static void
test_what_cannot_be_is_an_argument_error(void)
{
    Team team = {0};
    team_open(&team, 2);
    for (int rank = 0; rank < 2; rank++) {
        LsRequest *request = team_submit(&team, rank, "a", 3);
        request->operation = LS_OPERATION_BROADCAST;
        request->root = 2;
        request = team_submit(&team, rank, "b", 3);
        request->operation = LS_OPERATION_REDUCESCATTER;
        request->ndim = 0;
    }
    team_cycle(&team);
    team_check_answers(&team, "!a !b");
    team_check_error(&team, 0, LOCKSTEP_ERR_ARGUMENT, "tensor 'a': root is 2, the last rank is 1");
    team_check_error(&team, 1, LOCKSTEP_ERR_ARGUMENT, "tensor 'b': a scalar cannot be scattered");
    team_close(&team);
}

static void
test_a_name_twice_is_a_fault_that_all_learn(void)
{
    for (int rank = 0; rank < 3; rank++) {
        g_autofree char *text =
            g_strdup_printf("rank %d: 'a' was submitted again before it was answered", rank);
        Team team = {0};
        team_open(&team, 3);
        team_submit_all(&team, "a", 4);
        team_submit(&team, rank, "a", 4); /* although the first one becomes ready in this cycle */
        team_cycle(&team);
        team_check_failure(&team, text);
        team_cycle(&team); /* lost for good */
        team_check_failure(&team, text);
        team_close(&team);
    }
}

static void
check_spoilt_gather(const void *message, size_t length, const char *text)
{
    Team team = {0};
    team_open(&team, 3);
    team_submit_all(&team, "a", 4);
    team.spoilt[2] = message;
    team.spoilt_length[2] = length;
    team_cycle(&team);
    team_check_failure(&team, text);
    team_close(&team);
}

static void
test_what_a_peer_sends_is_not_trusted(void)
{
    LsRequestList list = {0};
    LsRequest request = {.rank = 1, .name = strdup("a")};
    uint8_t *data;
    size_t length;
    g_assert_true(ls_request_list_take(&list, &request));
    g_assert_true(ls_request_list_encode(&list, &data, &length));
    check_spoilt_gather("", 0, "rank 2: out of memory");
    check_spoilt_gather("LKQ1", 4, "rank 2: request list: byte 4: flags needs 1 bytes, 0 are left");
    check_spoilt_gather("what is this", 12,
                        "rank 2: request list: byte 0: magic is 74616877, 31514b4c was expected");
    check_spoilt_gather(data, length, "rank 2: a request in the name of rank 1");
    free(data);
    ls_request_list_clear(&list);
}

/* Rank 1 is answered something that it has not asked. */
static void
check_spoilt_broadcast(const char *name, uint8_t dtype, int64_t count, const char *text)
{
    Team team = {0};
    LsResponseList list = LS_RESPONSE_LIST_INIT;
    LsResponse response = {.dtype = dtype, .n = 1};
    uint8_t *data;
    response.names = malloc(sizeof *response.names);
    response.counts = malloc(sizeof *response.counts);
    response.names[0] = strdup(name);
    response.counts[0] = count;
    g_assert_true(ls_response_list_take(&list, &response));
    team_open(&team, 2);
    g_assert_true(ls_response_list_encode(&list, &data, &team.spoilt_length[0]));
    team.spoilt[0] = data;
    team_submit_all(&team, "a", 4);
    team_cycle(&team);
    g_assert_cmpint(team.done[1], ==, text == NULL);
    if (text != NULL)
        g_assert_cmpstr(ls_control_coordinator.error(team.controls[1]), ==, text);
    team_close(&team);
    free(data);
    ls_response_list_clear(&list);
}

static void
test_an_answer_must_fit_the_question(void)
{
    check_spoilt_broadcast("a", LOCKSTEP_FLOAT32, 4, NULL);
    check_spoilt_broadcast("b", LOCKSTEP_FLOAT32, 4,
                           "rank 0: an answer to 'b', which does not wait here");
    check_spoilt_broadcast("a", LOCKSTEP_FLOAT32, 5,
                           "rank 0: 'a' is answered as allreduce of 5 float32, here it is "
                           "allreduce of 4 float32");
    check_spoilt_broadcast("a", LOCKSTEP_INT64, 4,
                           "rank 0: 'a' is answered as allreduce of 4 int64, here it is allreduce "
                           "of 4 float32");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add_func("/reduce/coordinator/" path, function)
    ADD("disagreements-name-values-and-ranks", test_disagreements_name_values_and_ranks);
    ADD("what-does-not-matter-may-differ", test_what_does_not_matter_may_differ);
    ADD("what-cannot-be-is-an-argument-error", test_what_cannot_be_is_an_argument_error);
    ADD("a-name-twice-is-a-fault-that-all-learn", test_a_name_twice_is_a_fault_that_all_learn);
    ADD("what-a-peer-sends-is-not-trusted", test_what_a_peer_sends_is_not_trusted);
    ADD("an-answer-must-fit-the-question", test_an_answer_must_fit_the_question);
#undef ADD
    return g_test_run();
}
