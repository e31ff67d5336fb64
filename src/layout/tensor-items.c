/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows by tensor, Horovod's way and on every rank: the phases of one tensor on the rank that is
 * shown, under them pills with the ranks that were ready, the last one apart, and a line where a
 * group agreed. Phases come from the tensor's own track where a format has one, else from its uses
 * and their calls.
 */
#include <stdlib.h>
#include <string.h>

#include "layout/scene-private.h"

enum { LABEL_PX = 24, MAX_PILL_RANKS = 8, PILL_CHAR_PX = 7, PILL_PAD_PX = 14 };

static bool
is_use_selected(const LsMaking *making, size_t use)
{
    const LsPick *pick = &making->view->selected;
    const LsModel *model = making->model;
    if (pick->kind != LS_PICK_USE || pick->index >= model->n_uses)
        return false;
    return ls_model_compare_uses(model, &model->uses[pick->index], &model->uses[use]) == 0;
}

/* -- Phases -- */

/* The last rank's submission of this use, LS_TIME_NONE: not known of all ranks that took part. */
static int64_t
find_last_submit(const LsModel *model, const LsUse *use)
{
    size_t n;
    const uint32_t *same = ls_model_get_occurrence(model, use, &n);
    int64_t last = LS_TIME_NONE;
    for (size_t i = 0; i < n; i++) {
        if (model->uses[same[i]].submit_ns == LS_TIME_NONE)
            return LS_TIME_NONE;
        last = MAX(last, model->uses[same[i]].submit_ns);
    }
    return last;
}

/* Hatched until the last rank had submitted it; what is left is the protocol's. */
static void
add_negotiation(LsMaking *making, LsItem item, const LsUse *use, int64_t start_ns, int64_t end_ns)
{
    int64_t last = use ? find_last_submit(making->model, use) : LS_TIME_NONE;
    item.form = LS_FORM_HATCHED;
    if (last > start_ns && last < end_ns) {
        int32_t x = CLAMP(ls_scale_get_x(&making->scale, last), item.x0, item.x1);
        LsItem rest = item;
        rest.form = LS_FORM_PLAIN;
        rest.text = 0;
        rest.x0 = item.x1 = (uint16_t)x;
        item.role = LS_ROLE_WAIT;
        if (rest.x1 > rest.x0)
            g_array_append_val(making->scene->items, rest);
    }
    if (item.x1 > item.x0)
        g_array_append_val(making->scene->items, item);
}

/* One lane of the tensor's track over those above it: what lies inside is the finer word. */
static void
add_track_lane(LsMaking *making, const LsRow *row, uint32_t l)
{
    const LsModel *model = making->model;
    const LsSpans *spans = &model->tracks[row->track].lanes[l];
    GArray *folded = g_array_set_size(making->scratch, 0);
    ls_fold_lane(&making->scale, model->lanes[row->track][l].busy, folded);
    for (guint i = 0; i < folded->len; i++) {
        LsItem item = g_array_index(folded, LsItem, i);
        uint32_t ref = spans->ref[item.ref];
        size_t span = item.ref;
        item.lane = (uint8_t)l;
        item.ref_kind = LS_PICK_SPAN;
        bool agreeing = spans->klass[span] == LS_CLASS_NEGOTIATION; /* and not in a queue */
        if (item.flags & LS_ITEM_FOLDED) {
            if (item.role == LS_ROLE_NEGOTIATION && agreeing)
                item.form = LS_FORM_HATCHED;
            g_array_append_val(making->scene->items, item);
            continue;
        }
        if ((double)(item.x1 - item.x0) / making->view->scale >= LABEL_PX &&
            !ls_fold_is_under(&model->tracks[row->track], l, spans->start_ns[span],
                              spans->end_ns[span]))
            item.text = spans->name[item.ref];
        if (ref < model->n_uses && model->uses[ref].tensor == row->tensor &&
            is_use_selected(making, ref))
            item.flags |= LS_ITEM_SELECTED;
        if (item.role == LS_ROLE_COMMUNICATION)
            ls_making_add_cut(making, row->rank, item, spans->start_ns[span], spans->end_ns[span]);
        else if (agreeing)
            add_negotiation(making, item, ref < model->n_uses ? &model->uses[ref] : NULL,
                            spans->start_ns[span], spans->end_ns[span]);
        else
            g_array_append_val(making->scene->items, item);
    }
}

