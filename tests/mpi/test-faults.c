/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-faults.c: what goes wrong while ranks run is a status and a sentence, or no fault
 * at all, and nobody waits beyond what was asked for: a stopped rank, NaN, no memory for a tensor
 * or a buffer, a name twice, submissions after shutdown, handles that nobody waits for. The linker
 * puts the functions below in the place of libc's. */
#include "recorder.h"
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -- Memory that is not there: to whom, from this size on -- */

enum { ANY, PROGRAM, OTHERS_ONCE, OTHERS }; /* threads: the program's own, or all but that */
static atomic_int whom;
static atomic_size_t refused = SIZE_MAX; /* bytes: no request from so many on is granted */
static pthread_t program;

static bool
refuses(size_t bytes)
{
    int who = atomic_load(&whom);
    bool own = pthread_equal(pthread_self(), program) != 0;
    if (bytes < atomic_load(&refused) || (who == PROGRAM && !own) || (who > PROGRAM && own))
        return false;
    return who != OTHERS_ONCE || atomic_exchange(&refused, SIZE_MAX) != SIZE_MAX;
}

#define WRAP(name, parameters, bytes, arguments)                                                   \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return refuses(bytes) ? NULL : __real_##name arguments;                                    \
    }

WRAP(malloc, (size_t size), size, (size))
WRAP(calloc, (size_t n, size_t size), n *size, (n, size))
WRAP(realloc, (void *old, size_t size), size, (old, size))

/* A wall clock that has been set back by an hour since whoever reads it here did so. */
static atomic_int wall_is_set;
int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int result = __real_clock_gettime(clock, ret_time);
    if (clock == CLOCK_REALTIME && atomic_load(&wall_is_set))
        ret_time->tv_sec -= 3600;
    return result;
}

static lockstep_status
reduce_ones(lockstep_context *context, const char *name, int count)
{
    g_autofree float *data = g_new(float, count);
    for (int i = 0; i < count; i++)
        data[i] = 1;
    lockstep_tensor tensor = support_tensor(name, data, data, count, LOCKSTEP_FLOAT32);
    lockstep_status status = support_reduce(context, &tensor, LOCKSTEP_SUM);
    for (int i = 0; i < count && status == LOCKSTEP_OK; i++)
        g_assert_cmpfloat(data[i], ==, (float)support_ranks());
    return status;
}

/* The fusion buffer is reserved at the start: where one rank cannot have it, no rank has a context,
 * and each is told which rank and how much. */
static void
test_no_fusion_buffer(void)
{
    lockstep_options options;
    lockstep_context *context;
    lockstep_options_init(&options);
    options.settings = "fusion_threshold_bytes=64M";
    if (support_rank() == 1)
        atomic_store(&refused, 60 << 20);
    lockstep_status status = lockstep_init(&options, &context);
    atomic_store(&refused, SIZE_MAX);
    assert_status(status, LOCKSTEP_ERR_NO_MEMORY);
    g_assert_null(context);
    assert_contains(lockstep_last_error(), "rank 1");
    assert_contains(lockstep_last_error(), "fusion buffer of 64M bytes");
    MPI_Barrier(MPI_COMM_WORLD);
    context = support_open(NULL); /* nothing is left behind */
    assert_status(reduce_ones(context, "w", 10), LOCKSTEP_OK);
    support_close(context);
}

/* Limits of time hold whatever becomes of the wall clock. */
static void
test_wall_clock_is_set(void)
{
    atomic_store(&wall_is_set, 1);
    lockstep_context *context = support_open("init_limit_s=60");
    atomic_store(&wall_is_set, 0);
    assert_status(reduce_ones(context, "w", 10), LOCKSTEP_OK);
    support_close(context);
}

/* A submission that finds no memory fails alone, and the same name can be submitted again. The loop
 * has memory: a cycle may be under way meanwhile. */
static void
test_no_memory_to_submit(void)
{
    lockstep_context *context = support_open(NULL);
    float one = 1;
    lockstep_handle handle = 7;
    lockstep_tensor tensor = support_tensor("w", &one, &one, 1, LOCKSTEP_FLOAT32);
    if (support_rank() == 0) {
        atomic_store(&whom, PROGRAM);
        atomic_store(&refused, 1);
        lockstep_status status = lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle);
        atomic_store(&refused, SIZE_MAX);
        atomic_store(&whom, ANY);
        assert_status(status, LOCKSTEP_ERR_NO_MEMORY);
        assert_contains(lockstep_last_error(), "tensor w: out of memory");
        g_assert_cmpuint(handle, ==, 0);
    }
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    g_assert_cmpfloat(one, ==, (float)support_ranks());
    support_close(context);
}

