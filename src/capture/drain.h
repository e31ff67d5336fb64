/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/drain.h: the recorder's own thread: rings to file.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/area.h"
#include "capture/identity.h"
#include "capture/names.h"
#include "capture/pump.h"
#include "capture/settings.h"
#include "capture/status.h"
#include "capture/window.h"
#include "capture/writer.h"

/* What the thread needs of the recorder. All but `stop`, `wake`, `flush_*`, `state` is the thread's
 * own while it runs. */
typedef struct LsDrain {
    LsArea *area;
    LsNames *names;
    const LsSettings *settings;
    const LsIdentity *identity;
    void (*word)(const LsRecord *record); /* into the recorder's own ring */
    void (*notice)(int severity, const char *text);
    void (*off)(void); /* stops recording: there is no file */
    int64_t (*measure)(void); /* what a record costs, in ns; below 0: not known */
    LsWindow *window;
    _Atomic int *threads;           /* of ours, this one among them */
    _Atomic uint32_t *is_abandoned; /* futex */

    _Atomic uint32_t wake; /* futex: something to do before the next round */
    _Atomic uint32_t is_waiting;
    _Atomic uint32_t stop;
    _Atomic uint32_t flush_asked, flush_done; /* futex: flush_done */
    _Atomic uint32_t is_running;              /* futex */

    pthread_t thread;
    LsWriter writer;
    LsPump pump;
    uint8_t *staging;
    int64_t started_ns, clock_ns, watched_ns;
    uint32_t rounds;
    bool has_file, has_failed, has_manifest, was_full, is_frozen;
} LsDrain;

/* Starts the thread; area, names, settings, identity and the functions are set. */
LsStatus ls_drain_start(LsDrain *drain);
/* Any thread; a system call only where the thread sleeps. */
void ls_drain_wake(LsDrain *drain);
/* Returns when what was in the rings at the call is in the file, or after `timeout_ns`. */
void ls_drain_flush(LsDrain *drain, int64_t timeout_ns);
/* Last pass, closing words, end of the thread; false: it had not ended after `timeout_ns` and must
 * be left alone for good. */
bool ls_drain_stop(LsDrain *drain, int64_t timeout_ns);
