/* SPDX-License-Identifier: Apache-2.0
 * format/native-private.h: a process while its chunks are read; shared by native*.c. */
#pragma once

#include "capture/format.h"
#include "format/row-index.h"
#include "trace/process.h"

/* One thread of the process. */
typedef struct Thread {
    uint32_t id;
    uint64_t lost;          /* as its latest chunk says */
    LsTrackBuilder *phases; /* NULL until it marks one */
    uint32_t name;          /* file's id of its name, 0 none */
    bool is_stepping;       /* it marks steps */
} Thread;

/* What a use or call still needs when all is read. */
typedef struct UseJoin {
    bool agreed;
    uint32_t communicator;
    uint64_t buffer;
} UseJoin;

/* A kernel that may be NCCL's. */
typedef struct NcclKernel {
    uint32_t name, correlation;
    uint64_t launch; /* 0: not told */
    int64_t start_ns, end_ns;
    bool is_open;
    uint32_t next; /* of the same launch: index + 1; 0: none */
} NcclKernel;

/* A device's track that was used of late, and what of: native-device.c. */
#define DEVICE_TRACKS 64
typedef struct DeviceTrack {
    uint32_t what;
    int64_t device, id; /* of a stream; a thread in `id` alone */
    LsTrackBuilder *track;
} DeviceTrack;

/* Findings of one record kind: the first few are said one by one. */
#define FINDINGS_MAX 50

typedef struct Native {
    LsProcess *process;
    uint32_t pid, rank, incarnation;
    uint32_t next_sequence; /* chunks beyond it wait */
    GHashTable *chunks;     /* sequence -> checksum */
    GPtrArray *deferred;    /* DeferredChunk */
    int64_t first_ns, last_ns;
    uint64_t records, unknown, broken;

    GArray *names;            /* uint32_t: the file's id -> the process's string; LS_NONE unknown */
    GHashTable *placeholders; /* file's id -> string that stands for it until its NAME comes */
    GHashTable *infos;        /* file's id of the key -> Info */
    uint32_t sequence;        /* of the chunk being read */
    GArray *replaced;         /* uint32_t pairs: placeholder, real string */

    GHashTable *threads; /* id -> Thread */
    Thread *thread;      /* of the chunk being read */
    GHashTable *open;    /* OpenRecord: begun, not ended */
    GArray *windows;     /* LsRecord: times in which records were kept, that ended before the process */
    uint32_t open_of_kind[LS_RECORD_KINDS];
    uint64_t endless; /* begun, followed by others of their kind, and their end is not in the file */

    LsRowIndex *use_index, *call_index, *cycle_index;
    GArray *use_joins;             /* UseJoin, by use */
    GArray *call_heard_ns;         /* int64_t, by call: the latest that tells of it */
    GHashTable *counters;          /* file's id -> GArray of LsSample */
    GHashTable *half_ranges;       /* id of an NVTX range -> HalfRange */
    GHashTable *mpi_communicators; /* number -> MpiCommunicator */
    LsTrackBuilder *steps, *communication, *cycles; /* the latest used, by communicator */
    int64_t communication_id, cycles_id;
    uint64_t lost_records; /* by LOST records */
    uint64_t gone_records; /* of these, of no one thread; `gone`: from the first to the last of them */
    LsRecord gone;

    /* native-device.c, native-nccl.c */
    DeviceTrack device_tracks[DEVICE_TRACKS];
    int64_t first_device;
    GArray *kernels;      /* NcclKernel */
    GArray *samples;      /* LsRecord, of sensors */
    GArray *launch_calls; /* calls of the driver, which launch kernels */
    GArray *host_ranges;  /* NVTX ranges, which enclose those */
    GArray *collectives;  /* what NCCL told of its operations */
    GHashTable *launches; /* correlation -> launch of NCCL */
    GHashTable *nccl_communicators;
    uint64_t untimed, dropped;

    uint64_t findings_of_kind[LS_RECORD_KINDS];
} Native;

Native *ls_native_new(const char *source, uint32_t pid, uint32_t rank, uint32_t incarnation);
/* Joins, closes what is open, says what was lost. The process passes to the caller; frees. */
LsProcess *ls_native_finish(Native *native);

/* The chunk's records into the process. `offset`: of the payload. */
void ls_native_add_chunk(Native *native, const LsChunkHeader *header, const uint8_t *payload,
                         int64_t offset);
/* The same, when those that were written before it have been read. */
void ls_native_defer_chunk(Native *native, const LsChunkHeader *header, const uint8_t *payload,
                           int64_t offset);
/* Bytes, or a number of things; beyond what can be it is damage, and unknown. */
static inline int64_t
ls_native_amount(int64_t value, int64_t unknown)
{
    return value >= 0 && value <= LS_AMOUNT_MAX ? value : unknown;
}

