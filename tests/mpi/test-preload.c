/* SPDX-License-Identifier: Apache-2.0
 *
 * liblockstep-mpi.so in front of real programs: the same output and the same results as without it;
 * each call recorded with its bytes, peer, reduction and communicator; of the training sample just
 * what the reduction library records of itself.
 *
 * Arguments: mpirun, the library, victim-calls, the training sample.
 */
#include "capture/format.h"
#include "format/format.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RANKS 3

static const char *mpirun, *library, *victim, *train;

/* -- Running and reading -- */

static int
compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Standard output, its lines sorted, since ranks come in any order. */
static char *
run(const char *folder, const char *const *program, bool preloaded)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    g_autofree char *output = NULL, *problems = NULL;
    g_auto(GStrv) lines = NULL;
    int status;

    g_ptr_array_add(words, g_strdup(mpirun));
    g_ptr_array_add(words, g_strdup("-np"));
    g_ptr_array_add(words, g_strdup_printf("%d", RANKS));
    g_ptr_array_add(words, g_strdup("env"));
    if (preloaded) {
        g_ptr_array_add(words, g_strdup_printf("LD_PRELOAD=%s", library));
        g_ptr_array_add(words, g_strdup_printf("LOCKSTEP_RUN=%s", folder));
    }
    for (; *program != NULL; program++)
        g_ptr_array_add(words, g_strdup(*program));
    g_ptr_array_add(words, NULL);
    g_spawn_sync(NULL, (char **)words->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, &problems,
                 &status, &error);
    g_assert_no_error(error);
    if (!g_spawn_check_wait_status(status, NULL))
        g_error("%s%s", output, problems);
    g_assert_cmpstr(problems, ==, "");
    lines = g_strsplit(output, "\n", -1);
    qsort(lines, g_strv_length(lines), sizeof *lines, compare_lines);
    return g_strjoinv("\n", lines);
}

static void
free_process(void *process)
{
    ls_process_free(process);
}

/* The processes of a folder, by rank. */
static GPtrArray *
load(const char *folder)
{
    GPtrArray *ranks = g_ptr_array_new_with_free_func(free_process);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    g_ptr_array_set_size(ranks, RANKS);
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autoptr(GPtrArray) processes = g_ptr_array_new();
        g_autoptr(GError) error = NULL;

        if (g_str_has_suffix(name, ".lks")) {
            ls_format_load(path, processes, NULL, &error);
            g_assert_no_error(error);
            g_assert_cmpint(processes->len, ==, 1);
            LsProcess *process = g_ptr_array_index(processes, 0);

            g_assert_cmpint(process->rank.rank, >=, 0);
            g_assert_cmpint(process->rank.rank, <, RANKS);
            g_assert_null(g_ptr_array_index(ranks, process->rank.rank));
            g_ptr_array_index(ranks, process->rank.rank) = process;
        }
        g_unlink(path);
    }
    for (int rank = 0; rank < RANKS; rank++)
        g_assert_nonnull(g_ptr_array_index(ranks, rank));
    g_rmdir(folder);
    return ranks;
}

static char *
make_folder(void)
{
    char *folder = g_dir_make_tmp("lockstep-preload-XXXXXX", NULL);

    g_assert_nonnull(folder);
    return folder;
}

/* -- Every kind of call -- */

typedef struct Expected {
    const char *name;
    int communicator; /* 1 world, 2 the copy of it, 3 the split one, 0 none */
    int peer;         /* -1 none, NEXT, BEFORE */
    int operation, reduction;
    int64_t bytes[RANKS]; /* of each rank */
} Expected;

enum { NEXT = -2, BEFORE = -3 };

#define SUM LS_MPI_REDUCTION_SUM
#define ALL(bytes)                                                                                 \
    {                                                                                              \
        bytes, bytes, bytes                                                                        \
    }

