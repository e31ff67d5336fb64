/* SPDX-License-Identifier: Apache-2.0
 * format/horovod-private.h: a Horovod timeline while it is read; shared by horovod*.c. */
#pragma once

#include "capture/format.h"
#include "trace/process.h"

typedef struct Batch Batch;

/* One begun span of a tensor. */
typedef struct OpenSpan {
    uint32_t name;
    int64_t start_ns, tid;
    enum { SPAN_OTHER, SPAN_NEGOTIATION, SPAN_OPERATION, SPAN_ACTIVITY } kind;
} OpenSpan;

/* A use that another rank's tick made: its agreement comes later. */
typedef struct TickUse {
    LsProcess *process;
    uint32_t use;
} TickUse;

/* One pid of the file: a tensor. */
typedef struct Row {
    uint32_t name; /* its tensor's name */
    bool named;
    LsTrackBuilder *track; /* NULL until it has a span */
    GArray *stack;         /* OpenSpan */
    uint32_t use;          /* of the writer, being negotiated or agreed, not begun; LS_NONE */
    uint32_t running;      /* whose operation is under way */
    bool negotiating;      /* use has no agreement yet */
    uint32_t n_uses;
    GArray *ticks; /* TickUse of the negotiation at hand */
    GArray *seen;  /* uint32_t by rank: the occurrence in which it ticked last, + 1 */
    Batch *batch;  /* the operation at hand is part of it */
    size_t member; /* which */
} Row;

typedef struct Horovod {
    LsProcess *process;  /* of the writer */
    GHashTable *rows;    /* pid -> Row */
    GPtrArray *in_order; /* the same, as they appeared: results must not depend on a hash */
    GHashTable *counts;  /* tensor's name -> its uses so far: two pids of one name are one tensor */
    GHashTable *ranks;   /* number -> LsProcess, other ranks that ticked */
    GPtrArray *others;   /* the same, in order of appearance */
    GPtrArray *batches;  /* Batch not finished */
    Batch *newest;       /* may still take members */
    int64_t last_ns;
    uint64_t records, negotiations, ticks, cycles;
    int64_t highest_tick;
    bool header; /* 0.20.1 and later */
    uint64_t faults, unordered, lone_ends, unplaced;
} Horovod;

/* Behind the bracket of the list of events, *ret_wrapped: which is the value of an object's
 * traceEvents. At the end of the bytes where they end before. false: there is no such list. */
bool ls_horovod_find_events(const uint8_t *data, size_t length, size_t *ret_at, bool *ret_wrapped);

/* What an operation's name means: LsOperation, LS_OPERATION_UNKNOWN. */
uint8_t ls_horovod_operation(const char *name);
/* Bytes of an output "[64, 3]" of a dtype word, -1 unknown; *ret_dtype: lockstep_dtype or 255. */
int64_t ls_horovod_bytes(const char *dtype, const char *shape, uint8_t *ret_dtype);
LsTrackBuilder *ls_horovod_row_track(Horovod *horovod, Row *row);

/* horovod-rows.c: begin, end, tick of a row, in the file's order. */
void ls_row_begin(Horovod *horovod, Row *row, const char *name, int64_t time_ns, int64_t tid);
void ls_row_end(Horovod *horovod, Row *row, const char *name, int64_t time_ns, int64_t tid,
                const char *dtype, const char *shape);
void ls_row_tick(Horovod *horovod, Row *row, uint32_t rank, int64_t time_ns);
/* What is open at the end of the file ends there. */
void ls_row_close(Horovod *horovod, Row *row);
void ls_row_free(Row *row);

/* horovod-batch.c: the members of one executed buffer (facts: A6). */
void ls_batch_add(Horovod *horovod, Row *row, const char *operation, int64_t time_ns);
void ls_batch_begin_activity(Horovod *horovod, Row *row, uint32_t name, int64_t time_ns);
void ls_batch_end_activity(Horovod *horovod, Row *row, uint32_t name, int64_t time_ns);
/* The row's operation has ended (open: the recording did). */
void ls_batch_end(Horovod *horovod, Row *row, int64_t time_ns, bool open);
