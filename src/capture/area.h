/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/area.h: the shared memory of one recorder: who owns it, its texts, its threads' rings.
 *
 * One file in /dev/shm per recorder, laid out as
 *
 *   0                     LsAreaHeader: owner, run folder, how far the trace file is
 *   LS_AREA_RINGS         one LsRing (256 bytes) per unit of 64 KB
 *   text_offset           log of texts (names and facts), each once
 *   units_offset          the units: a ring's records lie in one or more of them, side by side
 *
 * The file is sparse; each part is reserved by posix_fallocate before it is touched, since a full
 * tmpfs otherwise kills the host by SIGBUS at the first store. What cannot be reserved is replaced
 * by private memory of the same address: nothing is lost by that but what SIGKILL catches.
 *
 * When the owner dies, all that its file lacks is here. The commit word makes that exact: the owner
 * notes the next state of everything (`*_next`), writes the file, sets `commit`, copies next to
 * present, clears `commit`. Whoever finds `commit` set copies again; whoever finds it clear writes
 * over what the file has beyond `position`. Nothing twice, nothing lost.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/clock.h"
#include "capture/format.h"
#include "capture/status.h"

#define LS_AREA_MAGIC      0x3152534cu /* "LSR1" */
#define LS_AREA_VERSION    1u
#define LS_AREA_RINGS      4096u
#define LS_AREA_UNIT       65536u
#define LS_AREA_UNITS_MAX  1008u
#define LS_AREA_TEXT_BYTES (4u << 20)
#define LS_AREA_TEXT_STEP  65536u
#define LS_AREA_PATH_MAX   1024
#define LS_AREA_NAME_MAX   256
#define LS_AREA_BLOCKS     64
#define LS_AREA_PREFIX     "lockstep-"
#define LS_AREA_SUFFIX     ".rings"

typedef enum LsRingState {
    LS_RING_FREE = 0,
    LS_RING_LIVE,  /* its thread writes */
    LS_RING_ENDED, /* its thread is gone; free once it is drained */
    LS_RING_PART,  /* not a ring: belongs to the one before */
} LsRingState;

/* Single producer (its thread), single consumer (who drains). Indices count records and never wrap
 * in practice. */
typedef struct LsRing {
    /* The producer's line. */
    _Alignas(64) _Atomic uint64_t write; /* released after the record is whole */
    uint64_t look_at;                    /* producer: at this index look at `read` again */
    _Atomic uint64_t dropped;            /* found the ring full, in all */
    _Atomic int64_t dropped_first_ns;    /* of those not told yet */
    _Atomic int64_t dropped_last_ns;
    /* The consumer's. */
    _Alignas(64) _Atomic uint64_t read; /* committed: is in the file */
    uint64_t read_next;
    _Atomic uint64_t dropped_told; /* LOST records in the file speak of so many */
    uint64_t dropped_told_next;
    uint64_t discarded; /* taken out and not written, in all */
    uint64_t discarded_next;
    uint64_t discarded_told;
    uint64_t discarded_told_next;
    int64_t discarded_first_ns; /* of those not told yet */
    int64_t discarded_last_ns;
    /* Fixed while the ring is handed out. */
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t name; /* of its thread */
    uint32_t thread, unit, units, mask;
    uint32_t name_told, name_told_next;
    uint32_t is_private; /* could not be reserved in the file: dies with the process */
} LsRing;
_Static_assert(sizeof(LsRing) == 256, "ring headers are 256 bytes apart");

/* What a block of the trace file holds (a bounded file is overwritten block by block): its records,
 * and those that its LOST records speak of, which have to be told again when it goes. */
typedef struct LsAreaBlock {
    uint64_t records;
    int64_t first_ns, last_ns;
} LsAreaBlock;

/* How far the trace file is. */
typedef struct LsAreaProgress {
    uint64_t position;   /* where the next chunk goes */
    uint64_t dictionary; /* bytes written since all texts were repeated */
    uint64_t text;       /* bytes of the text log that are in the file */
    uint32_t sequence;   /* of the next chunk */
    uint32_t wrapped;    /* the file is at its bound; blocks are overwritten */
    uint64_t emptied;    /* block that this step made empty, counted from 1; 0: none */
} LsAreaProgress;

