/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-mpi.c: a control's actions as MPI's blocking collectives (facts: Horovod B6).
 *
 * The collectives are blocking, since MPI_Iallreduce with a test was measured at 1.5 to 2.2 times
 * the cost of MPI_Allreduce (facts/cuda.md 8.5).
 */
#include "reduce/world-mpi.h"
#include "reduce/failure.h"
#include "reduce/instrument.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG 0

/* A message on its way. Synchronous, so that it is done when the other has received it. */
typedef struct Outgoing Outgoing;
struct Outgoing {
    Outgoing *next;
    MPI_Request request;
    int to;
    uint8_t data[];
};

typedef struct MpiTransport {
    LsTransport base;
    MPI_Comm communicator; /* borrowed */
    uint8_t *buffer;       /* owned: what came */
    size_t capacity;
    int *lengths, *offsets; /* owned, ranks of each */
    LsPiece *parts;         /* owned, ranks */
    Outgoing *outgoing;     /* owned */
    char error[LS_FAILURE_TEXT_MAX];
} MpiTransport;

static bool
fail(MpiTransport *transport, const char *text)
{
    snprintf(transport->error, sizeof transport->error, "%s", text);
    return false;
}

static bool
check(MpiTransport *transport, int result, const char *call)
{
    return ls_mpi_check(result, call) == LOCKSTEP_OK || fail(transport, ls_failure_text());
}

static bool
reserve(MpiTransport *transport, size_t size)
{
    if (size <= transport->capacity)
        return true;
    uint8_t *buffer = realloc(transport->buffer, size + size / 2);
    if (buffer == NULL)
        return fail(transport, "out of memory for the messages of a cycle");
    transport->buffer = buffer;
    transport->capacity = size + size / 2;
    return true;
}

/* At the root: one length per rank to one place per rank; false also where they do not fit. */
static bool
place_parts(MpiTransport *transport, size_t *ret_total)
{
    int64_t total = 0;
    for (int rank = 0; rank < transport->base.ranks; rank++) {
        transport->offsets[rank] = (int)total;
        total += transport->lengths[rank];
        if (transport->lengths[rank] < 0 || total > LS_TRANSPORT_BYTES_MAX)
            return fail(transport, "the requests of a cycle are more than 2 GiB");
    }
    *ret_total = (size_t)total;
    return reserve(transport, (size_t)total);
}

static bool
gather(MpiTransport *transport, const LsAction *action, LsResult *ret_result)
{
    bool root = transport->base.rank == action->root;
    int length = (int)action->length;
    size_t total = 0;
    int64_t start = ls_instrument_now();
    int result = MPI_Gather(&length, 1, MPI_INT, transport->lengths, 1, MPI_INT, action->root,
                            transport->communicator);
    ls_transport_tell(&transport->base, LS_CALL_GATHER, action->root, sizeof length,
                      sizeof length * (size_t)transport->base.ranks, start, ls_instrument_now());
    if (!check(transport, result, "MPI_Gather") || (root && !place_parts(transport, &total)))
        return false;
    start = ls_instrument_now();
    result = MPI_Gatherv(action->data, length, MPI_BYTE, transport->buffer, transport->lengths,
                         transport->offsets, MPI_BYTE, action->root, transport->communicator);
    ls_transport_tell(&transport->base, LS_CALL_GATHERV, action->root, action->length, total, start,
                      ls_instrument_now());
    for (int rank = 0; root && rank < transport->base.ranks; rank++)
        transport->parts[rank] = (LsPiece){transport->buffer + transport->offsets[rank],
                                           (size_t)transport->lengths[rank]};
    *ret_result =
        (LsResult){.parts = transport->parts, .n_parts = root ? transport->base.ranks : 0};
    return check(transport, result, "MPI_Gatherv");
}

static bool
broadcast(MpiTransport *transport, const LsAction *action, LsResult *ret_result)
{
    int length = (int)action->length;
    int64_t start = ls_instrument_now();
    int result = MPI_Bcast(&length, 1, MPI_INT, action->root, transport->communicator);
    ls_transport_tell(&transport->base, LS_CALL_BCAST, action->root, sizeof length, 0, start,
                      ls_instrument_now());
    if (!check(transport, result, "MPI_Bcast") || !reserve(transport, (size_t)length))
        return false;
    if (transport->base.rank == action->root && length > 0)
        memcpy(transport->buffer, action->data, (size_t)length);
    start = ls_instrument_now();
    result = MPI_Bcast(transport->buffer, length, MPI_BYTE, action->root, transport->communicator);
    ls_transport_tell(&transport->base, LS_CALL_BCAST, action->root, (size_t)length, 0, start,
                      ls_instrument_now());
    transport->parts[0] = (LsPiece){transport->buffer, (size_t)length};
    *ret_result = (LsResult){.parts = transport->parts, .n_parts = 1};
    return check(transport, result, "MPI_Bcast");
}

static bool
combine(MpiTransport *transport, const LsAction *action, LsResult *ret_result)
{
    MPI_Op op = action->kind == LS_ACTION_AND ? MPI_BAND : MPI_BOR;
    if (!reserve(transport, action->length))
        return false;
    memcpy(transport->buffer, action->data, action->length);
    int64_t start = ls_instrument_now();
    int result = MPI_Allreduce(MPI_IN_PLACE, transport->buffer, (int)(action->length / 8),
                               MPI_UINT64_T, op, transport->communicator);
    ls_transport_tell(&transport->base, LS_CALL_ALLREDUCE, 0, action->length, 0, start,
                      ls_instrument_now());
    transport->parts[0] = (LsPiece){transport->buffer, action->length};
    *ret_result = (LsResult){.parts = transport->parts, .n_parts = 1};
    return check(transport, result, "MPI_Allreduce");
}

