/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-message.c: the control's messages from a peer that sends anything. The first byte chooses
 * who reads the rest: 0 the reader of requests, 1 that of responses, 2 rank 0 of a coordinator as
 * what rank 1 sent, 3 rank 1 as what rank 0 broadcast, 4 and 5 the same of bitvector, 6 and 7 of
 * the tree, in which 7 is rank 1 as what its parent sent. Checks: what is read is written again as
 * the same bytes; a refusal is one sentence and leaves nothing; a control ends its cycle or says
 * why not.
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
submit(const LsControlClass *class, LsControl *control, int rank, int64_t now_ns)
{
    LsRequestList list = {0};
    LsRequest request = {.rank = rank, .ndim = 1, .name = strdup("a")};
    request.shape = calloc(1, sizeof *request.shape);
    request.shape[0] = 4;
    bool done = now_ns > 0 || ls_request_list_take(&list, &request);
    ls_request_clear(&request);
    bool begun = class->begin(control, &list, false, now_ns);
    ls_request_list_clear(&list);
    return begun && done;
}

/* What the action brings: the peer's bytes where they come from it, the rank's own else. */
static LsResult
answer(const LsAction *action, int rank, const uint8_t *data, size_t length, int looks,
       LsPiece pieces[2])
{
    LsResult result = {.parts = pieces, .n_parts = 1, .from = 1 - rank};
    pieces[0] = (LsPiece){action->data, action->length};
    pieces[1] = (LsPiece){data, length};
    switch (action->kind) {
    case LS_ACTION_GATHER:
        result.n_parts = rank == 0 ? 2 : 0;
        break;
    case LS_ACTION_BROADCAST:
        if (rank != 0)
            pieces[0] = pieces[1];
        break;
    case LS_ACTION_POLL:
        pieces[0] = pieces[1];
        result.n_parts = looks == 0;
        break;
    default: /* words as they are: the peer has what we have; a message is sent */
        break;
    }
    return result;
}

static void
end_cycle(const LsControlClass *class, LsControl *control)
{
    LsResponseList responses;
    bool shut_down;
    int path;
    class->take(control, &responses, &shut_down, &path);
    ls_response_list_clear(&responses);
}

/* Three cycles; after the first the rank submits nothing, and its stall limit has passed. */
static void
play_rank(const LsControlClass *class, int rank, const uint8_t *data, size_t length)
{
    const LsControlConfig config = {.rank = rank,
                                    .ranks = 2,
                                    .cache_capacity = 2,
                                    .fusion_threshold_bytes = 64,
                                    .stall_warning_ns = 5,
                                    .stall_limit_ns = 10};
    LsControl *control = class->open(&config, NULL);
    bool good = true;
    for (int64_t now_ns = 0; good && now_ns <= 20 && submit(class, control, rank, now_ns);
         now_ns += 10) {
        LsAction action;
        LsPiece pieces[2];
        LsResult result;
        int looks = 0, actions = 0;
        good = class->advance(control, NULL, &action);
        while (good && action.kind != LS_ACTION_DONE) {
            check(actions++ < 20, "a cycle ends");
            result = answer(&action, rank, data, length, looks, pieces);
            looks += action.kind == LS_ACTION_POLL;
            good = class->advance(control, &result, &action);
        }
        if (good)
            end_cycle(class, control);
        else
            check(class->error(control)[0] != '\0', "a failure is told");
    }
    class->close(control);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static const LsControlClass *const classes[] = {&ls_control_coordinator, &ls_control_bitvector,
                                                    &ls_control_tree};
    if (length < 1)
        return 0;
    if (data[0] == 0)
        read_requests(data + 1, length - 1);
    else if (data[0] == 1)
        read_responses(data + 1, length - 1);
    else if (data[0] <= 7)
        play_rank(classes[(data[0] - 2) / 2], data[0] % 2, data + 1, length - 1);
    return 0;
}