/* In the middle of an agreement or a fusion, on one rank alone, once or from then on: all ranks get
 * a status with a sentence and none waits, whether all learn the cause or only that the context has
 * ended. */
static void
test_no_memory_while_fusing(gconstpointer lasting)
{
    enum { TENSORS = 200 };
    static float data[TENSORS];
    lockstep_handle handles[TENSORS];
    lockstep_context *context = support_open(NULL);
    assert_status(reduce_ones(context, "before", 10), LOCKSTEP_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TENSORS; i++) {
        g_autofree char *name = g_strdup_printf("fused/%d", i);
        lockstep_tensor tensor = support_tensor(name, &data[i], &data[i], 1, LOCKSTEP_FLOAT32);
        if (i == TENSORS / 2 && support_rank() == 1) {
            atomic_store(&whom, lasting != NULL ? OTHERS : OTHERS_ONCE);
            atomic_store(&refused, lasting != NULL ? 1 : 100);
        }
        if (lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handles[i]) != LOCKSTEP_OK)
            handles[i] = 0; /* it has ended already */
    }
    int failed = 0;
    for (int i = 0; i < TENSORS; i++) {
        lockstep_status status =
            handles[i] != 0 ? lockstep_wait(context, handles[i], 120000) : LOCKSTEP_ERR_NO_MEMORY;
        if (status == LOCKSTEP_IN_PROGRESS)
            g_error("rank %d: tensor %d still waits", support_rank(), i);
        failed += status != LOCKSTEP_OK;
        if (status != LOCKSTEP_OK)
            g_assert_cmpstr(lockstep_last_error(), !=, "");
    }
    atomic_store(&refused, SIZE_MAX);
    atomic_store(&whom, ANY);
    g_test_message("%d of %d failed: %s", failed, TENSORS, lockstep_last_error());
    if (lasting != NULL) {
        g_assert_cmpint(failed, >, 0);
        if (support_rank() != 1)
            assert_contains(lockstep_last_error(), "rank 1");
        assert_contains(lockstep_last_error(), "out of memory");
    }
    lockstep_shutdown(context);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- A stopped rank -- */

static bool
is_stopped(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid), *text = NULL;
    const char *end = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL))
        end = strrchr(text, ')');
    return end != NULL && end[1] != '\0' && end[2] == 'T';
}

static bool
is_told_of_stopped(void)
{
    return recorder_heard("rank 1 (process") && recorder_heard("has been stopped for");
}

/* Stops until rank 0 wakes it, or, should that be gone, a process of its own after minutes. The
 * time when it was awake again, on the one clock of this machine. */
static int64_t
stop(void)
{
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        while (!is_stopped(self))
            usleep(1000);
        for (int i = 0; i < 30000 && is_stopped(self); i++)
            usleep(10000);
        kill(self, SIGCONT);
        _exit(0);
    }
    g_assert_cmpint(child, >, 0);
    kill(self, SIGSTOP);
    int64_t awake_us = g_get_monotonic_time();
    waitpid(child, NULL, 0);
    return awake_us;
}

typedef struct Waker {
    pid_t stopped;
    atomic_bool judged; /* nobody waits for it any more */
    GThread *thread;
} Waker;

/* On rank 0: after five seconds, and not before somebody has told of it or has given it up. */
static void *
wake(void *user)
{
    Waker *waker = user;
    while (!is_stopped(waker->stopped))
        g_usleep(1000);
    g_usleep(5 * G_USEC_PER_SEC);
    while (!is_told_of_stopped() && !atomic_load(&waker->judged))
        g_usleep(1000);
    kill(waker->stopped, SIGCONT);
    return NULL;
}

static void
start_waker(Waker *waker)
{
    *waker = (Waker){.stopped = getpid()};
    MPI_Bcast(&waker->stopped, sizeof waker->stopped, MPI_BYTE, 1, MPI_COMM_WORLD);
    if (support_rank() == 0)
        waker->thread = g_thread_new("wake", wake, waker);
}

