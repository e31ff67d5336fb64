/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-mpi.c: a control's actions as MPI's blocking collectives (facts: Horovod B6).
 *
 * Blocking, since MPI_Iallreduce with a test was measured at 1.5 to 2.2 times the cost of
 * MPI_Allreduce (facts/cuda.md 8.5).
 */
#include "reduce/world-mpi.h"
#include "reduce/failure.h"
#include "reduce/instrument.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct MpiTransport {
    LsTransport base;
    MPI_Comm communicator; /* borrowed */
    uint8_t *buffer;       /* owned: what came */
    size_t capacity;
    int *lengths, *offsets; /* owned, ranks of each */
    LsPiece *parts;         /* owned, ranks */
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
    *ret_result = (LsResult){transport->parts, root ? transport->base.ranks : 0};
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
    *ret_result = (LsResult){transport->parts, 1};
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
    *ret_result = (LsResult){transport->parts, 1};
    return check(transport, result, "MPI_Allreduce");
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
    free(transport->parts);
    free(transport->offsets);
    free(transport->lengths);
    free(transport->buffer);
    free(transport);
}

static const LsTransportClass class = {
    .name = "mpi", .perform = mpi_perform, .error = mpi_error, .close = mpi_close};

LsTransport *
ls_transport_mpi_new(MPI_Comm communicator, const LsTransportEvents *events)
{
    MpiTransport *transport = calloc(1, sizeof *transport);
    if (transport == NULL)
        return NULL;
    transport->base.class = &class;
    transport->base.events = *events;
    transport->communicator = communicator;
    MPI_Comm_rank(communicator, &transport->base.rank);
    MPI_Comm_size(communicator, &transport->base.ranks);
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
