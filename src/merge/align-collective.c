/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/align-collective.c: clocks from collectives that both processes took part in.
 *
 * In an allreduce (allgather, alltoall, reduce-scatter, barrier) every rank needs something of
 * every other: none ends before the last has begun. Seen from a process that is not placed yet: its
 * end lies after the latest begin of the placed ones, its begin before their earliest end. That is
 * a gate for merge/fit, and a bound that holds whatever the network did. Ends agree far better than
 * that, so the guess within the gate is that they are equal.
 *
 * Only calls numbered by their communicator are used (which one is which is then no matter of
 * clocks), and only those timed by the device or the data plane itself.
 */
#include "merge/align-private.h"
#include "merge/fit.h"

#include "capture/format.h"

#define CALLS_MIN 4

/* What the placed processes say of one collective, on the common clock. */
typedef struct Meeting {
    uint32_t communicator;
    int64_t sequence;
    int64_t begin_ns, end_ns; /* latest begin, earliest end, widened by their bounds */
    int64_t left_ns;          /* earliest end */
} Meeting;

static guint
hash_meeting(const void *key)
{
    const Meeting *meeting = key;

    return meeting->communicator * 31 + (guint)meeting->sequence * 2654435761u;
}

static gboolean
equal_meetings(const void *a, const void *b)
{
    const Meeting *x = a, *y = b;

    return x->sequence == y->sequence && x->communicator == y->communicator;
}

static bool
is_usable(const LsCall *call)
{
    switch (call->operation) {
    case LS_OPERATION_ALLREDUCE:
    case LS_OPERATION_ALLGATHER:
    case LS_OPERATION_ADASUM:
    case LS_OPERATION_ALLTOALL:
    case LS_OPERATION_BARRIER:
    case LS_OPERATION_REDUCESCATTER:
        return call->sequence >= 0 && call->device_timed && !call->open &&
               call->start_ns != LS_TIME_NONE && call->end_ns != LS_TIME_NONE;
    default:
        return false;
    }
}

static void
add_meetings(const LsAlign *align, size_t process, GHashTable *meetings)
{
    const LsProcess *p = align->processes[process];

    for (guint i = 0; i < p->calls->len; i++) {
        const LsCall *call = &g_array_index(p->calls, LsCall, i);
        Meeting key = {.communicator = call->communicator, .sequence = call->sequence};
        Meeting *meeting;
        int64_t begin_ns, end_ns, bound_ns;

        if (!is_usable(call))
            continue;
        begin_ns = ls_align_map(align, process, call->start_ns);
        end_ns = ls_align_map(align, process, call->end_ns);
        bound_ns = ls_align_get_bound_ns(align, process, call->end_ns);
        meeting = g_hash_table_lookup(meetings, &key);
        if (meeting == NULL) {
            meeting = g_new(Meeting, 1);
            *meeting = (Meeting){key.communicator, key.sequence, INT64_MIN, INT64_MAX, INT64_MAX};
            g_hash_table_add(meetings, meeting);
        }
        meeting->begin_ns = MAX(meeting->begin_ns, begin_ns - bound_ns);
        meeting->end_ns = MIN(meeting->end_ns, end_ns + bound_ns);
        meeting->left_ns = MIN(meeting->left_ns, end_ns);
    }
}

/* Two one-sided gates a call: each side belongs to a time of its own. */
static GArray *
make_gates(const LsProcess *process, GHashTable *meetings)
{
    GArray *gates = g_array_new(FALSE, FALSE, sizeof(LsGate));

    for (guint i = 0; i < process->calls->len; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        Meeting key = {.communicator = call->communicator, .sequence = call->sequence};
        const Meeting *meeting = is_usable(call) ? g_hash_table_lookup(meetings, &key) : NULL;
        LsGate gate;

        if (meeting == NULL)
            continue;
        gate = (LsGate){call->end_ns, MAX(meeting->begin_ns - call->end_ns, LS_GATE_OPEN_LOW),
                        LS_GATE_OPEN_HIGH, meeting->left_ns - call->end_ns};
        g_array_append_val(gates, gate);
        gate = (LsGate){call->start_ns, LS_GATE_OPEN_LOW,
                        MIN(meeting->end_ns - call->start_ns, LS_GATE_OPEN_HIGH), LS_GATE_NO_GUESS};
        g_array_append_val(gates, gate);
    }
    return gates;
}

static bool
place_one(LsAlign *align, size_t process, GHashTable *meetings)
{
    LsProcess *p = align->processes[process];
    g_autoptr(GArray) gates = make_gates(p, meetings);
    LsGate *all = (LsGate *)(void *)gates->data;
    size_t contradictions = 0;
    LsClockmap *map;

    if (gates->len < 2 * CALLS_MIN)
        return false;
    map = ls_fit_gates(
        all, gates->len, p->rank.first_ns != LS_TIME_NONE ? p->rank.first_ns : all[0].at_ns,
        p->rank.last_ns != LS_TIME_NONE ? p->rank.last_ns : all[0].at_ns, &contradictions, NULL);
    if (map == NULL)
        return false;
    /* More than stray pairs: these are not the same collectives, or not calls that wait. */
    if (contradictions * 10 > gates->len) {
        ls_clockmap_free(map);
        return false;
    }
    ls_align_set(align, process, align->reference, LS_CLOCK_COLLECTIVE, map);
    if (contradictions > 0)
        ls_process_add_finding(p, LS_NOTE, -1,
                               "%zu of %u limits set by collectives contradict the others and were "
                               "left out of the clock.",
                               contradictions, gates->len);
    return true;
}

/* One process a call: its collectives help to place the next, and its host comes for nothing. */
static bool
place(LsAlign *align)
{
    g_autoptr(GHashTable) meetings =
        g_hash_table_new_full(hash_meeting, equal_meetings, g_free, NULL);

    for (size_t i = 0; i < align->n; i++)
        if (align->placements[i].method <= LS_CLOCK_COLLECTIVE)
            add_meetings(align, i, meetings);
    for (size_t i = 0; i < align->n; i++)
        if (!ls_align_is_placed(align, i) && place_one(align, i, meetings))
            return true;
    return false;
}

const LsAlignMethod ls_align_collective = {LS_CLOCK_COLLECTIVE, place};
