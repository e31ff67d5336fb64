/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/sample-trace.h: traces made by hand, so that what is true of them is known to the
 * nanosecond. Span names decide the class: forward, backward, optimizer compute; input, checkpoint I/O;
 * pack, unpack fusion; copy copies; calls communication.
 */
#pragma once

#include "trace/builder.h"

/* Rank 0 is the reference clock; others are on the same boot. The caller may change process->rank. */
LsProcess *sample_process(int rank, int world, const char *host);
void sample_step(LsProcess *process, int64_t number, int64_t start_ns, int64_t end_ns);
void sample_phase(LsProcess *process, const char *name, int64_t start_ns, int64_t end_ns,
                  int64_t operations);
/* An allreduce, timed by the data plane, with its span; returns its row. Equal sequence = one buffer. */
uint32_t sample_call(LsProcess *process, int64_t sequence, int64_t bytes, int64_t start_ns,
                     int64_t end_ns);
/* Copies around the call: spans too. */
void sample_pack(LsProcess *process, uint32_t call, int64_t pack_ns, int64_t unpack_ns);
/* Without a group: group NULL, gate_ns = submit_ns. */
void sample_use(LsProcess *process, const char *tensor, uint32_t occurrence, uint32_t call,
                int64_t submit_ns, int64_t agreed_ns);
LsUse *sample_last_use(LsProcess *process);
void sample_sleep(LsProcess *process, int64_t start_ns, int64_t end_ns);
/* Takes the processes; buffers are calls of one sequence; ranks_expected = n_expected. */
LsTrace *sample_freeze(LsProcess **processes, size_t n, uint32_t n_expected);

/* Two ranks, one step of 1000 ns, two tensors; rank 1 is 200 ns late at both (test-activity.c tells it
 * moment by moment). */
LsTrace *sample_late_pair(void);
/* Ranks, steps and everything in them by chance; the same seed gives the same trace. */
LsTrace *sample_random(uint32_t seed);
