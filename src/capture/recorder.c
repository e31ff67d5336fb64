/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing the one recorder of a process, and what must happen when the process forks or
 * ends.
 */
#include "capture/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/clock.h"
#include "capture/compat.h"
#include "capture/process.h"
#include "capture/recorder-private.h"
#include "capture/recover.h"
#include "capture/visit.h"
#include "capture/writer.h"

#define SECOND          INT64_C(1000000000)
#define CLOSE_TIMEOUT   (10 * SECOND)
#define EXIT_TIMEOUT    (2 * SECOND)
#define EXIT_LOCK_TRIES 500 /* ms */
#define FLUSH_TIMEOUT   (10 * SECOND)
#define FILE_BLOCK_MIN  (64u << 10)

LS_BIND_OLD(pthread_mutex_trylock);

LsRecorder ls_recorder = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .word_lock = PTHREAD_MUTEX_INITIALIZER,
                          .mark_lock = PTHREAD_MUTEX_INITIALIZER,
                          .names = {.lock = PTHREAD_MUTEX_INITIALIZER},
                          .window = {.lock = PTHREAD_MUTEX_INITIALIZER}};
__thread LsWhereabouts ls_whereabouts;

/* -- Opening -- */

static void
turn_off(void)
{
    ls_window_close(&ls_recorder.window);
}

static void
describe_owner(LsAreaHeader *owner)
{
    const LsSettings *settings = &ls_recorder.settings;
    const LsIdentity *identity = &ls_recorder.identity;
    owner->pid = (uint32_t)getpid();
    owner->start_ticks = ls_process_start_ticks(owner->pid);
    owner->pid_namespace = ls_process_namespace();
    ls_clock_boot_id(owner->boot_id);
    memcpy(owner->host, identity->host, sizeof owner->host);
    owner->file_mode = settings->share != 0 ? 0666 : 0600;
    atomic_store(&owner->rank, identity->rank < 0 ? LS_RANK_UNKNOWN : (uint32_t)identity->rank);
    atomic_store(&owner->world, identity->world);
    atomic_store(&owner->local_rank, identity->local_rank);
    atomic_store(&owner->alive_ns, ls_clock_now());
    if (settings->max_size > 0) {
        uint64_t block = (uint64_t)settings->max_size / LS_AREA_BLOCKS & ~UINT64_C(4095);
        owner->block_bytes = block < FILE_BLOCK_MIN ? FILE_BLOCK_MIN : block;
        owner->max_bytes = owner->block_bytes * LS_AREA_BLOCKS;
    }
}

static void
add_number(const char *key, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    ls_names_add_info(&ls_recorder.names, key, text);
}

static void
add_command(void)
{
    char *command = malloc(LS_TEXT_MAX); /* a thread of the host may have little stack */
    size_t length = command == NULL ? 0 : ls_identity_command(command, LS_TEXT_MAX);
    for (size_t i = 0; i + 1 < length; i++) {
        if (command[i] == '\0')
            command[i] = ' ';
    }
    if (length > 0)
        ls_names_add_info(&ls_recorder.names, "command", command);
    free(command);
}

static void
add_rank(int rank, int world, int local_rank)
{
    if (rank >= 0)
        add_number("rank", rank);
    if (world >= 1)
        add_number("world", world);
    if (local_rank >= 0)
        add_number("local_rank", local_rank);
}

