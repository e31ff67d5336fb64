/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-record.c: what is recorded is what happened: the life of every tensor, every
 * cycle's messages as MPI itself counts them, buffers, sleep, stalls, clock round trips. */
#include "calls.h"
#include "recorder.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define STEPS   20
#define TENSORS 12

/* Steps of twelve tensors of one type, in an order of each rank's own. */
static void
run_steps(lockstep_context *context)
{
    static float data[TENSORS][300];
    for (int step = 0; step < STEPS; step++) {
        lockstep_handle handles[TENSORS];
        for (int k = 0; k < TENSORS; k++) {
            int t = (k * 5 + support_rank()) % TENSORS;
            g_autofree char *name = g_strdup_printf("layer/%d", t);
            lockstep_tensor tensor =
                support_tensor(name, data[t], data[t], 1 + t * 20, LOCKSTEP_FLOAT32);
            assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handles[t]),
                          LOCKSTEP_OK);
        }
        for (int t = 0; t < TENSORS; t++)
            assert_status(lockstep_wait(context, handles[t], -1), LOCKSTEP_OK);
    }
}

static void
test_tensor_life(gconstpointer settings)
{
    recorder_start();
    lockstep_context *context = support_open(settings);
    run_steps(context);
    support_close(context);
    g_assert_cmpuint(recorder_count(LS_RECORD_SUBMIT, NULL), ==, STEPS * TENSORS);
    g_assert_cmpuint(recorder_count(LS_RECORD_AGREED, NULL), ==, STEPS * TENSORS);
    g_assert_cmpuint(recorder_count(LS_RECORD_DONE, NULL), ==, STEPS * TENSORS);
    for (guint t = 0; t < TENSORS; t++) {
        g_autofree char *name = g_strdup_printf("layer/%u", t);
        for (guint i = 0; i < STEPS; i++) {
            const LsRecord *submit = recorder_get(LS_RECORD_SUBMIT, name, i);
            const LsRecord *agreed = recorder_get(LS_RECORD_AGREED, name, i);
            const LsRecord *done = recorder_get(LS_RECORD_DONE, name, i);
            g_assert_cmpint(submit->args[0], ==, i);
            g_assert_cmpint(agreed->args[0], ==, i);
            g_assert_cmpint(done->args[0], ==, i);
            g_assert_cmpint(submit->args[1], ==, 4 * (1 + t * 20));
            g_assert_cmpint(submit->args[3], ==, 0); /* allreduce, float32, sum */
            g_assert_cmpint(submit->start_ns, <=, agreed->start_ns);
            g_assert_cmpint(agreed->start_ns, <=, done->start_ns);
            g_assert_cmpint(agreed->args[2], ==, done->args[1]); /* buffer */
            g_assert_cmpint(done->args[2], ==, LOCKSTEP_OK);
            g_assert_cmpint(submit->args[4], ==, agreed->args[4]);
            g_assert_cmpint(submit->args[4], ==, done->args[3]);
        }
    }
}

