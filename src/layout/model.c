/* SPDX-License-Identifier: Apache-2.0
 *
 * What drawing needs of a trace and does not depend on the view, made in one pass on a loader
 * thread: a role per span, a pyramid per lane and per set of time, and of each call when its rank
 * arrived and until when it waited.
 */
#include "layout/model-private.h"

static const LsActivityKind KIND_OF_SET[LS_N_SETS] = {
    [LS_SET_COMPUTE] = LS_ACTIVITY_COMPUTE,
    [LS_SET_HIDDEN] = LS_ACTIVITY_HIDDEN,
    [LS_SET_EXPOSED] = LS_ACTIVITY_EXPOSED,
    [LS_SET_TRANSFER] = LS_ACTIVITY_EXPOSED_TRANSFER,
    [LS_SET_WAIT] = LS_ACTIVITY_WAIT,
    [LS_SET_EXPOSED_WAIT] = LS_ACTIVITY_EXPOSED_WAIT,
    [LS_SET_NEGOTIATION] = LS_ACTIVITY_NEGOTIATION_EXPOSURE,
    [LS_SET_COMMUNICATION] = LS_ACTIVITY_COMMUNICATION,
    [LS_SET_WAITED_FOR] = LS_ACTIVITY_WAITED_FOR,
};

static void
get_tables(LsModel *model)
{
    size_t n_refs;
    const LsTrace *trace = model->trace;
    model->ranks = ls_trace_get_ranks(trace, &model->n_ranks);
    model->tracks = ls_trace_get_tracks(trace, &model->n_tracks);
    model->calls = ls_trace_get_calls(trace, &model->n_calls);
    model->uses = ls_trace_get_uses(trace, &model->n_uses);
    model->cycles = ls_trace_get_cycles(trace, &model->n_cycles);
    model->rank_steps = ls_trace_get_steps(trace, &model->n_rank_steps);
    model->buffers = ls_trace_get_buffers(trace, &model->n_buffers);
    model->call_refs = ls_trace_get_call_refs(trace, &n_refs);
}

static void
grow_slice(LsSlice *slice, size_t index)
{
    if (slice->n++ == 0)
        slice->first = index;
}

static void
slice_tables(LsModel *model)
{
    for (size_t i = 0; i < model->n_tracks; i++)
        grow_slice(&model->rank[model->tracks[i].rank].tracks, i);
    for (size_t i = 0; i < model->n_calls; i++)
        grow_slice(&model->rank[model->calls[i].rank].calls, i);
    for (size_t i = 0; i < model->n_uses; i++)
        grow_slice(&model->rank[model->uses[i].rank].uses, i);
    for (size_t i = 0; i < model->n_cycles; i++)
        grow_slice(&model->rank[model->cycles[i].rank].cycles, i);
    for (size_t i = 0; i < model->n_rank_steps; i++)
        grow_slice(&model->rank[model->rank_steps[i].rank].steps, i);
}

static void
make_lanes(LsModel *model, size_t t, const uint8_t *role_of_name)
{
    const LsTrack *track = &model->tracks[t];
    if (track->n_samples > 0)
        model->series[t] = ls_series_new(track->samples, track->n_samples);
    if (track->n_lanes == 0)
        return;
    model->lanes[t] = g_new0(LsLaneModel, track->n_lanes);
    for (uint32_t l = 0; l < track->n_lanes; l++) {
        const LsSpans *spans = &track->lanes[l];
        LsLaneModel *lane = &model->lanes[t][l];
        lane->roles = g_new(uint8_t, MAX(spans->n, 1));
        lane->fusion_only = true;
        for (size_t i = 0; i < spans->n; i++) {
            lane->roles[i] = (uint8_t)ls_model_role_of_span(track, spans, i, role_of_name);
            lane->fusion_only &= spans->klass[i] == LS_CLASS_FUSION;
        }
        lane->busy = ls_busy_new(spans, lane->roles);
    }
}

static void
make_rank(LsModel *model, uint32_t r)
{
    LsRankModel *rank = &model->rank[r];
    rank->has_compute = ls_activity_has_compute(model->activity, r);
    rank->greyed = model->ranks[r].clock_method == LS_CLOCK_NONE && model->n_ranks > 1;
    model->has_compute |= rank->has_compute;
    for (int s = 0; s < LS_N_SETS; s++)
        rank->sets[s] =
            ls_busy_new_of_intervals(ls_activity_get(model->activity, r, KIND_OF_SET[s]));
}

