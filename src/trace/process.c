/* SPDX-License-Identifier: Apache-2.0
 * trace/process.c: the growing tables and tracks of one process. */
#include "trace/process.h"

#include "base/memory.h"
#include "trace/track-private.h"

#include <string.h>

#define BIG_TABLE  65536 /* rows; a power of two */
#define MANY_SPANS 32768 /* of a track, tell how it goes on */

static void
clear_rank(LsRank *rank)
{
    g_free(rank->host);
    g_free(rank->device);
    g_free(rank->boot_id);
    g_free(rank->source);
}

static void
clear_finding(gpointer data)
{
    LsFinding *finding = data;
    g_free(finding->file);
    g_free(finding->text);
}

void
ls_track_builder_free(LsTrackBuilder *track)
{
    ls_columns_clear(&track->spans);
    g_clear_pointer(&track->samples, g_array_unref);
    g_free(track);
}

static guint
track_hash(gconstpointer key)
{
    const LsTrackBuilder *track = key;
    return ((guint)track->kind * 31 + track->name) * 31 + track->category + (guint)track->id * 7919;
}

static gboolean
track_equal(gconstpointer a, gconstpointer b)
{
    const LsTrackBuilder *x = a, *y = b;
    return x->kind == y->kind && x->name == y->name && x->category == y->category && x->id == y->id;
}

static GArray *
new_rows(size_t size)
{
    return g_array_new(FALSE, FALSE, (guint)size);
}

LsProcess *
ls_process_new(LsSource source)
{
    LsProcess *process = g_new0(LsProcess, 1);
    process->rank = (LsRank){.rank = -1,
                             .world = -1,
                             .local_rank = -1,
                             .pid = -1,
                             .first_ns = LS_TIME_NONE,
                             .last_ns = LS_TIME_NONE,
                             .clock_method = LS_CLOCK_NONE,
                             .record_cost_ns = LS_TIME_NONE,
                             .recorder_cpu_ns = LS_TIME_NONE,
                             .recorded = true};
    process->strings = ls_strings_new();
    process->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    process->tracks = g_ptr_array_new_with_free_func((GDestroyNotify)ls_track_builder_free);
    process->steps = new_rows(sizeof(LsStep));
    process->phases = new_rows(sizeof(LsPhase));
    process->uses = new_rows(sizeof(LsUse));
    process->calls = new_rows(sizeof(LsCall));
    process->cycles = new_rows(sizeof(LsCycle));
    process->sleeps = new_rows(sizeof(LsSleep));
    process->messages = new_rows(sizeof(LsMessage));
    process->instants = new_rows(sizeof(LsInstant));
    process->graph_tensors = new_rows(sizeof(LsGraphTensor));
    process->graph_needs = new_rows(sizeof(LsGraphNeed));
    process->roundtrips = new_rows(sizeof(LsRoundtrip));
    process->clock_pairs = new_rows(sizeof(LsClockPair));
    process->ranges = new_rows(sizeof(LsRange));
    process->mpi_calls = new_rows(sizeof(LsMpiCall));
    process->findings = new_rows(sizeof(LsFinding));
    g_array_set_clear_func(process->findings, clear_finding);
    process->source = (uint8_t)source;
    process->track_index = g_hash_table_new(track_hash, track_equal);
    return process;
}

void
ls_process_free(LsProcess *process)
{
    if (!process)
        return;
    clear_rank(&process->rank);
    ls_strings_free(process->strings);
    g_hash_table_unref(process->facts);
    g_hash_table_unref(process->track_index);
    g_ptr_array_unref(process->tracks);
    GArray *tables[] = {process->steps,       process->phases,        process->uses,
                        process->calls,       process->cycles,        process->sleeps,
                        process->messages,    process->instants,      process->roundtrips,
                        process->clock_pairs, process->ranges,        process->mpi_calls,
                        process->findings,    process->graph_tensors, process->graph_needs};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        g_array_unref(tables[i]);
    g_free(process);
}

