/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/recorder.h: the one recorder of a process, shared by whoever loads it (reduce, tracer, a
 * program that marks). Private to Lockstep's own libraries; programs use lockstep-mark.h.
 *
 * Nothing here fails the caller: without LOCKSTEP_RUN, with a full disk, in a forked child, every
 * call is a cheap no-op, and what was lost is counted in the trace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/format.h"
#include "capture/status.h"

#define LS_CAPTURE_API __attribute__((visibility("default")))

/* Opens the trace file in `folder` (NULL: $LOCKSTEP_RUN, made if absent) and starts the drain
 * thread. Counted: each open needs one close; later opens ignore `folder`. Any thread.
 * LS_ERR_OFF when no folder is named. */
LS_CAPTURE_API LsStatus ls_recorder_open(const char *folder);
/* The last close drains, writes the closing words and closes the file. Any thread. */
LS_CAPTURE_API void ls_recorder_close(void);
/* Whether records are kept now: it is open, and inside the steps, time and range that the user
 * asked for. Names and facts are taken whenever it is open. Any thread, one load. */
LS_CAPTURE_API bool ls_recorder_active(void);

/* Who this process is, where the caller knows better than the environment; before the first chunk
 * is on disk if it can be, later is allowed. world < 1 or local_rank < 0: unknown. */
LS_CAPTURE_API void ls_recorder_set_rank(int rank, int world, int local_rank);
/* A fact about the process ("gpu.0.model", "reduce.cycle_time_ms"); the last value counts. */
LS_CAPTURE_API void ls_recorder_set_info(const char *key, const char *value);
/* A name for the calling thread's track. */
LS_CAPTURE_API void ls_recorder_set_thread_name(const char *name);

/* Which opening of the recorder this is, 0 while it is closed: ids of texts are those of one. A
 * forked child that records has another. Any thread, one load. */
LS_CAPTURE_API uint32_t ls_recorder_life(void);
/* The id of a text, the same for the same text; 0 when not recording or out of memory. Takes a
 * lock: keep the id. Any thread. */
LS_CAPTURE_API uint32_t ls_recorder_name(const char *text);
/* The calling thread's ring is 1 MB, not 64 KB: for bursts. Before its first record. */
LS_CAPTURE_API void ls_recorder_expect_bursts(void);
/* Puts a record into the calling thread's ring. Never blocks; a full ring drops and counts.
 * Not from a signal handler. */
LS_CAPTURE_API void ls_recorder_write(const LsRecord *record);
/* As ls_recorder_write(), of something that is told of only now: kept if records were kept at any
 * time from `from_ns` to the record's end. What is told of so late that this is not known any more
 * counts as lost. Takes a lock where the recording is bounded. */
LS_CAPTURE_API void ls_recorder_write_late(const LsRecord *record, int64_t from_ns);
/* A thread of ours, other than the recorder's, begins (1) or ends (-1), told by itself. A process
 * whose main thread has left by pthread_exit() lives until its last thread ends, which must not be
 * ours: each looks now and then whether only they are left, and ends. */
LS_CAPTURE_API void ls_recorder_count_thread(int change);
LS_CAPTURE_API bool ls_recorder_is_abandoned(void);
/* The NVTX range that the user bounds the recording by, "" if none: whoever sees ranges says when
 * one of this name begins (true) and ends. */
LS_CAPTURE_API const char *ls_recorder_get_range(void);
LS_CAPTURE_API void ls_recorder_set_range(bool is_inside);
/* CLOCK_MONOTONIC in ns. */
LS_CAPTURE_API int64_t ls_recorder_now(void);
/* A sentence about the recording: into the trace, and to standard error once (never again for the
 * same text). severity 0 note (trace only), 1 warning, 2 error. */
LS_CAPTURE_API void ls_recorder_notice(int severity, const char *text);
/* The same onto standard error alone: for what the trace holds as a record of its own. */
LS_CAPTURE_API void ls_recorder_say(const char *text);
/* Drains now; returns when all that was written before is in the file. For tests and checkpoints.
 */
LS_CAPTURE_API void ls_recorder_flush(void);
/* Writes what dead processes of the run folder (NULL: the one being recorded into) left in this
 * host's memory into their files. Safe at any time, from any process of the host, and again; a live
 * process's is never touched. Not from a thread that may not wait for a disk. */
LS_CAPTURE_API LsStatus ls_recorder_recover(const char *folder);
