/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/builder.c: processes into one trace: rows are moved and their indices shifted, span columns
 * are taken over as they are, names are mapped to the common strings.
 */
#include "trace/builder.h"

#include "trace/trace-private.h"

#include <string.h>

LsBuilder *
ls_builder_new(LsClassify classify, void *user)
{
    LsBuilder *builder = g_new0(LsBuilder, 1);
    builder->trace = ls_trace_new();
    builder->tracks = g_ptr_array_new_with_free_func((GDestroyNotify)ls_track_builder_free);
    builder->classify = classify;
    builder->user = user;
    return builder;
}

void
ls_builder_free(LsBuilder *builder)
{
    if (!builder)
        return;
    g_clear_pointer(&builder->trace, ls_trace_unref);
    g_ptr_array_unref(builder->tracks);
    g_free(builder);
}

/* Id of the process -> id of the trace. */
static uint32_t *
map_strings(const LsStrings *from, LsStrings *to)
{
    uint32_t n = ls_strings_get_n(from);
    uint32_t *map = g_new(uint32_t, n);
    for (uint32_t id = 0; id < n; id++)
        map[id] = ls_strings_add(to, ls_strings_get(from, id));
    return map;
}

/* Where the process's rows begin in the trace's tables. */
typedef struct Move {
    uint32_t rank;
    uint32_t first_step, first_phase, first_use, first_call, first_cycle;
} Move;

#define SET_RANK(Type, rows, index)                                                                \
    for (size_t i = 0; i < (rows)->len; i++)                                                       \
        g_array_index(rows, Type, i).rank = (index);

static void
move_rows(const Move *move, LsProcess *process)
{
    SET_RANK(LsStep, process->steps, move->rank)
    SET_RANK(LsPhase, process->phases, move->rank)
    SET_RANK(LsUse, process->uses, move->rank)
    SET_RANK(LsCall, process->calls, move->rank)
    SET_RANK(LsCycle, process->cycles, move->rank)
    SET_RANK(LsSleep, process->sleeps, move->rank)
    SET_RANK(LsMessage, process->messages, move->rank)
    SET_RANK(LsInstant, process->instants, move->rank)
    SET_RANK(LsGraphTensor, process->graph_tensors, move->rank)
    SET_RANK(LsGraphNeed, process->graph_needs, move->rank)
    for (size_t i = 0; i < process->uses->len; i++) {
        LsUse *use = &g_array_index(process->uses, LsUse, i);
        use->call = use->call < process->calls->len ? use->call + move->first_call : LS_NONE;
    }
    for (size_t i = 0; i < process->calls->len; i++)
        g_array_index(process->calls, LsCall, i).buffer = LS_NONE;
}

/* The first row, in the trace, of the process's table that spans of this kind refer to. */
static uint32_t
first_row(const Move *move, LsTrackKind kind)
{
    switch (kind) {
    case LS_TRACK_STEPS:
        return move->first_step;
    case LS_TRACK_PHASES:
        return move->first_phase;
    case LS_TRACK_TENSOR:
        return move->first_use;
    case LS_TRACK_COMMUNICATION:
        return move->first_call;
    case LS_TRACK_CYCLES:
        return move->first_cycle;
    default:
        return 0;
    }
}

static void
move_track(const Move *move, const uint32_t *names, LsTrackBuilder *track)
{
    uint32_t first = first_row(move, track->kind);
    track->rank = move->rank;
    track->process = NULL;
    track->name = names[track->name];
    track->category = names[track->category];
    for (size_t i = 0; first > 0 && i < track->n; i++)
        if (track->spans.ref[i] != LS_NONE)
            track->spans.ref[i] += first;
}

/* An empty table takes the other's place: a big file's rows are not copied. */
static void
append(GArray **to, GArray **from)
{
    if ((*to)->len == 0) {
        GArray *empty = *to;
        *to = *from;
        *from = empty;
    } else
        g_array_append_vals(*to, (*from)->data, (*from)->len);
}

