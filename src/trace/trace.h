/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/trace.h: a loaded run: immutable, reference-counted, read from any thread without locks.
 *
 * Times are int64 ns on the common clock (the reference rank's). All arrays live as long as the trace
 * and are sorted: ranks by (rank, incarnation); steps and phases by (rank, start); uses by (rank, submit or agreed
 * or done, whichever is known first); calls by (rank, start); cycles, sleeps, messages by (rank, start);
 * instants by time; tracks by (rank, kind, name).
 */
#pragma once

#include <glib.h>

#include "trace/strings.h"
#include "trace/tables.h"
#include "trace/track.h"

typedef struct LsTrace LsTrace;

LsTrace *ls_trace_ref(LsTrace *trace);
void     ls_trace_unref(LsTrace *trace);

/* From the first start to the last end of anything recorded; both 0 for an empty trace. */
int64_t ls_trace_get_first_ns(const LsTrace *trace);
int64_t ls_trace_get_last_ns(const LsTrace *trace);

const char *ls_trace_get_string(const LsTrace *trace, uint32_t id);
const LsStrings *ls_trace_get_strings(const LsTrace *trace);
/* A fact of the run ("run.id", "command", "settings.cycle_time_ms"); NULL if not recorded. */
const char *ls_trace_get_fact(const LsTrace *trace, const char *key);

/* Arrays; *ret_n may be 0, the pointer is then NULL. */
const LsRank    *ls_trace_get_ranks(const LsTrace *trace, size_t *ret_n);
const LsTrack   *ls_trace_get_tracks(const LsTrace *trace, size_t *ret_n);
const LsStep    *ls_trace_get_steps(const LsTrace *trace, size_t *ret_n);
const LsPhase   *ls_trace_get_phases(const LsTrace *trace, size_t *ret_n);
const LsUse     *ls_trace_get_uses(const LsTrace *trace, size_t *ret_n);
const LsCall    *ls_trace_get_calls(const LsTrace *trace, size_t *ret_n);
const LsBuffer  *ls_trace_get_buffers(const LsTrace *trace, size_t *ret_n);
const uint32_t  *ls_trace_get_call_refs(const LsTrace *trace, size_t *ret_n);
const LsCycle   *ls_trace_get_cycles(const LsTrace *trace, size_t *ret_n);
const LsSleep   *ls_trace_get_sleeps(const LsTrace *trace, size_t *ret_n);
const LsMessage *ls_trace_get_messages(const LsTrace *trace, size_t *ret_n);
/* The graph of the tensors, as the program told it; tensors in order of place. */
const LsGraphTensor *ls_trace_get_graph_tensors(const LsTrace *trace, size_t *ret_n);
const LsGraphNeed *ls_trace_get_graph_needs(const LsTrace *trace, size_t *ret_n);
const LsInstant *ls_trace_get_instants(const LsTrace *trace, size_t *ret_n);
const LsFinding *ls_trace_get_findings(const LsTrace *trace, size_t *ret_n);

/* "17 gpu05:1": rank, host, local device, as far as known. Owned by the trace. */
const char *ls_trace_get_rank_label(const LsTrace *trace, uint32_t rank);
/* The same in a sentence: "rank 17", "a process of no known rank (pid 812)". */
const char *ls_trace_get_rank_name(const LsTrace *trace, uint32_t rank);
/* Steps over all ranks: columns (LsStep.column) run from 0 to this. */
uint32_t ls_trace_count_steps(const LsTrace *trace);
/* Ranks the job had, as far as any file says. */
uint32_t ls_trace_get_world(const LsTrace *trace);
/* Ranks of the job of which nothing is known: whoever was last may be one of them. */
uint32_t ls_trace_count_missing(const LsTrace *trace);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsTrace, ls_trace_unref)
