/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi.c: liblockstep-mpi.so, preloaded in front of a program's calls of MPI.
 *
 * Each call of mpi-calls.def has an entry here that passes its arguments on, as they came, to the
 * library's PMPI_ name, and afterwards, if the call succeeded and the family of the library is
 * known, records it. Nothing is linked to: the real calls are looked up when they are first needed.
 * An unknown library, a program without a recorder, a call within a call: passed on, nothing else.
 */
#include "tracer/mpi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "capture/compat.h"
#include "capture/recorder.h"
#include "tracer/settings.h"

LS_BIND_OLD(dlopen);
LS_BIND_OLD(dlsym);

#define LS_MPI_API __attribute__((visibility("default")))
#define NOT_THERE  16 /* MPI_ERR_OTHER in either family; only where MPI itself lacks the call */

static const LsMpiCallTrait traits[LS_MPI_N_CALLS] = {
#define LS_MPI_CALL(name, n, operation, bytes, reduction, peer, communicator, count, type, count2, \
                    type2)                                                                         \
    {"MPI_" #name,   LS_OPERATION_##operation,                                                     \
     LS_MPI_##bytes, reduction,                                                                    \
     peer,           communicator,                                                                 \
     count,          type,                                                                         \
     count2,         type2},
#include "tracer/mpi-calls.def"
#undef LS_MPI_CALL
};

/* -- The library below -- */

void *
ls_mpi_find(const char *name)
{
    static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12",
                                            "libmpi.so.20", "libmpi.so.80", "libmpi.so"};
    /* First where the program itself looks: it may hold the library's data as its own copy. */
    void *found = dlsym(RTLD_DEFAULT, name);

    if (found == NULL)
        found = dlsym(RTLD_NEXT, name);
    /* Loaded where neither looks: a plug-in's dependency. It is there; nothing is loaded. */
    for (size_t i = 0; found == NULL && i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

        if (library != NULL)
            found = dlsym(library, name);
    }
    return found;
}

/* The real call, NULL if there is none. */
static void *
find_real(_Atomic(void *) *slot, const char *name)
{
    void *real = atomic_load_explicit(slot, memory_order_acquire);
    char profiled[64];

    if (real != NULL)
        return real;
    snprintf(profiled, sizeof profiled, "P%s", name);
    real = dlsym(RTLD_NEXT, profiled);
    if (real == NULL)
        real = ls_mpi_find(profiled);
    if (real == NULL) /* a library without a profiling interface; RTLD_NEXT is not us */
        real = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(slot, real, memory_order_release);
    return real;
}

/* -- The recorder -- */

static _Atomic(const LsMpiFamily *) known; /* NULL: not recording */
static atomic_int state;
enum { CLOSED, OPENING, OPENED };

static const LsMpiFamily *
get_family(void)
{
    return atomic_load_explicit(&known, memory_order_acquire);
}

static void
tell_rank(const LsMpiFamily *family)
{
    LsMpiCommunicator world;

    /* A world of one is each process for itself: another launcher knows better. */
    if (ls_mpi_communicator_get(family, family->world(), &world) && world.ranks > 1)
        ls_recorder_set_rank(world.rank, world.ranks, -1);
}

static void
open_recorder(void)
{
    const LsMpiFamily *family = ls_mpi_openmpi.open() ? &ls_mpi_openmpi
                                : ls_mpi_mpich.open() ? &ls_mpi_mpich
                                                      : NULL;
    LsTracerSettings settings;
    const char *bad;

    ls_tracer_settings_load(&settings, &bad);
    if (settings.mpi == 0 || ls_recorder_open(NULL) != LS_OK)
        return;
    ls_recorder_set_info("mpi.family", family != NULL ? family->name : "unknown");
    if (settings.horovod != 0)
        ls_recorder_set_info("horovod", settings.horovod == 2 ? "ranges" : "timeline");
    if (family == NULL) {
        ls_recorder_notice(0, "The MPI library is neither of Open MPI's kind nor of MPICH's: its "
                              "calls are not recorded.");
        ls_recorder_close();
        return;
    }
    tell_rank(family);
    atomic_store_explicit(&known, family, memory_order_release);
}

/* With MPI initialised, once. Calls of other threads go by meanwhile. */
static void
open_once(void)
{
    int expected = CLOSED;

    if (atomic_load_explicit(&state, memory_order_relaxed) != CLOSED ||
        !atomic_compare_exchange_strong(&state, &expected, OPENING))
        return;
    open_recorder();
    atomic_store_explicit(&state, OPENED, memory_order_release);
}

/* What MPI does in the end is not the program's. */
static void
close_recorder(void)
{
    if (atomic_exchange(&known, NULL) != NULL)
        ls_recorder_close();
}

static _Thread_local int depth; /* calls that MPI makes of itself are not the program's */

