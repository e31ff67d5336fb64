/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-timeline.c: rank 0's timeline onto rank 0's own clock, and into its process.
 *
 * Where the ranges mirror the timeline, the end of each operation is there twice, and the mirror's
 * comes first: the largest difference over all is the offset, to a few microseconds. Else the
 * timeline's header and the recorder have read the same wall clock. Ranks that the timeline knows
 * by their ticks alone are left out where they have recorded themselves.
 */
#include "merge/horovod-private.h"
#include "trace/builder.h"

#include <string.h>

#define LOOK_AHEAD 64 /* operations of the mirror that the timeline may lack in a row */

static LsProcess *
get_process(const GPtrArray *processes, guint i)
{
    return g_ptr_array_index(processes, i);
}

static bool
is_timeline(const LsProcess *process)
{
    return process->source == LS_SOURCE_HOROVOD && process->rank.recorded &&
           process->rank.rank == 0;
}

/* The process of rank 0 that recorded itself: its last life, since a timeline is begun anew with
 * each. */
static LsProcess *
find_writer(const GPtrArray *processes)
{
    LsProcess *writer = NULL;

    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = get_process(processes, i);

        if (process->source == LS_SOURCE_LOCKSTEP && process->rank.rank == 0 &&
            ls_horovod_has_ranges(process) &&
            (writer == NULL || process->rank.first_ns > writer->rank.first_ns))
            writer = process;
    }
    return writer;
}

/* -- The offset -- */

/* "ALLREDUCE layer1.conv": what stands behind the operation; NULL for a negotiation. */
static const char *
get_mirrored(const LsProcess *writer, const LsRange *range)
{
    const char *text = ls_strings_get(writer->strings, range->name);
    const char *blank = strchr(text, ' ');

    return blank == NULL || g_str_has_prefix(text, "NEGOTIATE_") ? NULL : blank + 1;
}

static bool
find_by_mirror(const LsProcess *writer, LsProcess *timeline, int64_t *ret_offset_ns)
{
    g_autoptr(GArray) mirror = ls_horovod_get_ranges(writer, LS_HOROVOD_MIRROR);
    g_autoptr(LsDeeds) deeds = ls_deeds_new(timeline);
    int64_t offset_ns = INT64_MIN;

    for (guint k = 0, i = 0; k < deeds->uses->len; k++) {
        const LsUse *use =
            &g_array_index(timeline->uses, LsUse, g_array_index(deeds->uses, uint32_t, k));
        const char *name = ls_strings_get(timeline->strings, use->tensor);

        for (guint at = i, n = 0; at < mirror->len && n < LOOK_AHEAD; at++) {
            const LsRange *range = &g_array_index(mirror, LsRange, at);
            const char *mirrored = get_mirrored(writer, range);

            n += mirrored != NULL;
            if (mirrored == NULL || strcmp(mirrored, name) != 0)
                continue;
            offset_ns = MAX(offset_ns, range->end_ns - use->done_ns);
            i = at + 1;
            break;
        }
    }
    *ret_offset_ns = offset_ns;
    return offset_ns != INT64_MIN;
}

static bool
find_by_wall(const LsProcess *writer, const LsProcess *timeline, int64_t *ret_offset_ns)
{
    const LsClockPair *header, *nearest = NULL;

    if (timeline->clock_pairs->len == 0)
        return false;
    header = &g_array_index(timeline->clock_pairs, LsClockPair, 0);
    for (guint i = 0; i < writer->clock_pairs->len; i++) {
        const LsClockPair *pair = &g_array_index(writer->clock_pairs, LsClockPair, i);

        if (nearest == NULL ||
            ABS(pair->wall_ns - header->wall_ns) < ABS(nearest->wall_ns - header->wall_ns))
            nearest = pair;
    }
    if (nearest == NULL)
        return false;
    *ret_offset_ns = nearest->local_ns + (header->wall_ns - nearest->wall_ns) - header->local_ns;
    return true;
}

static int64_t
shift(void *user, int64_t local_ns)
{
    return local_ns + *(const int64_t *)user;
}

/* -- Taking it -- */

static bool
records_itself(const GPtrArray *processes, int32_t rank)
{
    for (guint i = 0; i < processes->len; i++) {
        const LsProcess *process = get_process(processes, i);

        if (process->source == LS_SOURCE_LOCKSTEP && process->rank.rank == rank &&
            ls_horovod_has_ranges(process))
            return true;
    }
    return false;
}

/* The ranks that this timeline's ticks tell of. */
static void
take_ticked(GPtrArray *processes, const char *source, LsProcess *writer, int64_t *offset_ns)
{
    for (guint i = 0; i < processes->len;) {
        LsProcess *process = get_process(processes, i);

        if (process->rank.recorded || g_strcmp0(process->rank.source, source) != 0) {
            i++;
        } else if (records_itself(processes, process->rank.rank)) {
            g_ptr_array_remove_index(processes, i);
        } else {
            ls_process_map_times(process, shift, offset_ns);
            g_free(process->rank.source);
            process->rank.source = g_strdup(writer->rank.source);
            i++;
        }
    }
}

static void
take(GPtrArray *processes, guint at, LsProcess *writer)
{
    LsProcess *timeline = get_process(processes, at);
    g_autofree char *source = g_strdup(timeline->rank.source);
    bool mirrored;
    int64_t offset_ns;

    mirrored = find_by_mirror(writer, timeline, &offset_ns);
    if (!mirrored && !find_by_wall(writer, timeline, &offset_ns)) {
        ls_process_add_finding(timeline, LS_WARNING, -1,
                               "This timeline cannot be brought onto the clock of rank 0's own "
                               "recording: it says no wall clock and no NVTX range mirrors it; "
                               "the tensors of the other ranks stay without names.");
        return;
    }
    g_ptr_array_steal_index(processes, at);
    ls_process_map_times(timeline, shift, &offset_ns);
    g_array_set_size(timeline->clock_pairs, 0);
    g_hash_table_insert(writer->facts, g_strdup("timeline.placed_by"),
                        g_strdup(mirrored ? "its NVTX mirror" : "wall clock"));
    ls_process_join(writer, timeline);
    take_ticked(processes, source, writer, &offset_ns);
}

void
ls_horovod_take_timeline(GPtrArray *processes)
{
    LsProcess *writer = find_writer(processes);

    for (guint i = processes->len; writer != NULL && i-- > 0;) {
        i = MIN(i, processes->len - 1);
        if (is_timeline(get_process(processes, i)))
            take(processes, i, writer);
    }
    if (writer != NULL)
        ls_horovod_take_mirror(writer);
}
