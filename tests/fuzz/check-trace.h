/* SPDX-License-Identifier: Apache-2.0
 * check-trace.h: what must hold of a trace whatever the file said; for the fuzzers of formats. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/builder.h"

static inline void
check(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz: not so: %s\n", what);
    abort();
}

static inline bool
is_row(uint32_t index, size_t n)
{
    return index == LS_NONE || index < n;
}

static inline LsClass
class_by_length(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
                const char *name)
{
    check(g_utf8_validate(name, -1, NULL), "a name is text");
    return (LsClass)(strlen(name) % LS_N_CLASSES);
}

static inline void
check_lane(const LsTrace *trace, const LsSpans *spans, size_t n_rows)
{
    check(spans->n > 0, "a lane has spans");
    for (size_t i = 0; i < spans->n; i++) {
        check(spans->end_ns[i] >= spans->start_ns[i], "a span ends after it begins");
        check(i == 0 || spans->start_ns[i] >= spans->end_ns[i - 1], "spans of a lane are disjoint");
        check(spans->name[i] < ls_strings_get_n(ls_trace_get_strings(trace)), "a span has a name");
        check(is_row(spans->ref[i], n_rows), "a span refers to a row");
        check(spans->klass[i] < LS_N_CLASSES, "a span has a class");
    }
}

/* Rows that spans of a kind refer to. */
static inline size_t
count_rows(const LsTrace *trace, LsTrackKind kind)
{
    size_t n = 0;
    switch (kind) {
    case LS_TRACK_STEPS:
        ls_trace_get_steps(trace, &n);
        break;
    case LS_TRACK_PHASES:
        ls_trace_get_phases(trace, &n);
        break;
    case LS_TRACK_COMMUNICATION:
        ls_trace_get_calls(trace, &n);
        break;
    case LS_TRACK_TENSOR:
        ls_trace_get_uses(trace, &n);
        break;
    case LS_TRACK_CYCLES:
        ls_trace_get_cycles(trace, &n);
        break;
    default:
        break;
    }
    return n;
}

static inline void
check_trace(const LsTrace *trace)
{
    size_t n_ranks, n_tracks, n_uses, n_calls;
    ls_trace_get_ranks(trace, &n_ranks);
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    for (size_t t = 0; t < n_tracks; t++) {
        check(tracks[t].rank < n_ranks, "a track has a rank");
        for (uint32_t lane = 0; lane < tracks[t].n_lanes; lane++)
            check_lane(trace, &tracks[t].lanes[lane], count_rows(trace, tracks[t].kind));
        for (size_t i = 1; i < tracks[t].n_samples; i++)
            check(tracks[t].samples[i].time_ns >= tracks[t].samples[i - 1].time_ns,
                  "samples are sorted");
    }
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    for (size_t i = 0; i < n_calls; i++) {
        check(calls[i].rank < n_ranks, "a call has a rank");
        check(calls[i].start_ns != LS_TIME_NONE && calls[i].end_ns >= calls[i].start_ns,
              "a call has its times");
    }
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    for (size_t i = 0; i < n_uses; i++)
        check(uses[i].rank < n_ranks && is_row(uses[i].call, n_calls),
              "a use has a rank and its call");
    check(ls_trace_get_last_ns(trace) >= ls_trace_get_first_ns(trace), "a trace has an extent");
}

/* Frozen, checked, freed. */
static inline void
check_processes(GPtrArray *processes)
{
    LsBuilder *builder = ls_builder_new(class_by_length, NULL);
    for (guint i = 0; i < processes->len; i++)
        ls_builder_take(builder, g_ptr_array_index(processes, i));
    LsTrace *trace = ls_builder_freeze(builder);
    check_trace(trace);
    ls_trace_unref(trace);
}
