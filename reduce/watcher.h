/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/watcher.h: notices that a rank has died, which MPI does not tell.
 *
 * Under Open MPI 4.1 a collective with a dead rank blocks for ever, without an error (facts/cuda.md
 * 8.4). So a thread waits for the deaths of all ranks of its host, and, between hosts, host leaders
 * hold a socket to the next one and pass on what they learn. By the same way a rank that lives but
 * whose loop has failed tells the others, which may wait for it in MPI.
 */
#pragma once

#include "reduce/settings.h"
#include "reduce/world.h"

typedef struct LsWatcher LsWatcher;

typedef struct LsWatcherConfig {
    LsWorld *world; /* borrowed */
    LsWatcherMethod method;
    /* Once, from the watcher's thread: this rank is dead. */
    void (*lost)(void *user, int rank);
    /* Or once this: the rank cannot go on, and this one's loop has not ended by itself since. text:
     * why, "" where that is not known. */
    void (*failed)(void *user, int rank, const char *text);
    /* From the same thread: this rank of the host has been stopped for so long, which is longer
     * than warning_ns; once each time. NULL, 0: nobody wants to know. */
    void (*stopped)(void *user, int rank, int64_t stopped_ns);
    int64_t warning_ns;
    void *user;
} LsWatcherConfig;

/* The memory. */
lockstep_status ls_watcher_open(const LsWatcherConfig *config, LsWatcher **ret_watcher);
/* It begins to watch. Collective; but with transport NULL no other rank is told, and this host
 * alone is watched. Where a rank cannot be watched, says so and goes on. */
lockstep_status ls_watcher_connect(LsWatcher *watcher, LsTransport *transport);
/* All ranks have a context. */
void ls_watcher_start(LsWatcher *watcher);
/* All ranks have agreed to leave: from now on a rank may end, and only if stop does not follow
 * within a second is an end taken for a death. Any thread. */
void ls_watcher_leave(LsWatcher *watcher);
/* The loop has failed on this rank, maybe on no other: the others are told. Stops. Any thread. */
void ls_watcher_fail(LsWatcher *watcher, const char *text);
/* The loop has ended: no end matters any more. Any thread. */
void ls_watcher_stop(LsWatcher *watcher);
/* Not from lost(). */
void ls_watcher_close(LsWatcher *watcher);