/* Each buffer's record is opened and closed once, and holds the bytes of the tensors in it. */
static void
test_buffers(gconstpointer settings)
{
    recorder_start();
    lockstep_context *context = support_open(settings);
    run_steps(context);
    support_close(context);
    guint n = recorder_count(LS_RECORD_OPERATION, NULL), packs = 0;
    int64_t bytes = 0, tensors = 0;
    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(recorder_count_open(LS_RECORD_OPERATION), ==, n);
    for (guint i = 0; i < n; i++) {
        const LsRecord *operation = recorder_get(LS_RECORD_OPERATION, NULL, i);
        g_assert_cmpint(operation->args[0], ==, i);
        bytes += operation->args[2];
        tensors += operation->args[3];
        if (operation->args[3] == 1)
            continue;
        const LsRecord *pack = recorder_get(LS_RECORD_PACK, "MEMCPY_IN_FUSION_BUFFER", packs);
        const LsRecord *unpack = recorder_get(LS_RECORD_UNPACK, "MEMCPY_OUT_FUSION_BUFFER", packs);
        packs++;
        g_assert_cmpint(pack->args[0], ==, operation->args[0]);
        g_assert_cmpint(pack->args[2], ==, operation->args[2]);
        g_assert_cmpint(pack->end_ns, <=, operation->start_ns);
        g_assert_cmpint(unpack->start_ns, >=, operation->end_ns);
    }
    g_assert_cmpint(tensors, ==, STEPS * TENSORS);
    g_assert_cmpint(bytes, ==, STEPS * 4 * (TENSORS + 20 * 66)); /* 66 = 0 + 1 + ... + 11 */
    g_assert_cmpuint(recorder_count(LS_RECORD_PACK, NULL), ==, packs);
    /* Agreement of every rank on the same buffers. */
    int64_t own[2] = {n, packs}, most[2];
    MPI_Allreduce(own, most, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    g_assert_cmpint(most[0], ==, own[0]);
    g_assert_cmpint(most[1], ==, own[1]);
}

/* Four calls in every cycle, whatever is in it (facts: Horovod B6), as MPI's own profiling layer
 * counts them; one more at the end, in which the ranks part. */
static void
test_messages(gconstpointer settings)
{
    int ranks = support_ranks();
    recorder_start();
    calls_reset();
    recorder_set_thread_hook(calls_restart);
    lockstep_context *context = support_open(settings);
    run_steps(context);
    g_usleep(50000);
    support_close(context);
    Calls calls = calls_get();
    int cycles = (int)recorder_count(LS_RECORD_CYCLE, "coordinator");
    int buffers = (int)recorder_count(LS_RECORD_OPERATION, NULL);
    g_assert_cmpint(cycles, >, 0);
    g_assert_cmpint(calls.gather, ==, cycles);
    g_assert_cmpint(calls.gatherv, ==, cycles);
    g_assert_cmpint(calls.bcast, ==, 2 * cycles);
    g_assert_cmpint(calls.allreduce, ==, buffers + 1);
    g_assert_cmpint(calls.send + calls.receive, ==, 0);

    g_assert_cmpuint(recorder_count(LS_RECORD_MESSAGE, "gather"), ==, cycles);
    g_assert_cmpuint(recorder_count(LS_RECORD_MESSAGE, "gatherv"), ==, cycles);
    g_assert_cmpuint(recorder_count(LS_RECORD_MESSAGE, "bcast"), ==, 2 * cycles);
    g_assert_cmpuint(recorder_count(LS_RECORD_MESSAGE, "allreduce"), ==, 1);
    for (guint i = 0; i < (guint)cycles; i++) {
        const LsRecord *cycle = recorder_get(LS_RECORD_CYCLE, NULL, i);
        const LsRecord *gather = recorder_get(LS_RECORD_MESSAGE, "gather", i);
        const LsRecord *bcast = recorder_get(LS_RECORD_MESSAGE, "bcast", 2 * i + 1);
        bool root = support_rank() == 0;
        g_assert_cmpint(cycle->args[0], ==, i);
        g_assert_cmpint(gather->args[0], ==, i);
        g_assert_cmpint(bcast->args[0], ==, i);
        g_assert_cmpint(gather->start_ns, >=, cycle->start_ns);
        g_assert_cmpint(bcast->end_ns, <=, cycle->end_ns);
        g_assert_cmpint(gather->args[1], ==, root ? ranks - 1 : 0);
        g_assert_cmpint(gather->args[2], ==, root ? 0 : 1);
        g_assert_cmpint(gather->args[3], ==, root ? 4 * (ranks - 1) : 0);
        g_assert_cmpint(bcast->args[1], ==, root ? 0 : 1);
        g_assert_cmpint(bcast->args[2], ==, root ? ranks - 1 : 0);
    }
}

/* Stages and sleep lie inside the loop's time and never over one another. */
static void
test_loop_time(gconstpointer settings)
{
    recorder_start();
    lockstep_context *context = support_open(settings);
    run_steps(context);
    g_assert_true(recorder_await(LS_RECORD_SLEEP, -1, 1));
    MPI_Barrier(MPI_COMM_WORLD); /* who leaves ends the others' cycles */
    support_close(context);
    static const char *const stages[] = {"DRAIN", "BUILD", "EXCHANGE", "PARSE"};
    guint cycles = recorder_count(LS_RECORD_CYCLE, NULL);
    for (guint s = 0; s < G_N_ELEMENTS(stages); s++)
        g_assert_cmpuint(recorder_count(LS_RECORD_STAGE, stages[s]), >=, cycles);
    g_assert_cmpuint(recorder_count(LS_RECORD_STAGE, "EXCHANGE"), ==, 2 * cycles);
    guint stage = 0, n_stages = recorder_count(LS_RECORD_STAGE, NULL);
    int64_t last = 0;
    for (guint i = 0; i < cycles; i++) {
        const LsRecord *cycle = recorder_get(LS_RECORD_CYCLE, NULL, i);
        int64_t inside = 0;
        g_assert_cmpint(cycle->start_ns, >=, last);
        last = cycle->start_ns;
        for (; stage < n_stages; stage++) {
            const LsRecord *part = recorder_get(LS_RECORD_STAGE, NULL, stage);
            if (part->args[0] != cycle->args[0])
                break;
            g_assert_cmpint(part->start_ns, >=, last);
            last = part->end_ns;
            inside += part->end_ns - part->start_ns;
        }
        g_assert_cmpint(inside, >, 0);
        g_assert_cmpint(last, <=, cycle->end_ns);
        last = cycle->end_ns;
    }
    g_assert_cmpuint(stage, ==, n_stages);
    for (guint i = 0; i < recorder_count(LS_RECORD_SLEEP, NULL); i++) {
        const LsRecord *sleep = recorder_get(LS_RECORD_SLEEP, NULL, i);
        const LsRecord *next = recorder_get(LS_RECORD_CYCLE, NULL, (guint)sleep->args[0]);
        g_assert_cmpint(sleep->end_ns, <=, next->start_ns);
    }
}

static gint64
processor_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec +
           used.ru_stime.tv_usec;
}

