/* SPDX-License-Identifier: Apache-2.0
 *
 * The items of the rows by rank. Form says what costs: communication is strong where the rank's
 * compute is idle and plain where compute hides it; a wait is hatched, at full height where compute
 * is idle and as a thin band where it goes on.
 */
#include "layout/items.h"

#include <string.h>

#include "base/units.h"
#include "layout/scene-private.h"

enum { LABEL_PX = 16, CALL_LABEL_PX = 40, CHAR_PX = 7 };

static LsItem *
get_item(const LsMaking *making, guint index)
{
    return &g_array_index(making->scene->items, LsItem, index);
}

static double
get_width(const LsMaking *making, const LsItem *item)
{
    return (double)(item->x1 - item->x0) / making->view->scale;
}

/* Folds a set of the rank's time; every item gets the role, form and flags. */
static void
add_set(LsMaking *making, uint32_t rank, LsSet set, LsRole role, LsForm form, uint8_t flags)
{
    guint first = making->scene->items->len;
    ls_fold_lane(&making->scale, making->model->rank[rank].sets[set], making->scene->items);
    for (guint i = first; i < making->scene->items->len; i++) {
        LsItem *item = get_item(making, i);
        item->role = (uint8_t)role;
        item->form = (uint8_t)form;
        item->flags |= flags;
        item->ref = LS_NONE;
    }
}

void
ls_making_add_band(LsMaking *making, const LsRow *row)
{
    uint32_t rank = row->rank;
    if (!making->model->rank[rank].has_compute) {
        add_set(making, rank, LS_SET_COMMUNICATION, LS_ROLE_COMMUNICATION, LS_FORM_PLAIN, 0);
        add_set(making, rank, LS_SET_WAIT, LS_ROLE_WAIT, LS_FORM_HATCHED, LS_ITEM_TOP);
        return;
    }
    add_set(making, rank, LS_SET_COMPUTE, LS_ROLE_BAND_COMPUTE, LS_FORM_PLAIN, 0);
    add_set(making, rank, LS_SET_HIDDEN, LS_ROLE_BAND_HIDDEN, LS_FORM_PLAIN, 0);
    add_set(making, rank, LS_SET_WAITED_FOR, LS_ROLE_BAND_EXPOSED, LS_FORM_PLAIN, LS_ITEM_TOP);
    add_set(making, rank, LS_SET_NEGOTIATION, LS_ROLE_NEGOTIATION, LS_FORM_PLAIN, LS_ITEM_TOP);
    add_set(making, rank, LS_SET_EXPOSED_WAIT, LS_ROLE_WAIT, LS_FORM_HATCHED, LS_ITEM_TOP);
}

/* Appends one piece of `item`, from time to time. */
static void
add_piece(LsMaking *making, const LsItem *item, int64_t start_ns, int64_t end_ns, LsForm form)
{
    LsItem piece;
    if (!ls_fold_make_item(&making->scale, start_ns, end_ns, &piece))
        return;
    LsItem whole = *item;
    whole.x0 = MAX(piece.x0, item->x0);
    whole.x1 = MIN(piece.x1, item->x1);
    whole.busy_ns = piece.busy_ns;
    whole.form = (uint8_t)form;
    whole.text = 0;
    if (whole.x1 > whole.x0)
        g_array_append_val(making->scene->items, whole);
}

void
ls_making_add_cut(LsMaking *making, uint32_t rank, LsItem item, int64_t start_ns, int64_t end_ns)
{
    const LsRankModel *r = &making->model->rank[rank];
    GArray *items = making->scene->items;
    guint first = items->len;
    if (!r->has_compute) {
        g_array_append_val(items, item);
        return;
    }
    const LsBusy *exposed = r->sets[LS_SET_EXPOSED];
    start_ns = MAX(start_ns, making->scale.start_ns);
    end_ns = MIN(end_ns, making->scale.end_ns);
    int64_t at = start_ns;
    for (size_t i = ls_busy_find(exposed, start_ns);
         i < ls_busy_get_n(exposed) && ls_busy_get_start(exposed, i) < end_ns; i++) {
        int64_t from = MAX(ls_busy_get_start(exposed, i), at);
        int64_t to = MIN(ls_busy_get_end(exposed, i), end_ns);
        if (from > at)
            add_piece(making, &item, at, from, LS_FORM_PLAIN);
        add_piece(making, &item, from, to, LS_FORM_STRONG);
        at = to;
    }
    if (at < end_ns)
        add_piece(making, &item, at, end_ns, LS_FORM_PLAIN);
    LsItem *widest = NULL;
    for (guint i = first; i < items->len; i++)
        if (!widest || get_width(making, get_item(making, i)) > get_width(making, widest))
            widest = get_item(making, i);
    if (widest && get_width(making, widest) >= CALL_LABEL_PX)
        widest->text = item.text;
}