/* Under a limit a rank that this machine holds up for longer is missed, and rightly: then all try
 * again. */
static void
reduce_on_all(lockstep_context *context, const char *name, bool limited)
{
    lockstep_status status;
    do {
        status = reduce_ones(context, name, 100);
        if (!limited || status != LOCKSTEP_ERR_STALLED)
            assert_status(status, LOCKSTEP_OK);
    } while (!support_is_on_all(status == LOCKSTEP_OK));
}

/* Five seconds are no death: the others wait, say whom for, and go on; a lower limit makes it a
 * failure. */
static void
test_stopped(gconstpointer settings)
{
    bool limited = strstr(settings, "stall_limit_s") != NULL;
    int64_t awake_us = 0, first_us;
    Waker waker;
    recorder_start();
    lockstep_context *context = support_open(settings);
    reduce_on_all(context, "before", limited);
    int64_t start_us = g_get_monotonic_time();
    start_waker(&waker);
    if (support_rank() == 1)
        awake_us = stop();
    lockstep_status status = reduce_ones(context, "steady", 100);
    int64_t end_us = g_get_monotonic_time();
    atomic_store(&waker.judged, true);
    g_test_message("status %d after %.2f s", (int)status, (double)(end_us - start_us) / 1e6);
    g_assert_true(status == LOCKSTEP_OK || (limited && status == LOCKSTEP_ERR_STALLED));
    MPI_Bcast(&awake_us, 1, MPI_INT64_T, 1, MPI_COMM_WORLD);
    MPI_Allreduce(&start_us, &first_us, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    /* A stopped rank holds up an exchange of all, and no one can judge before it is back; the
     * tree's ranks go on exchanging. */
    bool judged = status == LOCKSTEP_ERR_STALLED && support_rank() != 1;
    g_assert_cmpint(end_us, >=, judged ? first_us + 2000000 : awake_us);
    g_assert_cmpint(end_us, <, awake_us + 60000000);
    if (waker.thread != NULL)
        g_thread_join(waker.thread);
    reduce_on_all(context, "after", limited);
    support_close(context);
    /* The wait is in the trace of who waited, and the others' exchange with it. */
    const LsRecord *submit = recorder_get(LS_RECORD_SUBMIT, "steady", 0);
    const LsRecord *done = recorder_get(LS_RECORD_DONE, "steady", 0);
    if (support_rank() == 0 && !judged)
        g_assert_true(is_told_of_stopped());
    g_assert_cmpint(submit->start_ns, >=, start_us * 1000);
    if (support_rank() != 1 && !judged)
        g_assert_cmpint(done->start_ns, >=, awake_us * 1000);
}

/* When the last cycle before a moment began. */
static int64_t
find_cycle_before(int64_t time_ns)
{
    int64_t last_ns = INT64_MIN;
    for (guint i = 0; i < recorder_count(LS_RECORD_CYCLE, NULL); i++) {
        const LsRecord *cycle = recorder_get(LS_RECORD_CYCLE, NULL, i);
        if (cycle->end_ns <= time_ns)
            last_ns = cycle->start_ns;
    }
    return last_ns;
}

/* The end of the first cycle that began after a moment. */
static int64_t
find_cycle_after(int64_t time_ns)
{
    const LsRecord *cycle = NULL;
    for (guint i = 0; cycle == NULL || cycle->start_ns < time_ns; i++) {
        cycle = recorder_get(LS_RECORD_CYCLE, NULL, i);
        g_assert_nonnull(cycle);
    }
    return cycle->end_ns;
}

/* A rank that is late without being stopped is named, in the first cycle in which it can be: the
 * one before began when rank 0 had not yet waited over the limit, which it counts from the cycle
 * that took its own tensor at the latest. It comes when it has been named. */
static void
test_late(void)
{
    enum { LIMIT_NS = 300000000 };
    float data[100] = {0};
    lockstep_handle handle;
    lockstep_tensor tensor = support_tensor("w", data, data, 100, LOCKSTEP_FLOAT32);
    recorder_start();
    lockstep_context *context = support_open("stall_warning_s=0.3");
    if (support_rank() == 1)
        support_await(0);
    assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
    if (support_rank() == 0) {
        g_assert_true(recorder_await(LS_RECORD_STALL, 1, 1));
        support_tell(1);
    }
    assert_status(lockstep_wait(context, handle, 60000), LOCKSTEP_OK);
    support_close(context);
    if (support_rank() == 0) {
        const LsRecord *stall = recorder_get(LS_RECORD_STALL, "w", 0);
        const LsRecord *submit = recorder_get(LS_RECORD_SUBMIT, "w", 0);
        g_assert_cmpint(stall->args[1], >=, LIMIT_NS);
        g_assert_cmpint(find_cycle_before(stall->start_ns), <,
                        find_cycle_after(submit->start_ns) + LIMIT_NS);
        g_assert_true(recorder_heard("tensor w has waited"));
    }
}

/* -- Data and names -- */

/* NaN and infinities are data: they pass, in sums of several tensors at once too, and harm no
 * neighbour. */
static void
test_nan(void)
{
    lockstep_context *context = support_open(NULL);
    for (int round = 0; round < 3; round++) {
        float data[3][4];
        lockstep_handle handles[3];
        for (int t = 0; t < 3; t++) {
            g_autofree char *name = g_strdup_printf("n/%d", t);
            for (int i = 0; i < 4; i++)
                data[t][i] = 1;
            if (t == 1 && support_rank() == 1) {
                data[t][1] = NAN;
                data[t][2] = INFINITY;
            }
            lockstep_tensor tensor = support_tensor(name, data[t], data[t], 4, LOCKSTEP_FLOAT32);
            assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handles[t]),
                          LOCKSTEP_OK);
        }
        for (int t = 0; t < 3; t++) {
            assert_status(lockstep_wait(context, handles[t], 60000), LOCKSTEP_OK);
            g_assert_cmpint(isnan(data[t][1]) != 0, ==, t == 1);
            g_assert_cmpint(isinf(data[t][2]) != 0, ==, t == 1);
            g_assert_cmpfloat(data[t][0], ==, (float)support_ranks());
            g_assert_cmpfloat(data[t][3], ==, (float)support_ranks());
        }
    }
    support_close(context);
}

