/* SPDX-License-Identifier: Apache-2.0
 *
 * From a pixel back to what it shows: the topmost item of the row under the point; of a folded
 * column the span next to the time pointed at; of a wait the call that was waited for.
 */
#include "layout/hit.h"

#include <math.h>

#include "layout/scene-private.h"

enum { NEAR_PX = 4, NEAR_CALLS = 64 };

static LsPick
make_pick(LsPickKind kind, uint32_t rank, size_t index, int64_t time_ns)
{
    return (LsPick){kind, rank, LS_NONE, LS_NONE, index, time_ns};
}

static LsPick
make_none(uint32_t rank, int64_t time_ns)
{
    return make_pick(LS_PICK_NONE, rank, 0, time_ns);
}

/* The call of the rank that waits, or else runs, at the time. */
static LsPick
find_call_at(const LsModel *model, uint32_t rank, int64_t time_ns)
{
    const LsSlice *slice = &model->rank[rank].calls;
    size_t low = slice->first, end = slice->first + slice->n, high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->calls[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    size_t first = low > slice->first + NEAR_CALLS ? low - NEAR_CALLS : slice->first;
    size_t running = SIZE_MAX;
    for (size_t i = first; i < MIN(end, low + NEAR_CALLS); i++) {
        const LsCallModel *call = &model->call[i];
        if (call->arrival_ns <= time_ns && time_ns < call->wait_end_ns)
            return make_pick(LS_PICK_CALL, rank, i, time_ns);
        if (model->calls[i].start_ns <= time_ns && time_ns < model->calls[i].end_ns)
            running = i;
    }
    return running == SIZE_MAX ? make_none(rank, time_ns)
                               : make_pick(LS_PICK_CALL, rank, running, time_ns);
}

/* A span as what its row of a table makes it: a call, a use, a cycle. */
static LsPick
pick_span(const LsModel *model, uint32_t track, uint32_t lane, size_t index, int64_t time_ns)
{
    const LsTrack *t = &model->tracks[track];
    uint32_t ref = t->lanes[lane].ref[index];
    bool fusion = t->lanes[lane].klass[index] == LS_CLASS_FUSION;
    if (t->kind == LS_TRACK_COMMUNICATION && !fusion && ref < model->n_calls)
        return make_pick(LS_PICK_CALL, t->rank, ref, time_ns);
    if (t->kind == LS_TRACK_TENSOR && ref < model->n_uses)
        return make_pick(LS_PICK_USE, t->rank, ref, time_ns);
    LsPick pick = make_pick(LS_PICK_SPAN, t->rank, index, time_ns);
    pick.track = track;
    pick.lane = lane;
    return pick;
}

/* Of two neighbours the one nearer to the time. */
static size_t
find_nearest(const LsBusy *busy, int64_t time_ns)
{
    size_t n = ls_busy_get_n(busy), at = ls_busy_find(busy, time_ns);
    if (at >= n)
        return n - 1;
    if (at > 0 && ls_busy_get_start(busy, at) > time_ns &&
        time_ns - ls_busy_get_end(busy, at - 1) < ls_busy_get_start(busy, at) - time_ns)
        return at - 1;
    return at;
}

static LsPick
pick_item(const LsScene *scene, const LsRow *row, const LsItem *item, int64_t time_ns)
{
    const LsModel *model = scene->model;
    switch ((LsPickKind)item->ref_kind) {
    case LS_PICK_CALL:
    case LS_PICK_USE:
        return make_pick((LsPickKind)item->ref_kind, row->rank, item->ref, time_ns);
    case LS_PICK_STEP: {
        int step = ls_model_find_column(model, model->rank_steps[item->ref].column);
        return step < 0 ? make_none(row->rank, time_ns)
                        : make_pick(LS_PICK_STEP, row->rank, (size_t)step, time_ns);
    }
    case LS_PICK_SPAN: {
        size_t span = item->ref;
        if (item->flags & LS_ITEM_FOLDED)
            span = find_nearest(model->lanes[row->track][item->lane].busy, time_ns);
        return pick_span(model, row->track, item->lane, span, time_ns);
    }
    default:
        if (item->role == LS_ROLE_WAIT || item->role == LS_ROLE_COMMUNICATION ||
            item->role == LS_ROLE_BAND_EXPOSED || item->role == LS_ROLE_BAND_HIDDEN)
            return find_call_at(model, row->rank, time_ns);
        return make_none(row->rank, time_ns);
    }
}

static LsPick
pick_cycle(const LsScene *scene, const LsRow *row, double x, int64_t time_ns)
{
    const LsRankModel *rank = &scene->model->rank[row->rank];
    double best = NEAR_PX;
    LsPick pick = make_none(row->rank, time_ns);
    size_t low = 0, high = rank->n_marks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rank->marks[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low > 0 ? low - 1 : 0; i < MIN(low + 1, rank->n_marks); i++) {
        double distance = fabs(ls_view_x_of(&scene->view, rank->marks[i].time_ns) - x);
        if (distance <= best && rank->marks[i].cycle != LS_NONE) {
            best = distance;
            pick = make_pick(LS_PICK_CYCLE, row->rank, rank->marks[i].cycle, time_ns);
        }
    }
    return pick;
}

static LsPick
pick_sample(const LsScene *scene, const LsRow *row, int64_t time_ns)
{
    const LsCounter counter = ls_model_get_counter(scene->model, row->track, row->lane);
    const LsSample *samples = counter.samples;
    size_t at = ls_series_find(counter.series, time_ns);
    if (at > 0 &&
        (at >= counter.n || time_ns - samples[at - 1].time_ns < samples[at].time_ns - time_ns))
        at--;
    LsPick pick = make_pick(LS_PICK_SAMPLE, row->rank, at, time_ns);
    pick.track = row->track;
    pick.lane = row->lane;
    return pick;
}

/* The use whose submission a pill shows. */
static LsPick
pick_ready(const LsScene *scene, const LsRow *row, int64_t time_ns)
{
    const LsModel *model = scene->model;
    const LsSlice *slice = &model->rank[row->rank].uses;
    for (size_t i = slice->first; i < slice->first + slice->n; i++) {
        const LsUse *use = &model->uses[model->uses_by_rank_name[i]];
        if (use->tensor == row->tensor && ls_use_get_first_ns(model, use) <= time_ns &&
            time_ns < ls_use_get_last_ns(model, use))
            return make_pick(LS_PICK_USE, row->rank, model->uses_by_rank_name[i], time_ns);
    }
    return make_none(row->rank, time_ns);
}

static LsPick
pick_cell(const LsScene *scene, double x, double y)
{
    const LsOverview *o = &scene->overview;
    const LsView *view = &scene->view;
    if (o->columns == 0 || x < o->x || y < o->y || x >= o->x + o->width || y >= o->y + o->height)
        return make_none(LS_NONE, 0);
    uint32_t n = 0, wanted = 0, rank = 0;
    for (uint32_t i = 0; i < view->n_ranks; i++)
        n += view->shown[view->order[i]];
    wanted = (uint32_t)((y - o->y) / o->height * o->rows);
    wanted = (uint32_t)((uint64_t)wanted * n / o->rows);
    for (uint32_t i = 0; i < view->n_ranks; i++)
        if (view->shown[view->order[i]] && wanted-- == 0) {
            rank = view->order[i];
            break;
        }
    size_t column = (size_t)((x - o->x) / o->width * o->columns), step = 0;
    int64_t first = ls_trace_get_first_ns(scene->model->trace);
    int64_t range = ls_trace_get_last_ns(scene->model->trace) - first;
    int64_t time_ns = first + (int64_t)((x - o->x) / o->width * (double)range);
    if (o->by_step) {
        step = column * scene->model->n_steps / o->columns;
        time_ns = scene->model->steps[step].start_ns;
    }
    return make_pick(o->by_step ? LS_PICK_CELL : LS_PICK_RANK, rank, o->by_step ? step : rank,
                     time_ns);
}

LsPick
ls_hit_find(const LsScene *scene, double x, double y)
{
    int64_t time_ns = ls_view_time_at(&scene->view, x);
    if (scene->view.mode == LS_VIEW_OVERVIEW)
        return pick_cell(scene, x, y);
    int index = ls_rows_find(scene->rows, y + scene->view.scroll_y);
    if (index < 0)
        return make_none(LS_NONE, time_ns);
    const LsRow *row = ls_scene_get_row(scene, (size_t)index);
    double device = x * scene->view.scale;
    for (size_t i = row->n_items; i-- > 0;) {
        const LsItem *item = &g_array_index(scene->items, LsItem, row->first_item + i);
        if (item->x0 <= device && device < item->x1)
            return pick_item(scene, row, item, time_ns);
    }
    if (row->kind == LS_ROW_CYCLES)
        return pick_cycle(scene, row, x, time_ns);
    if (row->kind == LS_ROW_COUNTER)
        return pick_sample(scene, row, time_ns);
    if (row->kind == LS_ROW_READY)
        return pick_ready(scene, row, time_ns);
    return make_none(row->rank, time_ns);
}

LsPick
ls_hit_find_header(const LsScene *scene, double y)
{
    int index = ls_rows_find(scene->rows, y + scene->view.scroll_y);
    const LsRow *row = index < 0 ? NULL : ls_scene_get_row(scene, (size_t)index);
    if (!row || row->rank == LS_NONE || row->kind == LS_ROW_GROUP)
        return make_none(LS_NONE, scene->view.start_ns);
    if (row->tensor != LS_NONE) {
        const LsSlice *slice = &scene->model->rank[row->rank].uses;
        for (size_t i = slice->first; i < slice->first + slice->n; i++) {
            uint32_t use = scene->model->uses_by_rank_name[i];
            const LsUse *u = &scene->model->uses[use];
            if (u->tensor == row->tensor &&
                ls_use_get_last_ns(scene->model, u) >= scene->view.order_start_ns)
                return make_pick(LS_PICK_USE, row->rank, use, ls_use_get_first_ns(scene->model, u));
        }
    }
    return make_pick(LS_PICK_RANK, row->rank, row->rank, scene->view.start_ns);
}

LsPick
ls_hit_find_step_bar(const LsScene *scene, double x, double width)
{
    double at = x / MAX(width, 1);
    for (guint i = 0; i < scene->step_bars->len; i++) {
        const LsStepBar *bar = &g_array_index(scene->step_bars, LsStepBar, i);
        if (at < bar->x0 || at >= bar->x1)
            continue;
        size_t step = bar->first + (size_t)((at - bar->x0) / (bar->x1 - bar->x0) * bar->n);
        return make_pick(LS_PICK_STEP, LS_NONE, step, scene->model->steps[step].start_ns);
    }
    return make_none(LS_NONE, scene->view.start_ns);
}

/* index + direction within [first, first + n); false: beyond an end. */
static bool
step_within(const LsSlice *slice, size_t *index, int direction)
{
    if (direction < 0 ? *index <= slice->first : *index + 1 >= slice->first + slice->n)
        return false;
    *index += direction < 0 ? (size_t)-1 : 1;
    return true;
}

static bool
step_use(const LsModel *model, LsPick *pick, int direction)
{
    LsUse next = model->uses[pick->index];
    next.occurrence += (uint32_t)direction;
    size_t n;
    const uint32_t *same = ls_model_get_occurrence(model, &next, &n);
    for (size_t i = 0; i < n; i++)
        if (model->uses[same[i]].rank == next.rank) {
            pick->index = same[i];
            return true;
        }
    return false;
}

LsPick
ls_hit_step(const LsModel *model, const LsPick *from, int direction)
{
    LsPick pick = *from;
    bool moved = false;
    switch (from->kind) {
    case LS_PICK_SPAN:
        moved = step_within(&(LsSlice){0, model->tracks[from->track].lanes[from->lane].n},
                            &pick.index, direction);
        break;
    case LS_PICK_CALL:
        moved =
            step_within(&model->rank[model->calls[from->index].rank].calls, &pick.index, direction);
        break;
    case LS_PICK_USE:
        moved = step_use(model, &pick, direction);
        break;
    case LS_PICK_CYCLE:
        moved = step_within(&model->rank[model->cycles[from->index].rank].cycles, &pick.index,
                            direction);
        break;
    case LS_PICK_STEP:
    case LS_PICK_CELL:
        moved = step_within(&(LsSlice){0, model->n_steps}, &pick.index, direction);
        break;
    case LS_PICK_SAMPLE:
        moved = step_within(&(LsSlice){0, ls_model_get_counter(model, from->track, from->lane).n},
                            &pick.index, direction);
        break;
    case LS_PICK_RANK:
        moved = step_within(&(LsSlice){0, model->n_ranks}, &pick.index, direction);
        pick.rank = (uint32_t)pick.index;
        break;
    case LS_PICK_NONE:
        break;
    }
    if (!moved)
        pick.kind = LS_PICK_NONE;
    return pick;
}
