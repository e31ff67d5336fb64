/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/freeze.c: from a builder to a trace: rows sorted, spans laned and classified, bounds and
 * labels computed, invariants checked. A breach is a finding, never an abort.
 */
#include "trace/trace-private.h"

#include "trace/sort.h"

#include <string.h>

/* The class of each name under the current (rank, source, kind, category): asked once, kept by
 * name. A mark older than `current` belongs to another context, so that none of it needs clearing.
 */
typedef struct Memo {
    uint32_t *mark; /* by name */
    uint8_t *klass;
    uint32_t current;
    const LsTrackBuilder *context;
} Memo;

static bool
same_context(const LsTrackBuilder *a, const LsTrackBuilder *b)
{
    return a->rank == b->rank && a->source == b->source && a->kind == b->kind &&
           a->category == b->category;
}

static void
classify(LsBuilder *builder, Memo *memo, const LsTrackBuilder *track, const uint32_t *names,
         uint8_t *classes, size_t n)
{
    const LsStrings *strings = builder->trace->strings;
    if (!memo->context || !same_context(memo->context, track))
        memo->current++;
    memo->context = track;
    for (size_t i = 0; i < n; i++) {
        uint32_t name = names[i];
        if (memo->mark[name] != memo->current) {
            memo->mark[name] = memo->current;
            memo->klass[name] = (uint8_t)builder->classify(builder->user, track->source, track,
                                                           ls_strings_get(strings, track->category),
                                                           ls_strings_get(strings, name));
        }
        classes[i] = memo->klass[name];
    }
}

/* "stream 7" before "stream 13": runs of digits compare as numbers. */
static int
compare_names(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if (g_ascii_isdigit(*a) && g_ascii_isdigit(*b)) {
            char *end_a, *end_b;
            guint64 x = g_ascii_strtoull(a, &end_a, 10), y = g_ascii_strtoull(b, &end_b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = end_a - 1;
            b = end_b - 1;
        } else if (*a != *b)
            break;
    }
    return (uint8_t)*a - (uint8_t)*b;
}

static int
compare_tracks(gconstpointer a, gconstpointer b, gpointer user)
{
    const LsTrackBuilder *x = *(LsTrackBuilder *const *)a, *y = *(LsTrackBuilder *const *)b;
    const LsStrings *strings = user;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int names = compare_names(ls_strings_get(strings, x->name), ls_strings_get(strings, y->name));
    if (names != 0)
        return names;
    return x->id < y->id ? -1 : x->id > y->id ? 1 : 0;
}

static void
freeze_samples(LsTrackBuilder *from, LsTrack *track, GPtrArray *blocks)
{
    size_t n = from->samples->len;
    if (n == 0)
        return;
    LsSample *samples = g_new(LsSample, n);
    g_autofree int64_t *times = g_new(int64_t, n);
    for (size_t i = 0; i < n; i++)
        times[i] = g_array_index(from->samples, LsSample, i).time_ns;
    g_autofree uint32_t *order = ls_sort_order(NULL, times, n);
    for (size_t i = 0; i < n; i++)
        samples[i] = g_array_index(from->samples, LsSample, order ? order[i] : i);
    track->samples = samples;
    track->n_samples = n;
    g_ptr_array_add(blocks, samples);
}

static void
report_dropped(LsBuilder *builder, const LsTrackBuilder *track, size_t dropped)
{
    const LsRank *rank = &g_array_index(builder->trace->ranks, LsRank, track->rank);
    g_autofree char *text = g_strdup_printf(
        "%zu spans of track \"%s\" end before they begin or lie outside any time that "
        "can be; they are left out.",
        dropped, ls_strings_get(builder->trace->strings, track->name));
    ls_builder_add_finding(builder, LS_WARNING, rank->source, -1, rank->rank, text);
}

static size_t
count_spans(const LsBuilder *builder)
{
    size_t n = 0;
    for (size_t i = 0; i < builder->tracks->len; i++)
        n += ((const LsTrackBuilder *)g_ptr_array_index(builder->tracks, i))->n;
    return n;
}

