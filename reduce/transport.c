/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport.c: counts the messages of a call, by one rule for all transports.
 */
#include "reduce/transport.h"

const char *
ls_transport_call_text(LsTransportCall call)
{
    static const char *const texts[] = {"gather", "gatherv", "bcast", "allreduce", "send", "recv"};
    return (size_t)call < sizeof texts / sizeof texts[0] ? texts[call] : "unknown";
}

static LsMessageCount
count_messages(LsTransportCall call, int rank, int root, int ranks, size_t own_bytes,
                   size_t all_bytes)
{
    LsMessageCount count = {0, 0, 0, 0};
    int64_t others = ranks - 1, own = (int64_t)own_bytes;
    if (others < 1)
        return count;
    if (call == LS_CALL_ALLREDUCE)
        count = (LsMessageCount){1, 1, own, own};
    else if (call == LS_CALL_SEND)
        count = (LsMessageCount){0, 1, 0, own};
    else if (call == LS_CALL_RECV)
        count = (LsMessageCount){1, 0, own, 0};
    else if (call == LS_CALL_BCAST && rank == root)
        count = (LsMessageCount){0, others, 0, others * own};
    else if (call == LS_CALL_BCAST)
        count = (LsMessageCount){1, 0, own, 0};
    else if (rank == root)
        count = (LsMessageCount){others, 0, (int64_t)all_bytes - own, 0};
    else
        count = (LsMessageCount){0, 1, 0, own};
    return count;
}

void
ls_transport_tell(const LsTransport *transport, LsTransportCall call, int root, size_t own_bytes,
                  size_t all_bytes, int64_t start_ns, int64_t end_ns)
{
    if (transport->events.call == NULL)
        return;
    LsMessageCount count =
        count_messages(call, transport->rank, root, transport->ranks, own_bytes, all_bytes);
    transport->events.call(transport->events.user, call, start_ns, end_ns, &count);
}