static void
make_calls(LsModel *model)
{
    model->call = g_new(LsCallModel, MAX(model->n_calls, 1));
    for (size_t i = 0; i < model->n_calls; i++)
        model->call[i] =
            (LsCallModel){.arrival_ns = LS_TIME_NONE, .wait_end_ns = model->calls[i].start_ns};
    for (uint32_t b = 0; b < model->n_buffers; b++) {
        size_t n;
        const LsArrival *arrivals = ls_activity_get_arrivals(model->activity, b, &n);
        int last = ls_activity_get_last(model->activity, b);
        for (size_t i = 0; i < n; i++) {
            LsCallModel *call = &model->call[arrivals[i].call];
            call->arrival_ns = arrivals[i].arrival_ns;
            call->wait_end_ns = arrivals[i].arrival_ns;
            if (arrivals[i].wait_ns != LS_TIME_NONE)
                call->wait_end_ns += arrivals[i].wait_ns;
            call->known = last >= 0 && n > 1;
            call->last = call->known && (size_t)last == i;
        }
    }
    for (size_t i = 0; i + 1 < model->n_calls; i++) {
        bool same = model->calls[i + 1].rank == model->calls[i].rank;
        LsCallModel *next = &model->call[i + 1];
        next->lasts = same ? model->call[i].lasts + model->call[i].last : 0;
        next->judged = same ? model->call[i].judged + model->call[i].known : 0;
    }
}

/* Uses by the call that carried them: a counting sort. */
static void
make_call_uses(LsModel *model)
{
    model->first_use = g_new0(uint32_t, model->n_calls + 2);
    for (size_t i = 0; i < model->n_uses; i++) {
        model->has_submissions |= model->uses[i].submit_ns != LS_TIME_NONE;
        if (model->uses[i].call < model->n_calls)
            model->first_use[model->uses[i].call + 2]++;
    }
    for (size_t i = 2; i < model->n_calls + 2; i++)
        model->first_use[i] += model->first_use[i - 1];
    model->call_uses = g_new(uint32_t, MAX(model->first_use[model->n_calls + 1], 1));
    for (size_t i = 0; i < model->n_uses; i++)
        if (model->uses[i].call < model->n_calls)
            model->call_uses[model->first_use[model->uses[i].call + 1]++] = (uint32_t)i;
}

/* Cycles as marks; where a rank has none, its cycle instants. */
static void
make_marks(LsModel *model)
{
    size_t n_instants;
    const LsInstant *instants = ls_trace_get_instants(model->trace, &n_instants);
    g_autofree GArray **marks = g_new(GArray *, MAX(model->n_ranks, 1));
    for (size_t r = 0; r < model->n_ranks; r++)
        marks[r] = g_array_new(FALSE, FALSE, sizeof(LsCycleMark));
    for (size_t i = 0; i < model->n_cycles; i++) {
        const LsCycle *cycle = &model->cycles[i];
        LsCycleMark mark = {cycle->start_ns, (uint32_t)i, 0, cycle->responses > 0};
        g_array_append_val(marks[cycle->rank], mark);
    }
    for (size_t i = 0; i < n_instants; i++) {
        LsCycleMark mark = {instants[i].time_ns, LS_NONE, 0, false};
        if (instants[i].kind == LS_INSTANT_CYCLE && instants[i].rank < model->n_ranks &&
            model->rank[instants[i].rank].cycles.n == 0)
            g_array_append_val(marks[instants[i].rank], mark);
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        LsRankModel *rank = &model->rank[r];
        rank->n_marks = marks[r]->len;
        rank->marks = (LsCycleMark *)(void *)g_array_free(marks[r], FALSE);
        for (size_t i = 1; i < rank->n_marks; i++)
            rank->marks[i].agreed_before =
                rank->marks[i - 1].agreed_before + rank->marks[i - 1].agreed;
        rank->has_spans = rank->tracks.n > 0 || rank->calls.n > 0 || rank->n_marks > 0;
    }
}