/* Sleeps a second and looks what it cost. Of cycles, 1, 2, 4, ... 64 ms and then 64 ms apart, a
 * second has about 21. */
static bool
is_idle_second_cheap(void)
{
    guint cycles = recorder_count(LS_RECORD_CYCLE, NULL);
    gint64 start = g_get_monotonic_time(), used = processor_us();
    g_usleep(1000000);
    gint64 took = g_get_monotonic_time() - start;
    cycles = recorder_count(LS_RECORD_CYCLE, NULL) - cycles;
    used = processor_us() - used;
    g_test_message("%u cycles and %d us of processor time in %.2f idle seconds", cycles, (int)used,
                   (double)took / 1e6);
    return cycles >= 4 && cycles <= 40 * took / 1000000 && used < 300000;
}

/* An idle second costs few cycles and next to no time; then a tensor goes through at once. Where a
 * rank is not let run, the others wait for it in MPI, and that is work: so one of sixty is enough,
 * for each rank its own. A loop that spins has none. */
static void
test_idle(void)
{
    enum { SECONDS = 60 };
    float one = 1;
    bool cheap = false, all_cheap = false;
    recorder_start();
    lockstep_context *context = support_open(NULL);
    lockstep_tensor tensor = support_tensor("x", &one, &one, 1, LOCKSTEP_FLOAT32);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    for (int i = 0; i < SECONDS && !all_cheap; i++) {
        cheap |= is_idle_second_cheap();
        all_cheap = support_is_on_all(cheap);
    }
    g_assert_true(cheap);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    support_close(context);
}

