/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots are used round and round, a block of them by one thread. Each is a cache line and has a
 * generation, and a lock for the few instructions that read or change it. An event is written when
 * it has ended, from what its slot holds; its slot stays for children that come late, until it is
 * used again.
 *
 * Which kernel carries an operation: group and launch have a number in common (the group's, and the
 * communicator's place), which CUPTI hands on as external correlation. NCCL tells of an operation
 * before or after the launch; the order does not matter.
 */
#include "tracer/nccl-event.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nccl.h"
#include "capture/own.h"
#include "capture/recorder.h"
#include "tracer/cupti.h"

#define SLOTS     16384u
#define BLOCK     64u /* slots that a thread takes at once */
#define COMMS     1024
#define NAMES_MAX 16

struct LsNcclTracedComm {
    int64_t hash;
    int ranks, rank;
    uint32_t index;
};

/* What is known of an event. */
typedef struct Event {
    int64_t start_ns, end_ns, launch, sequence;
    union {
        struct {
            int64_t bytes;
            int32_t code, peer;
        };
        struct { /* of a channel */
            int64_t device_start_ns, device_end_ns;
        };
    };
    uint32_t name;
    uint16_t comm; /* its place, counted from 1; 0: none */
    uint8_t kind, channel;
} Event;

typedef struct Slot {
    _Alignas(64) _Atomic uint8_t lock;
    bool is_stopped, has_device_end, is_written;
    uint32_t generation;
    Event event;
} Slot;
_Static_assert(sizeof(Slot) == 64, "an event touches one cache line");

static Slot slots[SLOTS];
static LsNcclTracedComm comms[COMMS];
static _Atomic uint32_t n_comms;
static _Atomic uint64_t n_blocks;
static _Atomic int64_t n_groups;

/* -- Slots -- */

static void
lock_slot(Slot *slot)
{
    while (atomic_exchange_explicit(&slot->lock, 1, memory_order_acquire) != 0)
        sched_yield();
}

static void
unlock_slot(Slot *slot)
{
    atomic_store_explicit(&slot->lock, 0, memory_order_release);
}

/* The number of an event among all. A thread that has rested while others used half of the slots
 * takes a new block, or it would use slots before their turn. */
static uint64_t
take_number(void)
{
    static __thread uint64_t next;
    uint64_t *own = ls_own(&next);
    uint64_t n = *own, now = atomic_load_explicit(&n_blocks, memory_order_relaxed);
    if (n % BLOCK == 0 || now - n / BLOCK > SLOTS / BLOCK / 2)
        n = atomic_fetch_add_explicit(&n_blocks, 1, memory_order_relaxed) * BLOCK;
    *own = n + 1;
    return n;
}

/* Generation above, place below; never 0. */
static void *
make_handle(uint32_t index, uint32_t generation)
{
    return (void *)((uintptr_t)generation << 32 | (uintptr_t)(index + 1));
}

/* Locked; NULL: the handle is stale, or nonsense. */
static Slot *
find_slot(void *handle)
{
    uintptr_t bits = (uintptr_t)handle;
    uint32_t index = (uint32_t)bits - 1;
    if (handle == NULL || index >= SLOTS)
        return NULL;
    Slot *slot = &slots[index];
    lock_slot(slot);
    if (slot->generation == (uint32_t)(bits >> 32) && slot->generation != 0)
        return slot;
    unlock_slot(slot);
    return NULL;
}

/* -- Words -- */

typedef struct Word {
    const char *text;
    int value;
} Word;

static int
find_word(const Word *words, size_t n, const char *text, int otherwise)
{
    for (size_t i = 0; text != NULL && i < n; i++) {
        if (strcmp(words[i].text, text) == 0)
            return words[i].value;
    }
    return otherwise;
}

/* operation | type << 8 | reduction << 16; NCCL does not tell the reduction. */
static int32_t
find_code(const char *func, const char *type, int *ret_nccl_type, bool *ret_is_total)
{
    static const Word funcs[] = {
        {"AllReduce", LS_OPERATION_ALLREDUCE}, {"AllGather", LS_OPERATION_ALLGATHER},
        {"Broadcast", LS_OPERATION_BROADCAST}, {"ReduceScatter", LS_OPERATION_REDUCESCATTER},
        {"Reduce", LS_OPERATION_REDUCE},       {"Send", LS_OPERATION_SEND},
        {"Recv", LS_OPERATION_RECV},           {"AlltoAll", LS_OPERATION_ALLTOALL}};
    static const Word types[] = {
        {"ncclInt8", LS_NCCL_INT8},       {"ncclUint8", LS_NCCL_UINT8},
        {"ncclInt32", LS_NCCL_INT32},     {"ncclUint32", LS_NCCL_UINT32},
        {"ncclInt64", LS_NCCL_INT64},     {"ncclUint64", LS_NCCL_UINT64},
        {"ncclFloat16", LS_NCCL_FLOAT16}, {"ncclFloat32", LS_NCCL_FLOAT32},
        {"ncclFloat64", LS_NCCL_FLOAT64}, {"ncclBfloat16", LS_NCCL_BFLOAT16},
        {"ncclFloat8e4m3", LS_NCCL_INT8}, {"ncclFloat8e5m2", LS_NCCL_INT8}};
    /* As reduce numbers them; unsigned 32 and 64 have no number of their own there. */
    static const uint8_t dtypes[LS_NCCL_N_TYPES] = {4, 5, 6, 255, 7, 255, 2, 0, 1, 3};
    int operation = find_word(funcs, sizeof funcs / sizeof funcs[0], func, LS_OPERATION_UNKNOWN);
    *ret_nccl_type = find_word(types, sizeof types / sizeof types[0], type, -1);
    *ret_is_total = operation == LS_OPERATION_ALLGATHER || operation == LS_OPERATION_REDUCESCATTER;
    int dtype = *ret_nccl_type >= 0 ? dtypes[*ret_nccl_type] : 255;
    return operation | dtype << 8 | 255 << 16;
}

/* What the texts of an operation come to: a handful, known by their addresses, which NCCL keeps. */
typedef struct Known {
    const char *func, *type;
    int64_t element_bytes;
    int32_t code;
    uint32_t life, name; /* of the recorder, whose id the name is */
    bool is_total;       /* bytes are those of all ranks */
} Known;

static const Known *
find_operation(const char *func, const char *type)
{
    static __thread Known known[NAMES_MAX];
    Known *own = ls_own(known);
    Known *found = &own[((uintptr_t)func >> 3 ^ (uintptr_t)type >> 4) % NAMES_MAX];
    uint32_t life = ls_recorder_life();
    if (found->func != func || found->type != type || found->life != life || found->name == 0) {
        int nccl_type;
        found->life = life;
        found->func = func;
        found->type = type;
        found->code = find_code(func, type, &nccl_type, &found->is_total);
        found->element_bytes = nccl_type >= 0 ? (int64_t)ls_nccl_type_bytes(nccl_type) : 0;
        found->name = func != NULL ? ls_recorder_name(func) : 0;
    }
    return found;
}

/* -- Communicators -- */

/* Where no launcher told this process its rank, the first communicator does. */
static void
tell_rank(int rank, int ranks)
{
    static const char *const variables[] = {"LOCKSTEP_RANK",  "HOROVOD_RANK",         "RANK",
                                            "DMLC_WORKER_ID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                            "PMI_RANK",       "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        if (getenv(variables[i]) != NULL)
            return;
    }
    ls_recorder_set_rank(rank, ranks, -1);
}

LsNcclTracedComm *
ls_nccl_comm_open(uint64_t hash, const char *name, int nodes, int ranks, int rank, int plugin)
{
    uint32_t index = atomic_fetch_add(&n_comms, 1);
    if (index >= COMMS)
        return NULL;
    if (index == 0)
        tell_rank(rank, ranks);
    LsNcclTracedComm *comm = &comms[index];
    *comm = (LsNcclTracedComm){(int64_t)hash, ranks, rank, index};
    LsRecord record = {.kind = LS_RECORD_NCCL_COMM,
                       .name = name != NULL ? ls_recorder_name(name) : 0,
                       .args = {comm->hash, ranks, rank, nodes, plugin}};
    record.start_ns = record.end_ns = ls_recorder_now();
    ls_recorder_write(&record);
    return comm;
}

/* -- Beginning -- */

/* What a child takes from its parent. */
static void
inherit(Event *event, void *handle)
{
    Slot *parent = find_slot(handle);
    if (parent == NULL)
        return;
    event->launch = parent->event.launch;
    event->sequence = parent->event.sequence;
    unlock_slot(parent);
}

static void
set_operation(Event *event, const LsNcclStart *start, const LsNcclTracedComm *comm)
{
    const Known *known = find_operation(start->func, start->type);
    event->code = known->code;
    event->bytes = (int64_t)start->count * known->element_bytes;
    if (known->is_total && comm != NULL)
        event->bytes *= comm->ranks;
    event->name = known->name;
    event->peer = start->peer;
}

/* The group's number is its own; with the communicator's place it is that of a launch. */
static int64_t
combine(int64_t group, const LsNcclTracedComm *comm)
{
    return group == 0 || comm == NULL ? group : (group & ~INT64_C(1023)) | comm->index;
}

static void
fill(Event *event, const LsNcclStart *start, const LsNcclTracedComm *comm)
{
    event->kind = (uint8_t)start->kind;
    event->comm = comm != NULL ? (uint16_t)(comm->index + 1) : 0;
    inherit(event, start->parent);
    switch (start->kind) {
    case LS_NCCL_KIND_GROUP:
        if (event->launch == 0)
            event->launch = (atomic_fetch_add(&n_groups, 1) + 1) << 10;
        break;
    case LS_NCCL_KIND_LAUNCH:
        if (event->launch == 0)
            event->launch = (atomic_fetch_add(&n_groups, 1) + 1) << 10;
        event->launch = combine(event->launch, comm);
        break;
    case LS_NCCL_KIND_COLL:
        event->sequence = (int64_t)start->sequence;
        set_operation(event, start, comm);
        event->launch = combine(event->launch, comm);
        break;
    case LS_NCCL_KIND_CALL:
    case LS_NCCL_KIND_P2P:
        set_operation(event, start, comm);
        event->launch = combine(event->launch, comm);
        break;
    case LS_NCCL_KIND_CHANNEL:
        event->channel = start->channel;
        event->device_start_ns = start->device_ns;
        break;
    case LS_NCCL_KIND_PROXY:
        event->name = find_operation(start->is_send ? "send" : "recv", NULL)->name;
        event->peer = start->peer;
        event->channel = start->channel;
        event->bytes = start->bytes;
        break;
    }
}

void *
ls_nccl_event_start(LsNcclTracedComm *comm, const LsNcclStart *start)
{
    if (!ls_recorder_active())
        return NULL;
    Event event = {0};
    fill(&event, start, comm);
    uint64_t n = take_number();
    uint32_t index = (uint32_t)(n % SLOTS), generation = (uint32_t)(n / SLOTS) + 1;
    Slot *slot = &slots[index];
    if (start->kind == LS_NCCL_KIND_LAUNCH)
        ls_cupti_push(event.launch);
    event.start_ns = ls_recorder_now();
    lock_slot(slot);
    slot->is_stopped = slot->has_device_end = slot->is_written = false;
    slot->generation = generation;
    slot->event = event;
    unlock_slot(slot);
    __builtin_prefetch(&slots[(index + 1) % SLOTS], 1);
    return make_handle(index, generation);
}

/* -- Ending -- */

/* The record of an event; false: of its kind none is written. */
static bool
make_record(const Event *event, LsRecord *ret_record)
{
    int64_t hash = event->comm != 0 ? comms[event->comm - 1].hash : 0;
    int64_t *args = ret_record->args;
    *ret_record =
        (LsRecord){.name = event->name, .start_ns = event->start_ns, .end_ns = event->end_ns};
    args[0] = hash;
    args[2] = event->bytes;
    args[3] = event->code;
    args[4] = event->launch;
    switch ((LsNcclEventKind)event->kind) {
    case LS_NCCL_KIND_GROUP:
        return false;
    case LS_NCCL_KIND_CALL:
        ret_record->kind = LS_RECORD_NCCL_CALL;
        args[1] = event->bytes;
        args[2] = event->code;
        args[3] = event->launch;
        args[4] = 0;
        break;
    case LS_NCCL_KIND_COLL:
        ret_record->kind = LS_RECORD_NCCL_COLL;
        args[1] = event->sequence;
        break;
    case LS_NCCL_KIND_P2P:
        ret_record->kind = LS_RECORD_NCCL_P2P;
        args[1] = event->peer;
        break;
    case LS_NCCL_KIND_LAUNCH:
        ret_record->kind = LS_RECORD_NCCL_LAUNCH;
        args[0] = event->launch;
        args[1] = hash;
        args[2] = args[3] = args[4] = 0;
        break;
    case LS_NCCL_KIND_CHANNEL:
        ret_record->kind = LS_RECORD_NCCL_CHANNEL;
        ret_record->end_ns = event->start_ns;
        args[0] = event->launch;
        args[1] = event->channel;
        args[2] = event->device_start_ns;
        args[3] = event->device_end_ns;
        args[4] = event->sequence;
        break;
    case LS_NCCL_KIND_PROXY:
        ret_record->kind = LS_RECORD_NCCL_PROXY;
        args[0] = event->launch;
        args[1] = event->peer;
        args[2] = event->channel;
        args[3] = event->bytes;
        args[4] = 0;
        break;
    }
    return true;
}

/* A channel is whole when it was stopped and its end is known, in whichever order; others when
 * stopped. Each is written once. */
static bool
take_whole(Slot *slot, LsRecord *ret_record)
{
    if (!slot->is_stopped || slot->is_written ||
        (slot->event.kind == LS_NCCL_KIND_CHANNEL && !slot->has_device_end))
        return false;
    slot->is_written = true;
    return make_record(&slot->event, ret_record);
}

void
ls_nccl_event_stop(void *handle)
{
    Slot *slot = find_slot(handle);
    LsRecord record;
    bool is_whole = false, is_launch = false;
    if (slot == NULL)
        return;
    if (!slot->is_stopped) {
        slot->is_stopped = true;
        slot->event.end_ns = ls_recorder_now();
        is_launch = slot->event.kind == LS_NCCL_KIND_LAUNCH;
        is_whole = take_whole(slot, &record);
    }
    unlock_slot(slot);
    if (is_launch)
        ls_cupti_pop();
    if (is_whole)
        ls_recorder_write(&record);
}

void
ls_nccl_event_channel_stop(void *handle, int64_t device_ns)
{
    Slot *slot = find_slot(handle);
    LsRecord record;
    bool is_whole = false;
    if (slot == NULL)
        return;
    if (slot->event.kind == LS_NCCL_KIND_CHANNEL && !slot->has_device_end) {
        slot->has_device_end = true;
        slot->event.device_end_ns = device_ns;
        is_whole = take_whole(slot, &record);
    }
    unlock_slot(slot);
    if (is_whole)
        ls_recorder_write(&record);
}
