/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-process.c: what a process of the trace file keeps while it is read, and what is
 * settled when all is: names that came late, spans that never ended, uses joined to calls,
 * counters, losses.
 */
#include "format/native-private.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_ID (1u << 24)

/* A fact, and the sequence of the chunk that said it. */
typedef struct Info {
    uint32_t sequence;
    char *value;
} Info;

static void
free_info(gpointer data)
{
    Info *info = data;
    g_free(info->value);
    g_free(info);
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
    native->process->rank.incarnation = (int32_t)MIN(incarnation, LS_RANK_MAX);
    native->pid = pid;
    native->rank = rank;
    native->incarnation = incarnation;
    native->first_ns = INT64_MAX;
    native->last_ns = INT64_MIN;
    native->names = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    native->placeholders = g_hash_table_new(NULL, NULL);
    native->chunks = g_hash_table_new(NULL, NULL);
    native->deferred = g_ptr_array_new_with_free_func(g_free);
    native->infos = g_hash_table_new_full(NULL, NULL, NULL, free_info);
    native->replaced = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    native->threads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    native->windows = g_array_new(FALSE, FALSE, sizeof(LsRecord));
    native->open = ls_native_new_open();
    native->use_index = ls_row_index_new();
    native->call_index = ls_row_index_new();
    native->cycle_index = ls_row_index_new();
    native->use_joins = g_array_new(FALSE, TRUE, sizeof(UseJoin));
    native->call_heard_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    native->counters = g_hash_table_new_full(NULL, NULL, NULL, free_samples);
    ls_native_init_ranges(native);
    ls_native_init_nccl(native);
    return native;
}

void
ls_native_free(Native *native)
{
    g_array_unref(native->names);
    g_array_unref(native->windows);
    g_ptr_array_unref(native->deferred);
    g_hash_table_unref(native->chunks);
    g_hash_table_unref(native->infos);
    g_array_unref(native->replaced);
    g_array_unref(native->use_joins);
    g_array_unref(native->call_heard_ns);
    g_hash_table_unref(native->placeholders);
    g_hash_table_unref(native->open);
    g_hash_table_unref(native->threads);
    g_hash_table_unref(native->counters);
    ls_native_free_ranges(native);
    ls_native_free_nccl(native);
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

/* A duration; beyond a year it is damage. */
static int64_t
parse_cost(const char *value)
{
    int64_t ns = g_ascii_isdigit(value[0]) ? g_ascii_strtoll(value, NULL, 10) : -1;
    return ns >= 0 && ns < INT64_C(365) * 86400 * 1000000000 ? ns : LS_TIME_NONE;
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
        rank->world = (int32_t)CLAMP(g_ascii_strtoll(value, NULL, 10), -1, LS_RANK_MAX);
    else if (strcmp(key, "local_rank") == 0)
        rank->local_rank = (int32_t)CLAMP(g_ascii_strtoll(value, NULL, 10), -1, LS_RANK_MAX);
    else if (strcmp(key, "test_double") == 0)
        rank->test_double = is_true(value);
    else if (strcmp(key, "recorder.cost_ns") == 0)
        rank->record_cost_ns = parse_cost(value);
    else if (strcmp(key, "recorder.drain_ns") == 0)
        rank->recorder_cpu_ns = parse_cost(value);
}

/* The last value counts: the one of the highest sequence, whatever the order in the file. */
void
ls_native_set_info(Native *native, uint32_t id, const char *text, size_t length)
{
    Info *info = g_hash_table_lookup(native->infos, GUINT_TO_POINTER(id));
    if (info && native->sequence < info->sequence)
        return;
    info = g_new(Info, 1);
    *info = (Info){.sequence = native->sequence, .value = g_utf8_make_valid(text, (gssize)length)};
    g_hash_table_insert(native->infos, GUINT_TO_POINTER(id), info);
}

static void
settle_infos(Native *native)
{
    GHashTableIter iter;
    gpointer id, value;
    g_hash_table_iter_init(&iter, native->infos);
    while (g_hash_table_iter_next(&iter, &id, &value)) {
        uint32_t name = ls_native_name(native, GPOINTER_TO_UINT(id));
        const char *key = ls_strings_get(native->process->strings, name);
        const Info *info = value;
        apply_info(&native->process->rank, key, info->value);
        g_hash_table_insert(native->process->facts, g_strdup(key), g_strdup(info->value));
    }
    native->process->observer = g_hash_table_contains(native->process->facts, "record.clocks");
}

typedef struct DeferredChunk {
    LsChunkHeader header;
    int64_t offset;
    uint8_t payload[];
} DeferredChunk;

void
ls_native_defer_chunk(Native *native, const LsChunkHeader *header, const uint8_t *payload,
                      int64_t offset)
{
    DeferredChunk *chunk = g_malloc(sizeof *chunk + header->payload_bytes);
    chunk->header = *header;
    chunk->offset = offset;
    memcpy(chunk->payload, payload, header->payload_bytes);
    g_ptr_array_add(native->deferred, chunk);
}

static int
by_sequence(gconstpointer a, gconstpointer b)
{
    const DeferredChunk *x = *(DeferredChunk *const *)a, *y = *(DeferredChunk *const *)b;
    return x->header.sequence < y->header.sequence ? -1 : x->header.sequence > y->header.sequence;
}

void
ls_native_flush_deferred(Native *native)
{
    g_ptr_array_sort(native->deferred, by_sequence);
    for (size_t i = 0; i < native->deferred->len; i++) {
        const DeferredChunk *chunk = g_ptr_array_index(native->deferred, i);
        ls_native_add_chunk(native, &chunk->header, chunk->payload, chunk->offset);
    }
}

void
ls_native_add_finding(Native *native, const LsRecord *record, LsSeverity severity, const char *text)
{
    GArray *findings = native->process->findings;

    if (++native->findings_of_kind[record->kind] > FINDINGS_MAX)
        return;
    ls_process_add_finding(native->process, severity, -1, "%s", text);
    g_array_index(findings, LsFinding, findings->len - 1).time_ns = record->start_ns;
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

void
ls_native_settle_names(Native *native)
{
    replace_placeholders(native);
    settle_infos(native);
}
