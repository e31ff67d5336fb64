/* SPDX-License-Identifier: Apache-2.0
 * trace/trace.c: the frozen trace: its life and its accessors. */
#include "trace/trace.h"

#include "trace/trace-private.h"

static void
clear_rank(gpointer data)
{
    LsRank *rank = data;
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

static GArray *
new_rows(size_t size)
{
    return g_array_new(FALSE, TRUE, (guint)size);
}

LsTrace *
ls_trace_new(void)
{
    LsTrace *trace = g_new0(LsTrace, 1);
    g_atomic_ref_count_init(&trace->refs);
    trace->strings = ls_strings_new();
    trace->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    trace->ranks = new_rows(sizeof(LsRank));
    g_array_set_clear_func(trace->ranks, clear_rank);
    trace->tracks = new_rows(sizeof(LsTrack));
    trace->steps = new_rows(sizeof(LsStep));
    trace->phases = new_rows(sizeof(LsPhase));
    trace->uses = new_rows(sizeof(LsUse));
    trace->calls = new_rows(sizeof(LsCall));
    trace->buffers = new_rows(sizeof(LsBuffer));
    trace->call_refs = new_rows(sizeof(uint32_t));
    trace->cycles = new_rows(sizeof(LsCycle));
    trace->sleeps = new_rows(sizeof(LsSleep));
    trace->messages = new_rows(sizeof(LsMessage));
    trace->instants = new_rows(sizeof(LsInstant));
    trace->graph_tensors = new_rows(sizeof(LsGraphTensor));
    trace->graph_needs = new_rows(sizeof(LsGraphNeed));
    trace->findings = new_rows(sizeof(LsFinding));
    g_array_set_clear_func(trace->findings, clear_finding);
    trace->labels = g_ptr_array_new_with_free_func(g_free);
    trace->names = g_ptr_array_new_with_free_func(g_free);
    trace->blocks = g_ptr_array_new_with_free_func(g_free);
    return trace;
}

LsTrace *
ls_trace_ref(LsTrace *trace)
{
    g_atomic_ref_count_inc(&trace->refs);
    return trace;
}

void
ls_trace_unref(LsTrace *trace)
{
    if (!trace || !g_atomic_ref_count_dec(&trace->refs))
        return;
    ls_strings_free(trace->strings);
    g_hash_table_unref(trace->facts);
    GArray *tables[] = {trace->ranks,    trace->tracks,        trace->steps,      trace->phases,
                        trace->uses,     trace->calls,         trace->buffers,    trace->call_refs,
                        trace->cycles,   trace->sleeps,        trace->messages,   trace->instants,
                        trace->findings, trace->graph_tensors, trace->graph_needs};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        g_array_unref(tables[i]);
    g_ptr_array_unref(trace->labels);
    g_ptr_array_unref(trace->names);
    g_ptr_array_unref(trace->blocks);
    ls_columns_clear(&trace->spans);
    g_free(trace);
}

int64_t
ls_trace_get_first_ns(const LsTrace *trace)
{
    return trace->first_ns;
}

int64_t
ls_trace_get_last_ns(const LsTrace *trace)
{
    return trace->last_ns;
}

const char *
ls_trace_get_string(const LsTrace *trace, uint32_t id)
{
    return ls_strings_get(trace->strings, id);
}

const LsStrings *
ls_trace_get_strings(const LsTrace *trace)
{
    return trace->strings;
}

const char *
ls_trace_get_fact(const LsTrace *trace, const char *key)
{
    return g_hash_table_lookup(trace->facts, key);
}

static const void *
get_rows(const GArray *rows, size_t *ret_n)
{
    *ret_n = rows->len;
    return rows->len > 0 ? rows->data : NULL;
}

const LsRank *
ls_trace_get_ranks(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->ranks, ret_n);
}

const LsTrack *
ls_trace_get_tracks(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->tracks, ret_n);
}

const LsStep *
ls_trace_get_steps(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->steps, ret_n);
}

const LsPhase *
ls_trace_get_phases(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->phases, ret_n);
}

const LsUse *
ls_trace_get_uses(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->uses, ret_n);
}

const LsCall *
ls_trace_get_calls(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->calls, ret_n);
}

const LsBuffer *
ls_trace_get_buffers(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->buffers, ret_n);
}

const uint32_t *
ls_trace_get_call_refs(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->call_refs, ret_n);
}

const LsCycle *
ls_trace_get_cycles(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->cycles, ret_n);
}

const LsSleep *
ls_trace_get_sleeps(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->sleeps, ret_n);
}

const LsMessage *
ls_trace_get_messages(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->messages, ret_n);
}

const LsGraphTensor *
ls_trace_get_graph_tensors(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->graph_tensors, ret_n);
}

const LsGraphNeed *
ls_trace_get_graph_needs(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->graph_needs, ret_n);
}

const LsInstant *
ls_trace_get_instants(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->instants, ret_n);
}

const LsFinding *
ls_trace_get_findings(const LsTrace *trace, size_t *ret_n)
{
    return get_rows(trace->findings, ret_n);
}

const char *
ls_trace_get_rank_label(const LsTrace *trace, uint32_t rank)
{
    return rank < trace->labels->len ? g_ptr_array_index(trace->labels, rank) : "?";
}

const char *
ls_trace_get_rank_name(const LsTrace *trace, uint32_t rank)
{
    return rank < trace->names->len ? g_ptr_array_index(trace->names, rank) : "no rank";
}

uint32_t
ls_trace_count_steps(const LsTrace *trace)
{
    return trace->n_columns;
}

uint32_t
ls_trace_get_world(const LsTrace *trace)
{
    return trace->world;
}

uint32_t
ls_trace_count_missing(const LsTrace *trace)
{
    const LsRank *ranks = (const LsRank *)(void *)trace->ranks->data;
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_direct_hash, g_direct_equal);

    for (guint i = 0; i < trace->ranks->len; i++)
        if (ranks[i].rank >= 0)
            g_hash_table_add(numbers, GINT_TO_POINTER(ranks[i].rank));
    return trace->world - MIN(trace->world, g_hash_table_size(numbers));
}
