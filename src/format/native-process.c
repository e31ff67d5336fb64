/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-process.c: what a process of the trace file keeps while it is read, and what is
 * settled when all is: names that came late, spans that never ended, uses joined to calls,
 * counters, losses.
 */
#include "format/lifeline.h"
#include "format/native-private.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_ID (1u << 24)

/* A record that has begun, and its thread. */
typedef struct OpenRecord {
    LsRecord record;
    Thread *thread;
} OpenRecord;

static guint
open_hash(gconstpointer key)
{
    const OpenRecord *open = key;
    uint64_t hash = (uint64_t)open->record.start_ns * 0x9e3779b97f4a7c15u + open->record.name;
    return (guint)(hash >> 32) ^ open->record.kind ^ GPOINTER_TO_UINT(open->thread);
}

static gboolean
open_equal(gconstpointer a, gconstpointer b)
{
    const OpenRecord *x = a, *y = b;
    return x->thread == y->thread && x->record.kind == y->record.kind &&
           x->record.name == y->record.name && x->record.start_ns == y->record.start_ns;
}

void
ls_native_open_record(Native *native, const LsRecord *record)
{
    OpenRecord *open = g_new(OpenRecord, 1);
    *open = (OpenRecord){.record = *record, .thread = native->thread};
    if (g_hash_table_add(native->open, open))
        native->open_of_kind[record->kind]++;
}

void
ls_native_close_record(Native *native, const LsRecord *record)
{
    OpenRecord key = {.record = *record, .thread = native->thread};
    if (g_hash_table_remove(native->open, &key))
        native->open_of_kind[record->kind]--;
}

static int
by_start(gconstpointer a, gconstpointer b)
{
    const OpenRecord *x = *(OpenRecord *const *)a, *y = *(OpenRecord *const *)b;
    return x->record.start_ns < y->record.start_ns ? -1 : x->record.start_ns > y->record.start_ns;
}

static void
flush_open(Native *native)
{
    guint n;
    g_autofree gpointer *open = g_hash_table_get_keys_as_array(native->open, &n);
    qsort(open, n, sizeof *open, by_start); /* a hash table has no order, a trace has */
    for (guint i = 0; i < n; i++) {
        OpenRecord *item = open[i];
        item->record.end_ns = MAX(item->record.start_ns, native->last_ns);
        native->thread = item->thread;
        native->records++;
        ls_native_add_record(native, &item->record);
    }
}

static void
free_samples(gpointer samples)
{
    g_array_unref(samples);
}

Native *
ls_native_new(const char *source, uint32_t pid, uint32_t rank, uint32_t incarnation)
{
    Native *native = g_new0(Native, 1);
    native->process = ls_process_new(LS_SOURCE_LOCKSTEP);
    native->process->rank.source = g_strdup(source);
    native->process->rank.format = "lockstep";
    native->process->rank.pid = pid;
    native->process->rank.incarnation = (int32_t)MIN(incarnation, INT32_MAX);
    native->pid = pid;
    native->rank = rank;
    native->incarnation = incarnation;
    native->first_ns = INT64_MAX;
    native->last_ns = INT64_MIN;
    native->names = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    native->placeholders = g_hash_table_new(NULL, NULL);
    native->replaced = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    native->threads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    native->open = g_hash_table_new_full(open_hash, open_equal, g_free, NULL);
    native->use_index = ls_row_index_new();
    native->call_index = ls_row_index_new();
    native->cycle_index = ls_row_index_new();
    native->use_joins = g_array_new(FALSE, TRUE, sizeof(UseJoin));
    native->counters = g_hash_table_new_full(NULL, NULL, NULL, free_samples);
    return native;
}

static void
native_free(Native *native)
{
    g_array_unref(native->names);
    g_array_unref(native->replaced);
    g_array_unref(native->use_joins);
    g_hash_table_unref(native->placeholders);
    g_hash_table_unref(native->open);
    g_hash_table_unref(native->threads);
    g_hash_table_unref(native->counters);
    ls_row_index_free(native->use_index);
    ls_row_index_free(native->call_index);
    ls_row_index_free(native->cycle_index);
    g_free(native);
}

Thread *
ls_native_get_thread(Native *native, uint32_t id)
{
    Thread *thread = g_hash_table_lookup(native->threads, GUINT_TO_POINTER(id));
    if (!thread) {
        thread = g_new0(Thread, 1);
        thread->id = id;
        g_hash_table_insert(native->threads, GUINT_TO_POINTER(id), thread);
    }
    return thread;
}

uint32_t
ls_native_name(Native *native, uint32_t id)
{
    if (G_LIKELY(id < native->names->len) && g_array_index(native->names, uint32_t, id) != LS_NONE)
        return g_array_index(native->names, uint32_t, id);
    if (id == 0)
        return 0;
    gpointer known;
    if (g_hash_table_lookup_extended(native->placeholders, GUINT_TO_POINTER(id), NULL, &known))
        return GPOINTER_TO_UINT(known);
    g_autofree char *text = g_strdup_printf("name %u", id);
    uint32_t placeholder = ls_strings_add(native->process->strings, text);
    g_hash_table_insert(native->placeholders, GUINT_TO_POINTER(id), GUINT_TO_POINTER(placeholder));
    return placeholder;
}

