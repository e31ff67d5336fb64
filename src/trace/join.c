/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/join.c: two files of one process become one: rows are appended, indices shifted, names
 * mapped, tracks of the same kind, name and number continued.
 */
#include "trace/process.h"

#include "trace/track-private.h"

typedef struct Join {
    uint32_t first_step, first_phase, first_use, first_call, first_cycle;
} Join;

#define APPEND(into, from, Type, ...)                                                              \
    for (guint i = 0; i < (from)->len; i++) {                                                      \
        Type row = g_array_index(from, Type, i);                                                   \
        __VA_ARGS__;                                                                               \
        g_array_append_val(into, row);                                                             \
    }

static void
append(GArray *into, const GArray *from)
{
    if (from->len > 0)
        g_array_append_vals(into, from->data, from->len);
}

static void
join_rows(const Join *join, LsProcess *into, const LsProcess *from)
{
    append(into->steps, from->steps);
    append(into->phases, from->phases);
    append(into->calls, from->calls);
    append(into->cycles, from->cycles);
    append(into->sleeps, from->sleeps);
    append(into->messages, from->messages);
    append(into->instants, from->instants);
    append(into->graph_tensors, from->graph_tensors);
    append(into->graph_needs, from->graph_needs);
    append(into->roundtrips, from->roundtrips);
    append(into->clock_pairs, from->clock_pairs);
    append(into->ranges, from->ranges);
    append(into->mpi_calls, from->mpi_calls);
    APPEND(into->uses, from->uses, LsUse,
           row.call = row.call == LS_NONE ? LS_NONE : row.call + join->first_call)
    APPEND(into->findings, from->findings, LsFinding, row.file = g_strdup(row.file);
           row.text = g_strdup(row.text))
}

static uint32_t
first_row(const Join *join, LsTrackKind kind)
{
    switch (kind) {
    case LS_TRACK_STEPS:
        return join->first_step;
    case LS_TRACK_PHASES:
        return join->first_phase;
    case LS_TRACK_TENSOR:
        return join->first_use;
    case LS_TRACK_COMMUNICATION:
        return join->first_call;
    case LS_TRACK_CYCLES:
        return join->first_cycle;
    default:
        return 0;
    }
}

static void
join_track(const Join *join, LsProcess *into, const LsTrackBuilder *from, const LsStrings *strings)
{
    LsTrackBuilder *track =
        ls_process_get_track(into, from->kind, ls_strings_get(strings, from->name),
                             ls_strings_get(strings, from->category), from->id);
    uint32_t first = first_row(join, from->kind);

    if (from->samples != NULL && track->samples != NULL)
        append(track->samples, from->samples);
    for (size_t i = 0; i < from->n; i++)
        ls_track_builder_add(track, from->spans.start_ns[i], from->spans.end_ns[i],
                             from->spans.name[i],
                             from->spans.ref[i] == LS_NONE ? LS_NONE : from->spans.ref[i] + first);
}

static void
join_text(char **into, const char *from)
{
    if (*into == NULL)
        *into = g_strdup(from);
}

/* Each file counts from the process's beginning: the larger number is the whole of the losses. */
static void
join_rank(LsRank *into, const LsRank *from)
{
    char *source = g_strconcat(into->source != NULL ? into->source : "", ", ",
                               from->source != NULL ? from->source : "", NULL);

    g_free(into->source);
    into->source = source;
    join_text(&into->host, from->host);
    join_text(&into->device, from->device);
    join_text(&into->boot_id, from->boot_id);
    into->rank = into->rank < 0 ? from->rank : into->rank;
    into->world = MAX(into->world, from->world);
    into->local_rank = MAX(into->local_rank, from->local_rank);
    if (from->first_ns != LS_TIME_NONE)
        into->first_ns =
            into->first_ns == LS_TIME_NONE ? from->first_ns : MIN(into->first_ns, from->first_ns);
    into->last_ns = MAX(into->last_ns, from->last_ns);
    into->records += from->records;
    into->lost = MAX(into->lost, from->lost);
    into->given_up = MAX(into->given_up, from->given_up);
    into->damaged += from->damaged;
    into->test_double |= from->test_double;
    into->record_cost_ns = MAX(into->record_cost_ns, from->record_cost_ns);
    into->recorder_cpu_ns = MAX(into->recorder_cpu_ns, from->recorder_cpu_ns);
}

void
ls_process_join(LsProcess *into, LsProcess *from)
{
    uint32_t n = ls_strings_get_n(from->strings);
    g_autofree uint32_t *names = g_new(uint32_t, n);
    Join join = {into->steps->len, into->phases->len, into->uses->len, into->calls->len,
                 into->cycles->len};
    GHashTableIter iter;
    void *key, *value;

    for (uint32_t id = 0; id < n; id++)
        names[id] = ls_strings_add(into->strings, ls_strings_get(from->strings, id));
    ls_process_map_names(from, names, n);
    join_rows(&join, into, from);
    for (guint i = 0; i < from->tracks->len; i++)
        join_track(&join, into, g_ptr_array_index(from->tracks, i), from->strings);
    g_hash_table_iter_init(&iter, from->facts);
    while (g_hash_table_iter_next(&iter, &key, &value))
        g_hash_table_insert(into->facts, g_strdup(key), g_strdup(value));
    join_rank(&into->rank, &from->rank);
    into->observer |= from->observer;
    ls_process_free(from);
}