/* The facts at the head of every file. */
static void
add_facts(void)
{
    const LsIdentity *identity = &ls_recorder.identity;
    const LsSettings *settings = &ls_recorder.settings;
    const LsAreaHeader *header = ls_recorder.area.header;
    LsNames *names = &ls_recorder.names;
    struct utsname system;
    add_rank(identity->rank, identity->world, identity->local_rank);
    if (identity->rank_source[0] != '\0')
        ls_names_add_info(names, "rank.source", identity->rank_source);
    ls_names_add_info(names, "host", identity->host);
    add_number("pid", header->pid);
    ls_names_add_info(names, "boot_id",
                      settings->test_boot_id[0] != '\0' ? settings->test_boot_id : header->boot_id);
    if (identity->cpu[0] != '\0')
        ls_names_add_info(names, "cpu.model", identity->cpu);
    add_number("cpu.count", identity->cpus);
    if (uname(&system) == 0)
        ls_names_add_info(names, "kernel", system.release);
    ls_names_add_info(names, "lockstep", LOCKSTEP_VERSION);
    ls_names_add_info(names, "run.id", identity->run_id);
    add_command();
    if (settings->flight > 0)
        add_number("recorder.flight", (int64_t)settings->flight);
    if (ls_recorder.area.is_shared)
        ls_names_add_info(names, "recorder.rings", ls_recorder.area.path);
    if (ls_clock_double.on)
        ls_names_add_info(names, "clock.double", settings->test_clock);
}

static LsStatus
open_area(const char *folder)
{
    static LsAreaHeader owner; /* 4 KB: not on a host's stack */
    const LsSettings *settings = &ls_recorder.settings;
    int shared_error;
    memset(&owner, 0, sizeof owner);
    if (ls_writer_make_folder(folder, settings->share != 0) != LS_OK ||
        ls_writer_find_folder(folder, &owner) != LS_OK) {
        char text[LS_SETTING_TEXT_MAX + 128];
        snprintf(text, sizeof text,
                 "cannot record into the run folder %s (%s); nothing is recorded", folder,
                 strerror(errno));
        ls_words_notice(1, text);
        return LS_ERR_SYSTEM;
    }
    describe_owner(&owner);
    LsStatus status = ls_area_open(&ls_recorder.area, &owner, settings->shm_dir, settings->shm_size,
                                   settings->ring_size, &shared_error);
    if (status == LS_OK) {
        ls_names_open(&ls_recorder.names, &ls_recorder.area);
        ls_recorder.words = ls_area_take_ring(&ls_recorder.area, 1, 0);
    }
    if (ls_recorder.words == NULL) {
        ls_words_notice(1, "there is no memory to record into; nothing is recorded");
        return LS_ERR_NO_MEMORY;
    }
    add_facts();
    if (shared_error != 0)
        ls_names_add_info(&ls_recorder.names, "recorder.private", strerror(shared_error));
    return LS_OK;
}

static LsStatus
start_drain(void)
{
    LsDrain *drain = &ls_recorder.drain;
    memset(drain, 0, sizeof *drain);
    drain->area = &ls_recorder.area;
    drain->names = &ls_recorder.names;
    drain->settings = &ls_recorder.settings;
    drain->identity = &ls_recorder.identity;
    drain->word = ls_words_add;
    drain->notice = ls_words_notice;
    drain->off = turn_off;
    drain->measure = ls_thread_measure;
    drain->window = &ls_recorder.window;
    drain->threads = &ls_recorder.threads;
    drain->is_abandoned = &ls_recorder.is_abandoned;
    return ls_drain_start(drain);
}

/* What `lockstep record` had to say before this process was. */
static void
add_notes(void)
{
    for (const char *at = ls_recorder.settings.notes; *at != '\0';) {
        char text[LS_SETTING_TEXT_MAX];
        size_t length = strcspn(at, "\n");
        snprintf(text, sizeof text, "%.*s", (int)length, at);
        ls_words_notice(0, text);
        at += length + (at[length] == '\n');
    }
}