/* In victim-calls.c's order; an int has four bytes, counts are 1, 2, 3. */
static const Expected expected[] = {
    {"MPI_Allreduce", 1, -1, LS_OPERATION_ALLREDUCE, SUM, ALL(20)},
    {"MPI_Allreduce", 1, -1, LS_OPERATION_ALLREDUCE, LS_MPI_REDUCTION_BAND, ALL(8)},
    {"MPI_Allreduce", 1, -1, LS_OPERATION_ALLREDUCE, LS_MPI_REDUCTION_BOR, ALL(8)},
    {"MPI_Reduce", 1, 1, LS_OPERATION_REDUCE, LS_MPI_REDUCTION_MAX, ALL(12)},
    {"MPI_Bcast", 1, 1, LS_OPERATION_BROADCAST, 0, ALL(12)},
    {"MPI_Gather", 1, 0, LS_OPERATION_UNKNOWN, 0, ALL(4)},
    {"MPI_Gatherv", 1, 0, LS_OPERATION_UNKNOWN, 0, {4, 8, 12}},
    {"MPI_Allgather", 1, -1, LS_OPERATION_ALLGATHER, 0, ALL(8)},
    {"MPI_Allgatherv", 1, -1, LS_OPERATION_ALLGATHER, 0, {4, 8, 12}},
    {"MPI_Scatter", 2, 0, LS_OPERATION_UNKNOWN, 0, {24, 8, 8}},
    {"MPI_Scatterv", 2, 0, LS_OPERATION_UNKNOWN, 0, {24, 8, 12}},
    {"MPI_Alltoall", 2, -1, LS_OPERATION_ALLTOALL, 0, ALL(12)},
    {"MPI_Alltoall", 2, -1, LS_OPERATION_ALLTOALL, 0, ALL(12)},
    {"MPI_Reduce_scatter", 2, -1, LS_OPERATION_REDUCESCATTER, SUM, ALL(24)},
    {"MPI_Reduce_scatter_block", 2, -1, LS_OPERATION_REDUCESCATTER, LS_MPI_REDUCTION_MIN, ALL(24)},
    {"MPI_Scan", 2, -1, LS_OPERATION_UNKNOWN, LS_MPI_REDUCTION_PRODUCT, ALL(16)},
    {"MPI_Barrier", 2, -1, LS_OPERATION_BARRIER, 0, ALL(0)},
    {"MPI_Barrier", 3, -1, LS_OPERATION_BARRIER, 0, ALL(0)},
    {"MPI_Irecv", 1, BEFORE, LS_OPERATION_RECV, 0, ALL(16)},
    {"MPI_Isend", 1, NEXT, LS_OPERATION_SEND, 0, ALL(16)},
    {"MPI_Waitall", 0, -1, LS_OPERATION_UNKNOWN, 0, ALL(0)},
    {"MPI_Sendrecv", 1, NEXT, LS_OPERATION_SEND, 0, ALL(12)},
    {"MPI_Send", 1, -1, LS_OPERATION_SEND, 0, ALL(8)},
    {"MPI_Iallreduce", 1, -1, LS_OPERATION_ALLREDUCE, SUM, ALL(8)},
    {"MPI_Wait", 0, -1, LS_OPERATION_UNKNOWN, 0, ALL(0)},
};

static void
check_call(const LsProcess *process, const Expected *row, const LsMpiCall *call)
{
    int rank = process->rank.rank, peer = row->peer;

    if (peer == NEXT)
        peer = (rank + 1) % RANKS;
    else if (peer == BEFORE)
        peer = (rank + RANKS - 1) % RANKS;
    g_assert_cmpstr(ls_strings_get(process->strings, call->name), ==, row->name);
    g_assert_cmpint(call->communicator, ==, row->communicator);
    g_assert_cmpint(call->peer, ==, peer);
    g_assert_cmpint(call->operation, ==, row->operation);
    g_assert_cmpint(call->reduction, ==, row->reduction);
    g_assert_cmpint(call->bytes, ==, row->bytes[rank]);
    g_assert_cmpint(call->thread, ==, process->rank.pid);
    g_assert_cmpint(call->end_ns, >, call->start_ns);
    if (row->communicator == 1 || row->communicator == 2) {
        g_assert_cmpint(call->ranks, ==, RANKS);
        g_assert_cmpint(call->rank, ==, rank);
    } else if (row->communicator == 3) {
        g_assert_cmpint(call->ranks, ==, rank == 0 ? 1 : RANKS - 1);
        g_assert_cmpint(call->rank, ==, rank == 0 ? 0 : rank - 1);
    }
}

static void
test_calls(void)
{
    const char *program[] = {victim, NULL};
    g_autofree char *folder = make_folder(), *with = NULL, *without = NULL;
    g_autoptr(GPtrArray) ranks = NULL;

    without = run(folder, program, false);
    with = run(folder, program, true);
    g_assert_cmpstr(with, ==, without);
    ranks = load(folder);
    for (int rank = 0; rank < RANKS; rank++) {
        const LsProcess *process = g_ptr_array_index(ranks, rank);

        g_assert_cmpint(process->rank.world, ==, RANKS);
        g_assert_cmpint(process->rank.lost, ==, 0);
        g_assert_cmpint(process->mpi_calls->len, ==, G_N_ELEMENTS(expected));
        for (guint i = 0; i < process->mpi_calls->len; i++)
            check_call(process, &expected[i], &g_array_index(process->mpi_calls, LsMpiCall, i));
    }
}

