/* SPDX-License-Identifier: Apache-2.0
 * tests/double/test-faults.c PART TEXT: what a program sees when NCCL or CUDA is not there or
 * fails, as LOCKSTEP_DOUBLE and LD_LIBRARY_PATH make it: at init (PART "init"), at init on rank 1
 * alone (PART "one"), or on the way (rank 1 fails; PART "way"). Every rank gets the status and a
 * sentence with TEXT, soon, and goes on by MPI. */
#include "device.h"

#include <dlfcn.h>
#include <string.h>

static const char *text;
static const char *const planes[] = {"plane=nccl", "plane=hierarchical;memory=device",
                                     "plane=hybrid;memory=device"};

/* The program is as good as before. */
static void
check_host(void)
{
    float data[100];
    lockstep_context *context = support_open("plane=mpi");
    for (int i = 0; i < 100; i++)
        data[i] = (float)i;
    lockstep_tensor tensor = support_tensor("after", data, data, 100, LOCKSTEP_FLOAT32);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    for (int i = 0; i < 100; i++)
        g_assert_cmpfloat(data[i], ==, (float)(i * support_ranks()));
    support_close(context);
}

static void
test_init(gconstpointer plane)
{
    lockstep_context *context = NULL;
    lockstep_options options;
    lockstep_options_init(&options);
    options.settings = plane;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_DEVICE);
    assert_contains(lockstep_last_error(), text);
    assert_contains(lockstep_last_error(), "rank 0: ");
    g_assert_null(context);
    check_host();
}

/* One rank alone has no such device, and nobody waits for it, though it could for ever. */
static void
test_one(gconstpointer plane)
{
    lockstep_context *context = NULL;
    lockstep_options options;
    g_autofree char *settings = g_strconcat((const char *)plane, ";init_limit_s=0",
                                            support_rank() == 1 ? ";device=99" : "", NULL);
    lockstep_options_init(&options);
    options.settings = settings;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    assert_contains(lockstep_last_error(), "rank 1: ");
    assert_contains(lockstep_last_error(), text);
    g_assert_null(context);
    check_host();
}

static void
test_way(gconstpointer plane)
{
    enum { COUNT = 3000 };
    lockstep_context *context = support_open(plane);
    void *memory = device_new(COUNT * sizeof(float));
    lockstep_tensor tensor = device_tensor("t", memory, memory, COUNT, LOCKSTEP_FLOAT32);
    lockstep_status status = LOCKSTEP_OK;
    int64_t start = 0;
    int done = 0;
    for (; done < 20 && status == LOCKSTEP_OK; done++) {
        start = g_get_monotonic_time();
        status = support_reduce(context, &tensor, LOCKSTEP_SUM);
    }
    assert_status(status, LOCKSTEP_ERR_DEVICE);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 60 * G_USEC_PER_SEC);
    assert_contains(lockstep_last_error(), text);
    if (support_rank() != 1)
        assert_contains(lockstep_last_error(), "rank 1: ");
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_ERR_DEVICE);
    support_close(context);
    check_host();
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    bool at_init = argc > 1 && strcmp(argv[1], "init") == 0;
    bool on_one = argc > 1 && strcmp(argv[1], "one") == 0;
    text = argc > 2 ? argv[2] : "";
    bool is_there = strstr(text, "libnccl") != NULL && dlopen("libnccl.so.2", RTLD_NOW) != NULL;
    if (is_there || (!at_init && !device_open())) {
        g_print("1..0 # SKIP %s\n", is_there ? "NCCL is installed here" : "no CUDA device");
        MPI_Finalize();
        return 77;
    }
    for (guint i = 0; i < G_N_ELEMENTS(planes); i++) {
        g_autofree char *path = g_strdup_printf("/reduce/device/faults/%u", i);
        g_test_add_data_func(path, planes[i], at_init ? test_init : on_one ? test_one : test_way);
    }
    return support_run();
}
