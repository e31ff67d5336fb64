/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/tables.h: the rows that a trace consists of, beside its spans.
 *
 * Plain structs in arrays. In an LsProcess (what one file tells) times are the process's own clock
 * and names its own strings; in an LsTrace both are common. LS_TIME_NONE and LS_NONE mean unknown,
 * never 0. Names are ids of LsStrings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LS_TIME_NONE INT64_MIN
/* Times beyond +-2^61 ns (73 years) are damage: whoever subtracts two times need not fear an overflow. */
#define LS_TIME_MAX  (INT64_C(1) << 61)
/* Bytes, messages, samples of one row beyond it are damage: whoever adds up a million rows need not fear an
 * overflow. */
#define LS_AMOUNT_MAX (INT64_C(1) << 43)
/* Ranks, ranks of a job and lives beyond it are damage: whoever adds one to them need not fear an
 * overflow. */
#define LS_RANK_MAX ((1 << 24) - 1)
#define LS_NONE      UINT32_MAX

/* How a rank's clock was brought onto the common one; in order of trust. */
typedef enum LsClockMethod {
    LS_CLOCK_REFERENCE,  /* it is the common clock */
    LS_CLOCK_SAME_BOOT,  /* same machine, same boot: same clock, uncertainty 0 */
    LS_CLOCK_ROUNDTRIP,  /* round trips recorded while running */
    LS_CLOCK_COLLECTIVE, /* causality of matched collectives */
    LS_CLOCK_WALL,       /* wall clock readings */
    LS_CLOCK_NONE,       /* cannot be placed: shown grey, left out of cross-rank figures */
} LsClockMethod;

/* One life of one rank. Strings are owned by the row. */
typedef struct LsRank {
    int32_t rank;        /* -1: unknown */
    int32_t incarnation;
    uint32_t run;        /* files of several runs: which, from 0 in the order in which they began */
    int32_t world;       /* ranks of the job as this one knows it; -1 unknown */
    int32_t local_rank;  /* -1 unknown */
    int64_t pid;
    char *host, *device, *boot_id, *source; /* source: the file(s) it was read from */
    const char *format;  /* static: name of the format */
    int64_t first_ns, last_ns;
    uint64_t records, lost, damaged; /* damaged: faults found in its file */
    uint64_t given_up;   /* of a flight recorder: older records, overwritten by request; not in lost */
    LsClockMethod clock_method;
    int64_t clock_offset_ns, clock_uncertainty_ns; /* common = local + offset, at the middle */
    /* What recording took: of each record where it was made, and of the recorder's own thread in all;
     * LS_TIME_NONE: not measured. */
    int64_t record_cost_ns, recorder_cpu_ns;
    bool recorded;       /* false: only known through another rank's file (a Horovod tick) */
    bool test_double;    /* the CPU test double was in use */
} LsRank;

typedef struct LsStep {
    uint32_t rank;       /* index into ranks */
    int64_t number;
    int64_t start_ns, end_ns;
    int64_t samples, operations; /* 0: not said */
    bool cut;            /* begun before, or not ended within, the recording */
    bool inferred;       /* not marked by the program */
    uint32_t column;     /* the step over all ranks: rows of one run and number have one; 0, 1, ... in the
                          * order of runs and numbers; set when the trace is frozen */
} LsStep;

/* A phase of a step, marked by the program, that says how many operations it took: the span of a
 * LS_TRACK_PHASES track whose ref is the row here. Phases that do not say are spans alone. */
typedef struct LsPhase {
    uint32_t rank;
    uint32_t name;       /* forward, backward, optimizer, input, checkpoint */
    int64_t start_ns, end_ns;
    int64_t operations;  /* floating-point operations */
} LsPhase;

/* One tensor, once, on one rank: submit .. agreed .. done. */
typedef struct LsUse {
    uint32_t rank;
    uint32_t tensor;     /* name */
    uint32_t group;      /* name of the group, LS_NONE without groups */
    uint32_t occurrence; /* the n-th use of this name on this rank, from 0: pairs ranks */
    uint32_t call;       /* index into calls, LS_NONE: not executed (yet) */
    uint16_t position;   /* in its buffer */
    uint8_t  operation, dtype; /* LsOperation, lockstep_dtype; 255 unknown */
    int64_t bytes;       /* -1 unknown */
    int64_t submit_ns;   /* LS_TIME_NONE: not recorded (a missing tick is not a missing rank) */
    int64_t gate_ns;     /* its group complete on this rank; = submit_ns without groups */
    int64_t agreed_ns;
    int64_t done_ns;
} LsUse;

/* One executed collective ("buffer") on one rank. */
typedef struct LsCall {
    uint32_t rank;
    uint32_t name;       /* MPI_ALLREDUCE, NCCL_ALLREDUCE, ncclDevKernel_AllReduce..., */
    uint32_t communicator; /* 0 where there is one only */
    int64_t sequence;    /* number within the communicator, the same on all ranks; -1 not recorded */
    uint8_t operation, dtype, reduction;
    bool device_timed;   /* start/end are the device's or the data plane's own, not a host-side bar */
    bool open;           /* not ended when the recording did */
    bool by_nccl;        /* as NCCL itself told of it */
    bool is_inner;       /* and part of another call, of the library that asked for it: no buffer of its own */
    uint32_t tensors;    /* how many it carried; 0 unknown */
    int64_t bytes;       /* -1 unknown */
    int64_t wire_bytes;  /* as they travelled, where compression made them fewer; 0: as they are */
    int64_t start_ns, end_ns;
    int64_t pack_start_ns, pack_end_ns, unpack_start_ns, unpack_end_ns; /* LS_TIME_NONE */
    uint32_t buffer;     /* index into buffers: set by merge/match */
    uint32_t ranks;      /* that take part; 0: the whole job, as far as is known */
    /* Of a collective on a device, where its kernel was recorded: */
    uint32_t kernel;     /* name; 0: it was not, and what follows means nothing */
    uint32_t range;      /* name of the NVTX range that launched it; 0: none */
    int64_t launch_ns;   /* when the host asked for it; LS_TIME_NONE */
} LsCall;

