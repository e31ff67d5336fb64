/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/builder.h: the only way to make a trace. merge adds processes, already brought onto the
 * common clock, and freezes. One thread.
 */
#pragma once

#include "trace/process.h"
#include "trace/trace.h"

typedef struct LsBuilder LsBuilder;

/* Which class a span has: merge passes its table of rules. Asked once for each rank, source, kind,
 * category and name, after all processes were taken; the rank is ls_track_builder_get_rank(). */
typedef LsClass (*LsClassify)(void *user, uint8_t source, const LsTrackBuilder *track,
                              const char *category, const char *name);

LsBuilder *ls_builder_new(LsClassify classify, void *user);
void       ls_builder_free(LsBuilder *builder);

/* Takes the process apart: adds its rank, remaps its strings, rank and row indices, moves its rows.
 * Frees it. Returns the index of the rank. Times are taken as they are: map them before
 * (ls_process_map_times). Several files of one rank and incarnation give one rank row each unless the caller
 * joined them. */
uint32_t ls_builder_take(LsBuilder *builder, LsProcess *process);
void     ls_builder_add_finding(LsBuilder *builder, LsSeverity severity, const char *file,
                                int64_t offset, int32_t rank, const char *text);
void     ls_builder_set_fact(LsBuilder *builder, const char *key, const char *value);
/* Rows of calls grouped into buffers by the caller: call_refs in order, one LsBuffer per group. */
void     ls_builder_set_buffers(LsBuilder *builder, const LsBuffer *buffers, size_t n_buffers,
                                const uint32_t *call_refs, size_t n_call_refs);
/* The calls so far, to be matched and given their buffer index (merge/match). */
LsCall  *ls_builder_get_calls(LsBuilder *builder, size_t *ret_n);
LsUse   *ls_builder_get_uses(LsBuilder *builder, size_t *ret_n);
LsRank  *ls_builder_get_ranks(LsBuilder *builder, size_t *ret_n);

/* Sorts, lanes, classifies, checks; the builder is consumed. */
LsTrace *ls_builder_freeze(LsBuilder *builder);

/* Every time of the process through `map` (LS_TIME_NONE stays), but those of round trips and clock pairs:
 * they are what the map is made from. */
void ls_process_map_times(LsProcess *process, int64_t (*map)(void *user, int64_t local_ns), void *user);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsBuilder, ls_builder_free)
