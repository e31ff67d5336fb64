/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-errors.c: whatever is wrong on some rank is a status with a sentence on every rank
 * that it concerns, and the library goes on. */
#include "support.h"

#include <stdatomic.h>
#include <string.h>

/* What rank 1 submits otherwise than the others, and the two values that must be told. */
typedef struct Difference {
    lockstep_dtype dtype;
    int64_t count;
    lockstep_op op;
    int root; /* of a broadcast; -1: an allreduce */
    const char *own, *others;
} Difference;

static const Difference same = {LOCKSTEP_FLOAT32, 6, LOCKSTEP_SUM, -1, "", ""};
static const Difference same_broadcast = {LOCKSTEP_FLOAT32, 6, LOCKSTEP_SUM, 0, "", ""};
static const Difference dtype = {LOCKSTEP_INT32, 6, LOCKSTEP_SUM, -1, "int32", "float32"};
static const Difference count = {LOCKSTEP_FLOAT32, 7, LOCKSTEP_SUM, -1, "7", "6"};
static const Difference op = {LOCKSTEP_FLOAT32, 6, LOCKSTEP_MAX, -1, "max", "sum"};
static const Difference operation = {LOCKSTEP_FLOAT32, 6,          LOCKSTEP_SUM, 0,
                                     "broadcast",      "allreduce"};
static const Difference root = {LOCKSTEP_FLOAT32, 6, LOCKSTEP_SUM, 1, "1", "0"};

static lockstep_status
submit(lockstep_context *context, const char *name, float *data, const Difference *how,
       lockstep_handle *ret_handle)
{
    lockstep_tensor tensor = support_tensor(name, data, data, how->count, how->dtype);
    return how->root < 0 ? lockstep_allreduce(context, &tensor, how->op, ret_handle)
                         : lockstep_broadcast(context, &tensor, how->root, ret_handle);
}

static void
test_mismatch(gconstpointer data)
{
    const Difference *other = data, *usual = other == &root ? &same_broadcast : &same;
    lockstep_context *context = support_open(NULL);
    float buffer[8] = {0};
    lockstep_handle handle;
    for (int i = 0; i < 3; i++) {
        const Difference *mine = support_rank() == 1 ? other : usual;
        assert_status(submit(context, "w", buffer, mine, &handle), LOCKSTEP_OK);
        assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_ERR_MISMATCH);
        assert_contains(lockstep_last_error(), "w");
        assert_contains(lockstep_last_error(), other->own);
        assert_contains(lockstep_last_error(), other->others);
        support_check_sum(context);
        assert_status(submit(context, "w", buffer, usual, &handle), LOCKSTEP_OK);
        assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    }
    support_close(context);
}

/* Same count, other extents. */
static void
test_shape(void)
{
    lockstep_context *context = support_open(NULL);
    static const int64_t wide[] = {2, 3}, tall[] = {3, 2};
    float data[6] = {0};
    lockstep_tensor tensor = support_tensor("s", data, data, 6, LOCKSTEP_FLOAT32);
    tensor.shape = support_rank() == 1 ? tall : wide;
    tensor.ndim = 2;
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_ERR_MISMATCH);
    assert_contains(lockstep_last_error(), "2, 3");
    assert_contains(lockstep_last_error(), "3, 2");
    tensor.shape = wide;
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    support_close(context);
}

static void
test_arguments(void)
{
    lockstep_context *context = support_open(NULL);
    float data[4] = {0};
    lockstep_handle handle = 7;
    static const int64_t shape[] = {2, 3};
    lockstep_tensor good = support_tensor("a", data, data, 4, LOCKSTEP_FLOAT32);
    lockstep_tensor bad[8];
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].size = 8;
    bad[1].name = "";
    bad[2].count = -1;
    bad[3].dtype = (lockstep_dtype)99;
    bad[4].input = NULL;
    bad[5].output = NULL;
    bad[6].shape = shape;
    bad[6].ndim = 2;
    bad[7].count = INT64_MAX;
    for (int i = 0; i < 8; i++) {
        assert_status(lockstep_allreduce(context, &bad[i], LOCKSTEP_SUM, &handle),
                      LOCKSTEP_ERR_ARGUMENT);
        g_assert_cmpuint(handle, ==, 0);
        g_assert_cmpstr(lockstep_last_error(), !=, "");
    }
    assert_status(lockstep_allreduce(context, &good, (lockstep_op)9, &handle),
                  LOCKSTEP_ERR_ARGUMENT);
    assert_status(lockstep_allreduce(context, &good, LOCKSTEP_SUM, NULL), LOCKSTEP_ERR_ARGUMENT);
    assert_status(lockstep_broadcast(context, &good, support_ranks(), &handle),
                  LOCKSTEP_ERR_ARGUMENT);
    assert_status(lockstep_wait(context, 0, -1), LOCKSTEP_ERR_ARGUMENT);
    assert_status(lockstep_wait(context, 12345, 0), LOCKSTEP_ERR_ARGUMENT);
    support_check_sum(context);
    support_close(context);
}