/* Lanes and classes of one track, into the trace's columns from `to` on. */
static void
freeze_spans(LsBuilder *builder, LsTrackBuilder *from, Memo *memo, LsColumns *to, LsTrack *track)
{
    LsSpans *lanes;
    size_t dropped = ls_lanes_build(from, to, &lanes, &track->n_lanes);
    if (dropped > 0)
        report_dropped(builder, from, dropped);
    ls_columns_clear(&from->spans);
    if (lanes == NULL)
        return;
    track->lanes = lanes;
    g_ptr_array_add(builder->trace->blocks, lanes);
    classify(builder, memo, from, to->name, to->klass, from->n);
}

static void
freeze_tracks(LsBuilder *builder)
{
    LsTrace *trace = builder->trace;
    g_ptr_array_sort_with_data(builder->tracks, compare_tracks, trace->strings);
    uint32_t n_names = ls_strings_get_n(trace->strings);
    g_autofree uint32_t *marks = g_new0(uint32_t, n_names);
    g_autofree uint8_t *klass = g_new(uint8_t, n_names);
    Memo memo = {.mark = marks, .klass = klass};
    LsColumns to = trace->spans = ls_columns_new(count_spans(builder));
    for (size_t i = 0; i < builder->tracks->len; i++) {
        LsTrackBuilder *from = g_ptr_array_index(builder->tracks, i);
        LsTrack track = {.kind = from->kind,
                         .rank = from->rank,
                         .name = from->name,
                         .category = from->category,
                         .id = from->id};
        if (from->samples)
            freeze_samples(from, &track, trace->blocks);
        freeze_spans(builder, from, &memo, &to, &track);
        to = ls_columns_from(&to, from->n);
        if (track.n_lanes > 0 || track.n_samples > 0)
            g_array_append_val(trace->tracks, track);
    }
}

static void
widen(int64_t *first, int64_t *last, int64_t start_ns, int64_t end_ns)
{
    if (start_ns != LS_TIME_NONE)
        *first = *first == LS_TIME_NONE ? start_ns : MIN(*first, start_ns);
    if (end_ns != LS_TIME_NONE)
        *last = *last == LS_TIME_NONE ? end_ns : MAX(*last, end_ns);
}

static void
widen_rank(LsTrace *trace, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    LsRank *row = &g_array_index(trace->ranks, LsRank, rank);
    widen(&row->first_ns, &row->last_ns, start_ns, end_ns);
}

static void
bound_tracks(LsTrace *trace)
{
    for (size_t i = 0; i < trace->tracks->len; i++) {
        const LsTrack *track = &g_array_index(trace->tracks, LsTrack, i);
        for (uint32_t lane = 0; lane < track->n_lanes; lane++) {
            const LsSpans *spans = &track->lanes[lane];
            widen_rank(trace, track->rank, spans->start_ns[0], spans->end_ns[spans->n - 1]);
        }
        if (track->n_samples > 0)
            widen_rank(trace, track->rank, track->samples[0].time_ns,
                       track->samples[track->n_samples - 1].time_ns);
    }
}

#define BOUND(Type, rows, start, end)                                                              \
    for (size_t i = 0; i < (rows)->len; i++) {                                                     \
        const Type *row = &g_array_index(rows, Type, i);                                           \
        widen_rank(trace, row->rank, row->start, row->end);                                        \
    }

/* First and last time of every rank and of all. */
static void
bound(LsTrace *trace)
{
    bound_tracks(trace);
    BOUND(LsStep, trace->steps, start_ns, end_ns)
    BOUND(LsPhase, trace->phases, start_ns, end_ns)
    BOUND(LsCall, trace->calls, start_ns, end_ns)
    BOUND(LsCycle, trace->cycles, start_ns, end_ns)
    BOUND(LsSleep, trace->sleeps, start_ns, end_ns)
    BOUND(LsMessage, trace->messages, start_ns, end_ns)
    BOUND(LsInstant, trace->instants, time_ns, time_ns)
    BOUND(LsUse, trace->uses, submit_ns, submit_ns)
    BOUND(LsUse, trace->uses, agreed_ns, done_ns)
    int64_t first = LS_TIME_NONE, last = LS_TIME_NONE;
    for (size_t i = 0; i < trace->ranks->len; i++) {
        const LsRank *rank = &g_array_index(trace->ranks, LsRank, i);
        widen(&first, &last, rank->first_ns, rank->last_ns);
    }
    trace->first_ns = first == LS_TIME_NONE ? 0 : first;
    trace->last_ns = last == LS_TIME_NONE ? trace->first_ns : MAX(last, trace->first_ns);
}

