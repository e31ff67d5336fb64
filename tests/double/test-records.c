/* SPDX-License-Identifier: Apache-2.0
 * tests/double/test-records.c: what is recorded of buffers on devices is what happened: the same
 * records as of other planes, with the device's times. */
#include "device.h"
#include "recorder.h"

#include <string.h>

#define STEPS   8
#define TENSORS 6
#define LATE_US 40000

static LsCuStream stream;

static int64_t made_ns[STEPS]; /* when each step's data was there */

static void
sleep_a_while(void *user)
{
    g_usleep(LATE_US);
    *(int64_t *)user = g_get_monotonic_time() * 1000;
}

/* Tensors of one group: all in one buffer. In each step their data is late. */
static void
run_steps(lockstep_context *context, bool on_device, int tensors)
{
    float *memory[TENSORS];
    for (int t = 0; t < tensors; t++)
        memory[t] = on_device ? device_new(4000) : g_malloc0(4000);
    for (int step = 0; step < STEPS; step++) {
        lockstep_handle handles[TENSORS];
        lockstep_tensor described[TENSORS];
        const lockstep_tensor *pointers[TENSORS];
        static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
        if (on_device)
            CUDA(cuLaunchHostFunc(stream, sleep_a_while, &made_ns[step]));
        for (int t = 0; t < tensors; t++) {
            described[t] = device_tensor(names[t], memory[t], memory[t], 1000, LOCKSTEP_FLOAT32);
            described[t].memory = on_device ? LOCKSTEP_DEVICE : LOCKSTEP_HOST;
            described[t].stream = stream;
            pointers[t] = &described[t];
        }
        assert_status(
            lockstep_allreduce_group(context, pointers, (size_t)tensors, LOCKSTEP_SUM, handles),
            LOCKSTEP_OK);
        for (int t = 0; t < tensors; t++)
            assert_status(lockstep_wait(context, handles[t], -1), LOCKSTEP_OK);
    }
    for (int t = 0; t < tensors; t++)
        (on_device ? device_free : g_free)(memory[t]);
}

/* Every operation's record was opened once; what is inside of another lies inside its times. */
static void
check_operations(const char *name, guint buffers, int64_t bytes)
{
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, name), ==, buffers);
    g_assert_cmpuint(recorder_count_open(LS_RECORD_OPERATION), ==, buffers);
    for (guint i = 0; i < buffers; i++) {
        const LsRecord *operation = recorder_get(LS_RECORD_OPERATION, name, i);
        g_assert_cmpint(operation->args[2], ==, bytes);
        g_assert_cmpint(operation->start_ns, <=, operation->end_ns);
    }
}

static void
check_parts(guint buffers, bool packed)
{
    g_assert_cmpuint(recorder_count(LS_RECORD_PACK, NULL), ==, packed ? buffers : 0);
    g_assert_cmpuint(recorder_count(LS_RECORD_UNPACK, NULL), ==, packed ? buffers : 0);
    for (guint i = 0; i < buffers && packed; i++) {
        const LsRecord *pack = recorder_get(LS_RECORD_PACK, "MEMCPY_IN_FUSION_BUFFER", i);
        const LsRecord *unpack = recorder_get(LS_RECORD_UNPACK, "MEMCPY_OUT_FUSION_BUFFER", i);
        g_assert_cmpint(pack->start_ns, <=, pack->end_ns);
        g_assert_cmpint(pack->end_ns, <=, unpack->start_ns);
        g_assert_cmpint(pack->args[0], ==, unpack->args[0]);
    }
}

/* The clocks of device and host are tied to each other anew for each buffer, within a millisecond
 * unless somebody was not let run just then: so what compares them holds for most buffers of one of
 * some recordings. The same on every rank. */
#define NEAR_NS    1000000
#define RECORDINGS 40
#define IS_MOST(n) (4 * (n) >= 3 * STEPS)

/* Waiting lasts until the data is there, and is no part of packing or of the operation. */
static bool
check_lateness(const char *name, guint buffers)
{
    guint near = 0;
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, "WAIT_FOR_DATA"), ==, buffers);
    for (guint i = 0; i < buffers; i++) {
        const LsRecord *wait = recorder_get(LS_RECORD_OPERATION, "WAIT_FOR_DATA", i);
        const LsRecord *operation = recorder_get(LS_RECORD_OPERATION, name, i);
        const LsRecord *agreed = recorder_get(LS_RECORD_AGREED, "a", i);
        const LsRecord *done = recorder_get(LS_RECORD_DONE, "a", i);
        g_assert_cmpint(wait->args[0], ==, operation->args[0]);
        g_assert_cmpint(wait->start_ns, <=, wait->end_ns);
        g_assert_cmpint(operation->end_ns, <=, done->start_ns);
        near += wait->end_ns <= operation->start_ns + NEAR_NS &&
                wait->end_ns >= made_ns[i] - NEAR_NS &&
                operation->start_ns >= made_ns[i] - NEAR_NS &&
                agreed->start_ns <= wait->start_ns + NEAR_NS;
    }
    return support_is_on_all(IS_MOST(near));
}

