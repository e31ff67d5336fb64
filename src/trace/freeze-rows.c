/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/freeze-rows.c: sorts ranks and tables as trace.h says and brings every index along: rows'
 * ranks, uses' calls, references to calls, spans' rows. An index that points nowhere becomes
 * LS_NONE and a finding: what a file says is not trusted.
 */
#include "base/memory.h"
#include "trace/sort.h"
#include "trace/trace-private.h"

#include <string.h>

/* One table: where its rows keep rank and time. */
typedef int64_t (*RowTime)(const void *row);

#define ROW_TIME(name, Type, member)                                                               \
    static int64_t name(const void *row)                                                           \
    {                                                                                              \
        return ((const Type *)row)->member;                                                        \
    }

ROW_TIME(step_time, LsStep, start_ns)
ROW_TIME(phase_time, LsPhase, start_ns)
ROW_TIME(call_time, LsCall, start_ns)
ROW_TIME(cycle_time, LsCycle, start_ns)
ROW_TIME(sleep_time, LsSleep, start_ns)
ROW_TIME(message_time, LsMessage, start_ns)
ROW_TIME(instant_time, LsInstant, time_ns)
ROW_TIME(graph_place, LsGraphTensor, place)

static int64_t
use_time(const void *row)
{
    const LsUse *use = row;
    const int64_t times[] = {use->submit_ns, use->agreed_ns, use->done_ns};
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
        if (times[i] != LS_TIME_NONE)
            return times[i];
    return INT64_MAX;
}

/* Every row's rank is its first member. */
G_STATIC_ASSERT(offsetof(LsStep, rank) == 0 && offsetof(LsUse, rank) == 0);
G_STATIC_ASSERT(offsetof(LsCall, rank) == 0 && offsetof(LsCycle, rank) == 0);
G_STATIC_ASSERT(offsetof(LsSleep, rank) == 0 && offsetof(LsMessage, rank) == 0);
G_STATIC_ASSERT(offsetof(LsInstant, rank) == 0 && offsetof(LsPhase, rank) == 0);
G_STATIC_ASSERT(offsetof(LsGraphTensor, rank) == 0 && offsetof(LsGraphNeed, rank) == 0);

static uint32_t *
row_rank(const GArray *rows, size_t i)
{
    return (uint32_t *)(void *)(rows->data +
                                i * g_array_get_element_size((GArray *)(uintptr_t)rows));
}

static void
reorder(GArray *rows, const uint32_t *order)
{
    size_t size = g_array_get_element_size(rows);
    g_autofree char *copy = g_malloc_n(rows->len, size);
    ls_memory_expect(copy, rows->len * size);
    memcpy(copy, rows->data, rows->len * size);
    for (size_t i = 0; i < rows->len; i++)
        memcpy(rows->data + i * size, copy + order[i] * size, size);
}

/* Sorts; returns where each row went, NULL: nowhere else. */
static uint32_t *
sort_rows(GArray *rows, RowTime time, bool by_rank)
{
    size_t n = rows->len;
    if (n == 0)
        return NULL;
    g_autofree uint32_t *ranks = by_rank ? g_new(uint32_t, n) : NULL;
    g_autofree int64_t *times = g_new(int64_t, n);
    ls_memory_expect(times, n * sizeof *times);
    for (size_t i = 0; i < n; i++) {
        times[i] = time(row_rank(rows, i));
        if (ranks)
            ranks[i] = *row_rank(rows, i);
    }
    g_autofree uint32_t *order = ls_sort_order(ranks, times, n);
    if (!order)
        return NULL;
    reorder(rows, order);
    return ls_sort_inverse(order, n);
}

static void
sort_ranks(LsBuilder *builder)
{
    LsTrace *trace = builder->trace;
    size_t n = trace->ranks->len;
    g_autofree uint32_t *numbers = g_new(uint32_t, n + 1);
    g_autofree int64_t *lives = g_new(int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        const LsRank *rank = &g_array_index(trace->ranks, LsRank, i);
        numbers[i] = (uint32_t)rank->rank; /* -1, unknown, comes last */
        lives[i] = rank->incarnation;
    }
    g_autofree uint32_t *order = ls_sort_order(numbers, lives, n);
    if (!order)
        return;
    reorder(trace->ranks, order);
    g_autofree uint32_t *went = ls_sort_inverse(order, n);
    GArray *tables[] = {trace->steps,         trace->phases,     trace->uses,     trace->calls,
                        trace->cycles,        trace->sleeps,     trace->messages, trace->instants,
                        trace->graph_tensors, trace->graph_needs};
    for (size_t t = 0; t < G_N_ELEMENTS(tables); t++)
        for (size_t i = 0; i < tables[t]->len; i++)
            *row_rank(tables[t], i) = went[*row_rank(tables[t], i)];
    for (size_t i = 0; i < builder->tracks->len; i++) {
        LsTrackBuilder *track = g_ptr_array_index(builder->tracks, i);
        track->rank = went[track->rank];
    }
}

