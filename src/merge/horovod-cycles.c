/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-cycles.c: rounds of Horovod's control, from the outside (facts: Horovod B6). With
 * the response cache a cycle is one allreduce AND, an allreduce OR right after it where an entry
 * was invalid, and gather, gatherv, broadcast, broadcast where some rank had something uncached;
 * without it each cycle is those four. All on one thread and one communicator, the same on all
 * ranks, so the n-th cycle of a rank is the n-th of all. What moves bytes between one cycle and the
 * next executes what was agreed.
 */
#include "merge/horovod-private.h"

#include <string.h>

/* A list without requests or responses is 25 bytes long, 29 with the word that ends the job
 * (measured); one tensor makes it longer than 100. */
#define EMPTY_LIST_MAX 32
#define CALLS_MAX      6 /* of a cycle */

typedef struct Round {
    uint32_t calls[CALLS_MAX]; /* rows */
    size_t n;
    bool bits; /* it began with the AND */
    bool invalid;
    size_t wanted; /* of the four: how many have come */
} Round;

typedef struct Finder {
    LsProcess *process;
    uint8_t *taken;
    Round round;
    uint32_t thread, communicator;
    int64_t number;
    size_t invalid;
} Finder;

static const char *const four[] = {"MPI_Gather", "MPI_Gatherv", "MPI_Bcast", "MPI_Bcast"};

static const LsMpiCall *
get_call(const LsProcess *process, uint32_t row)
{
    return &g_array_index(process->mpi_calls, LsMpiCall, row);
}

static bool
is_named(const Finder *finder, const LsMpiCall *call, const char *name)
{
    return strcmp(ls_strings_get(finder->process->strings, call->name), name) == 0;
}

/* Gather and broadcast count all others at the root, 1 elsewhere; an allreduce 1 each way. */
static void
add_message(const Finder *finder, const LsMpiCall *call)
{
    LsProcess *process = finder->process;
    int64_t others = MAX(call->ranks - 1, 0), bytes = MAX(call->bytes, 0);
    bool root = call->rank >= 0 && call->rank == call->peer;
    bool bcast = is_named(finder, call, "MPI_Bcast");
    LsMessage message = {
        .cycle = finder->number, .start_ns = call->start_ns, .end_ns = call->end_ns};
    const char *name = "gather";

    if (call->operation == LS_OPERATION_ALLREDUCE) {
        name = call->reduction == LS_MPI_REDUCTION_BOR ? "allreduce or" : "allreduce";
        message.messages_in = message.messages_out = 1;
        message.bytes_in = message.bytes_out = bytes;
    } else if (bcast) {
        name = "bcast";
        message.messages_out = root ? others : 0;
        message.messages_in = root ? 0 : 1;
        message.bytes_out = !root                                  ? 0
                            : bytes > LS_AMOUNT_MAX / (others + 1) ? LS_AMOUNT_MAX
                                                                   : others * bytes;
        message.bytes_in = root ? 0 : bytes;
    } else {
        name = is_named(finder, call, "MPI_Gatherv") ? "gatherv" : "gather";
        message.messages_in = root ? others : 0;
        message.messages_out = root ? 0 : 1;
        message.bytes_out = root ? 0 : bytes;
    }
    message.name = ls_strings_add(process->strings, name);
    ls_rows_add(process->messages, &message);
}

/* The list of this rank's requests and the one of responses, as far as their length tells. */
static bool
is_empty(const Finder *finder, const Round *round)
{
    bool empty = true;

    for (size_t i = 0; i < round->n; i++) {
        const LsMpiCall *call = get_call(finder->process, round->calls[i]);
        bool list = is_named(finder, call, "MPI_Gatherv") || is_named(finder, call, "MPI_Bcast");

        empty = empty && (!list || call->bytes <= EMPTY_LIST_MAX);
    }
    return empty;
}

