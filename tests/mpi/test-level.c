/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-level.c single|funneled|serialized: MPI with too few threads is a status that says
 * what to ask for; with just enough, one context works and a second is refused. */
#include "support.h"

#include <string.h>

static const char *name;

static void
test_refused(void)
{
    lockstep_context *context;
    g_autofree char *upper = g_ascii_strup(name, -1);
    for (int i = 0; i < 2; i++) {
        assert_status(lockstep_init(NULL, &context), LOCKSTEP_ERR_THREAD_LEVEL);
        g_assert_null(context);
        assert_contains(lockstep_last_error(), upper);
        assert_contains(lockstep_last_error(), "MPI_THREAD_SERIALIZED");
    }
    /* Alone it does not matter. */
    lockstep_options options;
    lockstep_options_init(&options);
    options.alone = 1;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_OK);
    g_assert_cmpint(lockstep_size(context), ==, 1);
    support_close(context);
}

static void
test_one_at_a_time(void)
{
    for (int i = 0; i < 3; i++) {
        float one = 1;
        lockstep_context *context = support_open(NULL), *second;
        lockstep_tensor tensor = support_tensor("t", &one, &one, 1, LOCKSTEP_FLOAT32);
        assert_status(lockstep_init(NULL, &second), LOCKSTEP_ERR_THREAD_LEVEL);
        assert_contains(lockstep_last_error(), "MPI_THREAD_MULTIPLE");
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        g_assert_cmpfloat(one, ==, (float)support_ranks());
        support_close(context);
    }
}

int
main(int argc, char **argv)
{
    static const char *const names[] = {"single", "funneled", "serialized"};
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
    int i = 0;
    name = argv[1];
    while (strcmp(names[i], name) != 0)
        i++;
    MPI_Comm world = MPI_COMM_WORLD;
    lockstep_options options;
    lockstep_context *context;
    lockstep_options_init(&options);
    options.mpi_comm = &world;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_MPI); /* MPI is not running yet */
    support_init(&argc, &argv, levels[i]);
    if (levels[i] < MPI_THREAD_SERIALIZED)
        g_test_add_func("/mpi/level/refused", test_refused);
    else
        g_test_add_func("/mpi/level/one-at-a-time", test_one_at_a_time);
    return support_run();
}
