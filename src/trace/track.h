/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/track.h: rows of spans and of samples.
 *
 * A track belongs to one rank. Its spans lie in lanes (lane 0 outermost): within a lane they are
 * sorted and do not overlap, so a query is one binary search; a span that lies inside another, or
 * crosses it, is one lane deeper. Columns, not structs: 10 million spans are looked through at once.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/tables.h"

typedef enum LsTrackKind {
    LS_TRACK_STEPS,
    LS_TRACK_PHASES,        /* forward, backward, optimizer, input, checkpoint; CPU operators */
    LS_TRACK_STREAM,        /* kernels of a GPU stream */
    LS_TRACK_COMMUNICATION, /* executed buffers, one span each, with pack and unpack */
    LS_TRACK_COPIES,
    LS_TRACK_CYCLES,        /* cycles and their stages */
    LS_TRACK_TENSOR,        /* one tensor's life: NEGOTIATE_..., MEMCPY_IN_FUSION_BUFFER, ... */
    LS_TRACK_THREAD,        /* any other thread */
    LS_TRACK_COUNTER,       /* samples instead of spans */
} LsTrackKind;

/* What a span counts as (metrics.md, "Which spans are compute, which communication"); set from the
 * table of rules when the trace is made. */
typedef enum LsClass {
    LS_CLASS_NONE,
    LS_CLASS_COMPUTE,
    LS_CLASS_COMMUNICATION,
    LS_CLASS_COPY,
    LS_CLASS_FUSION,     /* pack, unpack */
    LS_CLASS_IO,         /* reads of data, writes of checkpoints */
    LS_CLASS_NEGOTIATION,
    LS_CLASS_CONTROL,    /* cycles, stages */
    LS_N_CLASSES,
} LsClass;

/* Columns of one lane, each n long. */
typedef struct LsSpans {
    size_t n;
    const int64_t *start_ns, *end_ns;
    const uint32_t *name;
    const uint32_t *ref; /* row of the table that the span's category names (a call, a use, a cycle, a
                            step), or LS_NONE */
    const uint8_t *klass; /* LsClass */
} LsSpans;

typedef struct LsTrack {
    LsTrackKind kind;
    uint32_t rank;       /* index into ranks */
    uint32_t name;       /* "stream 7", "layer1.conv", "gpu power" */
    uint32_t category;   /* name of the source's category ("kernel", "cpu_op", "phase", ...) for rules */
    int64_t  id;         /* thread, stream or pid number of the source; -1 none */
    uint32_t n_lanes;
    const LsSpans *lanes;
    const LsSample *samples; /* LS_TRACK_COUNTER */
    size_t n_samples;
} LsTrack;
