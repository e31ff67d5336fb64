/* SPDX-License-Identifier: Apache-2.0
 * The controls over MPI: which calls the communication thread makes, in which order (facts B6),
 * counted at the profiling layer; and sums that stay exact. A: and, O: or, g v b: gather, gatherv,
 * bcast, s: send, r: receive, d: what moves data. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#define TENSORS 12
#define CALLS   100000

static char calls[CALLS];
static int n_calls, n_words; /* of the last and */
static GMutex lock;

static void
note(char call)
{
    g_mutex_lock(&lock);
    if (n_calls < CALLS - 1)
        calls[n_calls++] = call;
    g_mutex_unlock(&lock);
}

int
MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    note(op == MPI_BAND ? 'A' : op == MPI_BOR ? 'O' : 'd');
    if (op == MPI_BAND)
        n_words = count;
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

int
MPI_Gather(const void *from, int n_from, MPI_Datatype from_type, void *to, int n_to,
           MPI_Datatype to_type, int root, MPI_Comm comm)
{
    note('g');
    return PMPI_Gather(from, n_from, from_type, to, n_to, to_type, root, comm);
}

int
MPI_Gatherv(const void *from, int n_from, MPI_Datatype from_type, void *to, const int *n_to,
            const int *offsets, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    note('v');
    return PMPI_Gatherv(from, n_from, from_type, to, n_to, offsets, to_type, root, comm);
}

int
MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    note('b');
    return PMPI_Bcast(data, count, type, root, comm);
}

int
MPI_Issend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
           MPI_Request *request)
{
    note('s');
    return PMPI_Issend(data, count, type, peer, tag, comm, request);
}

int
MPI_Recv(void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
         MPI_Status *status)
{
    note('r');
    return PMPI_Recv(data, count, type, peer, tag, comm, status);
}

/* While no rank has anything to submit. An and may have begun before. */
static void
reset_calls(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    g_mutex_lock(&lock);
    n_calls = 0;
    g_mutex_unlock(&lock);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Nobody leaves, which ends the others' cycles, before all have copied. */
static char *
copy_calls(void)
{
    g_mutex_lock(&lock);
    char *copy = g_strndup(calls, (gsize)n_calls);
    g_mutex_unlock(&lock);
    MPI_Barrier(MPI_COMM_WORLD);
    return copy;
}

/* All tensors of a step, in an order of this rank's own; their sums. `layer3` has another count on
 * ranks from odd on. */
static void
do_step(lockstep_context *context, int step, int64_t count, int64_t count3)
{
    static double data[TENSORS][8];
    lockstep_handle handles[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        int t = (i * 5 + step + support_rank()) % TENSORS;
        char name[16];
        g_snprintf(name, sizeof name, "layer%d", t);
        for (int k = 0; k < 8; k++)
            data[t][k] = support_rank() + t * 100 + k;
        lockstep_tensor tensor =
            support_tensor(name, data[t], data[t], t == 3 ? count3 : count, LOCKSTEP_FLOAT64);
        assert_status(lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handles[t]), LOCKSTEP_OK);
    }
    int ranks = support_ranks();
    for (int t = 0; t < TENSORS; t++) {
        assert_status(lockstep_wait(context, handles[t], -1), LOCKSTEP_OK);
        for (int k = 0; k < (t == 3 ? count3 : count); k++)
            g_assert_cmpfloat(data[t][k], ==,
                              ranks * (ranks - 1) / 2 + (double)ranks * (t * 100 + k));
    }
}

static int
count_of(const char *text, char call)
{
    int n = 0;
    for (; *text != '\0'; text++)
        n += *text == call;
    return n;
}

static void
check_form(const char *text, const char *form)
{
    if (!g_regex_match_simple(form, text, 0, 0))
        g_error("rank %d: calls %.300s are not of the form %s", support_rank(), text, form);
}

static void
test_cached_steps_are_one_and_a_cycle(gconstpointer settings)
{
    lockstep_context *context = support_open(settings);
    do_step(context, 0, 4, 4);
    do_step(context, 1, 4, 4);
    reset_calls();
    for (int step = 2; step < 30; step++)
        do_step(context, step, 4, 4);
    g_autofree char *steady = copy_calls();
    check_form(steady, "^d*(Ad*)+$");
    g_assert_cmpint(n_words, ==, 1);
    g_assert_cmpint(count_of(steady, 'd'), >=, 28);
    /* A changed shape: one or, right behind its and; then the round, and it is over. */
    reset_calls();
    do_step(context, 30, 4, 2);
    g_autofree char *changed = copy_calls();
    check_form(changed, "^(O?gvbb)?d*(A(O?gvbb)?d*)+$");
    g_assert_cmpint(count_of(changed, 'O'), ==, 1);
    do_step(context, 31, 4, 2);
    reset_calls();
    do_step(context, 32, 4, 2);
    g_autofree char *again = copy_calls();
    check_form(again, "^d*(Ad*)+$");
    support_close(context);
}

static void
test_small_cache_goes_through_rounds(void)
{
    lockstep_context *context = support_open("control=bitvector;cache_capacity=6");
    do_step(context, 0, 4, 4);
    for (int step = 1; step < 10; step++) {
        reset_calls();
        do_step(context, step, 4, 4);
        g_autofree char *text = copy_calls();
        check_form(text, "^(gvbb)?d*(A(gvbb)?d*)+$");
        g_assert_nonnull(strstr(text, "gvbb"));
    }
    support_close(context);
}

static void
test_uncached_cycles_are_four_calls(gconstpointer settings)
{
    lockstep_context *context = support_open(settings);
    reset_calls();
    for (int step = 0; step < 10; step++)
        do_step(context, step, 4, 4);
    g_autofree char *text = copy_calls();
    check_form(text, "^v?b{0,2}d*(gvbbd*)+(gv?|gvb)?$"); /* the last one may be under way */
    support_close(context);
}

static void
test_tree_meets_in_no_call_but_data(void)
{
    lockstep_context *context = support_open("control=tree");
    reset_calls();
    for (int step = 0; step < 10; step++)
        do_step(context, step, 4, step < 5 ? 4 : 2);
    g_autofree char *text = copy_calls();
    check_form(text, "^[srd]+$");
    g_assert_cmpint(count_of(text, 'd'), >=, 10);
    support_close(context);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    g_test_add_data_func("/mpi/control/cached-steps-are-one-and-a-cycle", "control=bitvector",
                         test_cached_steps_are_one_and_a_cycle);
    g_test_add_data_func("/mpi/control/cached-steps-by-clock",
                         "control=bitvector;cycle_start=clock",
                         test_cached_steps_are_one_and_a_cycle);
    g_test_add_func("/mpi/control/small-cache-goes-through-rounds",
                    test_small_cache_goes_through_rounds);
    g_test_add_data_func("/mpi/control/uncached-cycles-are-four-calls",
                         "control=bitvector;cache_capacity=0", test_uncached_cycles_are_four_calls);
    g_test_add_data_func("/mpi/control/coordinator-cycles-are-four-calls", "control=coordinator",
                         test_uncached_cycles_are_four_calls);
    g_test_add_func("/mpi/control/tree-meets-in-no-call-but-data",
                    test_tree_meets_in_no_call_but_data);
    return support_run();
}