/* Of a time that a record has beside its own. */
static inline bool
ls_native_is_time(int64_t ns)
{
    return ns >= -LS_TIME_MAX && ns <= LS_TIME_MAX;
}

/* One complete record; end_ns >= start_ns. */
void ls_native_add_record(Native *native, const LsRecord *record);

/* The process's string of a name of the file. */
uint32_t ls_native_name(Native *native, uint32_t id);
void ls_native_set_name(Native *native, uint32_t id, const char *text, size_t length);
void ls_native_set_info(Native *native, uint32_t id, const char *text, size_t length);
Thread *ls_native_get_thread(Native *native, uint32_t id);
/* As ls_process_add_finding, at the record's time, but no more than FINDINGS_MAX of one kind. */
void ls_native_add_finding(Native *native, const LsRecord *record, LsSeverity severity,
                           const char *text);

/* native-open.c: an OPEN record is kept until its closed one comes; what is open at the end of the window
 * in which it began, or of the file, ends there, or where it must have ended before. */
GHashTable *ls_native_new_open(void);
void ls_native_open_record(Native *native, const LsRecord *record);
void ls_native_close_record(Native *native, const LsRecord *record);
void ls_native_flush_open(Native *native);
/* Until when anything is known of what began then. */
int64_t ls_native_find_end(const Native *native, int64_t start_ns);
void ls_native_flush_deferred(Native *native);
/* Names that came late, then facts. */
void ls_native_settle_names(Native *native);
void ls_native_free(Native *native);

/* native-life.c: rows of the table of kinds in native-records.c. */
void ls_native_add_submit(Native *native, const LsRecord *record);
void ls_native_add_gate(Native *native, const LsRecord *record);
void ls_native_add_agreed(Native *native, const LsRecord *record);
void ls_native_add_done(Native *native, const LsRecord *record);
void ls_native_add_cycle(Native *native, const LsRecord *record);
void ls_native_add_stage(Native *native, const LsRecord *record);
void ls_native_add_operation(Native *native, const LsRecord *record);
void ls_native_add_packing(Native *native, const LsRecord *record);
void ls_native_add_wire(Native *native, const LsRecord *record);
void ls_native_add_cache(Native *native, const LsRecord *record);

/* native-graph.c */
void ls_native_add_tensor(Native *native, const LsRecord *record);
void ls_native_add_needs(Native *native, const LsRecord *record);

/* native-ranges.c: NVTX ranges and calls of MPI. */
void ls_native_init_ranges(Native *native);
void ls_native_free_ranges(Native *native);
void ls_native_add_range(Native *native, const LsRecord *record);
void ls_native_start_range(Native *native, const LsRecord *record);
void ls_native_end_range(Native *native, const LsRecord *record);
void ls_native_add_mpi_call(Native *native, const LsRecord *record);
void ls_native_add_mpi_communicator(Native *native, const LsRecord *record);
/* What is still open; what the communicators are. After the names are settled. */
void ls_native_settle_ranges(Native *native);

/* native-device.c: rows of the table of kinds in native-records.c. */
void ls_native_add_kernel(Native *native, const LsRecord *record);
void ls_native_add_copy(Native *native, const LsRecord *record);
void ls_native_add_memset(Native *native, const LsRecord *record);
void ls_native_add_sync(Native *native, const LsRecord *record);
void ls_native_add_overhead(Native *native, const LsRecord *record);
void ls_native_add_api(Native *native, const LsRecord *record);
void ls_native_add_untimed(Native *native, const LsRecord *record);
void ls_native_add_dropped(Native *native, const LsRecord *record);
void ls_native_add_sample(Native *native, const LsRecord *record);
/* Which kernels are NCCL's, sensors; after the names are settled. */
void ls_native_settle_device(Native *native);

/* native-nccl.c */
void ls_native_init_nccl(Native *native);
void ls_native_free_nccl(Native *native);
void ls_native_note_kernel(Native *native, const LsRecord *record);
void ls_native_note_launch_call(Native *native, const LsRecord *record);
void ls_native_note_range(Native *native, const LsRecord *record);
void ls_native_add_external(Native *native, const LsRecord *record);
void ls_native_add_nccl_comm(Native *native, const LsRecord *record);
void ls_native_add_nccl_operation(Native *native, const LsRecord *record);
void ls_native_add_nccl_call(Native *native, const LsRecord *record);
void ls_native_add_nccl_proxy(Native *native, const LsRecord *record);
void ls_native_pass(Native *native, const LsRecord *record);
/* Collectives to calls; after ls_native_settle_device(). */
void ls_native_settle_nccl(Native *native);
