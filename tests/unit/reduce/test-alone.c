/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/reduce/test-alone.c: the library through its own header, with one rank and no MPI. Run
 * under the thread sanitizer as well. */
#include "reduce/lockstep.h"

#include <glib.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static lockstep_context *
open_alone(const char *settings)
{
    lockstep_options options;
    lockstep_context *context;
    lockstep_options_init(&options);
    options.alone = 1;
    options.settings = settings;
    if (lockstep_init(&options, &context) != LOCKSTEP_OK)
        g_error("%s", lockstep_last_error());
    return context;
}

static lockstep_tensor
make_tensor(const char *name, const void *input, void *output, int64_t count, lockstep_dtype dtype)
{
    return (lockstep_tensor){.size = sizeof(lockstep_tensor),
                             .name = name,
                             .input = input,
                             .output = output,
                             .count = count,
                             .dtype = dtype};
}

static void
test_identity(gconstpointer settings)
{
    static const guint bytes[] = {4, 8, 2, 2, 1, 1, 4, 8};
    lockstep_context *context = open_alone(settings);
    g_assert_cmpint(lockstep_rank(context), ==, 0);
    g_assert_cmpint(lockstep_size(context), ==, 1);
    g_assert_cmpint(lockstep_local_rank(context), ==, 0);
    g_assert_cmpint(lockstep_local_size(context), ==, 1);
    for (int dtype = 0; dtype <= LOCKSTEP_INT64; dtype++) {
        for (int op = 0; op <= LOCKSTEP_PRODUCT; op++) {
            guint8 in[800], out[800] = {0};
            lockstep_handle handle;
            for (guint i = 0; i < sizeof in; i++)
                in[i] = (guint8)(i * 37 % 61); /* no NaN in any type */
            lockstep_tensor tensor = make_tensor("t", in, out, 100, (lockstep_dtype)dtype);
            g_assert_cmpint(lockstep_allreduce(context, &tensor, (lockstep_op)op, &handle), ==, 0);
            g_assert_cmpint(lockstep_wait(context, handle, -1), ==, LOCKSTEP_OK);
            g_assert_cmpmem(in, 100 * bytes[dtype], out, 100 * bytes[dtype]);
            g_assert_cmpint(out[100 * bytes[dtype] % 800], ==, bytes[dtype] == 8 ? in[0] : 0);
        }
    }
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);
}

static void
test_refusals(void)
{
    lockstep_options options;
    lockstep_context *context = (lockstep_context *)&options;
    lockstep_options_init(&options);
    options.alone = 1;
    options.settings = "plane=mpi";
    g_assert_cmpint(lockstep_init(&options, &context), ==, LOCKSTEP_ERR_SETTINGS);
    g_assert_null(context);
    g_assert_nonnull(strstr(lockstep_last_error(), "plane"));
    options.settings = "control=chaos";
    g_assert_cmpint(lockstep_init(&options, &context), ==, LOCKSTEP_ERR_SETTINGS);
    g_assert_nonnull(strstr(lockstep_last_error(), "chaos"));
    options.size = 3;
    g_assert_cmpint(lockstep_init(&options, &context), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_init(NULL, NULL), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_shutdown(NULL), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_wait(NULL, 1, 0), ==, LOCKSTEP_ERR_ARGUMENT);
    for (int status = LOCKSTEP_ERR_INTERNAL; status <= LOCKSTEP_IN_PROGRESS; status++)
        g_assert_cmpstr(lockstep_status_text((lockstep_status)status), !=, "unknown status");
}

typedef struct Runner {
    lockstep_context *context;
    int index;
} Runner;

static gpointer
run_steps(gpointer user)
{
    const Runner *runner = user;
    for (int step = 0; step < 40; step++) {
        float data[8];
        lockstep_handle handles[8];
        for (int t = 0; t < 8; t++) {
            g_autofree char *name = g_strdup_printf("%d/%d", runner->index, t);
            data[t] = (float)(step * 8 + t);
            lockstep_tensor tensor = make_tensor(name, &data[t], &data[t], 1, LOCKSTEP_FLOAT32);
            g_assert_cmpint(
                lockstep_allreduce(runner->context, &tensor, LOCKSTEP_AVERAGE, &handles[t]), ==, 0);
        }
        for (int t = 0; t < 8; t++) {
            g_assert_cmpint(lockstep_wait(runner->context, handles[t], 30000), ==, LOCKSTEP_OK);
            g_assert_cmpfloat(data[t], ==, (float)(step * 8 + t));
        }
    }
    return NULL;
}

/* Two contexts, three threads each. */
static void
test_threads(void)
{
    lockstep_context *contexts[2] = {open_alone(NULL), open_alone("cycle_start=clock")};
    Runner runners[6];
    GThread *threads[6];
    for (int i = 0; i < 6; i++) {
        runners[i] = (Runner){contexts[i % 2], i};
        threads[i] = g_thread_new("steps", run_steps, &runners[i]);
    }
    for (int i = 0; i < 6; i++)
        g_thread_join(threads[i]);
    for (int i = 0; i < 2; i++)
        g_assert_cmpint(lockstep_shutdown(contexts[i]), ==, LOCKSTEP_OK);
}

static void
count_done(lockstep_status status, const char *text, void *user)
{
    if (status == LOCKSTEP_OK)
        atomic_fetch_add((atomic_int *)user, 1);
}

typedef struct Inside {
    lockstep_context *context;
    lockstep_handle other;
    int asked, waited, shut_down;
} Inside;

static void
misuse(lockstep_status status, const char *text, void *user)
{
    Inside *inside = user;
    inside->asked = lockstep_wait(inside->context, inside->other, 0);
    inside->waited = lockstep_wait(inside->context, inside->other, -1);
    inside->shut_down = lockstep_shutdown(inside->context);
}

