/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-memory-private.h: the ranks' meeting point, shared by transport-memory.c (what a
 * collective does and costs) and transport-memory-run.c (who comes when).
 */
#pragma once

#include <pthread.h>

#include "reduce/transport-memory.h"

typedef struct LsMemorySpan {
    int64_t start_ns, end_ns;
} LsMemorySpan;

/* A message from rank to rank, until it is received. */
typedef struct LsMemoryMail LsMemoryMail;
struct LsMemoryMail {
    LsMemoryMail *next;
    int from;
    int64_t arrival_ns;
    size_t length;
    uint8_t data[];
};

/* One rank at the meeting point. */
typedef struct LsMemorySlot {
    int64_t now_ns;
    LsAction action;       /* what it came for last */
    LsMemorySpan calls[2]; /* of its last collective; of its last message */
    LsMemoryMail *first;   /* owned; sent to it, not received, in order of sending */
    LsMemoryMail *held;    /* owned; what it received last */
    LsPiece piece;         /* into it */
} LsMemorySlot;

struct LsMemory {
    int ranks;
    LsMemoryCost cost;
    uint64_t random;
    LsMemorySlot *slots;
    LsPiece *parts; /* of the last collective, into bytes */
    uint8_t *bytes;
    size_t capacity, n_bytes;
    int posted;         /* ranks that have come */
    uint64_t completed; /* collectives */
    bool failed;        /* for good */
    char error[200];
    pthread_mutex_t mutex; /* only the blocking transports need it */
    pthread_cond_t changed;
};

/* The rank comes with its action; the last one completes the collective. false: `error` tells. */
bool ls_memory_post(LsMemory *memory, int rank, const LsAction *action);
/* Of the last completed collective, for this rank. */
LsResult ls_memory_result(const LsMemory *memory, int rank);
/* Carries out a SEND or POLL at once: a POLL takes what has arrived by the rank's time, or waits
 * for what will by the end of its waiting. false: `error` tells. */
bool ls_memory_mail(LsMemory *memory, int rank, const LsAction *action, LsResult *ret_result);
/* When a POLL that begins now is over: at the first arrival or the end of its waiting. */
int64_t ls_memory_poll_end(const LsMemory *memory, int rank, const LsAction *action);
void ls_memory_drop_mail(LsMemorySlot *slot);
/* The cost of one message, chance included. */
int64_t ls_memory_message_ns(LsMemory *memory, size_t bytes);
/* Tells the transport's events of its calls. */
void ls_memory_tell(const LsMemory *memory, const LsTransport *transport);
