/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's own words: names, facts, notices, into the text log and the recorder's own ring;
 * and the few sentences that go to standard error.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/clock.h"
#include "capture/recorder-private.h"
#include "capture/visit.h"

#define NOTICE_MAX 1200

/* Standard error as it was when the library was loaded. */
static struct stat error_file;
static bool has_error_file;
static __thread bool has_private_descriptors;

void
ls_words_open(void)
{
    has_error_file = syscall(SYS_fstat, STDERR_FILENO, &error_file) == 0;
}

void
ls_words_add(const LsRecord *record)
{
    LsVisit visit = ls_visit_begin();
    pthread_mutex_lock(&ls_recorder.word_lock);
    LsRing *ring = ls_recorder.words;
    if (ring != NULL) {
        uint64_t write = atomic_load_explicit(&ring->write, memory_order_relaxed);
        uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);
        if (write - read <= ring->mask) {
            ls_area_records(ls_recorder.area.header, ring)[write & ring->mask] = *record;
            atomic_store_explicit(&ring->write, write + 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&ls_recorder.word_lock);
    ls_visit_end(visit);
}

uint32_t
ls_recorder_name(const char *text)
{
    return ls_recorder_is_open() ? ls_names_intern(&ls_recorder.names, text) : 0;
}

void
ls_recorder_set_info(const char *key, const char *value)
{
    if (ls_recorder_is_open())
        ls_names_add_info(&ls_recorder.names, key, value);
}

/* Whether this text is said for the first time. Full: no more is said. */
static bool
is_news(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    hash |= 1; /* 0 is a free place */
    for (size_t i = 0; i < sizeof ls_recorder.notices / sizeof ls_recorder.notices[0]; i++) {
        uint32_t free_place = 0;
        if (atomic_compare_exchange_strong(&ls_recorder.notices[i], &free_place, hash))
            return true;
        if (free_place == hash)
            return false;
    }
    return false;
}

void
ls_words_use_private_descriptors(void)
{
    has_private_descriptors = true;
}

/* Standard error, as long as it is what it was; -1: it is not. */
static int
open_error_file(void)
{
    struct stat now;
    int fd = STDERR_FILENO;
    if (has_private_descriptors)
        fd = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && has_error_file && syscall(SYS_fstat, fd, &now) == 0 &&
        now.st_ino == error_file.st_ino && now.st_dev == error_file.st_dev)
        return fd;
    if (fd >= 0 && has_private_descriptors)
        close(fd);
    return -1;
}

/* In a thread of the host. A pipe whose reader has gone, a limit of files, a terminal that stops
 * who writes from the background: each is a signal that the host must not get for our words. A
 * reader who is slow is not waited for. */
static void
write_line(int fd, const char *line, size_t length)
{
    static const int of_writing[] = {SIGPIPE, SIGXFSZ, SIGTTOU};
    struct pollfd room = {fd, POLLOUT, 0};
    sigset_t ours, before, pending;
    sigpending(&pending);
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof of_writing / sizeof of_writing[0]; i++) {
        if (sigismember(&pending, of_writing[i]) == 0)
            sigaddset(&ours, of_writing[i]);
    }
    sigprocmask(SIG_BLOCK, &ours, &before);
    if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) {
        ssize_t written = write(fd, line, length);
        (void)written; /* the notice is in the trace, too */
    }
    sigtimedwait(&ours, NULL, &(struct timespec){0, 0});
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
say(const char *text)
{
    char line[NOTICE_MAX];
    int length = snprintf(line, sizeof line, "lockstep: %s\n", text);
    if (length >= (int)sizeof line) {
        length = (int)sizeof line - 1;
        line[length - 1] = '\n';
    }
    LsVisit visit = ls_visit_begin();
    int fd = open_error_file();
    if (fd >= 0)
        write_line(fd, line, (size_t)length);
    if (fd >= 0 && has_private_descriptors)
        close(fd);
    ls_visit_end(visit);
}

void
ls_recorder_say(const char *text)
{
    if (is_news(text))
        say(text);
}

void
ls_words_notice(int severity, const char *text)
{
    if (ls_recorder_is_open()) {
        int64_t now = ls_clock_now();
        LsRecord record = {.kind = LS_RECORD_NOTICE,
                           .name = ls_names_intern(&ls_recorder.names, text),
                           .start_ns = now,
                           .end_ns = now,
                           .args = {severity}};
        ls_words_add(&record);
    }
    if (severity > 0)
        ls_recorder_say(text);
}

void
ls_recorder_notice(int severity, const char *text)
{
    ls_words_notice(severity, text);
}
