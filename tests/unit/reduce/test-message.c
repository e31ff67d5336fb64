/* SPDX-License-Identifier: Apache-2.0
 * What is written is read again; what was not written so is refused with its place. */
#include <glib.h>

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"
#include "reduce/message.h"

static LsRequest
make_request(int rank, const char *name, int32_t ndim, const int64_t *shape)
{
    LsRequest request = {.rank = rank,
                         .operation = LS_OPERATION_BROADCAST,
                         .dtype = LOCKSTEP_INT64,
                         .reduction = LOCKSTEP_PRODUCT,
                         .root = 3,
                         .ndim = ndim};
    request.name = strdup(name);
    request.shape = calloc(ndim > 0 ? (size_t)ndim : 1, sizeof *request.shape);
    if (ndim > 0)
        memcpy(request.shape, shape, (size_t)ndim * sizeof *shape);
    return request;
}

static void
make_requests(LsRequestList *list)
{
    const int64_t shape[] = {64, 0, INT64_C(1) << 40};
    LsRequest items[] = {make_request(2, "conv1/w", 3, shape), make_request(2, "", 0, NULL),
                         make_request(2, "\xc3\xa9 \"\\\n", 1, shape)};
    items[0].others = 5;
    items[1].held = true;
    items[2].waited_ns = INT64_C(1) << 40;
    *list = (LsRequestList){.shut_down = true, .failure = strdup("it does not work")};
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
        g_assert_true(ls_request_list_take(list, &items[i]));
}

static LsResponse
make_response(uint8_t operation, size_t n, const char *error)
{
    LsResponse response = {.operation = operation, .dtype = LOCKSTEP_BFLOAT16, .n = n, .root = 7};
    response.status = error != NULL ? LOCKSTEP_ERR_MISMATCH : LOCKSTEP_OK;
    response.error = error != NULL ? strdup(error) : NULL;
    response.names = calloc(n, sizeof *response.names);
    response.counts = calloc(n, sizeof *response.counts);
    for (size_t i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("tensor %zu", i);
        response.names[i] = strdup(name);
        response.counts[i] = (int64_t)i << 33;
    }
    return response;
}

static void
make_responses(LsResponseList *list, const char *failure)
{
    LsResponse fused = make_response(LS_OPERATION_ALLREDUCE, 5, NULL);
    LsResponse wrong = make_response(LS_OPERATION_ERROR, 1, "a is 1 but 2");
    *list = LS_RESPONSE_LIST_INIT;
    list->path = LS_PATH_SLOW;
    list->clock_peer = 12;
    list->failure = failure != NULL ? strdup(failure) : NULL;
    g_assert_true(ls_response_list_take(list, &fused));
    g_assert_true(ls_response_list_take(list, &wrong));
}

static void
test_requests_come_back(void)
{
    LsRequestList list, read;
    uint8_t *data;
    size_t length;
    char error[160];
    make_requests(&list);
    g_assert_true(ls_request_list_encode(&list, &data, &length));
    g_assert_null(ls_request_list_decode(data, length, &read, error));
    g_assert_true(read.shut_down);
    g_assert_cmpstr(read.failure, ==, "it does not work");
    g_assert_cmpint(read.n, ==, list.n);
    for (size_t i = 0; i < read.n; i++) {
        const LsRequest *a = &list.items[i], *b = &read.items[i];
        g_assert_true(a->rank == b->rank && a->operation == b->operation && a->dtype == b->dtype);
        g_assert_true(a->reduction == b->reduction && a->root == b->root && a->ndim == b->ndim);
        g_assert_true(a->others == b->others && a->held == b->held);
        g_assert_cmpint(a->waited_ns, ==, b->waited_ns);
        g_assert_cmpstr(a->name, ==, b->name);
        for (int32_t k = 0; k < a->ndim; k++)
            g_assert_cmpint(a->shape[k], ==, b->shape[k]);
    }
    ls_request_list_clear(&list);
    ls_request_list_clear(&read);
    free(data);
}