static int
compare_times(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* As many as fit in the time, and as far apart as was asked for; a rank that was not let run
 * between two readings of the clock shows one pair of them nearer to each other, so the middle one
 * counts. */
static void
test_clock_cycles(void)
{
    enum { PERIOD_NS = 20000000 };
    recorder_start();
    gint64 start = g_get_monotonic_time();
    lockstep_context *context = support_open("cycle_start=clock;cycle_time_ms=20");
    g_usleep(500000);
    g_assert_true(recorder_await(LS_RECORD_CYCLE, -1, 10));
    MPI_Barrier(MPI_COMM_WORLD);
    support_close(context);
    gint64 took_ns = (g_get_monotonic_time() - start) * 1000;
    guint cycles = recorder_count(LS_RECORD_CYCLE, NULL);
    g_assert_cmpuint(cycles, <=, took_ns / PERIOD_NS + 3);
    g_autofree int64_t *apart = g_new(int64_t, cycles);
    for (guint i = 1; i < cycles; i++)
        apart[i - 1] = recorder_get(LS_RECORD_CYCLE, NULL, i)->start_ns -
                       recorder_get(LS_RECORD_CYCLE, NULL, i - 1)->start_ns;
    qsort(apart, cycles - 1, sizeof *apart, compare_times);
    g_assert_cmpint(apart[(cycles - 1) / 2], >=, PERIOD_NS - 100000);
}

/* Rank 1 comes when rank 0 has said that it is missed. */
static void
come_when_missed(guint stalls)
{
    if (support_rank() == 1)
        support_await(0);
    if (support_rank() != 0)
        return;
    g_assert_true(recorder_await(LS_RECORD_STALL, 1, stalls));
    support_tell(1);
}

static void
test_stall(void)
{
    float one = 1;
    lockstep_handle handle;
    recorder_start();
    lockstep_context *context = support_open("stall_warning_s=0.1");
    lockstep_tensor tensor = support_tensor("grad/7", &one, &one, 1, LOCKSTEP_FLOAT32);
    if (support_rank() == 1)
        come_when_missed(1);
    assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
    if (support_rank() != 1)
        come_when_missed(1);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    support_close(context);
    if (support_rank() == 0) {
        const LsRecord *stall = recorder_find_stall("grad/7", 1);
        g_assert_true(stall != NULL && stall->args[1] >= 100000000);
        g_assert_true(recorder_heard("tensor grad/7"));
        g_assert_true(recorder_heard("rank 1"));
    } else {
        g_assert_cmpuint(recorder_count(LS_RECORD_STALL, "grad/7"), ==, 0);
    }
}

/* Many waits at once: all in the trace, few on standard error. */
static void
test_many_stalls(void)
{
    enum { N = 20 };
    static float data[N];
    char names[N][16];
    lockstep_handle handles[N];
    lockstep_tensor tensors[N];
    const lockstep_tensor *list[N];
    recorder_start();
    lockstep_context *context = support_open("stall_warning_s=0.2");
    for (int i = 0; i < N; i++) {
        g_snprintf(names[i], sizeof names[i], "many/%d", i);
        tensors[i] = support_tensor(names[i], &data[i], &data[i], 1, LOCKSTEP_FLOAT32);
        list[i] = &tensors[i];
    }
    if (support_rank() == 1)
        come_when_missed(N);
    assert_status(lockstep_allreduce_group(context, list, N, LOCKSTEP_SUM, handles), LOCKSTEP_OK);
    if (support_rank() != 1)
        come_when_missed(N);
    for (int i = 0; i < N; i++)
        assert_status(lockstep_wait(context, handles[i], -1), LOCKSTEP_OK);
    support_close(context);
    if (support_rank() == 0) {
        g_assert_cmpuint(recorder_count(LS_RECORD_STALL, NULL), >=, 20);
        g_assert_true(recorder_heard("more waits of a tensor for a rank are in cycle"));
    }
}

/* All ranks evict alike: one of them says so. */
static void
test_eviction(void)
{
    float data[3] = {0};
    recorder_start();
    lockstep_context *context = support_open("control=bitvector;cache_capacity=2");
    for (int i = 0; i < 6; i++) {
        const char *names[] = {"x", "y", "z"};
        lockstep_tensor tensor =
            support_tensor(names[i % 3], &data[i % 3], &data[i % 3], 1, LOCKSTEP_FLOAT32);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    }
    support_close(context);
    g_assert_true(recorder_heard("more tensors than the cache_capacity of 2") ==
                  (support_rank() == 0));
}

/* An error that is handed to the caller is in the trace of every rank. */
static void
test_error(void)
{
    float data[4] = {0};
    recorder_start();
    lockstep_context *context = support_open(NULL);
    lockstep_tensor tensor =
        support_tensor("e", data, data, support_rank() == 0 ? 3 : 4, LOCKSTEP_FLOAT32);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_ERR_MISMATCH);
    support_close(context);
    g_assert_cmpuint(recorder_count(LS_RECORD_ERROR, NULL), ==, 1);
    const LsRecord *error = recorder_get(LS_RECORD_ERROR, NULL, 0);
    g_assert_cmpint(error->args[0], ==, LOCKSTEP_ERR_MISMATCH);
    g_assert_nonnull(strstr(recorder_name(error), "3"));
    g_assert_cmpint(recorder_get(LS_RECORD_DONE, "e", 0)->args[2], ==, LOCKSTEP_ERR_MISMATCH);
    g_assert_cmpint(recorder_get(LS_RECORD_DONE, "e", 0)->args[1], ==, -1);
}

