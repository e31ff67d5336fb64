/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport.h: how a control's actions are carried out.
 *
 * A transport performs one LsAction after another for one rank and gives what came of it. One file
 * each: mpi (a job), memory (ranks of one process with virtual time; also a process alone). An
 * action becomes one or two calls, the same under every transport (Horovod's pattern, facts B6):
 * GATHER = gather (one 32-bit length per rank) + gatherv (the bytes); BROADCAST = bcast (the
 * length) + bcast (the bytes); AND, OR = allreduce; SEND = send; POLL = recv if there
 * is a message, else none. Each call is counted by one rule and told to the events. Not thread-safe:
 * the thread that opened it owns it. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/control.h"

typedef enum LsTransportCall {
    LS_CALL_GATHER,
    LS_CALL_GATHERV,
    LS_CALL_BCAST,
    LS_CALL_ALLREDUCE,
    LS_CALL_SEND,
    LS_CALL_RECV,
    LS_N_CALLS
} LsTransportCall;

/* What one rank sent and received in one call (metrics.md, "Messages of a rank"): a gather or
 * broadcast counts ranks - 1 at its root and 1 elsewhere, an allreduce 1 out and 1 in, a send or recv
 * 1; bytes are payloads; a rank alone counts nothing. */
typedef struct LsMessageCount {
    int64_t messages_in, messages_out;
    int64_t bytes_in, bytes_out;
} LsMessageCount;

/* Told of each call when it is over, on the thread that performed it. start, end: the transport's
 * clock (mpi: CLOCK_MONOTONIC; memory: the rank's virtual time). */
typedef struct LsTransportEvents {
    void (*call)(void *user, LsTransportCall call, int64_t start_ns, int64_t end_ns,
                 const LsMessageCount *count);
    void *user;
} LsTransportEvents;

typedef struct LsTransport LsTransport;

typedef struct LsTransportClass {
    const char *name; /* "mpi" */
    /* Blocks until the action is done for this rank. *ret_result is borrowed until the next perform
     * or close. LS_ACTION_DONE is not for a transport. false: `error` tells. */
    bool (*perform)(LsTransport *transport, const LsAction *action, LsResult *ret_result);
    /* The sentence of the last failure, "" before any. */
    const char *(*error)(const LsTransport *transport);
    void (*close)(LsTransport *transport);
} LsTransportClass;

/* First member of every transport's own struct. Read only. */
struct LsTransport {
    const LsTransportClass *class;
    int rank, ranks;
    LsTransportEvents events; /* call may be NULL */
};

/* The largest payload of one message: its length travels as a 32-bit int. */
#define LS_TRANSPORT_BYTES_MAX INT32_MAX

/* "gather", "gatherv", "bcast", "allreduce", "send", "recv": the name of the MESSAGE record. */
const char *ls_transport_call_text(LsTransportCall call);

/* Counts and tells the events; what an implementation calls after each of its calls. own_bytes: this
 * rank's contribution (but in a gather: the message). all_bytes: of all contributions together, the
 * root's own included; only read at the root of a gather. */
void ls_transport_tell(const LsTransport *transport, LsTransportCall call, int root,
                       size_t own_bytes, size_t all_bytes, int64_t start_ns, int64_t end_ns);
