/* SPDX-License-Identifier: Apache-2.0
 *
 * The hot path: one comparison, one copy of a cache line, one store. Everything else (no ring yet,
 * ring half full, recorder closed, forked child) is one branch away.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/compat.h"
#include "capture/keeper.h"
#include "capture/own.h"
#include "capture/recorder-private.h"
#include "capture/visit.h"

LS_BIND_OLD(pthread_key_create);
LS_BIND_OLD(pthread_setspecific);

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define LARGE_UNITS       16
#define NO_LIFE           UINT32_MAX
#define MEASURE_BATCHES   3

/* What a thread knows of its ring. */
typedef struct LsThread {
    uint32_t life;  /* of the recorder that gave the ring; NO_LIFE: none */
    uint32_t units; /* 0: as usual */
    LsRing *ring;
    LsRecord *records;
    char name[64];
} LsThread;
static __thread LsThread thread = {.life = NO_LIFE};

static pthread_key_t thread_key;
static bool has_thread_key;

/* The thread ends: its ring may be drained and given to another. */
static void
leave(void *user)
{
    LsThread *self = user;
    if (self->life == atomic_load(&ls_gate->opening))
        atomic_store_explicit(&self->ring->state, LS_RING_ENDED, memory_order_release);
    self->life = NO_LIFE;
    ls_keeper_look();
}

void
ls_thread_watch(void)
{
    if (has_thread_key)
        pthread_setspecific(thread_key, &thread);
}

void
ls_thread_open(void)
{
    if (!has_thread_key)
        has_thread_key = pthread_key_create(&thread_key, leave) == 0;
}

static void
name_ring(const LsThread *self)
{
    uint32_t name = ls_names_intern(&ls_recorder.names, self->name);
    atomic_store_explicit(&self->ring->name, name, memory_order_release);
}

/* A ring for this thread; false: none to be had. */
static bool
take_ring(LsThread *self, uint32_t life)
{
    LsArea *area = &ls_recorder.area;
    uint32_t top = atomic_load_explicit(&area->header->units_top, memory_order_relaxed);
    uint32_t units = self->units == 0 ? area->ring_units : self->units;
    uint32_t free_units = atomic_load(&area->free_units);
    bool is_exhausted = top + units > area->units;
    /* Rings of threads that have ended are free once they are drained: now rather than soon. */
    if (is_exhausted && free_units < area->units / 4)
        ls_drain_wake(&ls_recorder.drain);
    if (is_exhausted && free_units < units) {
        atomic_fetch_add(&area->header->ringless_lost, 1);
        return false;
    }
    pthread_mutex_lock(&ls_recorder.lock);
    LsRing *ring = NULL;
    if (atomic_load(&ls_gate->opening) == life)
        ring = ls_area_take_ring(area, units, (uint32_t)syscall(SYS_gettid));
    if (ring != NULL) {
        self->ring = ring;
        self->records = ls_area_records(area->header, ring);
        self->life = life;
    }
    pthread_mutex_unlock(&ls_recorder.lock);
    if (ring == NULL) {
        if (atomic_load(&ls_gate->opening) == life)
            atomic_fetch_add(&area->header->ringless_lost, 1);
        return false;
    }
    if (self->name[0] != '\0')
        name_ring(self);
    ls_thread_watch();
    return true;
}

void
ls_thread_lose(void)
{
    if (ls_recorder_active())
        atomic_fetch_add(&ls_recorder.area.header->ringless_lost, 1);
    else if (!ls_recorder_is_open())
        atomic_fetch_add(&ls_recorder.lost_early, 1);
}

__attribute__((noinline)) static bool
find_ring(LsThread *self)
{
    if (ls_whereabouts.visits > 0) {
        ls_thread_lose();
        return false;
    }
    LsVisit visit = ls_visit_begin();
    uint32_t life = atomic_load_explicit(&ls_gate->life, memory_order_acquire);
    bool is_found = life != 0 && take_ring(self, life);
    ls_visit_end(visit);
    return is_found;
}

