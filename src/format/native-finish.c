/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-finish.c: what is settled when all chunks of a process have been read: uses joined
 * to calls, spans that never ended, counters, losses, the tensors' tracks.
 */
#include "base/units.h"
#include "format/lifeline.h"
#include "format/native-private.h"

/* Numbers between the first and the last that are not there. */
static uint64_t
count_missing(const Native *native)
{
    GHashTableIter iter;
    gpointer key;
    uint32_t first = UINT32_MAX, last = 0;
    g_hash_table_iter_init(&iter, native->chunks);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        first = MIN(first, GPOINTER_TO_UINT(key));
        last = MAX(last, GPOINTER_TO_UINT(key));
    }
    uint32_t n = g_hash_table_size(native->chunks);
    return n == 0 ? 0 : (uint64_t)last - first + 1 - n;
}

/* Where a buffer stands that was prepared or packed and not yet executed: the recording ended
 * inside. */
static int64_t
place_call(const Native *native, const LsCall *call, guint row)
{
    if (call->pack_end_ns != LS_TIME_NONE)
        return call->pack_end_ns;
    if (call->unpack_start_ns != LS_TIME_NONE)
        return call->unpack_start_ns;
    return g_array_index(native->call_heard_ns, int64_t, row);
}

/* Calls of NCCL, behind those of reduce, have their times. */
static void
settle_rows(Native *native)
{
    LsProcess *process = native->process;
    for (guint i = 0; i < native->call_heard_ns->len; i++) {
        LsCall *call = &g_array_index(process->calls, LsCall, i);
        if (call->start_ns != LS_TIME_NONE)
            continue;
        call->open = true;
        call->start_ns = call->end_ns = place_call(native, call, i);
    }
    for (size_t i = 0; i < process->uses->len; i++) {
        LsUse *use = &g_array_index(process->uses, LsUse, i);
        const UseJoin *join = &g_array_index(native->use_joins, UseJoin, i);
        if (join->agreed)
            use->call = ls_row_index_find(native->call_index, join->buffer, join->communicator);
        if (use->gate_ns == LS_TIME_NONE && use->group == LS_NONE)
            use->gate_ns = use->submit_ns;
    }
}

static void
make_counters(Native *native)
{
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, native->counters);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        uint32_t id = GPOINTER_TO_UINT(key);
        const GArray *samples = value;
        const char *name = ls_strings_get(native->process->strings, ls_native_name(native, id));
        LsTrackBuilder *track =
            ls_process_get_track(native->process, LS_TRACK_COUNTER, name, "counter", -1);
        for (size_t k = 0; k < samples->len; k++) {
            const LsSample *sample = &g_array_index(samples, LsSample, k);
            ls_track_builder_add_sample(track, sample->time_ns, sample->value, sample->valid);
        }
    }
}

/* Threads whose name is known give it to their track of phases; returns the records they lost. */
static uint64_t
settle_threads(Native *native)
{
    GHashTableIter iter;
    gpointer value;
    uint64_t lost = 0;
    g_hash_table_iter_init(&iter, native->threads);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Thread *thread = value;
        lost += thread->lost;
        if (!thread->phases || !thread->name)
            continue;
        const char *name =
            ls_strings_get(native->process->strings, ls_native_name(native, thread->name));
        g_autofree char *text = g_strdup_printf("phases %s", name);
        ls_process_rename_track(native->process, thread->phases, text);
    }
    return lost;
}

static bool
overwritten_as_asked(const LsProcess *process)
{
    return process->rank.given_up > 0 && process->rank.damaged == 0;
}