/* The same collective on all ranks that took part: rows of calls with one `buffer`. */
typedef struct LsBuffer {
    uint32_t first_call_ref, n_calls; /* into the trace's call_refs, ordered by rank */
    uint32_t ranks_expected;
    bool pairing_exact;  /* by sequence number, not by name and time */
} LsBuffer;

typedef struct LsCycle {
    uint32_t rank;
    uint32_t control;    /* name: coordinator, ... */
    int64_t number;
    uint8_t path;        /* LsCyclePath */
    uint32_t requests, responses;
    int64_t start_ns, end_ns;
    /* Durations; LS_TIME_NONE where the cycle was seen from outside. */
    int64_t drain_ns, exchange_ns, parse_ns, build_ns;
    /* Of a response cache: requests of this rank, each when it was first looked up; entries that fell out,
     * the same on every rank. Only where cache_known. */
    bool cache_known;
    uint32_t hits, misses, invalid, evicted;
} LsCycle;

/* A tensor that the program told of beforehand, or that is in a group. */
typedef struct LsGraphTensor {
    uint32_t rank;       /* that wrote it down */
    uint32_t tensor, group; /* names; group LS_NONE: none */
    int32_t place;       /* in order of becoming ready; -1 not in the graph */
    int64_t bytes;       /* -1 unknown */
} LsGraphTensor;

/* An edge of that graph: the tensor becomes ready only after the needed one. */
typedef struct LsGraphNeed {
    uint32_t rank;
    uint32_t tensor, needed; /* names */
} LsGraphNeed;

/* The background loop slept. */
typedef struct LsSleep {
    uint32_t rank;
    int64_t start_ns, end_ns;
} LsSleep;

typedef struct LsMessage {
    uint32_t rank;
    uint32_t name;       /* gather, gatherv, bcast, allreduce, send, recv; allreduce or: of bits, not AND */
    int64_t cycle;
    int64_t start_ns, end_ns;
    int64_t messages_in, messages_out, bytes_in, bytes_out;
} LsMessage;

/* One clock round trip with another process; the peer's times are its own clock's. Only in LsProcess. */
typedef struct LsRoundtrip {
    int32_t peer;        /* rank number; -1: any process of `boot` */
    uint32_t boot;       /* name: boot id of the peer's host; 0: not told */
    int64_t send_ns, receive_ns;           /* ours */
    int64_t peer_receive_ns, peer_send_ns; /* the peer's */
} LsRoundtrip;

/* An NVTX range of Horovod: one of its operations, or one that mirrors its timeline. Only in LsProcess:
 * merge makes uses of it. */
typedef struct LsRange {
    uint32_t domain, name; /* HorovodOps, HorovodAllreduce */
    int64_t start_ns, end_ns; /* end LS_TIME_NONE: not ended when the recording did */
    int64_t payload;       /* bytes; -1 none */
} LsRange;

/* A call of MPI, as a wrapper around it saw it. Only in LsProcess: merge makes spans and cycles of it. */
typedef struct LsMpiCall {
    uint32_t name;         /* MPI_Allreduce */
    uint32_t thread;
    uint32_t communicator; /* the process's own number */
    int32_t ranks, rank;   /* of the communicator, and ours in it; -1 unknown */
    int32_t peer;          /* root, destination, source; -1 none */
    uint8_t operation;     /* LsOperation */
    uint8_t reduction;     /* LsMpiReduction */
    int64_t bytes;         /* what this rank puts in; -1 unknown */
    int64_t start_ns, end_ns;
} LsMpiCall;

/* Monotonic against wall clock. Only in LsProcess. */
typedef struct LsClockPair {
    int64_t local_ns, wall_ns, uncertainty_ns;
} LsClockPair;

/* A sample of a counter; the track says which. */
typedef struct LsSample {
    int64_t time_ns;
    double value;
    bool valid;
} LsSample;

/* A point in time: cycle markers, marks, errors. */
typedef struct LsInstant {
    uint32_t rank;
    uint32_t name;
    uint8_t kind;        /* LsInstantKind */
    int64_t time_ns;
    int64_t value;       /* by kind: the lost rank, the stalled rank, the cycle number */
} LsInstant;

typedef enum LsInstantKind {
    LS_INSTANT_MARK,
    LS_INSTANT_CYCLE,     /* a cycle began (Horovod's CYCLE_START) */
    LS_INSTANT_STALL,
    LS_INSTANT_PEER_LOST,
    LS_INSTANT_ERROR,
} LsInstantKind;

typedef enum LsSeverity { LS_NOTE, LS_WARNING, LS_FAULT } LsSeverity; /* note, warning, error */

/* Something about the recording that a reader must know: a fault in a file, a loss, a conflict, the
 * reason of a null. Strings are owned by the row. */
typedef struct LsFinding {
    LsSeverity severity;
    char *file;          /* NULL: not of one file */
    int64_t offset;      /* byte offset, -1: none */
    int32_t rank;        /* -1: none */
    int64_t time_ns;     /* when it happened, LS_TIME_NONE: at no one time */
    char *text;          /* one sentence */
} LsFinding;
