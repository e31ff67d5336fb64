/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-join.c: memory that is not there while the ranks come together. The linker puts
 * the functions below in the place of libc's. */
#include "support.h"

#include "reduce/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static pthread_t program;
static atomic_long to_come = -1; /* the library's requests until the one refused; -1: none is */
static atomic_bool was_refused;

static bool
refuses(void)
{
    if (atomic_load(&to_come) < 0 || pthread_equal(pthread_self(), program) ||
        atomic_fetch_sub(&to_come, 1) != 0)
        return false;
    atomic_store(&was_refused, true);
    return true;
}

#define WRAP(name, parameters, arguments)                                                          \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return refuses() ? NULL : __real_##name arguments;                                         \
    }

WRAP(malloc, (size_t size), (size))
WRAP(calloc, (size_t n, size_t size), (n, size))
WRAP(realloc, (void *old, size_t size), (old, size))

/* The ranks have come together: what is asked for from here on is another matter. */
lockstep_status __real_ls_loop_run(LsLoop *loop);
lockstep_status __wrap_ls_loop_run(LsLoop *loop);

lockstep_status
__wrap_ls_loop_run(LsLoop *loop)
{
    atomic_store(&to_come, -1);
    return __real_ls_loop_run(loop);
}

/* One rank's n-th request is refused, -1: none. The status, the same on all ranks. */
static lockstep_status
open_refused(const char *settings, int doomed, long n, lockstep_context **ret_context)
{
    int least, most;
    lockstep_options options;
    lockstep_options_init(&options);
    options.settings = settings;
    atomic_store(&was_refused, false);
    atomic_store(&to_come, support_rank() == doomed ? n : -1);
    int status = lockstep_init(&options, ret_context);
    atomic_store(&to_come, -1);
    MPI_Allreduce(&status, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&status, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    g_assert_cmpint(least, ==, most);
    return status;
}

/* All ranks have a context that works or none has one, whichever of init's requests for memory is
 * refused to one of them; nobody waits for a rank that does not come, though it could for ever.
 * data: the rank, and settings; two hosts where they end in "host=". */
static void
test_no_memory(gconstpointer data)
{
    const char *given = data;
    int doomed = given[0] - '0', failures = 0, refused = 1;
    const char *host = !g_str_has_suffix(given, "host=")      ? ""
                       : support_rank() < support_ranks() / 2 ? "a"
                                                              : "b";
    g_autofree char *settings = g_strdup_printf("init_limit_s=0;%s%s", given + 2, host);
    g_autofree char *who = g_strdup_printf("rank %d", doomed);
    for (long n = 0; refused; n++) {
        lockstep_context *context;
        lockstep_status status = open_refused(settings, doomed, n, &context);
        refused = atomic_load(&was_refused);
        MPI_Bcast(&refused, 1, MPI_INT, doomed, MPI_COMM_WORLD);
        if (status == LOCKSTEP_OK) {
            support_check_sum(context);
            support_close(context);
            continue;
        }
        assert_status(status, LOCKSTEP_ERR_NO_MEMORY);
        if (support_rank() != doomed)
            assert_contains(lockstep_last_error(), who);
        failures++;
    }
    g_assert_cmpint(failures, >, 10);
}

int
main(int argc, char **argv)
{
    program = pthread_self();
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    g_test_add_data_func("/mpi/join/no-memory/shared", "1 plane=shared", test_no_memory);
    g_test_add_data_func("/mpi/join/no-memory/hierarchical-rank-0",
                         "0 plane=hierarchical;host=", test_no_memory);
    return support_run();
}