/* Folded columns of communication: strong if more of them is exposed than hidden. `next`, the first
 * exposed piece that may reach into the column, goes on along the set, so that a row costs its
 * columns. */
static LsForm
judge_column(const LsMaking *making, const LsBusy *exposed, const LsItem *item, size_t *next)
{
    int64_t from = making->scale.edges[item->x0], to = making->scale.edges[item->x1];
    size_t n = ls_busy_get_n(exposed);
    if (*next >= n || ls_busy_get_start(exposed, *next) >= to)
        return LS_FORM_PLAIN;
    LsBusySum skipped = {0}, sum = {0};
    *next = ls_busy_sum(exposed, *next, from, INT64_MAX, INT64_MAX, &skipped);
    if (*next > 0 && ls_busy_get_end(exposed, *next - 1) > from)
        --*next;
    if (*next >= n)
        return LS_FORM_PLAIN;
    int64_t before = MAX(from - ls_busy_get_start(exposed, *next), 0);
    size_t last = ls_busy_sum(exposed, *next, to, to, INT64_MAX, &sum);
    if (sum.n > 0)
        sum.busy_ns -= before;
    *next = last > *next ? last - 1 : last;
    return sum.busy_ns * 2 > item->busy_ns ? LS_FORM_STRONG : LS_FORM_PLAIN;
}

/* What the spans of a row have in common. */
typedef struct Lane {
    const LsRow *row;
    const LsRankModel *rank;
    const LsSpans *spans;
    const uint8_t *roles;
    size_t selected; /* span; SIZE_MAX: none of this lane */
} Lane;

static Lane
find_lane(const LsMaking *making, const LsRow *row)
{
    const LsPick *pick = &making->view->selected;
    bool here = pick->kind == LS_PICK_SPAN && pick->track == row->track && pick->lane == row->lane;
    return (Lane){
        .row = row,
        .rank = &making->model->rank[row->rank],
        .spans = &making->model->tracks[row->track].lanes[row->lane],
        .roles = making->model->lanes[row->track][row->lane].roles,
        .selected = here ? pick->index : SIZE_MAX,
    };
}

/* Neighbours that are alike alternate; a span alone has its role's own colour. */
static uint8_t
get_shade(const Lane *lane, uint32_t span, unsigned role)
{
    enum { ALTERNATE = 1 << LS_ROLE_BACKWARD | 1 << LS_ROLE_KERNEL | 1 << LS_ROLE_OTHER };
    uint32_t before = span - (span > 0), after = span + 1 < lane->spans->n ? span + 1 : before;
    unsigned alike = (lane->roles[before] == role) | (lane->roles[after] == role);
    return (uint8_t)(span & alike & (unsigned)ALTERNATE >> role);
}

/* What an item needs beyond folding; true: it is communication that must be cut. Which items are
 * folded, or odd, is a matter of chance: no branches on it. */
static inline bool
finish_span(const LsMaking *making, const Lane *lane, LsItem *item, size_t *next)
{
    bool alone = !(item->flags & LS_ITEM_FOLDED);
    item->ref_kind = LS_PICK_SPAN;
    item->lane = (uint8_t)lane->row->lane;
    item->shade = get_shade(lane, alone ? item->ref : 0, item->role); /* folded: as an even one */
    if (alone & (item->ref == lane->selected))
        item->flags |= LS_ITEM_SELECTED;
    if (alone & (item->x1 - item->x0 >= LABEL_PX * making->view->scale))
        item->text = lane->spans->name[item->ref];
    if (item->role != LS_ROLE_COMMUNICATION)
        return false;
    if (!alone)
        item->form = (uint8_t)judge_column(making, lane->rank->sets[LS_SET_EXPOSED], item, next);
    return alone && lane->rank->has_compute;
}