/* -- Against what reduce says of itself -- */

/* The one call of MPI by this name inside a span that reduce recorded around it. */
static const LsMpiCall *
find_inside(const LsProcess *process, const char *name, int64_t start_ns, int64_t end_ns)
{
    const LsMpiCall *found = NULL;

    for (guint i = 0; i < process->mpi_calls->len; i++) {
        const LsMpiCall *call = &g_array_index(process->mpi_calls, LsMpiCall, i);

        if (call->start_ns < start_ns || call->end_ns > end_ns ||
            strcmp(ls_strings_get(process->strings, call->name), name) != 0)
            continue;
        g_assert_null(found);
        found = call;
    }
    if (found == NULL)
        g_error("rank %d: no %s within %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                process->rank.rank, name, start_ns, end_ns);
    return found;
}

/* What the rank gave or, of a broadcast, got; what a root gathers is the others'. */
static size_t
check_messages(const LsProcess *process)
{
    size_t n = 0;

    for (guint i = 0; i < process->messages->len; i++) {
        const LsMessage *message = &g_array_index(process->messages, LsMessage, i);
        const char *name = ls_strings_get(process->strings, message->name);
        const char *call_name = strcmp(name, "bcast") == 0     ? "MPI_Bcast"
                                : strcmp(name, "gatherv") == 0 ? "MPI_Gatherv"
                                : strcmp(name, "gather") == 0  ? "MPI_Gather"
                                                               : NULL;
        bool root = process->rank.rank == 0, bcast = name[0] == 'b';
        const LsMpiCall *call;

        if (call_name == NULL)
            continue; /* round trips of the clocks */
        call = find_inside(process, call_name, message->start_ns, message->end_ns);
        g_assert_cmpint(call->peer, ==, 0);
        if (!root || bcast)
            g_assert_cmpint(call->bytes * (root ? RANKS - 1 : 1), ==,
                            message->bytes_in + message->bytes_out);
        n++;
    }
    return n;
}

static size_t
check_buffers(const LsProcess *process)
{
    size_t n = 0;

    for (guint i = 0; i < process->calls->len; i++) {
        const LsCall *row = &g_array_index(process->calls, LsCall, i);
        const LsMpiCall *call;

        if (row->operation != LS_OPERATION_ALLREDUCE)
            continue;
        call = find_inside(process, "MPI_Allreduce", row->start_ns, row->end_ns);
        g_assert_cmpint(call->bytes, ==, row->bytes);
        g_assert_cmpint(call->reduction, ==, SUM);
        n++;
    }
    return n;
}

static void
test_train(void)
{
    const char *program[] = {train, "--steps", "5", "--size", "8", "--strategy", "plane=mpi", NULL};
    g_autofree char *folder = make_folder(), *with = NULL, *without = NULL;
    g_autoptr(GPtrArray) ranks = NULL;

    without = run(folder, program, false);
    with = run(folder, program, true);
    g_assert_cmpstr(with, ==, without);
    ranks = load(folder);
    for (int rank = 0; rank < RANKS; rank++) {
        const LsProcess *process = g_ptr_array_index(ranks, rank);

        g_assert_cmpint(check_messages(process), >=, 4 * 5);
        g_assert_cmpint(check_buffers(process), >=, 5);
    }
}

/* -- Programs without MPI -- */

/* They start as ever, every symbol bound at once, and nothing is recorded. */
static void
test_bystander(void)
{
    g_autofree char *folder = make_folder();
    g_autofree char *preload = g_strdup_printf("LD_PRELOAD=%s", library);
    g_autofree char *where = g_strdup_printf("LOCKSTEP_RUN=%s", folder);
    const char *words[] = {"env", preload, where, "LD_BIND_NOW=1", "sh", "-c", "echo here; exit 7",
                           NULL};
    g_autofree char *output = NULL, *problems = NULL;
    g_autoptr(GError) error = NULL;
    int status;

    g_spawn_sync(NULL, (char **)(uintptr_t)words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output,
                 &problems, &status, &error);
    g_assert_no_error(error);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 7);
    g_assert_cmpstr(output, ==, "here\n");
    g_assert_cmpstr(problems, ==, "");
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 5);
    mpirun = argv[1];
    library = argv[2];
    victim = argv[3];
    train = argv[4];
    g_unsetenv("LOCKSTEP_RUN");
    g_test_add_func("/mpi/preload/each-call-is-recorded-as-it-was", test_calls);
    g_test_add_func("/mpi/preload/a-program-without-mpi-is-left-alone", test_bystander);
    g_test_add_func("/mpi/preload/what-reduce-records-of-itself-is-seen", test_train);
    return g_test_run();
}
