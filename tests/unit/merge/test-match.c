/* SPDX-License-Identifier: Apache-2.0
 * Calls whose partners are known become those buffers: the identity of a collective is hidden in
 * the pack times, which no rule looks at. */
#include "merge/match.h"

#include "capture/format.h"

#include <string.h>

typedef struct Made {
    LsProcess *processes[8];
    size_t n;
} Made;

static Made
make_ranks(size_t n)
{
    Made made = {.n = n};

    for (size_t i = 0; i < n; i++) {
        LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);

        process->rank.rank = (int32_t)i;
        process->rank.world = (int32_t)n;
        process->rank.recorded = true;
        process->rank.clock_method = i ? LS_CLOCK_SAME_BOOT : LS_CLOCK_REFERENCE;
        made.processes[i] = process;
    }
    return made;
}

/* One rank's part of collective `truth`. */
static void
add_call(Made *made, size_t rank, int64_t truth, int64_t sequence, const char *name, int64_t bytes,
         int64_t start_ns, int64_t end_ns)
{
    LsProcess *process = made->processes[rank];
    LsCall call = {.name = ls_strings_add(process->strings, name),
                   .sequence = sequence,
                   .operation = LS_OPERATION_ALLREDUCE,
                   .device_timed = true,
                   .bytes = bytes,
                   .start_ns = start_ns,
                   .end_ns = end_ns,
                   .pack_start_ns = truth,
                   .buffer = LS_NONE};

    g_array_append_val(process->calls, call);
}

/* The rank's latest call carried this tensor. */
static void
add_tensor(Made *made, size_t rank, const char *tensor)
{
    LsProcess *process = made->processes[rank];
    LsUse use = {.tensor = ls_strings_add(process->strings, tensor),
                 .group = LS_NONE,
                 .call = process->calls->len - 1,
                 .submit_ns = LS_TIME_NONE,
                 .gate_ns = LS_TIME_NONE,
                 .agreed_ns = LS_TIME_NONE,
                 .done_ns = g_array_index(process->calls, LsCall, process->calls->len - 1).end_ns};

    g_array_append_val(process->uses, use);
}

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

static LsTrace *
match(Made *made)
{
    LsBuilder *builder = ls_builder_new(no_class, NULL);

    for (size_t i = 0; i < made->n; i++)
        ls_builder_take(builder, made->processes[i]);
    ls_match_calls(builder);
    return ls_builder_freeze(builder);
}

/* Every buffer holds calls of one collective, ordered by rank, and each collective has one buffer
 * but for `split` more. */
static void
check_buffers(const LsTrace *trace, size_t collectives, size_t split)
{
    size_t n_buffers, n_refs, n_calls, seen = 0;
    const LsBuffer *buffers = ls_trace_get_buffers(trace, &n_buffers);
    const uint32_t *refs = ls_trace_get_call_refs(trace, &n_refs);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    int64_t before_ns = INT64_MIN;

    g_assert_cmpuint(n_buffers, ==, collectives + split);
    g_assert_cmpuint(n_refs, ==, n_calls);
    for (size_t i = 0; i < n_buffers; i++) {
        const LsCall *first = &calls[refs[buffers[i].first_call_ref]];
        int64_t start_ns = INT64_MAX;

        for (uint32_t k = 0; k < buffers[i].n_calls; k++, seen++) {
            const LsCall *call = &calls[refs[buffers[i].first_call_ref + k]];

            g_assert_cmpint(call->pack_start_ns, ==, first->pack_start_ns);
            g_assert_cmpuint(call->buffer, ==, i);
            g_assert_true(k == 0 ||
                          call->rank > calls[refs[buffers[i].first_call_ref + k - 1]].rank);
            start_ns = MIN(start_ns, call->start_ns);
        }
        g_assert_cmpint(start_ns, >=, before_ns);
        before_ns = start_ns;
    }
    g_assert_cmpuint(seen, ==, n_calls);
}

static bool
has_finding(const LsTrace *trace, const char *part)
{
    size_t n;
    const LsFinding *findings = ls_trace_get_findings(trace, &n);

    for (size_t i = 0; i < n; i++)
        if (strstr(findings[i].text, part) != NULL)
            return true;
    return false;
}

static void
test_numbered(void)
{
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    Made made = make_ranks(4);
    size_t n;

    /* Numbers alone count: clocks are nonsense here, and rank 3 joined late. */
    for (int64_t k = 0; k < 50; k++)
        for (size_t rank = 0; rank < 4; rank++)
            if (rank != 3 || k > 10)
                add_call(&made, rank, k, k, "MPI_ALLREDUCE", 64, g_rand_int_range(rand, 0, 1000),
                         2000);
    trace = match(&made);
    check_buffers(trace, 50, 0);
    for (const LsBuffer *buffer = ls_trace_get_buffers(trace, &n); n > 0; n--, buffer++) {
        g_assert_true(buffer->pairing_exact);
        g_assert_cmpuint(buffer->ranks_expected, ==, 4);
        g_assert_cmpuint(buffer->n_calls, >=, 3);
    }
    g_assert_false(has_finding(trace, "paired across ranks"));
}

