/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-paths.c: what each cycle of the control led to. What is executed between one cycle
 * and the next is what was agreed in the first, on the thread that does both: an AND with nothing
 * after it was idle, with something after it a bypass; four calls after it are the slow path, mixed
 * where also a tensor was executed that the response cache answered for (rank 0's timeline has no
 * ticks of it).
 */
#include "merge/horovod-private.h"

#include <string.h>

static int
compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Moments in order; those that are not known are left out. */
static GArray *
list_moments(const LsProcess *process, bool submissions)
{
    GArray *moments = g_array_new(FALSE, FALSE, sizeof(int64_t));

    for (guint i = 0; i < process->uses->len; i++) {
        const LsUse *use = &g_array_index(process->uses, LsUse, i);
        int64_t time_ns = use->submit_ns;

        if (!submissions && use->call < process->calls->len)
            time_ns = g_array_index(process->calls, LsCall, use->call).start_ns;
        else if (!submissions)
            time_ns = LS_TIME_NONE;
        if (time_ns != LS_TIME_NONE)
            g_array_append_val(moments, time_ns);
    }
    g_array_sort(moments, compare_times);
    return moments;
}

/* How many of them lie before the moment, from *at on. */
static uint32_t
count_before(const GArray *moments, guint *at, int64_t time_ns)
{
    guint first = *at;

    while (*at < moments->len && g_array_index(moments, int64_t, *at) < time_ns)
        (*at)++;
    return *at - first;
}

/* Of each cycle whether a tensor that the cache answered for was executed after it. */
static uint8_t *
find_hits(const LsProcess *process, const GByteArray *cached)
{
    uint8_t *hits = g_new0(uint8_t, process->cycles->len + 1);
    guint n = process->cycles->len;
    /* Uses beyond these were joined from ranges: no timeline says how they were agreed on. */
    guint n_told = cached != NULL && n > 0 ? MIN(cached->len, process->uses->len) : 0;

    for (guint i = 0; i < n_told; i++) {
        const LsUse *use = &g_array_index(process->uses, LsUse, i);
        guint low = 0, high = n;
        int64_t start_ns;

        if (!cached->data[i] || use->call >= process->calls->len)
            continue;
        start_ns = g_array_index(process->calls, LsCall, use->call).start_ns;
        while (high - low > 1) {
            guint middle = low + (high - low) / 2;

            *(g_array_index(process->cycles, LsCycle, middle).end_ns <= start_ns ? &low : &high) =
                middle;
        }
        hits[low] = 1;
    }
    return hits;
}

static void
settle_path(const LsProcess *process, LsCycle *cycle, bool executes, bool hit)
{
    bool bits = strcmp(ls_strings_get(process->strings, cycle->control), "bitvector") == 0;

    if (cycle->path == LS_PATH_IDLE && executes)
        cycle->path = bits ? LS_PATH_BYPASS : LS_PATH_SLOW;
    else if (cycle->path == LS_PATH_SLOW && bits && hit)
        cycle->path = LS_PATH_MIXED;
}

/* The cycle of this rank that the teller's of the same number is; NULL where they were not under
 * way together, so that the numbers are not common. */
static LsCycle *
find_common(LsProcess *process, const LsCycle *told)
{
    LsCycle *cycle = told->number >= 0 && told->number < process->cycles->len
                         ? &g_array_index(process->cycles, LsCycle, told->number)
                         : NULL;
    int64_t slack_ns = process->rank.clock_method == LS_CLOCK_NONE
                           ? LS_TIME_MAX
                           : process->rank.clock_uncertainty_ns;

    if (cycle == NULL || cycle->number != told->number ||
        cycle->start_ns - slack_ns > told->end_ns || told->start_ns > cycle->end_ns + slack_ns)
        return NULL;
    return cycle;
}

/* Where bytes of the teller's cycles stand, two to a cycle: of its gather and of its gatherv; -1:
 * the message is neither. */
static int64_t
find_gather(const LsProcess *process, const LsMessage *message, const LsProcess *teller)
{
    const char *name = ls_strings_get(process->strings, message->name);
    bool sizes = strcmp(name, "gather") == 0;

    if (message->cycle < 0 || message->cycle >= teller->cycles->len ||
        (!sizes && strcmp(name, "gatherv") != 0))
        return -1;
    return 2 * message->cycle + !sizes;
}

static void
add_given(const LsProcess *process, const LsProcess *teller, int64_t *given)
{
    for (guint i = 0; i < process->messages->len; i++) {
        const LsMessage *message = &g_array_index(process->messages, LsMessage, i);
        int64_t at = find_gather(process, message, teller);

        if (at >= 0)
            given[at] += message->bytes_out;
    }
}

/* What the root of the gathers received is what the others gave. */
static void
set_received(LsProcess *teller, const int64_t *given)
{
    for (guint i = 0; i < teller->messages->len; i++) {
        LsMessage *message = &g_array_index(teller->messages, LsMessage, i);
        int64_t at = find_gather(teller, message, teller);

        if (message->messages_in > 0 && at >= 0)
            message->bytes_in = given[at];
    }
}

void
ls_horovod_settle_rounds(GPtrArray *processes, LsProcess *teller)
{
    g_autofree int64_t *given = g_new0(int64_t, 2 * teller->cycles->len + 1);

    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = g_ptr_array_index(processes, i);

        if (process == teller || process->source != LS_SOURCE_LOCKSTEP)
            continue;
        add_given(process, teller, given);
        for (guint k = 0; k < teller->cycles->len; k++) {
            const LsCycle *told = &g_array_index(teller->cycles, LsCycle, k);
            LsCycle *cycle = told->path == LS_PATH_MIXED ? find_common(process, told) : NULL;

            if (cycle != NULL && cycle->path == LS_PATH_SLOW)
                cycle->path = LS_PATH_MIXED;
        }
    }
    set_received(teller, given);
}

/* Calls of MPI that move bytes, by start. */
static GArray *
list_moves(const LsMember *member)
{
    GArray *moments = g_array_new(FALSE, FALSE, sizeof(int64_t));

    for (guint i = 0; i < member->data->len; i++)
        g_array_append_val(moments, g_array_index(member->process->mpi_calls, LsMpiCall,
                                                  g_array_index(member->data, uint32_t, i))
                                        .start_ns);
    return moments;
}

void
ls_horovod_settle_cycles(const LsMember *member, const GByteArray *cached)
{
    LsProcess *process = member->process;
    g_autoptr(GArray) submitted = list_moments(process, true);
    g_autoptr(GArray) executed = list_moments(process, false);
    g_autoptr(GArray) moved = list_moves(member);
    guint at_submitted = 0, at_executed = 0, at_moved = 0;
    g_autofree uint8_t *hits = find_hits(process, cached);

    for (guint i = 0; member->controlled && i < process->cycles->len; i++) {
        LsCycle *cycle = &g_array_index(process->cycles, LsCycle, i);
        int64_t next_ns = i + 1 < process->cycles->len ? (cycle + 1)->start_ns : INT64_MAX;
        uint32_t moves;

        count_before(executed, &at_executed, cycle->start_ns);
        count_before(moved, &at_moved, cycle->start_ns);
        cycle->requests = count_before(submitted, &at_submitted, cycle->start_ns);
        cycle->responses = count_before(executed, &at_executed, next_ns);
        moves = count_before(moved, &at_moved, next_ns);
        settle_path(process, cycle, moves > 0 || cycle->responses > 0, hits[i]);
    }
}
