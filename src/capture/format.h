/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/format.h: the trace file on disk, and the record in memory.
 *
 * This is the one place where the two halves of Lockstep meet: what runs inside other people's
 * processes writes it, src/format/native.c reads it. FORMAT.md says the same in words, byte by
 * byte. Little-endian throughout. Libc only.
 */
#pragma once

#include <stdint.h>

#define LS_CHUNK_MAGIC     0x314b534cu /* the bytes "LSK1" */
#define LS_FORMAT_VERSION  1u
#define LS_RANK_UNKNOWN    0xffffffffu
#define LS_RECORD_ARGS_MAX 5

/* A chunk: this header, then `payload_bytes` of records. Rank and pid in each, so that files put
 * one behind another are a valid file. A chunk holds the records of one thread (thread != 0) or the
 * process's own words: names, info, clock pairs, losses (thread == 0). */
typedef struct LsChunkHeader {
    uint32_t magic;         /* LS_CHUNK_MAGIC */
    uint16_t version;       /* LS_FORMAT_VERSION */
    uint16_t header_bytes;  /* 64 in version 1; a reader skips what it does not know */
    uint32_t payload_bytes;
    uint32_t crc32c;        /* of header (this field as 0) and payload */
    uint32_t rank;          /* LS_RANK_UNKNOWN until known */
    uint32_t pid;
    uint32_t thread;        /* kernel thread id; 0 = the process itself */
    uint32_t sequence;      /* counts the chunks of this file from 0 */
    uint64_t lost;          /* records this thread has lost so far, in all */
    int64_t  first_ns;      /* base of the first time difference; CLOCK_MONOTONIC */
    int64_t  last_ns;       /* largest time in the chunk */
    uint32_t incarnation;   /* which life of this rank, from 0 */
    uint32_t features;      /* bits a reader must know to read the payload; 0 in version 1 */
} LsChunkHeader;
_Static_assert(sizeof(LsChunkHeader) == 64, "the chunk header is 64 bytes on disk");

/* The shape of a record's fields. */
typedef enum LsRecordShape {
    LS_SHAPE_TEXT,    /* name id, then bytes: NAME and INFO */
    LS_SHAPE_INSTANT, /* name, time, arguments */
    LS_SHAPE_SPAN,    /* name, start, duration, arguments */
} LsRecordShape;

#define LS_RECORD_KINDS 128 /* ids are below */

typedef enum LsRecordKind {
#define LS_RECORD(id, SYMBOL, text, shape, since, ...) LS_RECORD_##SYMBOL = id,
#include "records.def"
#undef LS_RECORD
} LsRecordKind;

/* A record in memory: one slot of a ring. Times are CLOCK_MONOTONIC in ns. An instant has
 * end_ns == start_ns. Arguments that a kind does not use are 0. */
typedef struct LsRecord {
    uint16_t kind;     /* LsRecordKind */
    uint16_t flags;    /* LS_RECORD_OPEN */
    uint32_t name;     /* id from ls_recorder_name(); 0 = none */
    int64_t  start_ns;
    int64_t  end_ns;
    int64_t  args[LS_RECORD_ARGS_MAX]; /* meaning by kind: records.def */
} LsRecord;
_Static_assert(sizeof(LsRecord) == 64, "a record is one cache line");

/* The span has begun and not ended yet. A later record of the same thread, kind, name and start
 * without this flag takes its place; where none comes, the process died inside it. */
#define LS_RECORD_OPEN 1u

/* One record in a chunk's payload, every number a LEB128 varint, signed ones zigzag:
 *
 *   length      bytes that follow, so that an unknown kind can be skipped
 *   kind        kind << 1 | open
 *   TEXT:       id, then the bytes to the end of the record (NAME: the text of this id;
 *               INFO: id names the key, the bytes are the value)
 *   INSTANT:    name, zigzag(start - previous start), zigzag(argument) ...
 *   SPAN:       name, zigzag(start - previous start), end - start, zigzag(argument) ...
 *
 * "previous start" is the chunk's first_ns for its first timed record. Arguments that are 0 at
 * the end of the list are left out. */
#define LS_RECORD_BYTES_MAX 96 /* of an INSTANT or SPAN */

/* What a collective does, in SUBMIT's and OPERATION's `code`: operation | dtype << 8 | reduction << 16.
 * 0 to 8 are numbered as Horovod's request types are. */
typedef enum LsOperation {
    LS_OPERATION_ALLREDUCE = 0,
    LS_OPERATION_ALLGATHER = 1,
    LS_OPERATION_BROADCAST = 2,
    LS_OPERATION_JOIN = 3,
    LS_OPERATION_ADASUM = 4,
    LS_OPERATION_ALLTOALL = 5,
    LS_OPERATION_BARRIER = 6,
    LS_OPERATION_REDUCESCATTER = 7,
    LS_OPERATION_ERROR = 8,
    LS_OPERATION_REDUCE = 9,
    LS_OPERATION_SEND = 10,
    LS_OPERATION_RECV = 11,
    LS_OPERATION_UNKNOWN = 255,
} LsOperation;

/* The reduction of an MPI_CALL. */
typedef enum LsMpiReduction {
    LS_MPI_REDUCTION_NONE = 0, /* the call does not reduce */
    LS_MPI_REDUCTION_SUM = 1,
    LS_MPI_REDUCTION_MIN = 3,
    LS_MPI_REDUCTION_MAX = 4,
    LS_MPI_REDUCTION_PRODUCT = 5,
    LS_MPI_REDUCTION_BAND = 16,
    LS_MPI_REDUCTION_BOR = 17,
    LS_MPI_REDUCTION_OTHER = 255,
} LsMpiReduction;

/* Unit of a SAMPLE's value. */
typedef enum LsSampleUnit {
    LS_UNIT_NONE = 0,
    LS_UNIT_MILLIWATT = 1,
    LS_UNIT_MILLIJOULE = 2, /* counts up from some start */
    LS_UNIT_MEGAHERTZ = 3,
    LS_UNIT_PERCENT = 4,
    LS_UNIT_CELSIUS = 5,
    LS_UNIT_MICROJOULE = 6, /* counts up from some start */
} LsSampleUnit;

/* The way a cycle of the control took (metrics.md, "Paths"). */
typedef enum LsCyclePath {
    LS_PATH_IDLE = 0,
    LS_PATH_BYPASS = 1,
    LS_PATH_SLOW = 2,
    LS_PATH_MIXED = 3,
} LsCyclePath;
