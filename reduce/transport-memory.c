/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-memory.c: a collective is a table of what each rank has brought; when the last
 * rank comes it is carried out for all, in rank order, so that neither times nor chance depend on
 * who came when. What goes out is a copy in the memory's own block, which is not touched again
 * before every rank has come to the next collective, hence is done with reading. transport-memory-
 * run.c drives whole cycles over it.
 */
#include "reduce/transport-memory-private.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One rank's blocking end. */
typedef struct MemoryTransport {
    LsTransport base;
    LsMemory *memory;
} MemoryTransport;

LsMemory *
ls_memory_new(int ranks, const LsMemoryCost *cost)
{
    LsMemory *memory = ranks < 1 ? NULL : calloc(1, sizeof *memory);
    if (memory == NULL)
        return NULL;
    memory->ranks = ranks;
    if (cost != NULL)
        memory->cost = *cost;
    memory->random = memory->cost.seed;
    pthread_mutex_init(&memory->mutex, NULL);
    pthread_cond_init(&memory->changed, NULL);
    memory->slots = calloc((size_t)ranks, sizeof *memory->slots);
    memory->parts = calloc((size_t)ranks, sizeof *memory->parts);
    if (memory->slots != NULL && memory->parts != NULL)
        return memory;
    ls_memory_free(memory);
    return NULL;
}

void
ls_memory_free(LsMemory *memory)
{
    if (memory == NULL)
        return;
    pthread_cond_destroy(&memory->changed);
    pthread_mutex_destroy(&memory->mutex);
    for (int rank = 0; memory->slots != NULL && rank < memory->ranks; rank++)
        ls_memory_drop_mail(&memory->slots[rank]);
    free(memory->slots);
    free(memory->parts);
    free(memory->bytes);
    free(memory);
}

int64_t
ls_memory_now(const LsMemory *memory, int rank)
{
    return memory->slots[rank].now_ns;
}

