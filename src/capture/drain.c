/* SPDX-License-Identifier: Apache-2.0
 *
 * A round every 20 ms, or when a ring is half full. The file is made at the first round at which
 * the rank is known, after half a second without one: a program may tell its rank a moment after it
 * opens the recorder.
 */
#include "capture/drain.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "capture/compat.h"
#include "capture/freeze.h"
#include "capture/futex.h"
#include "capture/manifest.h"
#include "capture/process.h"
#include "capture/recover.h"
#include "capture/words.h"

LS_BIND_OLD(pthread_attr_setstacksize);
LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_join);

#define SECOND          INT64_C(1000000000)
#define RANK_WAIT_NS    (SECOND / 2)
#define ABANDONED_EVERY 5 /* rounds */
#define WATCH_NS        (SECOND / 10)
#define SPREAD_NS       (3 * WATCH_NS) /* until all ranks have heard of a freeze */
#define DESCRIPTORS_MAX 65536
#define STACK_BYTES     (256u << 10)

static void
write_clock(LsDrain *drain)
{
    LsClockReading reading;
    ls_clock_pair(&reading);
    LsRecord record = {.kind = LS_RECORD_CLOCK,
                       .start_ns = reading.monotonic_ns,
                       .end_ns = reading.monotonic_ns,
                       .args = {reading.realtime_ns, reading.uncertainty_ns}};
    drain->word(&record);
    drain->clock_ns = reading.monotonic_ns;
}

/* What was under way when records ceased to be kept ended there, for all that is known. */
static void
write_windows(LsDrain *drain)
{
    LsWindowSpan span;
    while (ls_window_take_cut(drain->window, &span)) {
        LsRecord record = {
            .kind = LS_RECORD_WINDOW, .start_ns = span.start_ns, .end_ns = span.end_ns};
        drain->word(&record);
    }
}

static void
fail(LsDrain *drain, const char *what)
{
    char text[LS_AREA_PATH_MAX + 256];
    snprintf(text, sizeof text, "cannot %s in the run folder %s (%s); nothing is recorded", what,
             drain->area->header->folder, strerror(drain->writer.error));
    drain->has_failed = true;
    drain->off();
    drain->notice(1, text);
}

static bool
make_file(LsDrain *drain, int64_t now, bool is_urgent)
{
    LsAreaHeader *header = drain->area->header;
    if (drain->has_file || drain->has_failed)
        return drain->has_file;
    if (atomic_load(&header->rank) == LS_RANK_UNKNOWN && !is_urgent &&
        now - drain->started_ns < RANK_WAIT_NS)
        return false;
    if (ls_writer_create(&drain->writer, header, drain->settings->keep_free) != LS_OK) {
        fail(drain, "make a trace file");
        return false;
    }
    LsSink sink = ls_writer_sink(&drain->writer);
    ls_pump_open(&drain->pump, header, drain->area, &sink, drain->staging);
    drain->has_file = true;
    char text[16];
    snprintf(text, sizeof text, "%u", header->incarnation);
    ls_names_add_info(drain->names, "incarnation", text);
    return true;
}

/* Rank 0 describes the run; where no rank is known, whoever comes first. */
static void
write_manifest(LsDrain *drain)
{
    const LsAreaHeader *header = drain->area->header;
    uint32_t rank = atomic_load(&header->rank);
    if (drain->has_manifest || (rank != 0 && rank != LS_RANK_UNKNOWN))
        return;
    drain->has_manifest = true;
    ls_manifest_write(header, drain->settings, drain->identity);
}

static void
say_full(LsDrain *drain, bool is_full)
{
    char text[LS_AREA_PATH_MAX + 128];
    int error = drain->writer.error;
    if (is_full && !drain->was_full) {
        if (error == 0 || error == ENOSPC)
            snprintf(text, sizeof text,
                     "the disk of %s is nearly full; recording waits until there is room",
                     drain->area->header->folder);
        else
            snprintf(text, sizeof text, "cannot write into %s (%s); recording waits",
                     drain->area->header->folder, strerror(error));
        drain->notice(1, text);
    }
    drain->was_full = is_full;
}

/* A flight recorder looks for the word to stop, and says it where a step here was slow. Frozen, it
 * keeps what it has: the clock, written on, would take the place of the oldest records. */