static LsStatus
open_locked(const char *folder)
{
    const char *bad;
    if (ls_recorder.is_stuck)
        return LS_ERR_OFF;
    ls_settings_load(&ls_recorder.settings, &bad);
    if (folder == NULL)
        folder = ls_recorder.settings.run;
    if (folder[0] == '\0')
        return LS_ERR_OFF;
    ls_identity_load(&ls_recorder.identity, &ls_recorder.settings);
    ls_thread_open();
    LsStatus status = open_area(folder);
    if (status != LS_OK)
        goto err_close_area;
    /* The thread may write words of its own at once. */
    ls_window_open(&ls_recorder.window, &ls_recorder.settings, ++ls_recorder.lives);
    status = start_drain();
    if (status != LS_OK) {
        ls_words_notice(1, "cannot start a thread for recording; nothing is recorded");
        goto err_turn_off;
    }
    if (bad != NULL) {
        char text[128];
        snprintf(text, sizeof text, "the value of %s makes no sense; its default is used", bad);
        ls_words_notice(1, text);
    }
    add_notes();
    atomic_fetch_add(&ls_recorder.area.header->ringless_lost,
                     atomic_exchange(&ls_recorder.lost_early, 0));
    return LS_OK;

err_turn_off:
    turn_off();
err_close_area:
    ls_names_close(&ls_recorder.names);
    ls_recorder.words = NULL;
    ls_area_close(&ls_recorder.area);
    return status;
}

/* A forked child starts afresh; its parent's state is only memory to it. */
static void
forget(void)
{
    ls_gate->life = ls_gate->opening = 0;
    ls_recorder.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ls_recorder.word_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ls_recorder.mark_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ls_recorder.names.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ls_recorder.window.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ls_recorder.window.is_open = false;
    atomic_store(&ls_recorder.window.has_steps, false);
    ls_recorder.names.area = NULL;
    ls_recorder.opens = 0;
    ls_recorder.is_stuck = false;
    atomic_store(&ls_recorder.threads, 0);
    atomic_store(&ls_recorder.is_abandoned, 0);
    atomic_store(&ls_recorder.has_keeper, false);
    ls_recorder.words = NULL;
    ls_recorder.area.header = NULL;
    ls_recorder.has_tried = true; /* marks of a child do not open a recorder of its own */
    ls_recorder.pid = getpid();
}

LsStatus
ls_recorder_open(const char *folder)
{
    LsStatus status = LS_OK;
    LsVisit visit = ls_visit_begin();
    if (ls_recorder.pid != getpid())
        forget();
    pthread_mutex_lock(&ls_recorder.lock);
    if (ls_recorder.opens == 0)
        status = open_locked(folder);
    if (status == LS_OK)
        ls_recorder.opens++;
    if (status == LS_OK)
        ls_thread_watch();
    pthread_mutex_unlock(&ls_recorder.lock);
    ls_visit_end(visit);
    return status;
}

void
ls_recorder_open_for_marks(void)
{
    if (atomic_load(&ls_recorder.has_tried))
        return;
    LsVisit visit = ls_visit_begin();
    /* The others wait until it is open: their first marks count, too. */
    pthread_mutex_lock(&ls_recorder.mark_lock);
    if (!atomic_load(&ls_recorder.has_tried))
        ls_recorder_open(NULL);
    atomic_store(&ls_recorder.has_tried, true);
    pthread_mutex_unlock(&ls_recorder.mark_lock);
    ls_visit_end(visit);
}

/* -- Closing -- */

/* No record is taken any more; what is in the rings is written; then the memory goes. Where the
 * disk does not answer in time, thread and memory are left alone for good. */
static void
close_locked(int64_t timeout_ns)
{
    turn_off();
    if (!ls_drain_stop(&ls_recorder.drain, timeout_ns)) {
        ls_recorder.is_stuck = true;
        return;
    }
    pthread_mutex_lock(&ls_recorder.word_lock);
    ls_recorder.words = NULL;
    pthread_mutex_unlock(&ls_recorder.word_lock);
    ls_names_close(&ls_recorder.names);
    ls_area_close(&ls_recorder.area);
}

static void
close_some(int count, int64_t timeout_ns)
{
    if (ls_recorder.opens == 0)
        return;
    ls_recorder.opens -= count < ls_recorder.opens ? count : ls_recorder.opens;
    if (ls_recorder.opens == 0)
        close_locked(timeout_ns);
}