static void
test_wait(void)
{
    lockstep_context *context = support_open(NULL);
    float one = 1, sum = 0;
    lockstep_handle handle, second;
    lockstep_tensor tensor = support_tensor("late", &one, &sum, 1, LOCKSTEP_FLOAT32);
    if (support_rank() == 0) {
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &second),
                      LOCKSTEP_ERR_DUPLICATE);
        assert_contains(lockstep_last_error(), "late");
        assert_status(lockstep_wait(context, handle, 0), LOCKSTEP_IN_PROGRESS);
        gint64 start = g_get_monotonic_time();
        assert_status(lockstep_wait(context, handle, 120), LOCKSTEP_IN_PROGRESS);
        g_assert_cmpint(g_get_monotonic_time() - start, >=, 119 * 1000);
        MPI_Barrier(MPI_COMM_WORLD); /* only now the others submit */
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
    }
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    g_assert_cmpfloat(sum, ==, (float)support_ranks());
    assert_status(lockstep_wait(context, handle, 0), LOCKSTEP_ERR_ARGUMENT);
    support_close(context);
}

static void
test_settings_differ(void)
{
    lockstep_options options;
    lockstep_context *context = (lockstep_context *)&options;
    lockstep_options_init(&options);
    options.settings = support_rank() == 1 ? "cycle_time_ms=2.5" : "cycle_time_ms=4";
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    g_assert_null(context);
    assert_contains(lockstep_last_error(), "cycle_time_ms");
    assert_contains(lockstep_last_error(), "'2.5'");
    assert_contains(lockstep_last_error(), "'4'");
    assert_contains(lockstep_last_error(), "rank 1");

    options.settings = support_rank() == 1 ? "plane=pigeon" : NULL;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    assert_contains(lockstep_last_error(), "pigeon");

    /* A value that is none, and a name that is none, on one rank only. */
    options.settings = support_rank() == 1 ? "stall_limit_s=soon" : NULL;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    assert_contains(lockstep_last_error(), "rank 1: setting stall_limit_s: 'soon'");
    options.settings = support_rank() == 0 ? "colour=red" : NULL;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    assert_contains(lockstep_last_error(), "rank 0: there is no setting 'colour'");

    /* Two ways to say the same agree. */
    context = support_open(support_rank() == 1 ? "cycle_time_ms=1.0" : "cycle_time_ms=1");
    support_check_sum(context);
    support_close(context);
}

static void
test_early_leave(void)
{
    lockstep_context *context = support_open(NULL);
    support_check_sum(context);
    if (support_rank() == 0) {
        support_close(context);
    } else {
        float one = 1;
        lockstep_handle handle;
        lockstep_tensor tensor = support_tensor("left", &one, &one, 1, LOCKSTEP_FLOAT32);
        lockstep_status status = lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle);
        if (status == LOCKSTEP_OK) /* rank 0 was not gone yet */
            status = lockstep_wait(context, handle, -1);
        assert_status(status, LOCKSTEP_ERR_SHUT_DOWN);
        assert_contains(lockstep_last_error(), "left");
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle),
                      LOCKSTEP_ERR_SHUT_DOWN);
        g_assert_cmpuint(handle, ==, 0);
        support_close(context);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

typedef struct Heard {
    atomic_int calls;
    lockstep_status status;
    GThread *thread;
    lockstep_context *context;
    lockstep_tensor tensor;
    int left;
} Heard;

static void
hear(lockstep_status status, const char *text, void *user)
{
    Heard *heard = user;
    heard->status = status;
    heard->thread = g_thread_self();
    g_assert_nonnull(text);
    if (status == LOCKSTEP_OK && heard->left-- > 0)
        assert_status(lockstep_allreduce(heard->context, &heard->tensor, LOCKSTEP_SUM, NULL),
                      LOCKSTEP_OK);
    atomic_fetch_add(&heard->calls, 1);
}

/* A callback may submit its own name anew; shutdown waits for what is on its way. */
static void
test_callback(void)
{
    Heard heard = {.context = support_open(NULL), .left = 9};
    float one = 1, sum = 0;
    heard.tensor = support_tensor("chain", &one, &sum, 1, LOCKSTEP_FLOAT32);
    heard.tensor.callback = hear;
    heard.tensor.user = &heard;
    assert_status(lockstep_allreduce(heard.context, &heard.tensor, LOCKSTEP_SUM, NULL),
                  LOCKSTEP_OK);
    while (atomic_load(&heard.calls) < 10)
        g_usleep(1000);
    support_close(heard.context);
    g_assert_cmpint(atomic_load(&heard.calls), ==, 10);
    g_assert_true(heard.thread != g_thread_self());
    assert_status(heard.status, LOCKSTEP_OK);
}

