/* SPDX-License-Identifier: Apache-2.0
 * NCCL's operations that a library's buffers are made of become part of them, and no others. */
#include "merge/inner.h"

#include "capture/format.h"
#include "merge/match.h"

#define BYTES   INT64_C(65536)
#define N_STEPS 10

static LsProcess *
make_rank(int32_t rank)
{
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);

    process->rank.rank = rank;
    process->rank.world = 2;
    process->rank.clock_method = rank > 0 ? LS_CLOCK_SAME_BOOT : LS_CLOCK_REFERENCE;
    return process;
}

static void
add_call(LsProcess *process, const char *name, uint32_t communicator, int64_t sequence,
         int64_t bytes, int64_t start_ns, int64_t end_ns)
{
    LsCall call = {.name = ls_strings_add(process->strings, name),
                   .communicator = communicator,
                   .sequence = sequence,
                   .by_nccl = communicator != 0,
                   .device_timed = true,
                   .bytes = bytes,
                   .start_ns = start_ns,
                   .end_ns = end_ns,
                   .pack_start_ns = LS_TIME_NONE,
                   .pack_end_ns = LS_TIME_NONE,
                   .unpack_start_ns = LS_TIME_NONE,
                   .unpack_end_ns = LS_TIME_NONE,
                   .launch_ns = LS_TIME_NONE,
                   .buffer = LS_NONE};

    ls_rows_add(process->calls, &call);
}

static int64_t
start_of(int64_t step)
{
    return step * 10000000;
}

/* The library's call of each step, and NCCL's inside it: `pieces` of them. */
static void
add_library(LsProcess *process, const char *name, int64_t pieces, int64_t bytes)
{
    for (int64_t step = 0; step < N_STEPS; step++) {
        add_call(process, name, 0, step, BYTES, start_of(step), start_of(step) + 2000000);
        for (int64_t i = 0; i < pieces; i++)
            add_call(process, "NCCL_ALLREDUCE", 7, step * pieces + i, bytes,
                     start_of(step) + 100000 + i * 500000, start_of(step) + 500000 + i * 500000);
    }
}

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

/* The ranks' processes, joined and matched: how many buffers there are, how many findings. */
static size_t
count_buffers(LsProcess *const processes[2], size_t *ret_findings)
{
    LsBuilder *builder = ls_builder_new(no_class, NULL);
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_autoptr(LsTrace) trace = NULL;
    size_t n;

    for (size_t i = 0; i < 2; i++)
        g_ptr_array_add(all, processes[i]);
    ls_inner_mark(all, builder);
    for (size_t i = 0; i < 2; i++)
        ls_builder_take(builder, processes[i]);
    ls_match_calls(builder);
    trace = ls_builder_freeze(builder);
    ls_trace_get_findings(trace, ret_findings);
    ls_trace_get_buffers(trace, &n);
    return n;
}

static void
test_once(void)
{
    LsProcess *ranks[2] = {make_rank(0), make_rank(1)};
    size_t findings;

    for (size_t i = 0; i < 2; i++)
        add_library(ranks[i], "NCCL_ALLREDUCE", 1, BYTES);
    g_assert_cmpuint(count_buffers(ranks, &findings), ==, N_STEPS);
    g_assert_cmpuint(findings, ==, 1); /* inferred: it is said */
}

static void
test_pieces(void)
{
    LsProcess *ranks[2] = {make_rank(0), make_rank(1)};
    size_t findings;

    add_library(ranks[0], "NCCL_ALLREDUCE", 2, BYTES / 2);
    add_library(ranks[1], "NCCL_ALLREDUCE", 2, BYTES / 2);
    g_assert_cmpuint(count_buffers(ranks, &findings), ==, N_STEPS);
}

static void
test_hierarchical(void)
{
    LsProcess *ranks[2] = {make_rank(0), make_rank(1)};
    size_t findings;

    add_library(ranks[0], "HIERARCHICAL_ALLREDUCE", 3, BYTES / 4);
    add_library(ranks[1], "HIERARCHICAL_ALLREDUCE", 3, BYTES / 4);
    g_assert_cmpuint(count_buffers(ranks, &findings), ==, N_STEPS);
}

/* Another communicator, which the program uses while the library is at work: of other bytes, or not
 * always then. */
static void
test_program(void)
{
    for (int often = 0; often < 2; often++) {
        LsProcess *ranks[2] = {make_rank(0), make_rank(1)};
        size_t findings;

        for (size_t i = 0; i < 2; i++) {
            add_library(ranks[i], "NCCL_ALLREDUCE", 1, BYTES);
            for (int64_t step = 0; step < N_STEPS; step++) {
                add_call(ranks[i], "NCCL_ALLREDUCE", 8, step * 2, often ? BYTES : 16,
                         start_of(step) + 600000, start_of(step) + 700000);
                if (often)
                    add_call(ranks[i], "NCCL_ALLREDUCE", 8, step * 2 + 1, BYTES,
                             start_of(step) + 6000000, start_of(step) + 7000000);
            }
        }
        g_assert_cmpuint(count_buffers(ranks, &findings), ==, N_STEPS * (often ? 3 : 2));
    }
}

/* A library that moves its bytes by MPI, on the CPU, has no part of NCCL's. */
static void
test_mpi(void)
{
    LsProcess *ranks[2] = {make_rank(0), make_rank(1)};
    size_t findings;

    add_library(ranks[0], "MPI_ALLREDUCE", 1, BYTES);
    add_library(ranks[1], "MPI_ALLREDUCE", 1, BYTES);
    g_assert_cmpuint(count_buffers(ranks, &findings), ==, N_STEPS * 2);
    g_assert_cmpuint(findings, ==, 0);
}

/* What NCCL did before the library's first record says nothing against it, and is kept. */
static void
test_edge(void)
{
    LsProcess *ranks[2] = {make_rank(0), make_rank(1)};
    size_t findings;

    for (size_t i = 0; i < 2; i++) {
        for (int64_t k = 0; k < N_STEPS; k++)
            add_call(ranks[i], "NCCL_ALLREDUCE", 7, 1000 + k, BYTES, start_of(-1 - k),
                     start_of(-1 - k) + 100000);
        add_library(ranks[i], "NCCL_ALLREDUCE", 1, BYTES);
    }
    g_assert_cmpuint(count_buffers(ranks, &findings), ==, N_STEPS * 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/inner/a-buffer-is-one-collective", test_once);
    g_test_add_func("/merge/inner/pieces-add-up", test_pieces);
    g_test_add_func("/merge/inner/hierarchical-is-one", test_hierarchical);
    g_test_add_func("/merge/inner/the-program-has-its-own", test_program);
    g_test_add_func("/merge/inner/mpi-has-no-part-of-it", test_mpi);
    g_test_add_func("/merge/inner/edges-say-nothing", test_edge);
    return g_test_run();
}
