/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots are used round and round; each has a generation, and a lock for the few instructions that
 * read or change it. An event is written when it has ended, from what its slot holds; its slot
 * stays for children that come late, until it is used again.
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
#include "capture/recorder.h"
#include "tracer/cupti.h"

#define SLOTS     16384u
#define COMMS     1024
#define NAMES_MAX 16

struct LsNcclTracedComm {
    int64_t hash;
    int ranks, rank;
    uint32_t index;
};

typedef struct Slot {
    _Atomic uint32_t lock;
    uint32_t generation;
    uint8_t kind;
    bool is_stopped, has_device_end, is_written;
    uint32_t name;
    const LsNcclTracedComm *comm;
    int64_t start_ns, end_ns, launch, bytes, code;
    int64_t sequence, device_start_ns, device_end_ns;
    int32_t peer;
    uint8_t channel;
} Slot;

static Slot slots[SLOTS];
static LsNcclTracedComm comms[COMMS];
static _Atomic uint32_t n_comms;
static _Atomic uint64_t n_events;
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
static int64_t
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
    int64_t code, element_bytes;
    uint32_t name;
    bool is_total; /* bytes are those of all ranks */
} Known;

static const Known *
find_operation(const char *func, const char *type)
{
    static __thread Known known[NAMES_MAX];
    Known *found = &known[((uintptr_t)func >> 3 ^ (uintptr_t)type >> 4) % NAMES_MAX];
    if (found->func != func || found->type != type || found->name == 0) {
        int nccl_type;
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
inherit(Slot *ret_slot, void *handle)
{
    Slot *parent = find_slot(handle);
    if (parent == NULL)
        return;
    ret_slot->launch = parent->launch;
    ret_slot->sequence = parent->sequence;
    unlock_slot(parent);
}

static void
set_operation(Slot *slot, const LsNcclStart *start)
{
    const Known *known = find_operation(start->func, start->type);
    slot->code = known->code;
    slot->bytes = (int64_t)start->count * known->element_bytes;
    if (known->is_total && slot->comm != NULL)
        slot->bytes *= slot->comm->ranks;
    slot->name = known->name;
    slot->peer = start->peer;
}

/* The group's number is its own; with the communicator's place it is that of a launch. */
static int64_t
combine(int64_t group, const LsNcclTracedComm *comm)
{
    return group == 0 || comm == NULL ? group : (group & ~INT64_C(1023)) | comm->index;
}

static void
fill(Slot *slot, const LsNcclStart *start, const LsNcclTracedComm *comm)
{
    slot->kind = (uint8_t)start->kind;
    slot->comm = comm;
    inherit(slot, start->parent);
    switch (start->kind) {
    case LS_NCCL_KIND_GROUP:
        if (slot->launch == 0)
            slot->launch = (atomic_fetch_add(&n_groups, 1) + 1) << 10;
        break;
    case LS_NCCL_KIND_LAUNCH:
        if (slot->launch == 0)
            slot->launch = (atomic_fetch_add(&n_groups, 1) + 1) << 10;
        slot->launch = combine(slot->launch, comm);
        break;
    case LS_NCCL_KIND_COLL:
        slot->sequence = (int64_t)start->sequence;
        set_operation(slot, start);
        slot->launch = combine(slot->launch, comm);
        break;
    case LS_NCCL_KIND_CALL:
    case LS_NCCL_KIND_P2P:
        set_operation(slot, start);
        slot->launch = combine(slot->launch, comm);
        break;
    case LS_NCCL_KIND_CHANNEL:
        slot->channel = start->channel;
        slot->device_start_ns = start->device_ns;
        break;
    case LS_NCCL_KIND_PROXY:
        slot->name = find_operation(start->is_send ? "send" : "recv", NULL)->name;
        slot->peer = start->peer;
        slot->channel = start->channel;
        slot->bytes = start->bytes;
        break;
    }
}

void *
ls_nccl_event_start(LsNcclTracedComm *comm, const LsNcclStart *start)
{
    if (!ls_recorder_active())
        return NULL;
    Slot made = {0};
    fill(&made, start, comm);
    uint64_t n = atomic_fetch_add(&n_events, 1);
    uint32_t index = (uint32_t)(n % SLOTS), generation = (uint32_t)(n / SLOTS) + 1;
    Slot *slot = &slots[index];
    if (start->kind == LS_NCCL_KIND_LAUNCH)
        ls_cupti_push(made.launch);
    made.start_ns = ls_recorder_now();
    made.generation = generation;
    lock_slot(slot);
    made.lock = 1;
    *slot = made;
    unlock_slot(slot);
    return make_handle(index, generation);
}

/* -- Ending -- */

static void
write_event(const Slot *slot)
{
    int64_t hash = slot->comm != NULL ? slot->comm->hash : 0;
    LsRecord record = {.name = slot->name, .start_ns = slot->start_ns, .end_ns = slot->end_ns};
    switch ((LsNcclEventKind)slot->kind) {
    case LS_NCCL_KIND_GROUP:
        return;
    case LS_NCCL_KIND_CALL:
        record.kind = LS_RECORD_NCCL_CALL;
        memcpy(record.args, (int64_t[]){hash, slot->bytes, slot->code, slot->launch, 0},
               sizeof record.args);
        break;
    case LS_NCCL_KIND_COLL:
        record.kind = LS_RECORD_NCCL_COLL;
        memcpy(record.args,
               (int64_t[]){hash, slot->sequence, slot->bytes, slot->code, slot->launch},
               sizeof record.args);
        break;
    case LS_NCCL_KIND_P2P:
        record.kind = LS_RECORD_NCCL_P2P;
        memcpy(record.args, (int64_t[]){hash, slot->peer, slot->bytes, slot->code, slot->launch},
               sizeof record.args);
        break;
    case LS_NCCL_KIND_LAUNCH:
        record.kind = LS_RECORD_NCCL_LAUNCH;
        memcpy(record.args, (int64_t[]){slot->launch, hash, 0, 0, 0}, sizeof record.args);
        break;
    case LS_NCCL_KIND_CHANNEL:
        record.kind = LS_RECORD_NCCL_CHANNEL;
        record.end_ns = record.start_ns;
        memcpy(record.args,
               (int64_t[]){slot->launch, slot->channel, slot->device_start_ns, slot->device_end_ns,
                           slot->sequence},
               sizeof record.args);
        break;
    case LS_NCCL_KIND_PROXY:
        record.kind = LS_RECORD_NCCL_PROXY;
        memcpy(record.args, (int64_t[]){slot->launch, slot->peer, slot->channel, slot->bytes, 0},
               sizeof record.args);
        break;
    }
    ls_recorder_write(&record);
}

/* A channel is whole when it was stopped and its end is known, in whichever order; others when
 * stopped. Each is written once. */
static bool
take_whole(Slot *slot, Slot *ret_copy)
{
    bool is_whole = slot->is_stopped && !slot->is_written &&
                    (slot->kind != LS_NCCL_KIND_CHANNEL || slot->has_device_end);
    if (is_whole)
        slot->is_written = true;
    *ret_copy = *slot;
    return is_whole;
}

void
ls_nccl_event_stop(void *handle)
{
    Slot *slot = find_slot(handle), copy;
    if (slot == NULL)
        return;
    bool is_again = slot->is_stopped;
    slot->is_stopped = true;
    if (!is_again)
        slot->end_ns = ls_recorder_now();
    bool is_whole = take_whole(slot, &copy);
    unlock_slot(slot);
    if (!is_again && copy.kind == LS_NCCL_KIND_LAUNCH)
        ls_cupti_pop();
    if (is_whole)
        write_event(&copy);
}

void
ls_nccl_event_channel_stop(void *handle, int64_t device_ns)
{
    Slot *slot = find_slot(handle), copy;
    if (slot == NULL)
        return;
    bool is_whole = false;
    if (slot->kind == LS_NCCL_KIND_CHANNEL && !slot->has_device_end) {
        slot->has_device_end = true;
        slot->device_end_ns = device_ns;
        is_whole = take_whole(slot, &copy);
    }
    unlock_slot(slot);
    if (is_whole)
        write_event(&copy);
}