void
ls_native_set_name(Native *native, uint32_t id, const char *text, size_t length)
{
    const uint32_t none = LS_NONE;
    if (id >= NAME_MAX_ID || id == 0) {
        native->broken++;
        return;
    }
    uint32_t string = ls_strings_add_n(native->process->strings, text, length);
    while (native->names->len <= id)
        g_array_append_val(native->names, none);
    g_array_index(native->names, uint32_t, id) = string;
    gpointer placeholder;
    if (g_hash_table_steal_extended(native->placeholders, GUINT_TO_POINTER(id), NULL,
                                    &placeholder)) {
        const uint32_t pair[] = {GPOINTER_TO_UINT(placeholder), string};
        g_array_append_vals(native->replaced, pair, 2);
    }
}

static bool
is_true(const char *text)
{
    return strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
}

static void
replace_text(char **text, const char *value)
{
    g_free(*text);
    *text = g_strdup(value);
}

/* Facts that have a place of their own in the rank's row. */
static void
apply_info(LsRank *rank, const char *key, const char *value)
{
    if (strcmp(key, "host") == 0)
        replace_text(&rank->host, value);
    else if (strcmp(key, "device") == 0)
        replace_text(&rank->device, value);
    else if (strcmp(key, "boot_id") == 0)
        replace_text(&rank->boot_id, value);
    else if (strcmp(key, "world") == 0)
        rank->world = (int32_t)CLAMP(g_ascii_strtoll(value, NULL, 10), -1, INT32_MAX);
    else if (strcmp(key, "local_rank") == 0)
        rank->local_rank = (int32_t)CLAMP(g_ascii_strtoll(value, NULL, 10), -1, INT32_MAX);
    else if (strcmp(key, "test_double") == 0)
        rank->test_double = is_true(value);
}

void
ls_native_set_info(Native *native, uint32_t id, const char *text, size_t length)
{
    uint32_t key_id = ls_native_name(native, id);
    const char *key = ls_strings_get(native->process->strings, key_id);
    g_autofree char *value = g_utf8_make_valid(text, (gssize)length);
    apply_info(&native->process->rank, key, value);
    g_hash_table_insert(native->process->facts, g_strdup(key), g_steal_pointer(&value));
}

void
ls_native_add_finding(Native *native, uint16_t kind, LsSeverity severity, const char *text)
{
    if (++native->findings_of_kind[kind] <= FINDINGS_MAX)
        ls_process_add_finding(native->process, severity, -1, "%s", text);
}

static void
replace_placeholders(Native *native)
{
    if (native->replaced->len == 0)
        return;
    uint32_t n = ls_strings_get_n(native->process->strings);
    g_autofree uint32_t *map = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        map[i] = i;
    for (size_t i = 0; i < native->replaced->len; i += 2)
        map[g_array_index(native->replaced, uint32_t, i)] =
            g_array_index(native->replaced, uint32_t, i + 1);
    ls_process_map_names(native->process, map, n);
}

/* A buffer that was packed and not yet executed, a cycle of which only stages are there: the
 * recording ended inside. */
static void
settle_rows(Native *native)
{
    LsProcess *process = native->process;
    for (size_t i = 0; i < process->calls->len; i++) {
        LsCall *call = &g_array_index(process->calls, LsCall, i);
        if (call->start_ns != LS_TIME_NONE)
            continue;
        call->open = true;
        call->start_ns = call->end_ns =
            call->pack_end_ns != LS_TIME_NONE ? call->pack_end_ns : call->unpack_start_ns;
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

/* The losses and faults that are told in one sentence each. */
static void
report_losses(Native *native)
{
    LsProcess *process = native->process;
    if (process->rank.lost > native->lost_records ||
        native->findings_of_kind[LS_RECORD_LOST] > FINDINGS_MAX)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "%" G_GUINT64_FORMAT " records were lost in all: rings were full.",
                               process->rank.lost);
    if (native->missing_chunks > 0)
        ls_process_add_finding(
            process, LS_FAULT, -1,
            "%" G_GUINT64_FORMAT
            " chunks are missing in the middle of the file; their records are lost.",
            native->missing_chunks);
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
    flush_open(native);
    replace_placeholders(native);
    settle_rows(native);
    make_counters(native);
    process->rank.lost = MAX(settle_threads(native), native->lost_records);
    process->rank.records = native->records;
    if (native->first_ns <= native->last_ns) {
        process->rank.first_ns = native->first_ns;
        process->rank.last_ns = native->last_ns;
    }
    report_losses(native);
    ls_lifeline_add_tracks(process);
    native_free(native);
    return process;
}