/* The second submission fails at once, the first goes on; alone and in a group of several. */
static void
test_twice(void)
{
    lockstep_context *context = support_open(NULL);
    float one = 1, other = 1, third = 1;
    lockstep_handle handle, second = 7, both[2];
    lockstep_tensor tensor = support_tensor("w", &one, &one, 1, LOCKSTEP_FLOAT32);
    lockstep_tensor again = support_tensor("w", &other, &other, 1, LOCKSTEP_FLOAT32);
    lockstep_tensor apart = support_tensor("v", &third, &third, 1, LOCKSTEP_FLOAT32);
    const lockstep_tensor *pair[] = {&apart, &again};
    if (support_rank() != 0) /* until then it is still on its way */
        MPI_Barrier(MPI_COMM_WORLD);
    assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
    if (support_rank() == 0) {
        assert_status(lockstep_allreduce(context, &again, LOCKSTEP_SUM, &second),
                      LOCKSTEP_ERR_DUPLICATE);
        assert_contains(lockstep_last_error(), "tensor w");
        g_assert_cmpuint(second, ==, 0);
        assert_status(lockstep_allreduce_group(context, pair, 2, LOCKSTEP_SUM, both),
                      LOCKSTEP_ERR_DUPLICATE);
        g_assert_cmpuint(both[0] + both[1], ==, 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    assert_status(lockstep_wait(context, handle, 60000), LOCKSTEP_OK);
    g_assert_cmpfloat(other, ==, 1);
    assert_status(support_reduce(context, &apart, LOCKSTEP_SUM), LOCKSTEP_OK);
    support_close(context);
}

static void *
leave(void *context)
{
    return GINT_TO_POINTER(lockstep_shutdown(context));
}

/* While the own rank leaves, and after another has left. */
static void
test_after_shutdown(void)
{
    lockstep_context *context = support_open("linger_ms=60000");
    float one = 1, other_one = 1;
    lockstep_handle handle;
    lockstep_tensor tensor = support_tensor("w", &one, &one, 1, LOCKSTEP_FLOAT32);
    lockstep_tensor late = support_tensor("late", &other_one, &other_one, 1, LOCKSTEP_FLOAT32);
    assert_status(reduce_ones(context, "before", 4), LOCKSTEP_OK);
    if (support_rank() == 0) { /* something on its way keeps it from being gone at once */
        lockstep_status status;
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
        assert_status(lockstep_allreduce(context, &late, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
        GThread *thread = g_thread_new("leave", leave, context);
        do /* until that thread has begun to leave, the name is on its way already */
            status = lockstep_allreduce(context, &late, LOCKSTEP_SUM, &handle);
        while (status == LOCKSTEP_ERR_DUPLICATE);
        assert_status(status, LOCKSTEP_ERR_SHUT_DOWN);
        assert_contains(lockstep_last_error(), "tensor late: this rank is shutting down");
        MPI_Barrier(MPI_COMM_WORLD);
        g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, LOCKSTEP_OK);
    } else {
        lockstep_status status = LOCKSTEP_OK;
        MPI_Barrier(MPI_COMM_WORLD); /* until then nothing lets rank 0 go */
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
        assert_status(lockstep_allreduce(context, &late, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
        for (int i = 0; i < 3000 && status == LOCKSTEP_OK; i++) {
            g_autofree char *name = g_strdup_printf("alone/%d", i);
            lockstep_tensor other = support_tensor(name, &one, &one, 1, LOCKSTEP_FLOAT32);
            status = lockstep_allreduce(context, &other, LOCKSTEP_SUM, &handle);
            g_usleep(20000);
        }
        assert_status(status, LOCKSTEP_ERR_SHUT_DOWN);
        assert_contains(lockstep_last_error(), "another rank has shut down");
        support_close(context);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Handles, results and sentences of failures that nobody asks for; the sanitizer sees what stays.
 */
static void
test_abandoned(void)
{
    enum { HANDLES = 4000 };
    static float data[HANDLES];
    lockstep_context *context = support_open(NULL);
    for (int i = 0; i < HANDLES; i++) {
        g_autofree char *name = g_strdup_printf("abandoned/%d", i);
        lockstep_handle handle;
        /* Every tenth fails, with a sentence. */
        int count = i % 10 == 0 && support_rank() == 1 ? 0 : 1;
        data[i] = 1;
        lockstep_tensor tensor = support_tensor(name, &data[i], &data[i], count, LOCKSTEP_FLOAT32);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle), LOCKSTEP_OK);
    }
    assert_status(reduce_ones(context, "after", 4), LOCKSTEP_OK);
    support_close(context);
    for (int i = 0; i < HANDLES; i++)
        g_assert_cmpfloat(data[i], ==, i % 10 == 0 ? 1 : (float)support_ranks());
}

int
main(int argc, char **argv)
{
    program = pthread_self();
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    recorder_start();
    g_test_add_func("/mpi/faults/no-fusion-buffer-on-one-rank", test_no_fusion_buffer);
    g_test_add_func("/mpi/faults/wall-clock-is-set-meanwhile", test_wall_clock_is_set);
    g_test_add_func("/mpi/faults/no-memory-to-submit", test_no_memory_to_submit);
    g_test_add_func("/mpi/faults/nan-is-data", test_nan);
    g_test_add_func("/mpi/faults/a-name-twice", test_twice);
    g_test_add_func("/mpi/faults/submit-after-shutdown", test_after_shutdown);
    g_test_add_func("/mpi/faults/abandoned-handles", test_abandoned);
    g_test_add_func("/mpi/faults/late-rank-is-named", test_late);
    g_test_add_data_func("/mpi/faults/stopped-5-s", "stall_warning_s=1", test_stopped);
    g_test_add_data_func("/mpi/faults/stopped-5-s-over-the-limit",
                         "stall_warning_s=1;stall_limit_s=2", test_stopped);
    g_test_add_data_func("/mpi/faults/no-memory-while-fusing", NULL, test_no_memory_while_fusing);
    g_test_add_data_func("/mpi/faults/no-memory-ever-again", "lasting",
                         test_no_memory_while_fusing);
    int status = g_test_run();
    /* A rank that was given up has a thread that stays in MPI: nobody may take MPI apart. */
    MPI_Barrier(MPI_COMM_WORLD);
    fflush(NULL);
    _exit(status);
}