static void
watch_freeze(LsDrain *drain, int64_t now)
{
    const char *folder = drain->area->header->folder;
    char text[96];
    int64_t stop;
    if (!drain->window->is_flight || drain->is_frozen || now - drain->watched_ns < WATCH_NS)
        return;
    drain->watched_ns = now;
    int64_t slow = ls_window_take_trigger(drain->window);
    if (slow != LS_STEP_UNKNOWN) {
        snprintf(text, sizeof text, "step %lld was slow: the flight recorders stop",
                 (long long)slow);
        drain->notice(0, text);
    }
    if (slow != LS_STEP_UNKNOWN || ls_freeze_is_asked(folder))
        ls_freeze_answer(folder, ls_window_find_stop(drain->window, SPREAD_NS));
    if (ls_freeze_read(folder, &stop))
        ls_window_freeze(drain->window, stop);
    drain->is_frozen = ls_window_is_frozen(drain->window);
    if (!drain->is_frozen)
        return;
    snprintf(text, sizeof text, "%lld", (long long)stop);
    ls_names_add_info(drain->names, "flight.frozen_at_step", text);
}

/* One round. is_urgent: the file is made though the rank is not known. */
static void
do_round(LsDrain *drain, bool is_urgent)
{
    int64_t now = ls_clock_now();
    bool is_first = !drain->has_file;
    ls_window_tick(drain->window, now);
    watch_freeze(drain, now);
    atomic_store(&drain->area->header->alive_ns, now);
    if (!make_file(drain, now, is_urgent))
        return;
    if ((now - drain->clock_ns >= SECOND && !drain->is_frozen) || is_first)
        write_clock(drain);
    write_windows(drain);
    bool is_full = !ls_writer_has_space(&drain->writer);
    if (!is_full && ls_pump_pass(&drain->pump) != LS_OK)
        is_full = true;
    if (is_first && !is_full)
        ls_pump_reserve(&drain->pump);
    if (is_full)
        ls_pump_discard(&drain->pump);
    say_full(drain, is_full);
    if (is_full || drain->pump.has_reserve_text)
        ls_pump_tell_reserve(&drain->pump);
    write_manifest(drain);
}

static void
add_ns(LsDrain *drain, const char *key, int64_t ns)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)ns);
    if (ns >= 0)
        ls_names_add_info(drain->names, key, text);
}

/* What the recording costs: a record where it is made, measured here where it delays nobody; and,
 * at the end, all that this thread has taken from the host's processors. */
static void
add_cpu_time(LsDrain *drain)
{
    struct timespec spent;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) == 0)
        add_ns(drain, "recorder.drain_ns", spent.tv_sec * SECOND + spent.tv_nsec);
}

static void
close_file(LsDrain *drain)
{
    do_round(drain, true);
    if (!drain->has_file)
        return;
    add_cpu_time(drain);
    ls_names_add_info(drain->names, "recorder.end", "closed");
    if (ls_pump_pass(&drain->pump) == LS_OK)
        ls_pump_repeat(&drain->pump);
    /* The last pass may have told what the reserve had told before. */
    if (drain->pump.has_reserve_text)
        ls_pump_tell_reserve(&drain->pump);
    ls_writer_close(&drain->writer);
}

static void
wait(LsDrain *drain)
{
    int64_t period = drain->settings->drain_ms < 1 ? 1 : drain->settings->drain_ms;
    atomic_store(&drain->is_waiting, 1);
    if (atomic_load(&drain->wake) == 0 && atomic_load(&drain->stop) == 0)
        ls_futex_wait(&drain->wake, 0, period * 1000000);
    atomic_store(&drain->is_waiting, 0);
}

/* A table of descriptors of its own: what this thread opens takes no number that the host counts on
 * (a host that has closed 0 expects its next file there), and what the host closes stays open here.
 * The copies of the host's are closed at once, or the other ends of its pipes would not see their
 * end. Where a container forbids it, the writer keeps out of the way (writer.c). */
static void
leave_descriptors(void)
{
    struct rlimit limit;
    if (unshare(CLONE_FILES) != 0)
        return;
    ls_words_use_private_descriptors();
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 0, ~0u, 0) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > DESCRIPTORS_MAX)
        limit.rlim_cur = DESCRIPTORS_MAX;
    for (int fd = 0; fd < (int)limit.rlim_cur; fd++)
        close(fd);
}