static void
add_phase(LsMaking *making, const LsRow *row, size_t use, int64_t start_ns, int64_t end_ns,
          LsRole role, uint32_t text)
{
    LsItem item;
    if (start_ns == LS_TIME_NONE || end_ns == LS_TIME_NONE || end_ns <= start_ns ||
        !ls_fold_make_item(&making->scale, start_ns, end_ns, &item))
        return;
    item.ref = (uint32_t)use;
    item.ref_kind = LS_PICK_USE;
    item.role = (uint8_t)role;
    item.form = role == LS_ROLE_WAIT ? LS_FORM_HATCHED : LS_FORM_PLAIN;
    if (is_use_selected(making, use))
        item.flags |= LS_ITEM_SELECTED;
    if ((double)(item.x1 - item.x0) / making->view->scale >= LABEL_PX)
        item.text = text;
    if (role == LS_ROLE_COMMUNICATION)
        ls_making_add_cut(making, row->rank, item, start_ns, end_ns);
    else
        g_array_append_val(making->scene->items, item);
}

/* Horovod's word for the negotiation of what the call does: "NEGOTIATE_ALLREDUCE". */
static uint32_t
make_negotiate_label(LsMaking *making, const LsUse *use)
{
    static const char *const OPERATIONS[] = {"ALLREDUCE", "ALLGATHER",    "BROADCAST",
                                             "JOIN",      "ADASUM",       "ALLTOALL",
                                             "BARRIER",   "REDUCESCATTER"};
    g_autofree char *text = g_strconcat(
        "NEGOTIATE", use->operation < G_N_ELEMENTS(OPERATIONS) ? "_" : "",
        use->operation < G_N_ELEMENTS(OPERATIONS) ? OPERATIONS[use->operation] : "", NULL);
    return ls_scene_add_text(making->scene, text);
}

static void
add_use(LsMaking *making, const LsRow *row, size_t index)
{
    const LsModel *model = making->model;
    const LsUse *use = &model->uses[index];
    const LsCall *call = use->call < model->n_calls ? &model->calls[use->call] : NULL;
    int64_t last = find_last_submit(model, use), agreed = use->agreed_ns;
    if (agreed == LS_TIME_NONE && call)
        agreed = call->start_ns;
    if (last != LS_TIME_NONE && last < agreed) {
        add_phase(making, row, index, use->submit_ns, last, LS_ROLE_WAIT,
                  make_negotiate_label(making, use));
        add_phase(making, row, index, last, agreed, LS_ROLE_NEGOTIATION, 0);
    } else {
        add_phase(making, row, index, use->submit_ns, agreed, LS_ROLE_WAIT,
                  make_negotiate_label(making, use));
    }
    if (!call)
        return;
    bool packed = call->pack_start_ns != LS_TIME_NONE;
    add_phase(making, row, index, agreed, packed ? call->pack_start_ns : call->start_ns,
              LS_ROLE_NEGOTIATION, 0);
    add_phase(making, row, index, call->start_ns, call->end_ns, LS_ROLE_COMMUNICATION, call->name);
    add_phase(making, row, index, call->pack_start_ns, call->pack_end_ns, LS_ROLE_COPY, 0);
    add_phase(making, row, index, call->unpack_start_ns, call->unpack_end_ns, LS_ROLE_COPY, 0);
}

