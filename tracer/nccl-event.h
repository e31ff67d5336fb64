/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/nccl-event.h: NCCL's events, whatever version of its table told of them.
 *
 * A handle is a number, not an address: place and generation in a slab that lives as long as the
 * process. What NCCL does with a handle whose event was forgotten long ago harms nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsNcclTracedComm LsNcclTracedComm;

typedef enum LsNcclEventKind {
    LS_NCCL_KIND_GROUP, /* holds others: nothing is written of it */
    LS_NCCL_KIND_CALL,
    LS_NCCL_KIND_COLL,
    LS_NCCL_KIND_P2P,
    LS_NCCL_KIND_LAUNCH,
    LS_NCCL_KIND_CHANNEL,
    LS_NCCL_KIND_PROXY,
} LsNcclEventKind;

/* An event as it begins. */
typedef struct LsNcclStart {
    LsNcclEventKind kind;
    void *parent;
    const char *func, *type; /* NULL: not said */
    uint64_t sequence;
    size_t count;
    int peer;
    uint8_t channel;
    bool is_send;
    int64_t bytes;     /* of a proxy */
    int64_t device_ns; /* of a channel */
} LsNcclStart;

/* NULL: no recorder, or too many. The mask is to be 0 then. */
LsNcclTracedComm *ls_nccl_comm_open(uint64_t hash, const char *name, int nodes, int ranks, int rank,
                                    int plugin);
/* 0 on no recorder. comm NULL: NCCL goes on after a failed start. */
void *ls_nccl_event_start(LsNcclTracedComm *comm, const LsNcclStart *start);
void ls_nccl_event_stop(void *handle);
void ls_nccl_event_channel_stop(void *handle, int64_t device_ns);