/* main may have left by pthread_exit: the process lives until its last thread ends, which must not
 * be ours. The others hand over what they have; then this one ends, or is ended by the keeper. */
static bool
is_alone(LsDrain *drain)
{
    int ours = atomic_load(drain->threads);
    if (!ls_process_is_abandoned(ours))
        return false;
    atomic_store(drain->is_abandoned, 1);
    ls_futex_wake(drain->is_abandoned);
    return ours == 1;
}

static void *
run(void *user)
{
    LsDrain *drain = user;
    atomic_fetch_add(drain->threads, 1);
    prctl(PR_SET_NAME, "lockstep drain"); /* of this thread, for who lists them */
    leave_descriptors();
    if (drain->area->header->folder[0] != '\0')
        ls_recover_folder(drain->area->header->folder, drain->area->path);
    add_ns(drain, "recorder.cost_ns", drain->measure());
    drain->started_ns = ls_clock_now();
    while (atomic_load(&drain->stop) == 0) {
        uint32_t asked = atomic_load(&drain->flush_asked);
        bool is_urgent = atomic_exchange(&drain->wake, 0) != 0;
        do_round(drain, is_urgent);
        if (asked != atomic_load(&drain->flush_done)) {
            atomic_store(&drain->flush_done, asked);
            ls_futex_wake(&drain->flush_done);
        }
        if (++drain->rounds % ABANDONED_EVERY == 0 && is_alone(drain))
            break;
        wait(drain);
    }
    close_file(drain);
    atomic_store(&drain->flush_done, atomic_load(&drain->flush_asked));
    ls_futex_wake(&drain->flush_done);
    atomic_fetch_sub(drain->threads, 1);
    atomic_store(&drain->is_running, 0);
    ls_futex_wake(&drain->is_running);
    return NULL;
}

/* With a small stack, since the usual one counts in a host whose address space is bounded; with the
 * usual one where the host's thread-local variables alone need more. */
static int
create_thread(LsDrain *drain)
{
    pthread_attr_t small;
    int error = pthread_attr_init(&small);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&small, STACK_BYTES);
    error = pthread_create(&drain->thread, &small, run, drain);
    pthread_attr_destroy(&small);
    return error == EINVAL ? pthread_create(&drain->thread, NULL, run, drain) : error;
}

LsStatus
ls_drain_start(LsDrain *drain)
{
    sigset_t all, before;
    drain->staging = malloc(LS_PUMP_STAGING);
    if (drain->staging == NULL)
        return LS_ERR_NO_MEMORY;
    drain->writer.fd = drain->writer.folder_fd = -1;
    atomic_store(&drain->is_running, 1);
    /* The host's signals are not ours to take. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int error = create_thread(drain);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return LS_OK;
    free(drain->staging);
    errno = error;
    return LS_ERR_SYSTEM;
}

void
ls_drain_wake(LsDrain *drain)
{
    atomic_store(&drain->wake, 1);
    if (atomic_load(&drain->is_waiting) != 0)
        ls_futex_wake(&drain->wake);
}

/* Waits until *word is `value` (or beyond it, for a count). */
static bool
wait_for(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns)
{
    int64_t end = ls_clock_now() + timeout_ns;
    for (;;) {
        uint32_t now = atomic_load(word);
        if ((int32_t)(now - value) >= 0 && (value != 0 || now == 0))
            return true;
        int64_t left = end - ls_clock_now();
        if (left <= 0)
            return false;
        ls_futex_wait(word, now, left);
    }
}

void
ls_drain_flush(LsDrain *drain, int64_t timeout_ns)
{
    uint32_t ticket = atomic_fetch_add(&drain->flush_asked, 1) + 1;
    ls_drain_wake(drain);
    wait_for(&drain->flush_done, ticket, timeout_ns);
}

bool
ls_drain_stop(LsDrain *drain, int64_t timeout_ns)
{
    atomic_store(&drain->stop, 1);
    ls_drain_wake(drain);
    if (!wait_for(&drain->is_running, 0, timeout_ns))
        return false;
    /* The last thread of a process runs its exit handlers, and it may be ours. */
    if (!pthread_equal(drain->thread, pthread_self()))
        pthread_join(drain->thread, NULL);
    free(drain->staging);
    return true;
}