/* The first use of the row's tensor on its rank that may be in sight. */
static size_t
find_occurrence(const LsMaking *making, const LsRow *row, const uint32_t **ret_uses)
{
    const LsModel *model = making->model;
    const uint32_t *uses = model->uses_by_rank_name;
    const LsSlice *slice = &model->rank[row->rank].uses;
    size_t low = slice->first, high = slice->first + slice->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const LsUse *use = &model->uses[uses[middle]];
        if (use->tensor < row->tensor ||
            (use->tensor == row->tensor && ls_use_get_last_ns(model, use) < making->scale.start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    *ret_uses = uses;
    return low;
}

/* Calls `add` for the uses of the row's tensor that are in sight. */
static void
foreach_use(LsMaking *making, const LsRow *row, uint32_t row_index,
            void (*add)(LsMaking *making, const LsRow *row, uint32_t row_index, size_t use))
{
    const LsModel *model = making->model;
    const uint32_t *uses;
    size_t i = find_occurrence(making, row, &uses);
    const LsSlice *slice = &model->rank[row->rank].uses;
    for (; i < slice->first + slice->n; i++) {
        const LsUse *use = &model->uses[uses[i]];
        if (use->tensor != row->tensor || ls_use_get_first_ns(model, use) >= making->scale.end_ns)
            break;
        add(making, row, row_index, uses[i]);
    }
}

static void
add_use_of_row(LsMaking *making, const LsRow *row, uint32_t row_index, size_t use)
{
    add_use(making, row, use);
}

void
ls_making_add_tensor(LsMaking *making, const LsRow *row, uint32_t row_index)
{
    if (row->track == LS_NONE) {
        foreach_use(making, row, row_index, add_use_of_row);
        return;
    }
    for (uint32_t l = 0; l < making->model->tracks[row->track].n_lanes; l++)
        add_track_lane(making, row, l);
}

/* -- Readiness -- */

typedef struct Ready {
    int64_t time_ns;
    uint32_t rank;
} Ready;

static int
compare_ready(const void *a, const void *b)
{
    const Ready *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* "0 1 3", or "12 ranks" where they are many. */
static char *
format_ranks(const LsModel *model, const Ready *ready, size_t n)
{
    if (n > MAX_PILL_RANKS)
        return g_strdup_printf("%zu ranks", n);
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < n; i++)
        if (model->ranks[ready[i].rank].rank >= 0)
            g_string_append_printf(text, "%s%d", i ? " " : "", model->ranks[ready[i].rank].rank);
        else
            g_string_append(text, i ? " ?" : "?");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static double
get_x(const LsMaking *making, int64_t time_ns)
{
    return (double)(time_ns - making->scale.start_ns) * making->scale.px_per_ns;
}

static void
add_pill(LsMaking *making, uint32_t row, const Ready *ready, size_t n, bool last)
{
    g_autofree char *text = format_ranks(making->model, ready, n);
    LsPill pill = {
        .x = (float)get_x(making, ready[0].time_ns),
        .row = row,
        .text = ls_scene_add_text(making->scene, text),
        .ranks = (uint32_t)n,
        .last = last,
    };
    g_array_append_val(making->scene->pills, pill);
}

/* How far a pill of these ranks reaches, about: painting knows the font, layout does not. */
static double
get_pill_end(const LsMaking *making, const Ready *ready, size_t n)
{
    g_autofree char *text = format_ranks(making->model, ready, n);
    double width = (double)strlen(text) * PILL_CHAR_PX + PILL_PAD_PX;
    return get_x(making, ready[0].time_ns) / making->view->scale + width;
}

/* Ranks that came together, or whose pills would touch, share one; the last has its own unless it
 * came with the others. */
static void
add_pills(LsMaking *making, uint32_t row, const Ready *ready, size_t n)
{
    double scale = making->view->scale;
    size_t last = n - 1, end = n;
    if (n > 1 &&
        get_x(making, ready[last].time_ns) - get_x(making, ready[last - 1].time_ns) > 4 * scale)
        end = last;
    for (size_t first = 0; first < n;) {
        size_t next = first + 1;
        while (next < end && get_x(making, ready[next].time_ns) / scale <
                                 get_pill_end(making, ready + first, next - first))
            next++;
        add_pill(making, row, ready + first, next - first, end == last && first == last);
        first = next;
    }
}

/* Too close for pills: a tick per rank. */
static void
add_ready_ticks(LsMaking *making, uint32_t row, const Ready *ready, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = get_x(making, ready[i].time_ns);
        LsTick tick = {(uint16_t)CLAMP(x, 0, making->scale.width - 1), LS_ROLE_CONTROL, row};
        if (x < 0 || x >= making->scale.width)
            continue;
        if (i > 0 && i + 1 == n)
            tick.role = LS_ROLE_WAIT;
        g_array_append_val(making->scene->ticks, tick);
    }
}

static void
add_ready_of_use(LsMaking *making, const LsRow *row, uint32_t row_index, size_t index)
{
    const LsModel *model = making->model;
    const LsUse *use = &model->uses[index];
    size_t n, n_ready = 0;
    const uint32_t *same = ls_model_get_occurrence(model, use, &n);
    g_autofree Ready *ready = g_new(Ready, MAX(n, 1));
    for (size_t i = 0; i < n; i++) {
        const LsUse *other = &model->uses[same[i]];
        if (other->submit_ns != LS_TIME_NONE && making->view->shown[other->rank])
            ready[n_ready++] = (Ready){other->submit_ns, other->rank};
    }
    if (n_ready == 0)
        return;
    qsort(ready, n_ready, sizeof *ready, compare_ready);
    double px = get_x(making, ls_use_get_last_ns(model, use)) -
                get_x(making, ls_use_get_first_ns(model, use));
    if (px / making->view->scale < 48)
        add_ready_ticks(making, row_index, ready, n_ready);
    else
        add_pills(making, row_index, ready, n_ready);
}

void
ls_making_add_ready(LsMaking *making, const LsRow *row, uint32_t row_index)
{
    foreach_use(making, row, row_index, add_ready_of_use);
}

/* -- Agreement -- */

/* "agreed, last: rank 2" */
static uint32_t
make_agreed_label(LsMaking *making, const LsTensorGroup *group)
{
    const LsModel *model = making->model;
    int64_t latest = LS_TIME_NONE, second = LS_TIME_NONE;
    uint32_t rank = LS_NONE;
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const LsTensorLane *lane =
            &g_array_index(making->lanes->lanes, LsTensorLane, group->first_lane + i);
        size_t n = 0;
        const uint32_t *same = NULL;
        if (lane->use != LS_NONE)
            same = ls_model_get_occurrence(model, &model->uses[lane->use], &n);
        for (size_t k = 0; k < n; k++) {
            const LsUse *use = &model->uses[same[k]];
            if (use->submit_ns > latest) {
                second = rank != use->rank ? latest : second;
                latest = use->submit_ns;
                rank = use->rank;
            } else if (use->rank != rank) {
                second = MAX(second, use->submit_ns);
            }
        }
    }
    if (rank == LS_NONE || second == LS_TIME_NONE ||
        model->ranks[rank].clock_method == LS_CLOCK_NONE ||
        latest - second <= 2 * model->ranks[rank].clock_uncertainty_ns)
        return ls_scene_add_text(making->scene, "agreed");
    g_autofree char *text =
        g_strdup_printf("agreed, last: %s", ls_trace_get_rank_name(model->trace, rank));
    return ls_scene_add_text(making->scene, text);
}

void
ls_making_add_agreed(LsMaking *making)
{
    GArray *rows = making->scene->rows;
    for (guint i = 0; i < rows->len; i++) {
        const LsRow *row = &g_array_index(rows, LsRow, i);
        if (row->kind != LS_ROW_GROUP)
            continue;
        const LsTensorGroup *group =
            &g_array_index(making->lanes->groups, LsTensorGroup, row->lane_of);
        double x = group->agreed_ns == LS_TIME_NONE ? -1 : get_x(making, group->agreed_ns);
        guint last = i;
        while (last + 1 < rows->len && !g_array_index(rows, LsRow, last + 1).first)
            last++;
        if (x < 0 || x >= making->scale.width)
            continue;
        LsLine line = {(uint16_t)x, i, last, make_agreed_label(making, group), LS_ROLE_AGREED};
        g_array_append_val(making->scene->lines, line);
    }
}