void
ls_process_add_finding(LsProcess *process, LsSeverity severity, int64_t offset, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    LsFinding finding = {.severity = severity,
                         .file = g_strdup(process->rank.source),
                         .offset = offset,
                         .rank = process->rank.rank,
                         .time_ns = LS_TIME_NONE,
                         .text = g_strdup_vprintf(format, args)};
    va_end(args);
    g_array_append_val(process->findings, finding);
}

LsTrackBuilder *
ls_process_get_track(LsProcess *process, LsTrackKind kind, const char *name, const char *category,
                     int64_t id)
{
    LsTrackBuilder key = {.kind = kind,
                          .name = ls_strings_add(process->strings, name),
                          .category = ls_strings_add(process->strings, category),
                          .id = id};
    LsTrackBuilder *track = g_hash_table_lookup(process->track_index, &key);
    if (track)
        return track;
    track = g_new(LsTrackBuilder, 1);
    *track = key;
    track->source = process->source;
    track->process = process;
    track->rank = LS_NONE;
    if (kind == LS_TRACK_COUNTER)
        track->samples = g_array_new(FALSE, TRUE, sizeof(LsSample));
    g_ptr_array_add(process->tracks, track);
    g_hash_table_add(process->track_index, track);
    return track;
}

/* Room for as many rows again, before GArray makes it without our advice. */
static void
grow_rows(GArray *rows)
{
    guint n = rows->len;
    g_array_set_size(rows, n * 2);
    g_array_set_size(rows, n);
    ls_memory_expect(rows->data, (size_t)n * 2 * g_array_get_element_size(rows));
}

void
ls_rows_add(GArray *rows, const void *row)
{
    if (G_UNLIKELY(rows->len >= BIG_TABLE && rows->len < G_MAXUINT / 2 &&
                   (rows->len & (rows->len - 1)) == 0))
        grow_rows(rows);
    g_array_append_vals(rows, row, 1);
}

/* As many as the track will have when its whole file has been read, if it goes on like this: pages
 * that are moved twice cost more than any decoding. */
static size_t
expect_spans(const LsTrackBuilder *track)
{
    size_t n = track->n;
    double part = track->process->part_read;
    if (n < MANY_SPANS || part <= 0)
        return n == 0 ? 16 : n * 2;
    return (size_t)((double)n * CLAMP(1.125 / part, 2.0, 64.0)); /* a part may be mistaken */
}

static void
grow(LsTrackBuilder *track)
{
    LsColumns old = track->spans;
    track->spans = ls_columns_new(expect_spans(track));
    ls_columns_copy(&track->spans, &old, track->n);
    ls_columns_clear(&old);
}

void
ls_track_builder_add(LsTrackBuilder *track, int64_t start_ns, int64_t end_ns, uint32_t name,
                     uint32_t ref)
{
    if (G_UNLIKELY(track->n == track->spans.capacity))
        grow(track);
    size_t at = track->n++;
    track->spans.start_ns[at] = start_ns;
    track->spans.end_ns[at] = end_ns;
    track->spans.name[at] = name;
    track->spans.ref[at] = ref;
}

void
ls_track_builder_add_sample(LsTrackBuilder *track, int64_t time_ns, double value, bool valid)
{
    g_assert(track->kind == LS_TRACK_COUNTER);
    LsSample sample = {.time_ns = time_ns, .value = value, .valid = valid};
    g_array_append_val(track->samples, sample);
}

void
ls_process_rename_track(LsProcess *process, LsTrackBuilder *track, const char *name)
{
    g_hash_table_remove(process->track_index, track);
    track->name = ls_strings_add(process->strings, name);
    if (!g_hash_table_contains(process->track_index, track))
        g_hash_table_add(process->track_index, track);
}

LsTrackKind
ls_track_builder_get_kind(const LsTrackBuilder *track)
{
    return track->kind;
}

size_t
ls_track_builder_get_n(const LsTrackBuilder *track)
{
    return track->samples ? track->samples->len : track->n;
}

uint32_t
ls_track_builder_get_rank(const LsTrackBuilder *track)
{
    return track->rank;
}