void
ls_recorder_close(void)
{
    if (ls_recorder.pid != getpid())
        return;
    LsVisit visit = ls_visit_begin();
    pthread_mutex_lock(&ls_recorder.lock);
    close_some(1, CLOSE_TIMEOUT);
    pthread_mutex_unlock(&ls_recorder.lock);
    ls_visit_end(visit);
}

/* Where exit() comes from a signal handler that has interrupted a visit, a lock may never come
 * free: the rings stay, as after _exit(). */
__attribute__((destructor)) void
ls_recorder_close_at_exit(void)
{
    if (ls_recorder.pid != getpid() || ls_whereabouts.visits > 0)
        return;
    LsVisit visit = ls_visit_begin();
    for (int i = 0; i < EXIT_LOCK_TRIES; i++) {
        struct timespec pause = {0, 1000000};
        if (pthread_mutex_trylock(&ls_recorder.lock) == 0) {
            close_some(INT32_MAX, EXIT_TIMEOUT);
            pthread_mutex_unlock(&ls_recorder.lock);
            break;
        }
        nanosleep(&pause, NULL);
    }
    ls_visit_end(visit);
}

__attribute__((constructor)) static void
prepare(void)
{
    const char *twin = secure_getenv("LOCKSTEP_TEST_CLOCK");
    ls_gate_open();
    ls_words_open();
    ls_recorder.pid = getpid();
    if (twin != NULL && twin[0] != '\0')
        ls_clock_set_double(twin);
    pthread_atfork(NULL, NULL, forget);
}

/* -- While it is open -- */

void
ls_recorder_set_rank(int rank, int world, int local_rank)
{
    LsVisit visit = ls_visit_begin();
    pthread_mutex_lock(&ls_recorder.lock);
    if (ls_recorder_is_open()) {
        LsAreaHeader *header = ls_recorder.area.header;
        atomic_store(&header->rank, rank < 0 ? LS_RANK_UNKNOWN : (uint32_t)rank);
        atomic_store(&header->world, world);
        atomic_store(&header->local_rank, local_rank);
        add_rank(rank, world, local_rank);
        ls_names_add_info(&ls_recorder.names, "rank.source", "ls_recorder_set_rank");
    }
    pthread_mutex_unlock(&ls_recorder.lock);
    ls_visit_end(visit);
}

void
ls_recorder_count_thread(int change)
{
    atomic_fetch_add(&ls_recorder.threads, change);
}

bool
ls_recorder_is_abandoned(void)
{
    return atomic_load_explicit(&ls_recorder.is_abandoned, memory_order_relaxed) != 0;
}

const char *
ls_recorder_get_range(void)
{
    return ls_recorder_is_open() ? ls_recorder.settings.capture_range : "";
}

void
ls_recorder_set_range(bool is_inside)
{
    LsVisit visit = ls_visit_begin();
    ls_window_set_range(&ls_recorder.window, is_inside);
    ls_visit_end(visit);
}

int64_t
ls_recorder_now(void)
{
    return ls_clock_now();
}

void
ls_recorder_flush(void)
{
    int error = errno;
    if (ls_recorder_is_open() && ls_whereabouts.visits == 0)
        ls_drain_flush(&ls_recorder.drain, FLUSH_TIMEOUT);
    errno = error;
}

LsStatus
ls_recorder_recover(const char *folder)
{
    char own_rings[LS_AREA_PATH_MAX] = "", own_folder[LS_AREA_PATH_MAX] = "";
    pthread_mutex_lock(&ls_recorder.lock);
    if (ls_recorder_is_open()) {
        memcpy(own_rings, ls_recorder.area.path, sizeof own_rings);
        memcpy(own_folder, ls_recorder.area.header->folder, sizeof own_folder);
    }
    pthread_mutex_unlock(&ls_recorder.lock);
    if (folder == NULL)
        folder = own_folder;
    if (folder[0] == '\0')
        return LS_ERR_OFF;
    return ls_recover_folder(folder, own_rings[0] == '\0' ? NULL : own_rings);
}