/* Every rank counts itself to a host of its own: the leaders measure their clocks along a tree, all
 * of them with clocks that are one. */
static void
test_round_trips(void)
{
    int ranks = support_ranks(), rank = support_rank();
    g_autofree char *settings = g_strdup_printf("host=h%d;clock_interval_ms=1", rank);
    recorder_start();
    calls_reset();
    recorder_set_thread_hook(calls_restart);
    lockstep_context *context = support_open(settings);
    g_assert_cmpint(lockstep_local_size(context), ==, 1);
    for (int i = 0; i < 40; i++) {
        float one = 1;
        lockstep_tensor tensor = support_tensor("x", &one, &one, 1, LOCKSTEP_FLOAT32);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        g_usleep(2000);
    }
    support_close(context);
    guint trips = recorder_count(LS_RECORD_ROUNDTRIP, NULL);
    if (rank == 0)
        g_assert_cmpuint(trips, ==, 0); /* the root of the tree is asked */
    else
        g_assert_cmpuint(trips, >=, 3);
    for (guint i = 0; i < trips; i++) {
        const LsRecord *trip = recorder_get(LS_RECORD_ROUNDTRIP, NULL, i);
        g_assert_cmpint(trip->args[0], ==, (rank - 1) / 2);
        g_assert_cmpint(trip->start_ns, <=, trip->args[1]);
        g_assert_cmpint(trip->args[1], <=, trip->args[2]);
        g_assert_cmpint(trip->args[2], <=, trip->end_ns);
    }
    /* What a rank was asked it answered: its own questions and those of its children. */
    int asked[2] = {(int)trips, rank > 0 ? (rank - 1) / 2 : -1}, answered = 0;
    g_autofree int *all = g_new(int, 2 * ranks);
    MPI_Allgather(asked, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD);
    for (int other = 0; other < ranks; other++)
        answered += all[2 * other + 1] == rank ? all[2 * other] : 0;
    g_assert_cmpint(calls_get().send, ==, (int)trips + answered);
    g_assert_cmpint(calls_get().receive, ==, (int)trips + answered);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    recorder_start();
    g_test_add_data_func("/mpi/record/tensor-life", NULL, test_tensor_life);
    g_test_add_data_func("/mpi/record/tensor-life-by-clock", "cycle_start=clock", test_tensor_life);
    g_test_add_data_func("/mpi/record/buffers", NULL, test_buffers);
    g_test_add_data_func("/mpi/record/buffers-small", "fusion_threshold_bytes=2000", test_buffers);
    g_test_add_data_func("/mpi/record/messages", NULL, test_messages);
    g_test_add_data_func("/mpi/record/messages-by-clock", "cycle_start=clock", test_messages);
    g_test_add_data_func("/mpi/record/loop-time", NULL, test_loop_time);
    g_test_add_func("/mpi/record/idle", test_idle);
    g_test_add_func("/mpi/record/clock-cycles", test_clock_cycles);
    g_test_add_func("/mpi/record/stall", test_stall);
    g_test_add_func("/mpi/record/many-stalls", test_many_stalls);
    g_test_add_func("/mpi/record/eviction", test_eviction);
    g_test_add_func("/mpi/record/error", test_error);
    g_test_add_func("/mpi/record/round-trips", test_round_trips);
    return support_run();
}