/* Before a call: its start, or 0 where it is not recorded. */
static int64_t
begin(void)
{
    if (depth++ > 0)
        return 0;
    open_once();
    return get_family() != NULL && ls_recorder_active() ? ls_recorder_now() : 0;
}

static void
end(int call, int64_t start_ns, int result, const LsWord *arguments)
{
    static _Atomic(uint32_t) names[LS_MPI_N_CALLS];
    const LsMpiCallTrait *trait = &traits[call];
    const LsMpiFamily *family = get_family();
    LsMpiCommunicator communicator = {.number = 0, .rank = -1};
    LsRecord record = {.kind = LS_RECORD_MPI_CALL, .start_ns = start_ns};
    int peer = -1;

    depth--;
    if (start_ns == 0 || result != 0 || family == NULL)
        return;
    record.end_ns = ls_recorder_now();
    record.name = atomic_load_explicit(&names[call], memory_order_relaxed);
    if (record.name == 0) {
        record.name = ls_recorder_name(trait->name);
        atomic_store_explicit(&names[call], record.name, memory_order_relaxed);
    }
    if (trait->communicator >= 0)
        ls_mpi_communicator_get(family, arguments[trait->communicator], &communicator);
    if (trait->peer >= 0)
        peer = (int)arguments[trait->peer];
    record.args[0] = communicator.number;
    record.args[1] = ls_mpi_count_bytes(family, trait, &communicator, arguments);
    record.args[2] = peer >= 0 ? peer : -1; /* no process, any, root of another group */
    record.args[3] = trait->operation;
    if (trait->reduction >= 0)
        record.args[3] |= (int64_t)family->reduction(arguments[trait->reduction]) << 16;
    ls_recorder_write(&record);
}

/* -- The entries -- */

#define P0  void
#define P1  LsWord a0
#define P2  P1, LsWord a1
#define P3  P2, LsWord a2
#define P4  P3, LsWord a3
#define P5  P4, LsWord a4
#define P6  P5, LsWord a5
#define P7  P6, LsWord a6
#define P8  P7, LsWord a7
#define P9  P8, LsWord a8
#define P10 P9, LsWord a9
#define P11 P10, LsWord a10
#define P12 P11, LsWord a11

#define A0
#define A1  a0
#define A2  A1, a1
#define A3  A2, a2
#define A4  A3, a3
#define A5  A4, a4
#define A6  A5, a5
#define A7  A6, a6
#define A8  A7, a7
#define A9  A8, a8
#define A10 A9, a9
#define A11 A10, a10
#define A12 A11, a11

#define LS_MPI_CALL(name, n, ...)                                                                  \
    LS_MPI_API int MPI_##name(P##n);                                                               \
    int MPI_##name(P##n)                                                                           \
    {                                                                                              \
        static _Atomic(void *) slot;                                                               \
        int (*real)(P##n);                                                                         \
        LsWord arguments[] = {A##n};                                                               \
        int64_t start_ns;                                                                          \
        int result;                                                                                \
        *(void **)(void *)&real = find_real(&slot, "MPI_" #name);                                  \
        if (real == NULL)                                                                          \
            return NOT_THERE;                                                                      \
        start_ns = begin();                                                                        \
        result = real(A##n);                                                                       \
        end(LS_MPI_##name##_CALL, start_ns, result, arguments);                                    \
        return result;                                                                             \
    }
#include "tracer/mpi-calls.def"
#undef LS_MPI_CALL

/* Those that are not recorded themselves. */
#define LS_MPI_PASS(name, n, before, after)                                                        \
    LS_MPI_API int MPI_##name(P##n);                                                               \
    int MPI_##name(P##n)                                                                           \
    {                                                                                              \
        static _Atomic(void *) slot;                                                               \
        int (*real)(P##n);                                                                         \
        int result;                                                                                \
        *(void **)(void *)&real = find_real(&slot, "MPI_" #name);                                  \
        if (real == NULL)                                                                          \
            return NOT_THERE;                                                                      \
        before;                                                                                    \
        result = real(A##n);                                                                       \
        after;                                                                                     \
        return result;                                                                             \
    }

/* The place of a handle that the call is about to clear. */
static void
forget(LsWord place)
{
    const LsMpiFamily *family = get_family();

    if (place != 0 && family != NULL)
        ls_mpi_communicator_forget(family->narrow ? *(const int *)place : *(const LsWord *)place);
}

static void
finish(int result)
{
    if (result == 0)
        open_once();
}

LS_MPI_PASS(Init, 2, (void)0, finish(result))
LS_MPI_PASS(Init_thread, 4, (void)0, finish(result))
LS_MPI_PASS(Comm_free, 1, forget(a0), (void)0)
LS_MPI_PASS(Comm_disconnect, 1, forget(a0), (void)0)
LS_MPI_PASS(Finalize, 0, close_recorder(), (void)0)
