/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors have a lane, in which order and in which groups. The order is that of readiness
 * within one range (a step), so that panning does not reorder. Groups are the program's own where
 * it has some; else the buffers in which tensors were fused, as long as each tensor was used once
 * in the range.
 */
#include "layout/tensors.h"

#include <stdlib.h>

#include "layout/model-private.h"

int64_t
ls_use_get_first_ns(const LsModel *model, const LsUse *use)
{
    if (use->submit_ns != LS_TIME_NONE)
        return use->submit_ns;
    if (use->agreed_ns != LS_TIME_NONE)
        return use->agreed_ns;
    if (use->call < model->n_calls)
        return model->calls[use->call].start_ns;
    return use->done_ns;
}

int64_t
ls_use_get_last_ns(const LsModel *model, const LsUse *use)
{
    int64_t last = use->done_ns;
    if (use->call < model->n_calls)
        last =
            MAX(last, MAX(model->calls[use->call].end_ns, model->calls[use->call].unpack_end_ns));
    last = MAX(last, use->agreed_ns);
    return MAX(last, ls_use_get_first_ns(model, use));
}

const uint32_t *
ls_model_get_occurrence(const LsModel *model, const LsUse *use, size_t *ret_n)
{
    const uint32_t *uses = model->uses_by_name;
    size_t low = 0, high = model->n_uses;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ls_model_compare_uses(model, &model->uses[uses[middle]], use) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < model->n_uses && ls_model_compare_uses(model, &model->uses[uses[end]], use) == 0)
        end++;
    *ret_n = end - low;
    return uses + low;
}

typedef struct Gather {
    const LsModel *model;
    const LsView *view;
    GHashTable *lane_of; /* name -> index + 1 */
    LsTensorLanes *into;
    guint repeats; /* uses in the range beyond the first of their tensor */
} Gather;

static LsTensorLane *
get_lane(Gather *gather, uint32_t tensor, int64_t ready_ns)
{
    GArray *lanes = gather->into->lanes;
    gpointer key = GUINT_TO_POINTER(tensor);
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(gather->lane_of, key));
    if (found == 0) {
        LsTensorLane lane = {tensor, LS_NONE, LS_NONE, LS_NONE, ready_ns};
        g_array_append_val(lanes, lane);
        found = lanes->len;
        g_hash_table_insert(gather->lane_of, key, GUINT_TO_POINTER(found));
    }
    return &g_array_index(lanes, LsTensorLane, found - 1);
}

static void
gather_uses(Gather *gather)
{
    const LsModel *model = gather->model;
    const LsSlice *slice = &model->rank[gather->view->tensor_rank].uses;
    for (size_t i = slice->first; i < slice->first + slice->n; i++) {
        const LsUse *use = &model->uses[i];
        int64_t first = ls_use_get_first_ns(model, use);
        if (first == LS_TIME_NONE || first >= gather->view->order_end_ns ||
            ls_use_get_last_ns(model, use) < gather->view->order_start_ns)
            continue;
        /* What began before the range, as the last tensors of the step before, has its lane all
         * the same, but its order from its own use in the range. */
        LsTensorLane *lane = get_lane(gather, use->tensor, first);
        bool inside = first >= gather->view->order_start_ns;
        if (lane->use == LS_NONE ||
            model->uses[lane->use].submit_ns < gather->view->order_start_ns) {
            lane->use = (uint32_t)i;
            lane->ready_ns = first;
        } else {
            gather->repeats += inside;
        }
    }
}

static void
gather_tracks(Gather *gather)
{
    const LsModel *model = gather->model;
    const LsSlice *slice = &model->rank[gather->view->tensor_rank].tracks;
    for (size_t t = slice->first; t < slice->first + slice->n; t++) {
        const LsTrack *track = &model->tracks[t];
        if (track->kind != LS_TRACK_TENSOR || track->n_lanes == 0)
            continue;
        const LsBusy *busy = model->lanes[t][0].busy;
        size_t first = ls_busy_find(busy, gather->view->order_start_ns);
        if (first >= ls_busy_get_n(busy) ||
            ls_busy_get_start(busy, first) >= gather->view->order_end_ns)
            continue;
        get_lane(gather, track->name, ls_busy_get_start(busy, first))->track = (uint32_t)t;
    }
}

static int
compare_lanes(const void *a, const void *b)
{
    const LsTensorLane *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->ready_ns != y->ready_ns)
        return x->ready_ns < y->ready_ns ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* What a lane's group is known by: its name, or its call; 0: none. */