static void
end_round(Finder *finder)
{
    Round *round = &finder->round;
    LsProcess *process = finder->process;
    uint32_t row = process->cycles->len;
    LsTrackBuilder *track;
    LsCycle cycle = {.number = finder->number,
                     .path = LS_PATH_SLOW,
                     .drain_ns = LS_TIME_NONE,
                     .parse_ns = LS_TIME_NONE,
                     .build_ns = LS_TIME_NONE};

    if (round->n == 0 || (round->wanted > 0 && round->wanted < G_N_ELEMENTS(four))) {
        *round = (Round){.n = 0}; /* not whole: these calls are the program's, or the end of it */
        return;
    }
    cycle.control = ls_strings_add(process->strings, round->bits ? "bitvector" : "coordinator");
    if (round->wanted == 0 || (!round->bits && is_empty(finder, round)))
        cycle.path = LS_PATH_IDLE;
    cycle.start_ns = get_call(process, round->calls[0])->start_ns;
    cycle.end_ns = get_call(process, round->calls[round->n - 1])->end_ns;
    track = ls_process_get_track(process, LS_TRACK_CYCLES, "cycles", "cycle", 0);
    ls_track_builder_add(track, cycle.start_ns, cycle.end_ns, cycle.control, row);
    for (size_t i = 0; i < round->n; i++) {
        const LsMpiCall *call = get_call(process, round->calls[i]);

        finder->taken[round->calls[i]] = 1;
        cycle.exchange_ns += call->end_ns - call->start_ns;
        ls_track_builder_add(track, call->start_ns, call->end_ns, call->name, row);
        add_message(finder, call);
    }
    finder->invalid += round->invalid;
    finder->number++;
    ls_rows_add(process->cycles, &cycle);
    *round = (Round){.n = 0};
}

static void
take(Finder *finder, uint32_t row)
{
    finder->round.calls[finder->round.n++] = row;
}

/* One call of the control's thread, in order. */
static void
step(Finder *finder, uint32_t row)
{
    Round *round = &finder->round;
    const LsMpiCall *call = get_call(finder->process, row);
    bool allreduce = call->operation == LS_OPERATION_ALLREDUCE;

    if (round->wanted > 0 && round->wanted < G_N_ELEMENTS(four) &&
        is_named(finder, call, four[round->wanted])) {
        take(finder, row);
        if (++round->wanted == G_N_ELEMENTS(four))
            end_round(finder);
        return;
    }
    if (allreduce && call->reduction == LS_MPI_REDUCTION_BOR && round->n == 1 && round->bits) {
        take(finder, row);
        round->invalid = true;
    } else if (is_named(finder, call, four[0])) {
        if (round->wanted > 0)
            end_round(finder);
        take(finder, row);
        round->wanted = 1;
    } else {
        end_round(finder);
        if (allreduce && call->reduction == LS_MPI_REDUCTION_BAND) {
            take(finder, row);
            round->bits = true;
        }
    }
}

/* Where the control is: of the first AND, or the first gather with its three followers. */
static bool
find_place(Finder *finder)
{
    const GArray *calls = finder->process->mpi_calls;

    for (uint32_t i = 0; i < calls->len; i++) {
        const LsMpiCall *call = get_call(finder->process, i);
        size_t n = 1;
        bool bits =
            call->operation == LS_OPERATION_ALLREDUCE && call->reduction == LS_MPI_REDUCTION_BAND;

        for (uint32_t k = i + 1; !bits && n < G_N_ELEMENTS(four) && k < calls->len; k++) {
            const LsMpiCall *next = get_call(finder->process, k);

            if (next->thread != call->thread || next->communicator != call->communicator)
                continue;
            if (!is_named(finder, next, four[n++]))
                n = SIZE_MAX / 2;
        }
        if (!bits && (!is_named(finder, call, four[0]) || n != G_N_ELEMENTS(four)))
            continue;
        finder->thread = call->thread;
        finder->communicator = call->communicator;
        return true;
    }
    return false;
}

static int
compare_starts(const void *a, const void *b)
{
    const LsMpiCall *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

bool
ls_horovod_find_cycles(LsProcess *process, uint8_t *taken)
{
    Finder finder = {.process = process, .taken = taken};

    g_array_sort(process->mpi_calls, compare_starts);
    if (process->cycles->len > 0 || !find_place(&finder))
        return false;
    for (uint32_t i = 0; i < process->mpi_calls->len; i++) {
        const LsMpiCall *call = get_call(process, i);

        if (call->thread == finder.thread && call->communicator == finder.communicator)
            step(&finder, i);
    }
    end_round(&finder);
    if (finder.invalid > 0)
        ls_process_add_finding(process, LS_NOTE, -1,
                               "In %zu cycles some rank found an entry of the response cache "
                               "invalid (a tensor's shape or type had changed): they took an "
                               "allreduce OR more and the slow path.",
                               finder.invalid);
    return process->cycles->len > 0;
}