/* The losses and faults that are told in one sentence each. */
static void
report_losses(Native *native)
{
    LsProcess *process = native->process;
    if (native->gone_records > 0) {
        g_autofree char *within = ls_format_ns(native->gone.end_ns - native->gone.start_ns);
        bool as_asked = process->rank.given_up > 0;
        g_autofree char *text = g_strdup_printf(
            "%" G_GUINT64_FORMAT " records of %s are not there: %s.", native->gone_records, within,
            as_asked ? "a flight recorder keeps the newest, as asked"
                     : "the file was at its bound and kept the newest, the disk was full, or "
                       "threads found no ring");
        ls_native_add_finding(native, &native->gone, as_asked ? LS_NOTE : LS_WARNING, text);
    }
    if (process->rank.lost + process->rank.given_up > native->lost_records + native->dropped ||
        native->findings_of_kind[LS_RECORD_LOST] > FINDINGS_MAX)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "%" G_GUINT64_FORMAT " records were lost in all: rings were full.",
                               process->rank.lost);
    uint64_t missing = count_missing(native);
    if (missing > 0)
        ls_process_add_finding(process, overwritten_as_asked(process) ? LS_NOTE : LS_WARNING, -1,
                               "%" G_GUINT64_FORMAT
                               " chunks are missing between the first and the last: they were "
                               "overwritten at the size bound, or are damaged.",
                               missing);
    if (native->endless > 0)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "Of %" G_GUINT64_FORMAT
                               " steps, phases or operations the end is not in the file, though "
                               "others began after them: its record is missing, or was never made. "
                               "Each is taken to last until the next one began.",
                               native->endless);
    if (native->broken > 0) {
        ls_process_add_finding(process, LS_FAULT, -1,
                               "%" G_GUINT64_FORMAT " records make no sense and are left out.",
                               native->broken);
        process->rank.damaged++;
    }
    if (native->unknown > 0)
        ls_process_add_finding(
            process, LS_NOTE, -1,
            "%" G_GUINT64_FORMAT
            " records are of kinds that this version does not know; they are left out.",
            native->unknown);
    if (g_hash_table_size(native->placeholders) > 0)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "%u names are not in the file; their numbers stand for them.",
                               g_hash_table_size(native->placeholders));
    for (uint16_t kind = 0; kind < G_N_ELEMENTS(native->findings_of_kind); kind++)
        if (native->findings_of_kind[kind] > FINDINGS_MAX && kind != LS_RECORD_LOST)
            ls_process_add_finding(process, LS_WARNING, -1,
                                   "%" G_GUINT64_FORMAT " more findings like \"%s\".",
                                   native->findings_of_kind[kind] - FINDINGS_MAX,
                                   kind == LS_RECORD_STALL   ? "waited for rank"
                                   : kind == LS_RECORD_ERROR ? "error"
                                                             : "notice");
}

LsProcess *
ls_native_finish(Native *native)
{
    LsProcess *process = native->process;
    int64_t window_end_ns = native->first_ns;
    process->part_read = 0;
    ls_native_flush_deferred(native);
    ls_native_flush_open(native);
    ls_native_settle_names(native);
    ls_native_settle_ranges(native);
    ls_native_settle_device(native);
    ls_native_settle_nccl(native);
    settle_rows(native);
    make_counters(native);
    if (g_hash_table_contains(process->facts, "recorder.flight"))
        process->rank.given_up = native->gone_records;
    process->rank.lost =
        MAX(settle_threads(native), native->lost_records - process->rank.given_up) +
        native->dropped;
    process->rank.records = native->records;
    if (native->first_ns <= native->last_ns) {
        process->rank.first_ns = native->first_ns;
        process->rank.last_ns = native->last_ns;
        /* After its last window only the clock went on; what else there is widens it
         * (trace/freeze.c). */
        for (guint i = 0; i < native->windows->len; i++)
            window_end_ns = MAX(window_end_ns, g_array_index(native->windows, LsRecord, i).end_ns);
        if (native->windows->len > 0)
            process->rank.last_ns = MIN(native->last_ns, window_end_ns);
    }
    report_losses(native);
    ls_lifeline_add_tracks(process);
    ls_native_free(native);
    return process;
}