/* What could only hang is a status. */
static void
test_callback_cannot_wait(void)
{
    float data = 1;
    lockstep_context *context = open_alone(NULL);
    Inside inside = {context, 0, 0, 0, 0};
    lockstep_handle handle;
    lockstep_tensor tensor = make_tensor("t", &data, &data, 1, LOCKSTEP_FLOAT32);
    tensor.callback = misuse;
    tensor.user = &inside;
    g_assert_cmpint(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), ==, LOCKSTEP_OK);
    g_assert_cmpint(lockstep_wait(context, handle, 30000), ==, LOCKSTEP_OK);
    g_assert_cmpint(inside.asked, ==, LOCKSTEP_ERR_ARGUMENT); /* 0 is no handle */
    g_assert_cmpint(inside.waited, ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(inside.shut_down, ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);
}

static void
test_null_and_overlap(void)
{
    float data[8] = {0};
    lockstep_context *context = open_alone(NULL);
    lockstep_handle handle;
    g_assert_cmpint(lockstep_rank(NULL), ==, -1);
    g_assert_cmpint(lockstep_size(NULL), ==, -1);
    g_assert_cmpint(lockstep_local_rank(NULL), ==, -1);
    g_assert_cmpint(lockstep_local_size(NULL), ==, -1);
    g_assert_cmpint(lockstep_share(NULL, 8, 0), ==, -1);
    g_assert_cmpint(lockstep_share(context, 8, 1), ==, -1);
    g_assert_cmpint(lockstep_share(context, -8, 0), ==, -1);
    g_assert_cmpint(lockstep_share(context, 8, 0), ==, 8);
    for (int shift = -4; shift <= 4; shift++) {
        lockstep_tensor tensor = make_tensor("t", &data[4], &data[4 + shift], 4, LOCKSTEP_FLOAT32);
        bool good = shift == 0 || shift == 4 || shift == -4;
        if (shift == 4)
            tensor.input = data, tensor.output = &data[4];
        g_assert_cmpint(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), ==,
                        good ? LOCKSTEP_OK : LOCKSTEP_ERR_ARGUMENT);
        if (good)
            g_assert_cmpint(lockstep_wait(context, handle, 30000), ==, LOCKSTEP_OK);
    }
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);
}

/* Nobody waits: shutdown does. */
static void
test_abandoned(void)
{
    static float data[4000];
    atomic_int done = 0;
    lockstep_context *context = open_alone(NULL);
    for (int i = 0; i < 4000; i++) {
        g_autofree char *name = g_strdup_printf("t%d", i);
        lockstep_handle handle;
        lockstep_tensor tensor = make_tensor(name, &data[i], &data[i], 1, LOCKSTEP_FLOAT32);
        tensor.callback = count_done;
        tensor.user = &done;
        g_assert_cmpint(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, i % 2 ? &handle : NULL),
                        ==, LOCKSTEP_OK);
    }
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);
    g_assert_cmpint(atomic_load(&done), ==, 4000);
}

static void
test_broadcast(void)
{
    lockstep_context *context = open_alone(NULL);
    int64_t in[3] = {1, -2, INT64_MAX}, out[3] = {0};
    lockstep_handle handle;
    lockstep_tensor tensor = make_tensor("b", in, out, 3, LOCKSTEP_INT64);
    g_assert_cmpint(lockstep_broadcast(context, &tensor, 0, &handle), ==, LOCKSTEP_OK);
    g_assert_cmpint(lockstep_wait(context, handle, -1), ==, LOCKSTEP_OK);
    g_assert_cmpmem(in, sizeof in, out, sizeof out);
    g_assert_cmpint(lockstep_broadcast(context, &tensor, 1, &handle), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);
}

/* Options grow at their end: a program built before `graph` was there goes on working, and one
 * built after what comes next does too. */
static void
test_older_and_newer_options(void)
{
    struct {
        lockstep_options known;
        char unknown[64];
    } newer;
    lockstep_context *context = NULL;

    memset(&newer, 0x5a, sizeof newer);
    lockstep_options_init(&newer.known);
    newer.known.alone = 1;
    newer.known.size = offsetof(lockstep_options, graph);
    newer.known.graph = (const struct lockstep_graph *)(uintptr_t)1; /* must not be looked at */
    g_assert_cmpint(lockstep_init(&newer.known, &context), ==, LOCKSTEP_OK);
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);

    newer.known.graph = NULL;
    newer.known.size = sizeof newer;
    g_assert_cmpint(lockstep_init(&newer.known, &context), ==, LOCKSTEP_OK);
    g_assert_cmpint(lockstep_shutdown(context), ==, LOCKSTEP_OK);

    newer.known.size = sizeof(size_t);
    g_assert_cmpint(lockstep_init(&newer.known, &context), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_null(context);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/reduce/alone/identity", NULL, test_identity);
    g_test_add_data_func("/reduce/alone/identity-unfused", "fusion_threshold_bytes=0",
                         test_identity);
    g_test_add_func("/reduce/alone/refusals", test_refusals);
    g_test_add_func("/reduce/alone/threads", test_threads);
    g_test_add_func("/reduce/alone/callback-cannot-wait", test_callback_cannot_wait);
    g_test_add_func("/reduce/alone/null-and-overlap", test_null_and_overlap);
    g_test_add_func("/reduce/alone/abandoned", test_abandoned);
    g_test_add_func("/reduce/alone/broadcast", test_broadcast);
    g_test_add_func("/reduce/alone/older-and-newer-options", test_older_and_newer_options);
    return g_test_run();
}
