/* SPDX-License-Identifier: Apache-2.0
 * trace/trace-private.h: what a trace is made of; shared by trace.c, builder.c, freeze.c, lanes.c.
 */
#pragma once

#include "trace/builder.h"
#include "trace/track-private.h"

struct LsTrace {
    gatomicrefcount refs;
    LsStrings *strings;
    GHashTable *facts;    /* char * -> char * */
    GArray *ranks, *tracks, *steps, *phases, *uses, *calls, *buffers, *call_refs, *cycles, *sleeps,
        *messages, *instants, *findings, *graph_tensors, *graph_needs;
    GPtrArray *labels; /* char *, by rank index */
    GPtrArray *names;  /* the same in a sentence */
    LsColumns spans;   /* of all tracks, one behind another */
    GPtrArray *blocks; /* memory of lanes and samples */
    int64_t first_ns, last_ns;
    uint32_t world, n_columns; /* of steps */
};

struct LsBuilder {
    LsTrace *trace;    /* rows as taken, sorted by freeze */
    GPtrArray *tracks; /* LsTrackBuilder */
    LsClassify classify;
    void *user;
};

LsTrace *ls_trace_new(void);

/* freeze-rows.c: sorts ranks and tables; brings every index into them up to date, span refs too. */
void ls_freeze_rows(LsBuilder *builder);
/* lanes.c: sorts the spans and lays them into lanes, whose columns lie one behind another in `to`:
 * what is left of track->n. The lanes are the caller's to free, NULL without spans. Returns how
 * many spans were left out because their times cannot be. */
size_t ls_lanes_build(LsTrackBuilder *track, LsColumns *to, LsSpans **ret_lanes,
                      uint32_t *ret_n_lanes);