void
ls_making_add_spans(LsMaking *making, const LsRow *row)
{
    GArray *items = making->scene->items, *cut = g_array_set_size(making->scratch, 0);
    guint first = items->len, kept = first;
    size_t next = 0;
    Lane lane = find_lane(making, row);
    ls_fold_lane(&making->scale, making->model->lanes[row->track][row->lane].busy, items);
    for (guint i = first; i < items->len; i++) {
        LsItem *item = get_item(making, i);
        if (finish_span(making, &lane, item, &next))
            g_array_append_val(cut, *item);
        else if (kept++ < i)
            *get_item(making, kept - 1) = *item;
    }
    g_array_set_size(items, kept);
    for (guint i = 0; i < cut->len; i++) {
        LsItem item = g_array_index(cut, LsItem, i);
        ls_making_add_cut(making, row->rank, item, lane.spans->start_ns[item.ref],
                          lane.spans->end_ns[item.ref]);
    }
}

/* Whether the call belongs to what is selected. */
static bool
is_call_selected(const LsMaking *making, size_t call)
{
    const LsPick *pick = &making->view->selected;
    const LsModel *model = making->model;
    size_t selected = pick->index;
    if (pick->kind == LS_PICK_USE && selected < model->n_uses)
        selected = model->uses[selected].call;
    else if (pick->kind != LS_PICK_CALL)
        return false;
    if (selected >= model->n_calls || call >= model->n_calls)
        return false;
    uint32_t buffer = model->calls[selected].buffer;
    return selected == call || (buffer != LS_NONE && model->calls[call].buffer == buffer);
}

/* The group of all its tensors, LS_NONE if they are of several or of none. */
static uint32_t
get_group(const LsModel *model, size_t call)
{
    size_t n;
    const uint32_t *uses = ls_model_get_call_uses(model, call, &n);
    uint32_t group = n > 0 ? model->uses[uses[0]].group : LS_NONE;
    for (size_t i = 1; i < n && group != LS_NONE; i++)
        if (model->uses[uses[i]].group != group)
            group = LS_NONE;
    return group;
}

/* "group 0 · 15.6 MB": the group if all its tensors are of one, else the call's own name; where
 * there is little room the bytes alone. */
static uint32_t
make_call_label(LsMaking *making, size_t call, double width)
{
    const LsModel *model = making->model;
    uint32_t name = get_group(model, call);
    if (name == LS_NONE)
        name = model->calls[call].name;
    if (model->calls[call].bytes < 0)
        return name;
    g_autofree char *bytes = ls_format_bytes(model->calls[call].bytes);
    const char *string = ls_trace_get_string(model->trace, name);
    if ((double)(strlen(string) + strlen(bytes)) * CHAR_PX > width)
        return ls_scene_add_text(making->scene, bytes);
    g_autofree char *text = g_strdup_printf("%s · %s", string, bytes);
    return ls_scene_add_text(making->scene, text);
}

/* A call as it is seen: from when the last rank had arrived. What lies before that is a wait. */
static void
add_call(LsMaking *making, const LsRow *row, LsItem item, size_t call)
{
    const LsCall *c = &making->model->calls[call];
    int64_t start = CLAMP(making->model->call[call].wait_end_ns, c->start_ns, c->end_ns);
    LsItem whole;
    item.ref = (uint32_t)call;
    item.ref_kind = LS_PICK_CALL;
    item.role = LS_ROLE_COMMUNICATION;
    if (is_call_selected(making, call))
        item.flags |= LS_ITEM_SELECTED;
    if (making->view->colour_by == LS_COLOUR_GROUP)
        item.shade = get_group(making->model, call) % 8;
    if (c->open)
        item.flags |= LS_ITEM_OPEN;
    if (!ls_fold_make_item(&making->scale, start, c->end_ns, &whole))
        return;
    item.x0 = MAX(whole.x0, item.x0);
    item.x1 = MAX(item.x1, (uint16_t)(item.x0 + 1));
    if (get_width(making, &item) >= CALL_LABEL_PX)
        item.text = make_call_label(making, call, get_width(making, &item));
    ls_making_add_cut(making, row->rank, item, start, c->end_ns);
}