static uint64_t
get_group_key(const Gather *gather, const LsTensorLane *lane)
{
    if (lane->use == LS_NONE)
        return 0;
    const LsUse *use = &gather->model->uses[lane->use];
    if (use->group != LS_NONE)
        return (1ull << 33) | use->group;
    if (gather->repeats * 2 < gather->into->lanes->len && use->call < gather->model->n_calls)
        return (1ull << 34) | use->call;
    return 0;
}

static void
add_to_group(const Gather *gather, LsTensorGroup *group, const LsTensorLane *lane)
{
    const LsUse *use = &gather->model->uses[lane->use];
    group->n_lanes++;
    if (use->bytes >= 0)
        group->bytes += use->bytes;
    group->agreed_ns = MAX(group->agreed_ns, use->agreed_ns);
    if (group->call == LS_NONE && use->call < gather->model->n_calls)
        group->call = use->call;
}

/* Lanes are in order of readiness: a group stands where its first member does. */
static void
group_lanes(Gather *gather)
{
    LsTensorLanes *into = gather->into;
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    bool any = false;
    for (guint i = 0; i < into->lanes->len; i++) {
        LsTensorLane *lane = &g_array_index(into->lanes, LsTensorLane, i);
        uint64_t key = get_group_key(gather, lane);
        guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known, &key));
        if (found == 0) {
            LsTensorGroup group = {LS_NONE, LS_NONE, 0, 0, 0, LS_TIME_NONE};
            if (lane->use != LS_NONE)
                group.name = gather->model->uses[lane->use].group;
            g_array_append_val(into->groups, group);
            found = into->groups->len;
            g_hash_table_insert(known, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(found));
        }
        lane->group = found - 1;
        LsTensorGroup *group = &g_array_index(into->groups, LsTensorGroup, found - 1);
        if (lane->use != LS_NONE && key != 0)
            add_to_group(gather, group, lane);
        else
            group->n_lanes++;
        any |= key != 0 && group->n_lanes > 1;
    }
    if (!any) {
        g_array_set_size(into->groups, 0);
        for (guint i = 0; i < into->lanes->len; i++)
            g_array_index(into->lanes, LsTensorLane, i).group = LS_NONE;
    }
}

static void
set_first_lanes(LsTensorLanes *into)
{
    uint32_t next = 0;
    for (guint i = 0; i < into->groups->len; i++) {
        LsTensorGroup *group = &g_array_index(into->groups, LsTensorGroup, i);
        group->first_lane = next;
        next += group->n_lanes;
    }
}

/* Whether it is recorded of any of these uses when another rank submitted it. */
static bool
knows_other_ranks(const LsModel *model, const GArray *lanes)
{
    for (guint i = 0; i < lanes->len; i++) {
        const LsTensorLane *lane = &g_array_index(lanes, LsTensorLane, i);
        size_t n = 0, known = 0;
        const uint32_t *same = NULL;
        if (lane->use != LS_NONE)
            same = ls_model_get_occurrence(model, &model->uses[lane->use], &n);
        for (size_t k = 0; k < n; k++)
            known += model->uses[same[k]].submit_ns != LS_TIME_NONE;
        if (known > 1)
            return true;
    }
    return false;
}

LsTensorLanes *
ls_tensor_lanes_new(const LsModel *model, const LsView *view)
{
    LsTensorLanes *into = g_new0(LsTensorLanes, 1);
    into->lanes = g_array_new(FALSE, FALSE, sizeof(LsTensorLane));
    into->groups = g_array_new(FALSE, FALSE, sizeof(LsTensorGroup));
    if (view->tensor_rank >= model->n_ranks)
        return into;
    g_autoptr(GHashTable) lane_of = g_hash_table_new(NULL, NULL);
    Gather gather = {model, view, lane_of, into, 0};
    gather_uses(&gather);
    gather_tracks(&gather);
    g_array_sort(into->lanes, compare_lanes);
    group_lanes(&gather);
    g_array_sort(into->lanes, compare_lanes);
    set_first_lanes(into);
    into->ready = knows_other_ranks(model, into->lanes);
    return into;
}

void
ls_tensor_lanes_free(LsTensorLanes *lanes)
{
    if (!lanes)
        return;
    g_array_unref(lanes->lanes);
    g_array_unref(lanes->groups);
    g_free(lanes);
}