/* What one rank alone has submitted fails when it leaves, after lingering. */
static void
test_linger(void)
{
    Heard heard = {.context = support_open("linger_ms=300"), .left = 0};
    float one = 1;
    heard.tensor = support_tensor("mine", &one, &one, 1, LOCKSTEP_FLOAT32);
    heard.tensor.callback = hear;
    heard.tensor.user = &heard;
    if (support_rank() == 0)
        assert_status(lockstep_allreduce(heard.context, &heard.tensor, LOCKSTEP_SUM, NULL),
                      LOCKSTEP_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    if (support_rank() == 0)
        support_close(heard.context); /* the others have not left: it waits and gives up */
    MPI_Barrier(MPI_COMM_WORLD);
    if (support_rank() != 0)
        support_close(heard.context);
    g_assert_cmpint(atomic_load(&heard.calls), ==, support_rank() == 0 ? 1 : 0);
    if (support_rank() == 0)
        assert_status(heard.status, LOCKSTEP_ERR_SHUT_DOWN);
}

static void
test_abandoned_handles(void)
{
    lockstep_context *context = support_open("linger_ms=600000"); /* for whoever submits slowly */
    static float data[5000];
    lockstep_handle handle, last = 0;
    for (int i = 0; i < 5000; i++) {
        g_autofree char *name = g_strdup_printf("abandoned/%d", i);
        data[i] = (float)i;
        lockstep_tensor tensor = support_tensor(name, &data[i], &data[i], 1, LOCKSTEP_FLOAT32);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
        g_assert_cmpuint(handle, !=, last);
        last = handle;
    }
    support_close(context); /* waits for all */
    for (int i = 0; i < 5000; i++)
        g_assert_cmpfloat(data[i], ==, (float)(i * support_ranks()));
}

/* Rank 1 does not submit it, and is named. */
static bool
is_lonely(lockstep_context *context)
{
    float one = 1;
    lockstep_tensor tensor = support_tensor("lonely", &one, &one, 1, LOCKSTEP_FLOAT32);
    if (support_rank() == 1)
        return true;
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_ERR_STALLED);
    assert_contains(lockstep_last_error(), "lonely");
    return strstr(lockstep_last_error(), " s for rank 1 to submit it") != NULL;
}

static bool
is_good(lockstep_context *context)
{
    float one = 1;
    lockstep_tensor tensor = support_tensor("good", &one, &one, 1, LOCKSTEP_FLOAT32);
    lockstep_status status = support_reduce(context, &tensor, LOCKSTEP_SUM);
    if (status == LOCKSTEP_ERR_STALLED)
        return false;
    assert_status(status, LOCKSTEP_OK);
    g_assert_cmpfloat(one, ==, (float)support_ranks());
    return true;
}

/* A rank that this machine holds up for longer than the limit is missed too, and rightly: then all
 * try again. */
static void
test_stall_limit(void)
{
    lockstep_context *context = support_open("stall_warning_s=0.05;stall_limit_s=0.2");
    while (!support_is_on_all(is_lonely(context)))
        ;
    while (!support_is_on_all(is_good(context)))
        ;
    support_close(context);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    g_test_add_data_func("/mpi/errors/mismatch-dtype", &dtype, test_mismatch);
    g_test_add_data_func("/mpi/errors/mismatch-count", &count, test_mismatch);
    g_test_add_data_func("/mpi/errors/mismatch-op", &op, test_mismatch);
    g_test_add_data_func("/mpi/errors/mismatch-operation", &operation, test_mismatch);
    g_test_add_data_func("/mpi/errors/mismatch-root", &root, test_mismatch);
    g_test_add_func("/mpi/errors/mismatch-shape", test_shape);
    g_test_add_func("/mpi/errors/arguments", test_arguments);
    g_test_add_func("/mpi/errors/wait-and-duplicate", test_wait);
    g_test_add_func("/mpi/errors/settings-differ", test_settings_differ);
    g_test_add_func("/mpi/errors/early-leave", test_early_leave);
    g_test_add_func("/mpi/errors/callback", test_callback);
    g_test_add_func("/mpi/errors/linger", test_linger);
    g_test_add_func("/mpi/errors/abandoned-handles", test_abandoned_handles);
    g_test_add_func("/mpi/errors/stall-limit", test_stall_limit);
    return support_run();
}
