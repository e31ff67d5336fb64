/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/recorder-private.h: what recorder.c (opening and closing), thread.c (records) and words.c
 * (names, facts, notices) share.
 */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "capture/area.h"
#include "capture/drain.h"
#include "capture/gate.h"
#include "capture/identity.h"
#include "capture/names.h"
#include "capture/recorder.h"
#include "capture/settings.h"
#include "capture/window.h"
#include "capture/words.h"

typedef struct LsRecorder {
    pthread_mutex_t lock;      /* opening, closing, handing out rings */
    pthread_mutex_t word_lock; /* the recorder's own ring */
    pthread_mutex_t mark_lock; /* the first mark opens */
    int opens;
    int pid;                /* whose state this is; another in a forked child that no handler saw */
    uint32_t lives;         /* openings so far */
    bool is_stuck;          /* a drain thread never ended: no opening any more */
    _Atomic bool has_tried; /* a mark has tried to open */
    _Atomic int threads;    /* of ours */
    _Atomic uint32_t is_abandoned; /* futex: only they are left */
    _Atomic bool has_keeper;
    sigset_t keeper_mask;         /* of who made it */
    _Atomic uint64_t lost_early;  /* records of signal handlers, while it was opened */
    _Atomic uint32_t notices[64]; /* hashes of what was said on standard error */
    LsRing *words;                /* ring of the process itself; NULL: none */
    LsSettings settings;
    LsIdentity identity;
    LsArea area;
    LsNames names;
    LsDrain drain;
    LsWindow window;
} LsRecorder;
extern LsRecorder ls_recorder;

/* Whether a recorder is open, though it may keep no records at present. Any thread, one load. */
static inline bool
ls_recorder_is_open(void)
{
    return atomic_load_explicit(&ls_gate->opening, memory_order_relaxed) != 0;
}

/* Opens on behalf of marks, once in the life of a process, if the environment names a folder. */
void ls_recorder_open_for_marks(void);

/* Closes it for good, whoever has opened it. */
void ls_recorder_close_at_exit(void);

/* A record of a signal handler could not be kept, and is counted. */
void ls_thread_lose(void);

/* The calling thread's end is told of, though it records nothing. */
void ls_thread_watch(void);

/* Prepares the key whose destructor gives rings back. */
void ls_thread_open(void);

/* Processor time of one span by the hot path, its two readings of the clock with it, into memory of
 * its own; -1: no memory. The best of a few batches of a ring each, a fifth of a millisecond in
 * all. */
int64_t ls_thread_measure(void);