static bool
send_message(MpiTransport *transport, const LsAction *action, LsResult *ret_result)
{
    Outgoing *outgoing = malloc(sizeof *outgoing + action->length);
    if (outgoing == NULL)
        return fail(transport, "out of memory for a message of the control");
    if (action->length > 0)
        memcpy(outgoing->data, action->data, action->length);
    outgoing->to = action->root;
    int64_t start = ls_instrument_now();
    int result = MPI_Issend(outgoing->data, (int)action->length, MPI_BYTE, action->root, TAG,
                            transport->communicator, &outgoing->request);
    ls_transport_tell(&transport->base, LS_CALL_SEND, action->root, action->length, 0, start,
                      ls_instrument_now());
    if (!check(transport, result, "MPI_Issend")) {
        free(outgoing);
        return false;
    }
    outgoing->next = transport->outgoing;
    transport->outgoing = outgoing;
    *ret_result = (LsResult){0};
    return true;
}

/* Frees what was received; counts what `to` has not. */
static bool
test_outgoing(MpiTransport *transport, int to, int *ret_under_way)
{
    *ret_under_way = 0;
    for (Outgoing **at = &transport->outgoing; *at != NULL;) {
        Outgoing *outgoing = *at;
        int done = 0;
        if (!check(transport, MPI_Test(&outgoing->request, &done, MPI_STATUS_IGNORE), "MPI_Test"))
            return false;
        if (done) {
            *at = outgoing->next;
            free(outgoing);
        } else {
            *ret_under_way += outgoing->to == to;
            at = &outgoing->next;
        }
    }
    return true;
}

/* Others of this machine may need the core that this rank would look with. */
static void
rest(int looks)
{
    static const struct timespec pause = {0, 20000};
    if (looks < 20)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

static bool
poll_message(MpiTransport *transport, const LsAction *action, LsResult *ret_result)
{
    MPI_Status status;
    int there = 0, length = 0;
    int64_t start = ls_instrument_now();
    *ret_result = (LsResult){0};
    for (int looks = 0;; looks++) {
        if (!check(transport,
                   MPI_Iprobe(MPI_ANY_SOURCE, TAG, transport->communicator, &there, &status),
                   "MPI_Iprobe"))
            return false;
        if (there || ls_instrument_now() - start >= action->wait_ns)
            break;
        rest(looks);
    }
    if (!test_outgoing(transport, action->root, &ret_result->under_way))
        return false;
    if (!there)
        return true;
    MPI_Get_count(&status, MPI_BYTE, &length);
    if (!reserve(transport, (size_t)length))
        return false;
    start = ls_instrument_now();
    int result = MPI_Recv(transport->buffer, length, MPI_BYTE, status.MPI_SOURCE, TAG,
                          transport->communicator, MPI_STATUS_IGNORE);
    ls_transport_tell(&transport->base, LS_CALL_RECV, action->root, (size_t)length, 0, start,
                      ls_instrument_now());
    transport->parts[0] = (LsPiece){transport->buffer, (size_t)length};
    ret_result->parts = transport->parts;
    ret_result->n_parts = 1;
    ret_result->from = status.MPI_SOURCE;
    return check(transport, result, "MPI_Recv");
}

static bool
mpi_perform(LsTransport *base, const LsAction *action, LsResult *ret_result)
{
    MpiTransport *transport = (MpiTransport *)base;
    if (action->length > LS_TRANSPORT_BYTES_MAX)
        return fail(transport, "a message of the control is more than 2 GiB");
    switch (action->kind) {
    case LS_ACTION_GATHER:
        return gather(transport, action, ret_result);
    case LS_ACTION_BROADCAST:
        return broadcast(transport, action, ret_result);
    case LS_ACTION_AND:
    case LS_ACTION_OR:
        return combine(transport, action, ret_result);
    case LS_ACTION_SEND:
        return send_message(transport, action, ret_result);
    case LS_ACTION_POLL:
        return poll_message(transport, action, ret_result);
    case LS_ACTION_DONE:
        break;
    }
    return fail(transport, "the control asked for an exchange that does not exist");
}

static const char *
mpi_error(const LsTransport *transport)
{
    return ((const MpiTransport *)transport)->error;
}

static void
mpi_close(LsTransport *base)
{
    MpiTransport *transport = (MpiTransport *)base;
    int under_way;
    /* What was not received, after a failure, MPI may still read: it stays. */
    test_outgoing(transport, 0, &under_way);
    free(transport->parts);
    free(transport->offsets);
    free(transport->lengths);
    free(transport->buffer);
    free(transport);
}

static const LsTransportClass class = {
    .name = "mpi", .perform = mpi_perform, .error = mpi_error, .close = mpi_close};

LsTransport *
ls_transport_mpi_new(MPI_Comm like)
{
    MpiTransport *transport = calloc(1, sizeof *transport);
    if (transport == NULL)
        return NULL;
    transport->base.class = &class;
    transport->communicator = MPI_COMM_NULL;
    MPI_Comm_rank(like, &transport->base.rank);
    MPI_Comm_size(like, &transport->base.ranks);
    size_t ranks = (size_t)transport->base.ranks;
    transport->lengths = calloc(ranks, sizeof *transport->lengths);
    transport->offsets = calloc(ranks, sizeof *transport->offsets);
    transport->parts = calloc(ranks, sizeof *transport->parts);
    if (transport->lengths != NULL && transport->offsets != NULL && transport->parts != NULL &&
        reserve(transport, 4096))
        return &transport->base;
    mpi_close(&transport->base);
    return NULL;
}

void
ls_transport_mpi_use(LsTransport *transport, MPI_Comm communicator, const LsTransportEvents *events)
{
    ((MpiTransport *)transport)->communicator = communicator;
    transport->events = *events;
}