void
ls_memory_spend(LsMemory *memory, int rank, int64_t ns)
{
    memory->slots[rank].now_ns += ns;
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t
draw(LsMemory *memory)
{
    uint64_t z = memory->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* What one message takes. */
int64_t
ls_memory_message_ns(LsMemory *memory, size_t bytes)
{
    const LsMemoryCost *cost = &memory->cost;
    int64_t ns = cost->alpha_ns + (int64_t)bytes * cost->beta_ps / 1000;
    if (cost->jitter_ns > 0)
        ns += (int64_t)(draw(memory) % ((uint64_t)cost->jitter_ns + 1));
    return ns;
}

static int64_t
later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A call begins at every rank's own time. */
static LsMemorySpan *
begin_call(LsMemorySlot *slot, int call)
{
    slot->calls[call].start_ns = slot->now_ns;
    return &slot->calls[call];
}

/* Every message keeps the root busy from when both are there; a sender does not wait for the root.
 */
static void
time_gather(LsMemory *memory, int root, int call, bool lengths)
{
    LsMemorySpan *at_root = begin_call(&memory->slots[root], call);
    int64_t root_ns = at_root->start_ns;
    for (int rank = 0; rank < memory->ranks; rank++) {
        LsMemorySlot *slot = &memory->slots[rank];
        if (rank == root)
            continue;
        LsMemorySpan *span = begin_call(slot, call);
        int64_t ns = ls_memory_message_ns(memory, lengths ? 4 : slot->action.length);
        root_ns = later(root_ns, span->start_ns) + ns;
        slot->now_ns = span->end_ns = span->start_ns + ns;
    }
    memory->slots[root].now_ns = at_root->end_ns = root_ns;
}

/* The root sends to one rank after the other. */
static void
time_broadcast(LsMemory *memory, int root, int call, size_t bytes)
{
    LsMemorySpan *at_root = begin_call(&memory->slots[root], call);
    int64_t root_ns = at_root->start_ns;
    for (int rank = 0; rank < memory->ranks; rank++) {
        LsMemorySlot *slot = &memory->slots[rank];
        if (rank == root)
            continue;
        LsMemorySpan *span = begin_call(slot, call);
        root_ns += ls_memory_message_ns(memory, bytes);
        slot->now_ns = span->end_ns = later(span->start_ns, root_ns);
    }
    memory->slots[root].now_ns = at_root->end_ns = root_ns;
}

/* No rank is done before all have come and ceil(log2 ranks) messages have followed one another. */
static void
time_allreduce(LsMemory *memory, size_t bytes)
{
    int64_t last_ns = memory->slots[0].now_ns;
    for (int rank = 1; rank < memory->ranks; rank++)
        last_ns = later(last_ns, memory->slots[rank].now_ns);
    for (int rank = 0; rank < memory->ranks; rank++) {
        LsMemorySlot *slot = &memory->slots[rank];
        LsMemorySpan *span = begin_call(slot, 0);
        span->end_ns = last_ns;
        for (int reach = 1; reach < memory->ranks; reach *= 2)
            span->end_ns += ls_memory_message_ns(memory, bytes);
        slot->now_ns = span->end_ns;
    }
}

/* One block for what goes out. */
static uint8_t *
reserve(LsMemory *memory, size_t bytes)
{
    if (bytes > memory->capacity || memory->bytes == NULL) {
        uint8_t *grown = realloc(memory->bytes, bytes * 2 + 64);
        if (grown == NULL)
            return NULL;
        memory->bytes = grown;
        memory->capacity = bytes * 2 + 64;
    }
    return memory->bytes;
}

static bool
copy_parts(LsMemory *memory)
{
    size_t total = 0, at = 0;
    for (int rank = 0; rank < memory->ranks; rank++)
        total += memory->slots[rank].action.length;
    uint8_t *block = reserve(memory, total);
    if (block == NULL)
        return false;
    for (int rank = 0; rank < memory->ranks; rank++) {
        const LsAction *action = &memory->slots[rank].action;
        if (action->length > 0)
            memcpy(block + at, action->data, action->length);
        memory->parts[rank] = (LsPiece){block + at, action->length};
        at += action->length;
    }
    memory->n_bytes = total;
    return true;
}

static bool
copy_message(LsMemory *memory, const LsAction *action)
{
    uint8_t *block = reserve(memory, action->length);
    if (block == NULL)
        return false;
    if (action->length > 0)
        memcpy(block, action->data, action->length);
    memory->parts[0] = (LsPiece){block, action->length};
    return true;
}

static bool
combine_words(LsMemory *memory, bool both)
{
    if (!copy_message(memory, &memory->slots[0].action))
        return false;
    for (int rank = 1; rank < memory->ranks; rank++) {
        const uint8_t *data = memory->slots[rank].action.data;
        for (size_t i = 0; i < memory->slots[0].action.length; i++)
            memory->bytes[i] = both ? memory->bytes[i] & data[i] : memory->bytes[i] | data[i];
    }
    return true;
}

static const char *
action_text(LsActionKind kind)
{
    static const char *const texts[] = {"a gather", "a broadcast", "an and", "an or",
                                        "a send",   "a look",      "nothing"};
    return texts[kind];
}

/* Whether all ranks ask for the same. */
static bool
check_actions(LsMemory *memory)
{
    const LsAction *first = &memory->slots[0].action;
    bool words = first->kind == LS_ACTION_AND || first->kind == LS_ACTION_OR;
    for (int rank = 0; rank < memory->ranks; rank++) {
        const LsAction *action = &memory->slots[rank].action;
        bool same = action->kind == first->kind &&
                    (words ? action->length == first->length : action->root == first->root);
        if (same && (words || (action->root >= 0 && action->root < memory->ranks)))
            continue;
        snprintf(memory->error, sizeof memory->error,
                 "rank 0 is in %s (root %d, %zu bytes), rank %d in %s (root %d, %zu bytes)",
                 action_text(first->kind), first->root, first->length, rank,
                 action_text(action->kind), action->root, action->length);
        return false;
    }
    return true;
}

/* All have come: carries the collective out. */
static bool
complete(LsMemory *memory)
{
    const LsAction *first = &memory->slots[0].action;
    bool copied;
    if (!check_actions(memory))
        return false;
    int root = first->root;
    switch (first->kind) {
    case LS_ACTION_GATHER:
        time_gather(memory, root, 0, true);
        time_gather(memory, root, 1, false);
        copied = copy_parts(memory);
        break;
    case LS_ACTION_BROADCAST:
        time_broadcast(memory, root, 0, 4);
        time_broadcast(memory, root, 1, memory->slots[root].action.length);
        copied = copy_message(memory, &memory->slots[root].action);
        break;
    default:
        time_allreduce(memory, first->length);
        copied = combine_words(memory, first->kind == LS_ACTION_AND);
        break;
    }
    if (!copied)
        snprintf(memory->error, sizeof memory->error, "out of memory");
    return copied;
}

bool
ls_memory_post(LsMemory *memory, int rank, const LsAction *action)
{
    LsMemorySlot *slot = &memory->slots[rank];
    if (action->kind > LS_ACTION_OR || action->length > LS_TRANSPORT_BYTES_MAX) {
        snprintf(memory->error, sizeof memory->error,
                 "rank %d: an action of kind %d with %zu bytes cannot be performed", rank,
                 (int)action->kind, action->length);
        memory->failed = true;
        return false;
    }
    slot->action = *action;
    if (++memory->posted < memory->ranks)
        return true;
    memory->posted = 0;
    memory->failed = !complete(memory);
    if (!memory->failed)
        memory->completed++;
    return !memory->failed;
}

LsResult
ls_memory_result(const LsMemory *memory, int rank)
{
    const LsAction *action = &memory->slots[rank].action;
    LsResult result = {.parts = memory->parts, .n_parts = 1};
    if (action->kind == LS_ACTION_GATHER)
        result = rank == action->root ? (LsResult){.parts = memory->parts, .n_parts = memory->ranks}
                                      : (LsResult){.parts = NULL, .n_parts = 0};
    return result;
}

void
ls_memory_tell(const LsMemory *memory, const LsTransport *transport)
{
    const LsMemorySlot *slot = &memory->slots[transport->rank];
    const LsMemorySpan *calls = slot->calls;
    int root = slot->action.root;
    size_t own = slot->action.length, all = memory->n_bytes;
    switch (slot->action.kind) {
    case LS_ACTION_GATHER:
        ls_transport_tell(transport, LS_CALL_GATHER, root, 4, 4 * (size_t)memory->ranks,
                          calls[0].start_ns, calls[0].end_ns);
        ls_transport_tell(transport, LS_CALL_GATHERV, root, own, all, calls[1].start_ns,
                          calls[1].end_ns);
        break;
    case LS_ACTION_BROADCAST:
        ls_transport_tell(transport, LS_CALL_BCAST, root, 4, 0, calls[0].start_ns, calls[0].end_ns);
        ls_transport_tell(transport, LS_CALL_BCAST, root, memory->parts[0].length, 0,
                          calls[1].start_ns, calls[1].end_ns);
        break;
    case LS_ACTION_SEND:
        ls_transport_tell(transport, LS_CALL_SEND, root, own, 0, calls[0].start_ns,
                          calls[0].end_ns);
        break;
    case LS_ACTION_POLL:
        if (slot->held != NULL)
            ls_transport_tell(transport, LS_CALL_RECV, root, slot->held->length, 0,
                              calls[0].start_ns, calls[0].end_ns);
        break;
    default:
        ls_transport_tell(transport, LS_CALL_ALLREDUCE, root, own, 0, calls[0].start_ns,
                          calls[0].end_ns);
        break;
    }
}

/* Threads do not run in the order of their ranks' times: a look takes what has been sent, and the
 * rank's time goes on to when it arrives. */
static bool
perform_mail(LsTransport *transport, const LsAction *action, LsResult *ret_result)
{
    LsMemory *memory = ((MemoryTransport *)transport)->memory;
    LsAction mail = *action;
    pthread_mutex_lock(&memory->mutex);
    const LsMemorySlot *slot = &memory->slots[transport->rank];
    if (slot->first != NULL && slot->first->arrival_ns - slot->now_ns > mail.wait_ns)
        mail.wait_ns = slot->first->arrival_ns - slot->now_ns;
    bool done = !memory->failed && ls_memory_mail(memory, transport->rank, &mail, ret_result);
    pthread_mutex_unlock(&memory->mutex);
    if (done)
        ls_memory_tell(memory, transport);
    return done;
}

static bool
memory_perform(LsTransport *transport, const LsAction *action, LsResult *ret_result)
{
    LsMemory *memory = ((MemoryTransport *)transport)->memory;
    if (action->kind == LS_ACTION_SEND || action->kind == LS_ACTION_POLL)
        return perform_mail(transport, action, ret_result);
    pthread_mutex_lock(&memory->mutex);
    uint64_t before = memory->completed;
    bool done = !memory->failed && ls_memory_post(memory, transport->rank, action);
    if (memory->completed != before || memory->failed)
        pthread_cond_broadcast(&memory->changed);
    while (memory->completed == before && !memory->failed)
        pthread_cond_wait(&memory->changed, &memory->mutex);
    done = memory->completed != before;
    pthread_mutex_unlock(&memory->mutex);
    if (!done)
        return false;
    *ret_result = ls_memory_result(memory, transport->rank);
    ls_memory_tell(memory, transport);
    return true;
}

static const char *
memory_error(const LsTransport *transport)
{
    return ((const MemoryTransport *)transport)->memory->error;
}

/* Ranks that wait for one that has left, or come later, must hear of it. */
static void
memory_close(LsTransport *transport)
{
    LsMemory *memory = ((MemoryTransport *)transport)->memory;
    pthread_mutex_lock(&memory->mutex);
    if (!memory->failed)
        snprintf(memory->error, sizeof memory->error, "rank %d has left", transport->rank);
    memory->failed = true;
    pthread_cond_broadcast(&memory->changed);
    pthread_mutex_unlock(&memory->mutex);
    free(transport);
}

static const LsTransportClass memory_class = {
    .name = "memory",
    .perform = memory_perform,
    .error = memory_error,
    .close = memory_close,
};

LsTransport *
ls_memory_transport(LsMemory *memory, int rank, const LsTransportEvents *events)
{
    MemoryTransport *transport = calloc(1, sizeof *transport);
    if (transport == NULL)
        return NULL;
    transport->base = (LsTransport){.class = &memory_class, .rank = rank, .ranks = memory->ranks};
    if (events != NULL)
        transport->base.events = *events;
    transport->memory = memory;
    return &transport->base;
}