static void
check_responses(const char *failure)
{
    LsResponseList list, read;
    uint8_t *data;
    size_t length;
    char error[160];
    make_responses(&list, failure);
    g_assert_true(ls_response_list_encode(&list, &data, &length));
    g_assert_null(ls_response_list_decode(data, length, &read, error));
    g_assert_cmpint(read.clock_peer, ==, 12);
    g_assert_cmpint(read.path, ==, LS_PATH_SLOW);
    g_assert_cmpstr(read.failure, ==, failure);
    g_assert_cmpint(read.n, ==, list.n);
    for (size_t i = 0; i < read.n; i++) {
        const LsResponse *a = &list.items[i], *b = &read.items[i];
        g_assert_true(a->operation == b->operation && a->dtype == b->dtype && a->root == b->root);
        g_assert_true(a->status == b->status && a->n == b->n && a->reduction == b->reduction);
        g_assert_cmpstr(a->error, ==, b->error);
        for (size_t k = 0; k < a->n; k++) {
            g_assert_cmpstr(a->names[k], ==, b->names[k]);
            g_assert_cmpint(a->counts[k], ==, b->counts[k]);
        }
    }
    ls_response_list_clear(&list);
    ls_response_list_clear(&read);
    free(data);
}

static void
test_responses_come_back(void)
{
    check_responses(NULL);
    check_responses("rank 3: out of memory");
}

static void
test_every_cut_is_refused(void)
{
    LsRequestList requests, read;
    LsResponseList responses, read_too;
    uint8_t *data;
    size_t length;
    char error[160], place[40];
    make_requests(&requests);
    g_assert_true(ls_request_list_encode(&requests, &data, &length));
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *part = g_memdup2(data, cut); /* so that a sanitizer sees a byte too far */
        g_assert_nonnull(ls_request_list_decode(part, cut, &read, error));
        g_assert_true(read.n == 0 && read.items == NULL);
        g_assert_true(g_str_has_prefix(error, "request list: byte "));
        g_free(part);
    }
    free(data);
    make_responses(&responses, "failure");
    g_assert_true(ls_response_list_encode(&responses, &data, &length));
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *part = g_memdup2(data, cut);
        g_assert_nonnull(ls_response_list_decode(part, cut, &read_too, error));
        g_assert_true(read_too.n == 0 && read_too.clock_peer == -1);
        g_free(part);
    }
    data = realloc(data, length + 1);
    data[length] = 0;
    g_snprintf(place, sizeof place, "byte %zu: 1 bytes follow", length);
    g_assert_nonnull(ls_response_list_decode(data, length + 1, &read_too, error));
    g_assert_nonnull(strstr(error, place));
    free(data);
    ls_request_list_clear(&requests);
    ls_response_list_clear(&responses);
}

/* One byte of a sound list is changed; the sentence names the place of the field. */
static void
check_spoilt(size_t at, uint8_t value, const char *expected)
{
    const int64_t shape[] = {5};
    LsRequestList list = {0}, read;
    LsRequest request = make_request(1, "abc", 1, shape);
    uint8_t *data;
    size_t length;
    char error[160] = "";
    g_assert_true(ls_request_list_take(&list, &request));
    g_assert_true(ls_request_list_encode(&list, &data, &length));
    data[at] = value;
    g_assert_true(ls_request_list_decode(data, length, &read, error) == error);
    g_assert_cmpstr(error, ==, expected);
    ls_request_list_clear(&list);
    free(data);
}