static bool
record_nccl(int tensors)
{
    recorder_start();
    lockstep_context *context = support_open("plane=nccl");
    run_steps(context, true, tensors);
    support_close(context);
    check_operations("NCCL_ALLREDUCE", STEPS, tensors * 4000);
    check_parts(STEPS, tensors > 1);
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, "INIT_NCCL"), ==, 1);
    return check_lateness("NCCL_ALLREDUCE", STEPS);
}

static void
test_nccl(void)
{
    for (int tensors = 1; tensors <= TENSORS; tensors += TENSORS - 1) {
        bool good = false;
        for (int i = 0; i < RECORDINGS && !good; i++)
            good = record_nccl(tensors);
        g_assert_true(good);
    }
}

/* Tensors of the host: packed, whether one or several, and waiting for nothing. */
static void
test_host(void)
{
    recorder_start();
    lockstep_context *context = support_open("plane=nccl");
    run_steps(context, false, 1);
    support_close(context);
    check_operations("NCCL_ALLREDUCE", STEPS, 4000);
    check_parts(STEPS, true);
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, "WAIT_FOR_DATA"), ==, 0);
}

/* Stages inside the buffer's own record, in their order. */
static bool
check_stages(const char *name, const char *const *stages, guint n)
{
    guint near = 0;
    for (guint i = 0; i < STEPS; i++) {
        const LsRecord *whole = recorder_get(LS_RECORD_OPERATION, name, i);
        int64_t before = whole->start_ns;
        bool is_near = true;
        for (guint s = 0; s < n; s++) {
            const LsRecord *stage = recorder_get(LS_RECORD_OPERATION, stages[s], i);
            g_assert_nonnull(stage);
            g_assert_cmpint(stage->args[0], ==, whole->args[0]);
            is_near &= stage->start_ns + NEAR_NS >= before;
            is_near &= stage->end_ns <= whole->end_ns + NEAR_NS;
            before = stage->end_ns;
        }
        near += is_near;
    }
    return support_is_on_all(IS_MOST(near));
}

static bool
record_hierarchical(void)
{
    static const char *const stages[] = {"NCCL_REDUCESCATTER", "MEMCPY_IN_HOST_BUFFER",
                                         "MPI_ALLREDUCE", "MEMCPY_OUT_HOST_BUFFER",
                                         "NCCL_ALLGATHER"};
    g_autofree char *settings =
        g_strdup_printf("plane=hierarchical;memory=device;host=h%d", support_rank() / 2);
    recorder_start();
    lockstep_context *context = support_open(settings);
    run_steps(context, true, 3);
    support_close(context);
    check_operations("HIERARCHICAL_ALLREDUCE", STEPS, 12000);
    check_parts(STEPS, true);
    bool good = check_lateness("HIERARCHICAL_ALLREDUCE", STEPS);
    return check_stages("HIERARCHICAL_ALLREDUCE", stages, G_N_ELEMENTS(stages)) && good;
}

static bool
record_hybrid(void)
{
    static const char *const stages[] = {"NCCL_ALLREDUCE", "MEMCPY_IN_HOST_BUFFER", "MPI_ALLREDUCE",
                                         "MEMCPY_OUT_HOST_BUFFER"};
    g_autofree char *settings =
        g_strdup_printf("plane=hybrid;memory=device;host=h%d", support_rank() / 2);
    recorder_start();
    lockstep_context *context = support_open(settings);
    run_steps(context, true, 3);
    support_close(context);
    check_operations("HYBRID_ALLREDUCE", STEPS, 12000);
    g_assert_cmpuint(recorder_count(LS_RECORD_OPERATION, "NCCL_BCAST"), ==, 2 * STEPS);
    return check_stages("HYBRID_ALLREDUCE", stages, G_N_ELEMENTS(stages));
}

static void
record_until_good(bool (*record)(void))
{
    bool good = false;
    for (int i = 0; i < RECORDINGS && !good; i++)
        good = record();
    g_assert_true(good);
}

static void
test_hierarchical(void)
{
    record_until_good(record_hierarchical);
}

static void
test_hybrid(void)
{
    record_until_good(record_hybrid);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    if (!device_open()) {
        g_print("1..0 # SKIP no CUDA device\n");
        MPI_Finalize();
        return 77;
    }
    CUDA(cuStreamCreate(&stream, LS_CU_STREAM_NON_BLOCKING));
    g_test_add_func("/reduce/device/records/nccl", test_nccl);
    g_test_add_func("/reduce/device/records/host", test_host);
    if (support_ranks() == 4) {
        g_test_add_func("/reduce/device/records/hierarchical", test_hierarchical);
        g_test_add_func("/reduce/device/records/hybrid", test_hybrid);
    }
    return support_run();
}