static int
compare_uses(const void *a, const void *b, void *user)
{
    const LsModel *model = user;
    const LsUse *x = &model->uses[*(const uint32_t *)a], *y = &model->uses[*(const uint32_t *)b];
    int order = ls_model_compare_uses(model, x, y);
    if (order != 0)
        return order;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void
sort_uses(LsModel *model)
{
    model->uses_by_name = g_new(uint32_t, MAX(model->n_uses, 1));
    for (size_t i = 0; i < model->n_uses; i++)
        model->uses_by_name[i] = (uint32_t)i;
    if (model->n_uses > 0)
        g_qsort_with_data(model->uses_by_name, (int)model->n_uses, sizeof(uint32_t), compare_uses,
                          model);
    /* In order of tensor and occurrence still, dealt out to the ranks' slices. */
    model->uses_by_rank_name = g_new(uint32_t, MAX(model->n_uses, 1));
    g_autofree size_t *next = g_new(size_t, MAX(model->n_ranks, 1));
    for (size_t r = 0; r < model->n_ranks; r++)
        next[r] = model->rank[r].uses.first;
    for (size_t i = 0; i < model->n_uses; i++) {
        uint32_t use = model->uses_by_name[i];
        model->uses_by_rank_name[next[model->uses[use].rank]++] = use;
    }
}

LsModel *
ls_model_new(LsTrace *trace, const LsActivity *activity)
{
    LsModel *model = g_new0(LsModel, 1);
    model->trace = ls_trace_ref(trace);
    model->activity = activity;
    get_tables(model);
    model->rank = g_new0(LsRankModel, MAX(model->n_ranks, 1));
    model->lanes = g_new0(LsLaneModel *, MAX(model->n_tracks, 1));
    model->series = g_new0(LsSeries *, MAX(model->n_tracks, 1));
    slice_tables(model);
    g_autofree uint8_t *role_of_name = ls_model_new_roles_of_names(trace);
    for (size_t t = 0; t < model->n_tracks; t++)
        make_lanes(model, t, role_of_name);
    for (uint32_t r = 0; r < model->n_ranks; r++)
        make_rank(model, r);
    make_calls(model);
    make_call_uses(model);
    sort_uses(model);
    make_marks(model);
    ls_model_make_power(model);
    ls_model_find_steps(model);
    ls_model_make_grid(model);
    return model;
}

static void
free_lanes(LsModel *model, size_t t)
{
    ls_series_free(model->series[t]);
    for (uint32_t l = 0; model->lanes[t] && l < model->tracks[t].n_lanes; l++) {
        g_free(model->lanes[t][l].roles);
        ls_busy_free(model->lanes[t][l].busy);
    }
    g_free(model->lanes[t]);
}

void
ls_model_free(LsModel *model)
{
    if (!model)
        return;
    for (size_t t = 0; t < model->n_tracks; t++)
        free_lanes(model, t);
    for (size_t r = 0; r < model->n_ranks; r++) {
        for (int s = 0; s < LS_N_SETS; s++)
            ls_busy_free(model->rank[r].sets[s]);
        g_free(model->rank[r].marks);
    }
    g_free(model->rank);
    g_free(model->lanes);
    g_free(model->series);
    g_free(model->call);
    g_free(model->call_uses);
    g_free(model->first_use);
    g_free(model->uses_by_name);
    g_free(model->uses_by_rank_name);
    g_free(model->steps);
    g_array_unref(model->power);
    g_free(model->grid.cells);
    ls_trace_unref(model->trace);
    g_free(model);
}

const LsTrace *
ls_model_get_trace(const LsModel *model)
{
    return model->trace;
}

/* The first call of the rank that starts at or after the time. */
static size_t
find_call(const LsModel *model, const LsSlice *slice, int64_t time_ns)
{
    size_t low = slice->first, high = slice->first + slice->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->calls[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

LsRankNote
ls_model_get_note(const LsModel *model, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    const LsRankModel *r = &model->rank[rank];
    LsSet set = r->has_compute ? LS_SET_EXPOSED_WAIT : LS_SET_WAIT;
    LsRankNote note = {.placed = !r->greyed};
    note.wait_ns = ls_busy_get_within(r->sets[set], start_ns, end_ns);
    size_t first = find_call(model, &r->calls, start_ns);
    size_t last = find_call(model, &r->calls, end_ns);
    if (last > first) {
        const LsCallModel *a = &model->call[first], *b = &model->call[last - 1];
        note.buffers = b->judged + b->known - a->judged;
        note.last = b->lasts + b->last - a->lasts;
    }
    return note;
}