static void
test_communicators(void)
{
    g_autoptr(LsTrace) trace = NULL;
    Made made = make_ranks(2);

    for (int64_t k = 0; k < 20; k++)
        for (size_t rank = 0; rank < 2; rank++) {
            add_call(&made, rank, k, k / 2, "MPI_ALLREDUCE", 64, k * 10, k * 10 + 5);
            g_array_index(made.processes[rank]->calls, LsCall, k).communicator = k % 2 ? 7 : 3;
        }
    trace = match(&made);
    check_buffers(trace, 20, 0);
}

static void
test_restart(void)
{
    g_autoptr(LsTrace) trace = NULL;
    Made made = make_ranks(4);

    /* Ranks 0 and 1, twice: numbers begin again. */
    for (size_t i = 2; i < 4; i++) {
        made.processes[i]->rank.rank = (int32_t)i - 2;
        made.processes[i]->rank.incarnation = 1;
    }
    for (int64_t k = 0; k < 10; k++)
        for (size_t i = 0; i < 4; i++)
            add_call(&made, i, k + (i < 2 ? 0 : 100), k, "MPI_ALLREDUCE", 64,
                     (i < 2 ? 0 : 5000) + k * 10, (i < 2 ? 0 : 5000) + k * 10 + 5);
    trace = match(&made);
    check_buffers(trace, 20, 0);
}

static void
test_sizes(void)
{
    g_autoptr(LsTrace) trace = NULL;
    Made made = make_ranks(2);

    for (int64_t k = 0; k < 5; k++)
        for (size_t rank = 0; rank < 2; rank++)
            add_call(&made, rank, k, k, "MPI_ALLREDUCE", k == 3 && rank == 1 ? 128 : 64, k * 10,
                     k * 10 + 5);
    trace = match(&made);
    check_buffers(trace, 5, 0);
    g_assert_true(has_finding(trace, "1 calls differ in size"));
    g_assert_true(has_finding(trace, "number 3, has 64 bytes on rank 0 and 128 on rank 1"));
}

/* Alike calls 1 ms apart; rank 1 misses the first three, rank 2 some in the middle: order would
 * pair wrongly, time does not. */
static void
test_unnumbered(void)
{
    for (guint32 seed = 0; seed < 20; seed++) {
        g_autoptr(LsTrace) trace = NULL;
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Made made = make_ranks(3);
        size_t n;

        for (int64_t k = 0; k < 100; k++) {
            int64_t end_ns = k * 1000000 + 400000;

            for (size_t rank = 0; rank < 3; rank++) {
                if ((rank == 1 && k < 3) || (rank == 2 && k % 10 == 5))
                    continue;
                add_call(&made, rank, k, -1, "NCCL_ALLREDUCE", 64,
                         end_ns - g_rand_int_range(rand, 50000, 300000),
                         end_ns + g_rand_int_range(rand, 0, 20000));
            }
        }
        trace = match(&made);
        check_buffers(trace, 100, 0);
        g_assert_true(has_finding(trace, "100 of 100 collectives were paired"));
        for (const LsBuffer *buffer = ls_trace_get_buffers(trace, &n); n > 0; n--, buffer++)
            g_assert_false(buffer->pairing_exact);
    }
}

/* Two collectives of one size at the same time, on two streams: the tensors tell them apart. */
static void
test_tensors_tell_apart(void)
{
    g_autoptr(LsTrace) trace = NULL;
    Made made = make_ranks(2);

    for (int64_t k = 0; k < 20; k++)
        for (size_t rank = 0; rank < 2; rank++)
            for (int half = 0; half < 2; half++) {
                /* Fused in another order on the other rank. */
                bool first = (half == 0) == (rank == 0);

                add_call(&made, rank, k * 2 + (first ? 0 : 1), -1, "NCCL_ALLREDUCE", 64, k * 1000,
                         k * 1000 + 500);
                add_tensor(&made, rank, first ? (rank ? "b" : "a") : (rank ? "d" : "c"));
                add_tensor(&made, rank, first ? (rank ? "a" : "b") : (rank ? "c" : "d"));
            }
    trace = match(&made);
    check_buffers(trace, 40, 0);
}

static void
test_unplaced(void)
{
    g_autoptr(LsTrace) trace = NULL;
    Made made = make_ranks(3);

    made.processes[2]->rank.clock_method = LS_CLOCK_NONE;
    made.processes[2]->rank.clock_uncertainty_ns = LS_TIME_NONE;
    for (int64_t k = 0; k < 10; k++)
        for (size_t rank = 0; rank < 3; rank++)
            add_call(&made, rank, k, -1, "NCCL_ALLREDUCE", 64, k * 1000, k * 1000 + 500);
    trace = match(&made);
    check_buffers(trace, 10, 10);
}

static void
test_nothing(void)
{
    Made made = make_ranks(1);
    g_autoptr(LsTrace) trace = match(&made);

    check_buffers(trace, 0, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/match/numbers-need-no-clock", test_numbered);
    g_test_add_func("/merge/match/communicators-count-for-themselves", test_communicators);
    g_test_add_func("/merge/match/restart-begins-again", test_restart);
    g_test_add_func("/merge/match/size-that-differs-is-found", test_sizes);
    g_test_add_func("/merge/match/unnumbered-by-time-not-order", test_unnumbered);
    g_test_add_func("/merge/match/tensors-tell-apart", test_tensors_tell_apart);
    g_test_add_func("/merge/match/unplaced-ranks-stay-alone", test_unplaced);
    g_test_add_func("/merge/match/no-calls", test_nothing);
    return g_test_run();
}