/* The ring is half full, or full. false: no room. */
__attribute__((noinline)) static bool
look_at_reader(LsRing *ring, uint64_t write, const LsRecord *record)
{
    uint64_t size = ring->mask + UINT64_C(1);
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);
    if (write - read >= size / 2) {
        int error = errno;
        ls_drain_wake(&ls_recorder.drain);
        errno = error;
    }
    if (write - read < size) {
        uint64_t half = read + size / 2, full = read + size;
        /* One wake-up per half ring: next at the full mark, then at each half beyond what is read.
         */
        ring->look_at = write < half ? half : full;
        return true;
    }
    uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
    if (dropped == atomic_load_explicit(&ring->dropped_told, memory_order_relaxed))
        atomic_store_explicit(&ring->dropped_first_ns, record->start_ns, memory_order_relaxed);
    atomic_store_explicit(&ring->dropped_last_ns, record->end_ns, memory_order_relaxed);
    atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_release);
    return false;
}

/* Field by field, as the caller has just stored them: a load wider than a store before it waits
 * until that has left the store buffer, behind whatever line of the ring another core still holds.
 * Volatile, or the compiler makes wide loads of it. */
static inline void
copy(LsRecord *to, const volatile LsRecord *from)
{
    to->kind = from->kind;
    to->flags = from->flags;
    to->name = from->name;
    to->start_ns = from->start_ns;
    to->end_ns = from->end_ns;
    for (int i = 0; i < LS_RECORD_ARGS_MAX; i++)
        to->args[i] = from->args[i];
}

static inline void
put(const LsThread *self, const LsRecord *record)
{
    LsRing *ring = self->ring;
    uint64_t write = atomic_load_explicit(&ring->write, memory_order_relaxed);
    if (!LIKELY(write != ring->look_at) && !look_at_reader(ring, write, record))
        return;
    copy(&self->records[write & ring->mask], record);
    atomic_store_explicit(&ring->write, write + 1, memory_order_release);
}

void
ls_recorder_write(const LsRecord *record)
{
    LsThread *self = ls_own(&thread);
    if (!LIKELY(self->life == atomic_load_explicit(&ls_gate->life, memory_order_relaxed)) &&
        !find_ring(self))
        return;
    put(self, record);
}

void
ls_recorder_write_late(const LsRecord *record, int64_t from_ns)
{
    uint32_t life = atomic_load_explicit(&ls_gate->opening, memory_order_acquire);
    if (life == 0)
        return;
    LsVisit visit = ls_visit_begin();
    int was_open = ls_window_was_open(&ls_recorder.window, from_ns, record->end_ns);
    if (was_open < 0)
        atomic_fetch_add(&ls_recorder.area.header->ringless_lost, 1);
    if (was_open > 0 && (thread.life == life || take_ring(&thread, life)))
        put(&thread, record);
    ls_visit_end(visit);
}

/* A span as an instrumented program has it: two readings of the clock, and the record. */
__attribute__((noinline)) static void
put_span(const LsThread *self, LsRecord *record)
{
    record->start_ns = ls_clock_now();
    record->end_ns = ls_clock_now();
    put(self, record);
}

static int64_t
read_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
ls_thread_measure(void)
{
    LsRing ring = {.look_at = UINT64_MAX, .mask = LS_AREA_UNIT / sizeof(LsRecord) - 1};
    LsRecord *records = malloc(LS_AREA_UNIT), record = {.kind = LS_RECORD_PHASE};
    const LsThread self = {.ring = &ring, .records = records};
    int64_t best = INT64_MAX;
    if (records == NULL)
        return -1;
    for (int batch = 0; batch < MEASURE_BATCHES; batch++) {
        int64_t start = read_cpu();
        for (uint32_t i = 0; i <= ring.mask; i++)
            put_span(&self, &record);
        int64_t spent = read_cpu() - start;
        best = spent < best ? spent : best;
    }
    free(records);
    return (best + ring.mask / 2) / (ring.mask + 1);
}

bool
ls_recorder_active(void)
{
    return atomic_load_explicit(&ls_gate->life, memory_order_relaxed) != 0;
}

uint32_t
ls_recorder_life(void)
{
    return atomic_load_explicit(&ls_gate->opening, memory_order_relaxed);
}

void
ls_recorder_expect_bursts(void)
{
    thread.units = LARGE_UNITS;
}

void
ls_recorder_set_thread_name(const char *name)
{
    snprintf(thread.name, sizeof thread.name, "%s", name);
    if (thread.life == atomic_load(&ls_gate->opening))
        name_ring(&thread);
}
