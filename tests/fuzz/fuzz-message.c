/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-message.c: the control's messages from a peer that sends anything. The first byte chooses
 * who reads the rest: 0 the reader of requests, 1 that of responses, 2 rank 0 of a coordinator as
 * what rank 1 sent, 3 rank 1 as what rank 0 broadcast. Checks: what is read is written again as the
 * same bytes; a refusal is one sentence and leaves nothing; a control ends its cycle or says why
 * not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/control.h"

#include "reduce/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static void
check(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz-message: not so: %s\n", what);
    abort();
}

static void
check_same(const uint8_t *data, size_t length, uint8_t *written, size_t written_length)
{
    check(length == written_length && memcmp(data, written, length) == 0,
          "what is read is written again as the same bytes");
    free(written);
}

static void
check_sentence(const char *fault)
{
    check(strlen(fault) > 10 && strlen(fault) < 160, "a refusal is one sentence");
    check(strstr(fault, "byte ") != NULL, "a refusal names the byte");
}

static void
read_requests(const uint8_t *data, size_t length)
{
    LsRequestList list;
    char error[160];
    uint8_t *written;
    size_t written_length;
    const char *fault = ls_request_list_decode(data, length, &list, error);
    if (fault != NULL) {
        check_sentence(fault);
        check(list.items == NULL && list.n == 0, "a refused list is empty");
    } else if (ls_request_list_encode(&list, &written, &written_length)) {
        check_same(data, length, written, written_length);
    }
    ls_request_list_clear(&list);
}

static void
read_responses(const uint8_t *data, size_t length)
{
    LsResponseList list;
    char error[160];
    uint8_t *written;
    size_t written_length;
    const char *fault = ls_response_list_decode(data, length, &list, error);
    if (fault != NULL) {
        check_sentence(fault);
        check(list.items == NULL && list.n == 0, "a refused list is empty");
    } else if (ls_response_list_encode(&list, &written, &written_length)) {
        check_same(data, length, written, written_length);
    }
    ls_response_list_clear(&list);
}

static bool
submit(LsControl *control, int rank, int64_t now_ns)
{
    LsRequestList list = {0};
    LsRequest request = {.rank = rank, .ndim = 1, .name = strdup("a")};
    request.shape = calloc(1, sizeof *request.shape);
    request.shape[0] = 4;
    bool done = now_ns > 0 || ls_request_list_take(&list, &request);
    ls_request_clear(&request);
    return ls_control_coordinator.begin(control, &list, false, now_ns) && done;
}

static void
end_cycle(LsControl *control, const LsResult *broadcast)
{
    LsAction action;
    LsResponseList responses;
    bool shut_down;
    int path;
    if (!ls_control_coordinator.advance(control, broadcast, &action)) {
        check(ls_control_coordinator.error(control)[0] != '\0', "a failure is told");
        return;
    }
    check(action.kind == LS_ACTION_DONE, "the cycle ends");
    ls_control_coordinator.take(control, &responses, &shut_down, &path);
    ls_response_list_clear(&responses);
}

/* Two cycles; in the second rank 0 submits nothing, its stall limit has passed. */
static void
play_rank(int rank, const uint8_t *data, size_t length)
{
    const LsControlConfig config = {.rank = rank,
                                    .ranks = 2,
                                    .fusion_threshold_bytes = 64,
                                    .stall_warning_ns = 5,
                                    .stall_limit_ns = 10};
    LsControl *control = ls_control_coordinator.open(&config, NULL);
    const LsPiece peers[] = {{NULL, 0}, {data, length}};
    const LsResult gathered = {.parts = peers, .n_parts = rank == 0 ? 2 : 0};
    LsAction action;
    for (int64_t now_ns = 0; now_ns <= 10 && submit(control, rank, now_ns); now_ns += 10) {
        check(ls_control_coordinator.advance(control, NULL, &action), "a cycle can begin");
        check(ls_control_coordinator.advance(control, &gathered, &action), "and be answered");
        check(action.kind == LS_ACTION_BROADCAST, "by a broadcast");
        const LsPiece answer = rank == 0 ? (LsPiece){action.data, action.length} : peers[1];
        const LsResult broadcast = {.parts = &answer, .n_parts = 1};
        end_cycle(control, &broadcast);
    }
    ls_control_coordinator.close(control);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    if (length < 1)
        return 0;
    if (data[0] == 0)
        read_requests(data + 1, length - 1);
    else if (data[0] == 1)
        read_responses(data + 1, length - 1);
    else if (data[0] <= 3)
        play_rank(data[0] - 2, data + 1, length - 1);
    return 0;
}