static void
add_calls_of_lane(LsMaking *making, const LsRow *row)
{
    const LsModel *model = making->model;
    const LsSpans *spans = &model->tracks[row->track].lanes[row->lane];
    const LsBusy *exposed = model->rank[row->rank].sets[LS_SET_EXPOSED];
    GArray *folded = g_array_set_size(making->scratch, 0);
    ls_fold_lane(&making->scale, model->lanes[row->track][row->lane].busy, folded);
    size_t next = 0;
    for (guint i = 0; i < folded->len; i++) {
        LsItem item = g_array_index(folded, LsItem, i);
        uint32_t call = spans->ref[item.ref];
        bool is_call = item.role == LS_ROLE_COMMUNICATION && call < model->n_calls;
        item.lane = (uint8_t)row->lane;
        item.ref_kind = LS_PICK_SPAN;
        if (!(item.flags & LS_ITEM_FOLDED) && is_call) {
            add_call(making, row, item, call);
            continue;
        }
        if (item.role == LS_ROLE_COMMUNICATION)
            item.form = (uint8_t)judge_column(making, exposed, &item, &next);
        if (!(item.flags & LS_ITEM_FOLDED) && get_width(making, &item) >= LABEL_PX)
            item.text = spans->name[item.ref];
        g_array_append_val(making->scene->items, item);
    }
}

/* Without a track of communication: the rank's calls, as they are. */
static void
add_calls_of_rank(LsMaking *making, const LsRow *row)
{
    const LsModel *model = making->model;
    const LsSlice *slice = &model->rank[row->rank].calls;
    for (size_t i = slice->first; i < slice->first + slice->n; i++) {
        LsItem item;
        if (ls_fold_make_item(&making->scale, model->calls[i].start_ns, model->calls[i].end_ns,
                              &item))
            add_call(making, row, item, i);
    }
}

/* Pack and unpack that lie in the lanes below this one. */
static void
add_fusion(LsMaking *making, const LsRow *row)
{
    const LsModel *model = making->model;
    const LsTrack *track = &model->tracks[row->track];
    for (uint32_t l = row->lane + 1; l < track->n_lanes; l++) {
        guint first = making->scene->items->len;
        if (!model->lanes[row->track][l].fusion_only)
            break;
        ls_fold_lane(&making->scale, model->lanes[row->track][l].busy, making->scene->items);
        for (guint i = first; i < making->scene->items->len; i++) {
            get_item(making, i)->ref_kind = LS_PICK_SPAN;
            get_item(making, i)->lane = (uint8_t)l;
        }
    }
}

void
ls_making_add_communication(LsMaking *making, const LsRow *row)
{
    if (row->lane == 0 && making->model->rank[row->rank].has_compute) {
        add_set(making, row->rank, LS_SET_WAIT, LS_ROLE_WAIT, LS_FORM_HATCHED, LS_ITEM_THIN);
        add_set(making, row->rank, LS_SET_EXPOSED_WAIT, LS_ROLE_WAIT, LS_FORM_HATCHED, 0);
    } else if (row->lane == 0) {
        add_set(making, row->rank, LS_SET_WAIT, LS_ROLE_WAIT, LS_FORM_HATCHED, 0);
    }
    if (row->track == LS_NONE) {
        add_calls_of_rank(making, row);
        return;
    }
    add_calls_of_lane(making, row);
    add_fusion(making, row);
}

/* The rank's steps, where more than one is in sight. */
void
ls_making_add_rank_steps(LsMaking *making, const LsRow *row)
{
    const LsModel *model = making->model;
    const LsSlice *slice = &model->rank[row->rank].steps;
    int32_t next = -1;
    if (!making->many_steps)
        return;
    for (size_t i = slice->first; i < slice->first + slice->n; i++) {
        const LsStep *step = &model->rank_steps[i];
        LsItem item;
        if (!ls_fold_make_item(&making->scale, step->start_ns, step->end_ns, &item) ||
            item.x0 < next)
            continue;
        item.role = LS_ROLE_STEP;
        item.ref = (uint32_t)i;
        item.ref_kind = LS_PICK_STEP;
        item.shade = (uint8_t)((uint64_t)step->number % 2);
        if (get_width(making, &item) >= LABEL_PX) {
            g_autofree char *time = ls_format_ns(step->end_ns - step->start_ns);
            g_autofree char *text =
                get_width(making, &item) >= 90
                    ? g_strdup_printf("step %" G_GINT64_FORMAT " · %s", step->number, time)
                    : g_strdup_printf("%" G_GINT64_FORMAT, step->number);
            item.text = ls_scene_add_text(making->scene, text);
        }
        g_array_append_val(making->scene->items, item);
        next = item.x1;
    }
}