/* "17 gpu05:1": the host without its domain; a second life is said, since the first one has the
 * name. */
static char *
make_label(const LsRank *rank)
{
    GString *label = g_string_new(NULL);
    if (rank->rank >= 0)
        g_string_append_printf(label, "%d", rank->rank);
    else
        g_string_append_c(label, '?');
    if (rank->host && rank->host[0])
        g_string_append_printf(label, " %.*s", (int)strcspn(rank->host, "."), rank->host);
    if (rank->local_rank >= 0)
        g_string_append_printf(label, "%s%d", rank->host && rank->host[0] ? ":" : " :",
                               rank->local_rank);
    if (rank->rank < 0 && rank->pid >= 0)
        g_string_append_printf(label, " pid %" G_GINT64_FORMAT, rank->pid);
    if (rank->incarnation > 0)
        g_string_append_printf(label, " (life %" G_GINT64_FORMAT ")",
                               (int64_t)rank->incarnation + 1);
    return g_string_free(label, FALSE);
}

/* "rank 17" */
static char *
make_name(const LsRank *rank)
{
    if (rank->rank >= 0)
        return g_strdup_printf("rank %d", rank->rank);
    if (rank->pid < 0)
        return g_strdup("a process of no known rank");
    return g_strdup_printf("a process of no known rank (pid %" G_GINT64_FORMAT ")", rank->pid);
}

static void
label_ranks(LsTrace *trace)
{
    int64_t world = 0;
    for (size_t i = 0; i < trace->ranks->len; i++) {
        const LsRank *rank = &g_array_index(trace->ranks, LsRank, i);
        g_ptr_array_add(trace->labels, make_label(rank));
        g_ptr_array_add(trace->names, make_name(rank));
        world = MAX(world, MAX(rank->world, (int64_t)rank->rank + 1));
    }
    trace->world = (uint32_t)world;
}

/* Buffers whose calls are not there, or which a call does not name back. */
static void
check_buffers(LsBuilder *builder)
{
    LsTrace *trace = builder->trace;
    size_t bad = 0;
    for (size_t i = 0; i < trace->buffers->len; i++) {
        LsBuffer *buffer = &g_array_index(trace->buffers, LsBuffer, i);
        uint64_t end = (uint64_t)buffer->first_call_ref + buffer->n_calls;
        bool good = end <= trace->call_refs->len;
        for (uint64_t ref = buffer->first_call_ref; good && ref < end; ref++) {
            uint32_t call = g_array_index(trace->call_refs, uint32_t, ref);
            good =
                call < trace->calls->len && g_array_index(trace->calls, LsCall, call).buffer == i;
        }
        if (!good) {
            buffer->first_call_ref = buffer->n_calls = 0;
            bad++;
        }
    }
    for (size_t i = 0; i < trace->calls->len; i++) {
        LsCall *call = &g_array_index(trace->calls, LsCall, i);
        if (call->buffer >= trace->buffers->len)
            call->buffer = LS_NONE;
    }
    if (bad == 0)
        return;
    g_autofree char *text = g_strdup_printf("%zu buffers could not be joined to their calls.", bad);
    ls_builder_add_finding(builder, LS_WARNING, NULL, -1, -1, text);
}

LsTrace *
ls_builder_freeze(LsBuilder *builder)
{
    ls_freeze_rows(builder);
    check_buffers(builder);
    freeze_tracks(builder);
    LsTrace *trace = builder->trace;
    bound(trace);
    label_ranks(trace);
    builder->trace = NULL;
    ls_builder_free(builder);
    return trace;
}