static void
test_faults_are_told_with_their_place(void)
{
    check_spoilt(0, 'X', "request list: byte 0: magic is 31514b58, 31514b4c was expected");
    check_spoilt(4, 4, "request list: byte 4: flags is 4, at most 3 was expected");
    check_spoilt(8, 0xff,
                 "request list: byte 5: 4278190081 requests are claimed, 28 bytes are left");
    check_spoilt(12, 0x80,
                 "request list: byte 9: rank is 2147483649, at most 2147483647 was "
                 "expected");
    check_spoilt(13, 5,
                 "request list: byte 13: operation 5 (alltoall) is not one that can be asked for");
    check_spoilt(13, 8,
                 "request list: byte 13: operation 8 (error) is not one that can be asked for");
    check_spoilt(14, 8, "request list: byte 14: dtype is 8, at most 7 was expected");
    check_spoilt(15, 5, "request list: byte 15: reduction is 5, at most 4 was expected");
    check_spoilt(16, 65, "request list: byte 16: number of extents is 65, at most 64 was expected");
    check_spoilt(16, 2, "request list: byte 37: extent needs 8 bytes, 0 are left");
    check_spoilt(25, 1,
                 "request list: byte 22: 16777219 bytes of a name are claimed, 11 bytes are "
                 "left");
    check_spoilt(21, 8, "request list: byte 21: flags is 8, at most 7 was expected");
    check_spoilt(27, 0, "request list: byte 27: a zero among the bytes of a name");
    check_spoilt(36, 0x80,
                 "request list: byte 29: a shape with an extent below 0 or more than "
                 "2^63 bytes");
    check_spoilt(36, 0x10,
                 "request list: byte 29: a shape with an extent below 0 or more than "
                 "2^63 bytes");
}

static void
test_shapes_are_multiplied_with_care(void)
{
    const int64_t sound[] = {3, 4, 5}, empty[] = {INT64_MAX / 8, 0};
    const int64_t large[] = {INT64_C(1) << 31, INT64_C(1) << 31}, below[] = {2, -1};
    int64_t count = -1;
    g_assert_true(ls_shape_count(sound, 3, &count));
    g_assert_cmpint(count, ==, 60);
    g_assert_true(ls_shape_count(NULL, 0, &count));
    g_assert_cmpint(count, ==, 1); /* a scalar */
    g_assert_true(ls_shape_count(empty, 2, &count));
    g_assert_cmpint(count, ==, 0);
    g_assert_false(ls_shape_count(large, 2, &count));
    g_assert_false(ls_shape_count(below, 2, &count));
    g_assert_false(ls_shape_count(sound, LS_NDIM_MAX + 1, &count));
}

static void
test_every_type_has_size_and_name(void)
{
    const struct {
        uint8_t dtype;
        size_t bytes;
        const char *text;
    } rows[] = {
        {LOCKSTEP_FLOAT32, 4, "float32"},   {LOCKSTEP_FLOAT64, 8, "float64"},
        {LOCKSTEP_FLOAT16, 2, "float16"},   {LOCKSTEP_BFLOAT16, 2, "bfloat16"},
        {LOCKSTEP_INT8, 1, "int8"},         {LOCKSTEP_UINT8, 1, "uint8"},
        {LOCKSTEP_INT32, 4, "int32"},       {LOCKSTEP_INT64, 8, "int64"},
        {LOCKSTEP_INT64 + 1, 0, "unknown"}, {255, 0, "unknown"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpint(ls_dtype_bytes(rows[i].dtype), ==, rows[i].bytes);
        g_assert_cmpstr(ls_dtype_text(rows[i].dtype), ==, rows[i].text);
    }
    g_assert_cmpstr(ls_operation_text(LS_OPERATION_REDUCESCATTER), ==, "reducescatter");
    g_assert_cmpstr(ls_operation_text(LS_OPERATION_UNKNOWN), ==, "unknown");
    g_assert_cmpstr(ls_reduction_text(LOCKSTEP_AVERAGE), ==, "average");
    g_assert_cmpstr(ls_reduction_text(9), ==, "unknown");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/message/requests-come-back", test_requests_come_back);
    g_test_add_func("/reduce/message/responses-come-back", test_responses_come_back);
    g_test_add_func("/reduce/message/every-cut-is-refused", test_every_cut_is_refused);
    g_test_add_func("/reduce/message/faults-are-told-with-their-place",
                    test_faults_are_told_with_their_place);
    g_test_add_func("/reduce/message/shapes-are-multiplied-with-care",
                    test_shapes_are_multiplied_with_care);
    g_test_add_func("/reduce/message/every-type-has-size-and-name",
                    test_every_type_has_size_and_name);
    return g_test_run();
}