typedef struct LsAreaHeader {
    uint32_t magic, version;
    uint32_t pid;
    uint32_t incarnation;
    uint64_t start_ticks;   /* of the owner, since boot */
    uint64_t pid_namespace; /* pids of another namespace say nothing here */
    uint64_t folder_dev, folder_ino;
    int64_t folder_birth_ns; /* 0: unknown */
    char boot_id[LS_BOOT_ID_MAX];
    char host[LS_AREA_NAME_MAX];
    char folder[LS_AREA_PATH_MAX];
    char file[LS_AREA_NAME_MAX];      /* in the folder; "" until it exists */
    char file_next[LS_AREA_NAME_MAX]; /* about to be made: if it is there and empty, it was */
    _Atomic uint32_t rank;            /* LS_RANK_UNKNOWN */
    _Atomic int32_t world;            /* < 1: unknown */
    _Atomic int32_t local_rank;       /* < 0: unknown */
    uint32_t file_mode;
    uint64_t text_offset, units_offset, bytes;
    uint64_t max_bytes, block_bytes; /* 0: the file has no bound */
    uint64_t reserve_position;       /* of LS_RESERVE_BYTES zero bytes in the file; 0: none */
    _Atomic uint32_t units_top;      /* units ever handed out */
    _Atomic uint32_t names;          /* ids given */
    _Atomic uint64_t text_used;
    _Atomic uint64_t text_shared;   /* of it, what lies in the file and not in private memory */
    _Atomic uint64_t ringless_lost; /* records of threads that got no ring */
    uint64_t ringless_told, ringless_told_next;
    _Atomic int64_t alive_ns; /* when the owner's drain was last seen at work */
    _Atomic uint32_t commit;
    LsAreaProgress progress, progress_next;
    LsAreaBlock blocks[LS_AREA_BLOCKS];
    LsAreaBlock overwritten, overwritten_next; /* of blocks, and not yet told */
} LsAreaHeader;
_Static_assert(sizeof(LsAreaHeader) <= LS_AREA_RINGS, "the header has its own page");

/* An entry of the text log: this, then `length` bytes, padded to 4. */
typedef struct LsAreaText {
    uint16_t kind; /* LS_RECORD_NAME, LS_RECORD_INFO */
    uint16_t length;
    uint32_t id;
} LsAreaText;

/* The owner's handle. One mapping for the life of the process: a thread that writes late must find
 * memory there. */
typedef struct LsArea {
    LsAreaHeader *header;        /* NULL: none yet */
    size_t bytes;                /* of the mapping */
    uint32_t units;              /* that exist */
    uint32_t ring_units;         /* of a usual ring */
    uint64_t text_backed;        /* bytes of the text log that may be stored to */
    bool is_shared;              /* false: private memory */
    _Atomic uint32_t free_units; /* below units_top */
    char path[LS_AREA_PATH_MAX];
} LsArea;

/* Makes the file (name: PREFIX, folder's inode, pid, start, counter, SUFFIX) and maps it; private
 * memory where that cannot be, with `ret_shared_error` the errno, 0 otherwise. shm_bytes and
 * ring_bytes are brought within bounds. `owner` gives the header's identity fields. */
LsStatus ls_area_open(LsArea *area, const LsAreaHeader *owner, const char *shm_dir,
                      int64_t shm_bytes, int64_t ring_bytes, int *ret_shared_error);
/* Replaces the memory under the mapping by private zero pages (late writers harm nothing) and
 * removes the file. */
void ls_area_close(LsArea *area);

/* A ring of `units` for the calling thread; NULL: all are taken. Under the recorder's lock. */
LsRing *ls_area_take_ring(LsArea *area, uint32_t units, uint32_t thread);
/* Gives back an ENDED ring that is drained. */
void ls_area_free_ring(LsArea *area, LsRing *ring);

/* Appends to the text log; false: full. Under the names' lock. */
bool ls_area_add_text(LsArea *area, LsRecordKind kind, uint32_t id, const char *text,
                      size_t length);

static inline LsRing *
ls_area_ring(const LsAreaHeader *header, uint32_t unit)
{
    return (LsRing *)((uintptr_t)header + LS_AREA_RINGS) + unit;
}

static inline LsRecord *
ls_area_records(const LsAreaHeader *header, const LsRing *ring)
{
    return (LsRecord *)((uintptr_t)header + header->units_offset +
                        (uint64_t)ring->unit * LS_AREA_UNIT);
}