static void
take_facts(LsTrace *trace, GHashTable *facts)
{
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, facts);
    while (g_hash_table_iter_next(&iter, &key, &value))
        if (!g_hash_table_contains(trace->facts, key))
            g_hash_table_insert(trace->facts, g_strdup(key), g_strdup(value));
}

uint32_t
ls_builder_take(LsBuilder *builder, LsProcess *process)
{
    LsTrace *trace = builder->trace;
    g_autofree uint32_t *names = map_strings(process->strings, trace->strings);
    Move move = {.rank = trace->ranks->len,
                 .first_step = trace->steps->len,
                 .first_phase = trace->phases->len,
                 .first_use = trace->uses->len,
                 .first_call = trace->calls->len,
                 .first_cycle = trace->cycles->len};
    ls_process_map_names(process, names, ls_strings_get_n(process->strings));
    move_rows(&move, process);
    g_array_append_val(trace->ranks, process->rank);
    process->rank = (LsRank){0}; /* its strings went along */
    append(&trace->steps, &process->steps);
    append(&trace->phases, &process->phases);
    append(&trace->uses, &process->uses);
    append(&trace->calls, &process->calls);
    append(&trace->cycles, &process->cycles);
    append(&trace->sleeps, &process->sleeps);
    append(&trace->messages, &process->messages);
    append(&trace->instants, &process->instants);
    append(&trace->graph_tensors, &process->graph_tensors);
    append(&trace->graph_needs, &process->graph_needs);
    g_array_append_vals(trace->findings, process->findings->data, process->findings->len);
    g_array_set_clear_func(process->findings, NULL);
    g_ptr_array_set_free_func(process->tracks, NULL);
    for (size_t i = 0; i < process->tracks->len; i++) {
        move_track(&move, names, g_ptr_array_index(process->tracks, i));
        g_ptr_array_add(builder->tracks, g_ptr_array_index(process->tracks, i));
    }
    take_facts(trace, process->facts);
    ls_process_free(process);
    return move.rank;
}

void
ls_builder_add_finding(LsBuilder *builder, LsSeverity severity, const char *file, int64_t offset,
                       int32_t rank, const char *text)
{
    LsFinding finding = {.severity = severity,
                         .file = g_strdup(file),
                         .offset = offset,
                         .rank = rank,
                         .time_ns = LS_TIME_NONE,
                         .text = g_strdup(text)};
    g_array_append_val(builder->trace->findings, finding);
}

void
ls_builder_set_fact(LsBuilder *builder, const char *key, const char *value)
{
    g_hash_table_insert(builder->trace->facts, g_strdup(key), g_strdup(value));
}

void
ls_builder_set_buffers(LsBuilder *builder, const LsBuffer *buffers, size_t n_buffers,
                       const uint32_t *call_refs, size_t n_call_refs)
{
    LsTrace *trace = builder->trace;
    g_array_set_size(trace->buffers, 0);
    g_array_set_size(trace->call_refs, 0);
    if (n_buffers > 0)
        g_array_append_vals(trace->buffers, buffers, (guint)n_buffers);
    if (n_call_refs > 0)
        g_array_append_vals(trace->call_refs, call_refs, (guint)n_call_refs);
}

static void *
get_rows(GArray *rows, size_t *ret_n)
{
    *ret_n = rows->len;
    return rows->len > 0 ? rows->data : NULL;
}

LsCall *
ls_builder_get_calls(LsBuilder *builder, size_t *ret_n)
{
    return get_rows(builder->trace->calls, ret_n);
}

LsUse *
ls_builder_get_uses(LsBuilder *builder, size_t *ret_n)
{
    return get_rows(builder->trace->uses, ret_n);
}

LsRank *
ls_builder_get_ranks(LsBuilder *builder, size_t *ret_n)
{
    return get_rows(builder->trace->ranks, ret_n);
}
