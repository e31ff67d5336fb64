/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/process.h: what one file tells of one process, on that process's own clock.
 *
 * Made by src/format, consumed by src/merge. Not frozen, not thread-safe: one loader thread fills
 * one process.
 */
#pragma once

#include <glib.h>

#include "trace/strings.h"
#include "trace/tables.h"
#include "trace/track.h"

/* Growing columns of one track; spans in any order, merge sorts and lanes them. */
typedef struct LsTrackBuilder LsTrackBuilder;

typedef struct LsProcess {
    LsRank rank;               /* rank.* as far as the file says */
    LsStrings *strings;
    GHashTable *facts;         /* char * -> char *: INFO records, headers of foreign formats */
    GPtrArray *tracks;         /* LsTrackBuilder */
    GArray *steps, *phases, *uses, *calls, *cycles, *sleeps, *messages, *instants; /* of tables.h */
    GArray *graph_tensors, *graph_needs;
    GArray *roundtrips, *clock_pairs;
    GArray *ranges, *mpi_calls; /* raw material of src/merge, which takes it apart */
    GArray *findings;          /* LsFinding */
    uint8_t source;            /* LsSource, for rules */
    bool observer;             /* no rank of the job: it measured clocks between hosts, and is left out of the trace */
    GHashTable *track_index;   /* of ls_process_get_track */
    double part_read;          /* of its file, while it is read: what tracks grow by; 0: not known */
} LsProcess;

/* Who wrote the file: first column of the classification rules. */
typedef enum LsSource {
    LS_SOURCE_LOCKSTEP,
    LS_SOURCE_HOROVOD,
    LS_SOURCE_KINETO,
    LS_SOURCE_TENSORFLOW,
    LS_SOURCE_MXNET,
    LS_SOURCE_OTHER,
} LsSource;

LsProcess *ls_process_new(LsSource source);
void       ls_process_free(LsProcess *process);

/* A finding with the process's file as place; printf-like. */
void ls_process_add_finding(LsProcess *process, LsSeverity severity, int64_t offset,
                            const char *format, ...) G_GNUC_PRINTF(4, 5);

/* The track of this kind, name, category, id: made on first use. Keep it where many spans are added. */
LsTrackBuilder *ls_process_get_track(LsProcess *process, LsTrackKind kind, const char *name,
                                     const char *category, int64_t id);
/* name: of the process's strings. ref: row of the process's table that belongs to the track's kind
 * (STEPS: steps, PHASES: phases, COMMUNICATION: calls, TENSOR: uses, CYCLES: cycles), LS_NONE where it has
 * none. An end before the start, or LS_TIME_NONE for either, is a finding when the trace is made; the span is
 * then left out. */
void ls_track_builder_add(LsTrackBuilder *track, int64_t start_ns, int64_t end_ns, uint32_t name,
                          uint32_t ref);
void ls_track_builder_add_sample(LsTrackBuilder *track, int64_t time_ns, double value, bool valid);

LsTrackKind ls_track_builder_get_kind(const LsTrackBuilder *track);
size_t      ls_track_builder_get_n(const LsTrackBuilder *track); /* spans or samples */
/* Index of its rank once ls_builder_take has taken it; LS_NONE before. */
uint32_t    ls_track_builder_get_rank(const LsTrackBuilder *track);

/* One row more, for tables that may have millions: as g_array_append_vals, in big pages. */
void ls_rows_add(GArray *rows, const void *row);

/* Every name of a span or a row through `map` (n_map long; LS_NONE stays, an id beyond it becomes 0); names
 * of tracks and their categories are left. */
void ls_process_map_names(LsProcess *process, const uint32_t *map, uint32_t n_map);
/* A better name for the track, once it is known. */
void ls_process_rename_track(LsProcess *process, LsTrackBuilder *track, const char *name);
/* Appends all of `from`, another file of the same process, and frees it. */
void ls_process_join(LsProcess *into, LsProcess *from);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsProcess, ls_process_free)