/* A step over all ranks: a number means nothing beside that of another run. */
typedef struct Column {
    int64_t number;
    uint32_t run, at;
} Column;

static guint
hash_column(const void *key)
{
    const Column *column = key;
    return g_int64_hash(&column->number) ^ column->run * 0x9e3779b9u;
}

static gboolean
is_same_column(const void *a, const void *b)
{
    const Column *x = a, *y = b;
    return x->number == y->number && x->run == y->run;
}

static int
compare_columns(const void *a, const void *b)
{
    const Column *x = *(Column *const *)a, *y = *(Column *const *)b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void
number_steps(LsTrace *trace)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(hash_column, is_same_column, g_free, NULL);
    g_autoptr(GPtrArray) columns = g_ptr_array_new();
    for (size_t i = 0; i < trace->steps->len; i++) {
        const LsStep *step = &g_array_index(trace->steps, LsStep, i);
        Column key = {step->number, g_array_index(trace->ranks, LsRank, step->rank).run, 0};
        if (g_hash_table_contains(known, &key))
            continue;
        Column *column = g_memdup2(&key, sizeof key);
        g_hash_table_add(known, column);
        g_ptr_array_add(columns, column);
    }
    g_ptr_array_sort(columns, compare_columns);
    for (guint i = 0; i < columns->len; i++)
        ((Column *)columns->pdata[i])->at = i;
    for (size_t i = 0; i < trace->steps->len; i++) {
        LsStep *step = &g_array_index(trace->steps, LsStep, i);
        Column key = {step->number, g_array_index(trace->ranks, LsRank, step->rank).run, 0};
        step->column = ((const Column *)g_hash_table_lookup(known, &key))->at;
    }
    trace->n_columns = columns->len;
}

/* Through `went` if there is one; false: it points nowhere. */
static bool
move_index(uint32_t *index, const uint32_t *went, size_t n)
{
    if (*index == LS_NONE)
        return true;
    if (*index >= n) {
        *index = LS_NONE;
        return false;
    }
    if (went)
        *index = went[*index];
    return true;
}

static size_t
move_span_refs(LsTrackBuilder *track, const uint32_t *went, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0; i < track->n; i++)
        bad += !move_index(&track->spans.ref[i], went, n);
    return bad;
}

void
ls_freeze_rows(LsBuilder *builder)
{
    LsTrace *trace = builder->trace;
    sort_ranks(builder);
    g_autofree uint32_t *steps = sort_rows(trace->steps, step_time, true);
    number_steps(trace);
    g_autofree uint32_t *phases = sort_rows(trace->phases, phase_time, true);
    g_autofree uint32_t *uses = sort_rows(trace->uses, use_time, true);
    g_autofree uint32_t *calls = sort_rows(trace->calls, call_time, true);
    g_autofree uint32_t *cycles = sort_rows(trace->cycles, cycle_time, true);
    g_free(sort_rows(trace->sleeps, sleep_time, true));
    g_free(sort_rows(trace->messages, message_time, true));
    g_free(sort_rows(trace->instants, instant_time, false));
    g_free(sort_rows(trace->graph_tensors, graph_place, false));
    size_t bad = 0;
    for (size_t i = 0; i < trace->uses->len; i++)
        bad += !move_index(&g_array_index(trace->uses, LsUse, i).call, calls, trace->calls->len);
    for (size_t i = 0; i < trace->call_refs->len; i++)
        move_index(&g_array_index(trace->call_refs, uint32_t, i), calls, trace->calls->len);
    for (size_t i = 0; i < builder->tracks->len; i++) {
        LsTrackBuilder *track = g_ptr_array_index(builder->tracks, i);
        if (track->kind == LS_TRACK_STEPS)
            bad += move_span_refs(track, steps, trace->steps->len);
        else if (track->kind == LS_TRACK_PHASES)
            bad += move_span_refs(track, phases, trace->phases->len);
        else if (track->kind == LS_TRACK_TENSOR)
            bad += move_span_refs(track, uses, trace->uses->len);
        else if (track->kind == LS_TRACK_COMMUNICATION)
            bad += move_span_refs(track, calls, trace->calls->len);
        else if (track->kind == LS_TRACK_CYCLES)
            bad += move_span_refs(track, cycles, trace->cycles->len);
        else
            bad += move_span_refs(track, NULL, 0);
    }
    if (bad > 0) {
        g_autofree char *text =
            g_strdup_printf("%zu references between rows of the recording point nowhere.", bad);
        ls_builder_add_finding(builder, LS_WARNING, NULL, -1, -1, text);
    }
}
