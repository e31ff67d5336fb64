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
/* Of the wall clock, if it was set or slewed in between. */
#define WALL_SLACK_NS INT64_C(50000000)
/* From an end in the mirror to the same in the timeline. */
#define MIRROR_SLACK_NS INT64_C(500000)

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

/* The mirror has all that the timeline has: the n-th of a name is the n-th. */
static bool
find_by_order(const LsProcess *writer, LsProcess *timeline, int64_t *ret_offset_ns)
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

static void
free_times(void *times)
{
    g_array_unref(times);
}

/* The mirror's ends by tensor, in order. */
static GHashTable *
list_ends(const LsProcess *writer)
{
    g_autoptr(GArray) mirror = ls_horovod_get_ranges(writer, LS_HOROVOD_MIRROR);
    GHashTable *ends = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_times);

    for (guint i = 0; i < mirror->len; i++) {
        const LsRange *range = &g_array_index(mirror, LsRange, i);
        const char *name = get_mirrored(writer, range);
        GArray *times = name == NULL ? NULL : g_hash_table_lookup(ends, name);

        if (name != NULL && times == NULL) {
            times = g_array_new(FALSE, FALSE, sizeof(int64_t));
            g_hash_table_insert(ends, (gpointer)(uintptr_t)name, times);
        }
        if (times != NULL)
            g_array_append_val(times, range->end_ns);
    }
    return ends;
}

static int64_t
find_nearest(const GArray *times, int64_t time_ns)
{
    guint low = 0, high = times->len;
    int64_t before, after;

    while (high - low > 1) {
        guint middle = low + (high - low) / 2;

        *(g_array_index(times, int64_t, middle) <= time_ns ? &low : &high) = middle;
    }
    before = g_array_index(times, int64_t, low);
    after = g_array_index(times, int64_t, MIN(low + 1, times->len - 1));
    return ABS(after - time_ns) < ABS(before - time_ns) ? after : before;
}

static int
compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* A recording that began late, or that keeps its last part alone, mirrors some of the timeline, and
 * steps have the same names: each end of the timeline goes with the mirror's that is nearest by
 * wall clock; where it is not mirrored, that is another one, so the middle of all differences
 * decides which are meant. */
static bool
find_by_mirror(const LsProcess *writer, const LsProcess *timeline, int64_t wall_ns,
               int64_t *ret_offset_ns)
{
    g_autoptr(GHashTable) ends = list_ends(writer);
    g_autoptr(GArray) offsets = g_array_new(FALSE, FALSE, sizeof(int64_t));
    int64_t middle_ns;

    for (guint i = 0; i < timeline->uses->len; i++) {
        const LsUse *use = &g_array_index(timeline->uses, LsUse, i);
        const GArray *times =
            g_hash_table_lookup(ends, ls_strings_get(timeline->strings, use->tensor));
        int64_t offset_ns;

        if (times == NULL || use->done_ns == LS_TIME_NONE)
            continue;
        offset_ns = find_nearest(times, use->done_ns + wall_ns) - use->done_ns;
        if (ABS(offset_ns - wall_ns) <= WALL_SLACK_NS)
            g_array_append_val(offsets, offset_ns);
    }
    if (offsets->len == 0)
        return false;
    g_array_sort(offsets, compare_times);
    middle_ns = g_array_index(offsets, int64_t, offsets->len / 2);
    for (guint i = 0; i < offsets->len; i++)
        if (g_array_index(offsets, int64_t, i) <= middle_ns + MIRROR_SLACK_NS)
            *ret_offset_ns = g_array_index(offsets, int64_t, i);
    return true;
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
    *ret_offset_ns =
        CLAMP(nearest->local_ns + (header->wall_ns - nearest->wall_ns) - header->local_ns,
              -LS_TIME_MAX, LS_TIME_MAX);
    return true;
}

/* Two clocks are no farther apart than any time can be. */
static int64_t
shift(void *user, int64_t local_ns)
{
    return CLAMP(local_ns + *(const int64_t *)user, -LS_TIME_MAX, LS_TIME_MAX);
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
    bool mirrored, walled;
    int64_t offset_ns = 0, wall_ns = 0;

    walled = find_by_wall(writer, timeline, &wall_ns);
    mirrored = (walled && find_by_mirror(writer, timeline, wall_ns, &offset_ns)) ||
               find_by_order(writer, timeline, &offset_ns);
    if (!mirrored)
        offset_ns = wall_ns;
    if (!mirrored && !walled) {
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
