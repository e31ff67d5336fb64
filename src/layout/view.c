/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked to be seen, and the ways to change it. Times to pixels and back are linear over the
 * visible range; differences from its start fit a double exactly for any range under 104 days.
 */
#include "layout/view.h"

#include <math.h>
#include <string.h>

#include "layout/model-private.h"
#include "layout/rows.h"
#include "layout/tensors.h"

enum { MIN_RANGE_NS = 100 };
/* Rows may grow into room that is there, and open ones shrink a little before they are folded; one
 * line per rank may shrink until it is no line. */
static const double MAX_STRETCH[LS_N_FOLDS] = {1.8, 1.8, 2.8, 1.8};
static const double MIN_STRETCH[LS_N_FOLDS] = {0.76, 0.76, 1, 1}, MIN_BAND = 7.0 / 15;

double
ls_view_x_of(const LsView *view, int64_t time_ns)
{
    return (double)(time_ns - view->start_ns) * view->width /
           (double)(view->end_ns - view->start_ns);
}

int64_t
ls_view_time_at(const LsView *view, double x)
{
    return view->start_ns +
           (int64_t)llround(x * (double)(view->end_ns - view->start_ns) / view->width);
}

void
ls_view_set_size(LsView *view, double width, double height, int scale)
{
    view->width = MAX(width, 16);
    view->height = MAX(height, 16);
    view->scale = CLAMP(scale, 1, 8);
}

static void
set_range(LsView *view, int64_t start_ns, int64_t end_ns)
{
    view->start_ns = start_ns;
    view->end_ns = MAX(end_ns, start_ns + MIN_RANGE_NS);
}

void
ls_view_show(LsView *view, int64_t start_ns, int64_t end_ns, double margin)
{
    int64_t extra = (int64_t)((double)(end_ns - start_ns) * margin);
    set_range(view, start_ns - extra, end_ns + extra);
}

static int64_t
first_of(const LsModel *model)
{
    return ls_trace_get_first_ns(model->trace);
}

static int64_t
last_of(const LsModel *model)
{
    return MAX(ls_trace_get_last_ns(model->trace), first_of(model) + MIN_RANGE_NS);
}

void
ls_view_show_all(LsView *view, const LsModel *model)
{
    ls_view_show(view, first_of(model), last_of(model), 0.015);
    view->origin_ns = first_of(model);
    view->order_start_ns = first_of(model);
    view->order_end_ns = last_of(model) + 1;
    view->step = -1;
}

void
ls_view_show_step(LsView *view, const LsModel *model, int step)
{
    if (step < 0 || (size_t)step >= model->n_steps)
        return;
    const LsStepColumn *column = &model->steps[step];
    int64_t length = column->end_ns - column->start_ns;
    set_range(view, column->start_ns - length / 50, column->end_ns + length / 12);
    view->origin_ns = column->start_ns;
    view->order_start_ns = column->start_ns;
    view->order_end_ns = column->end_ns;
    view->step = step;
}

/* Keeps some of the recording in sight. */
static void
keep_within(LsView *view, const LsModel *model)
{
    int64_t range = view->end_ns - view->start_ns;
    int64_t low = first_of(model) - range * 9 / 10, high = last_of(model) - range / 10;
    int64_t start = CLAMP(view->start_ns, low, MAX(low, high));
    view->start_ns = start;
    view->end_ns = start + range;
}

void
ls_view_zoom(LsView *view, const LsModel *model, double factor, double x)
{
    double most = 4.0 * (double)(last_of(model) - first_of(model));
    double range = (double)(view->end_ns - view->start_ns);
    double wanted = CLAMP(range * factor, MIN_RANGE_NS, MAX(most, MIN_RANGE_NS));
    double share = x / view->width;
    int64_t start = view->start_ns + (int64_t)llround((range - wanted) * share);
    set_range(view, start, start + (int64_t)llround(wanted));
    keep_within(view, model);
}

void
ls_view_pan(LsView *view, const LsModel *model, double dx)
{
    int64_t move = (int64_t)llround(dx * (double)(view->end_ns - view->start_ns) / view->width);
    view->start_ns += move;
    view->end_ns += move;
    keep_within(view, model);
}

void
ls_view_scroll(LsView *view, double dy, double content_height)
{
    double most = MAX(content_height - view->height, 0);
    view->scroll_y = CLAMP(round(view->scroll_y + dy), 0, most);
}

void
ls_view_set_mode(LsView *view, const LsModel *model, LsViewMode mode)
{
    view->mode = mode;
    view->scroll_y = 0;
    ls_view_fit(view, model);
}

void
ls_view_fold_rank(LsView *view, uint32_t rank, LsFold fold)
{
    if (rank < view->n_ranks)
        view->folds[rank] = (uint8_t)fold;
}

static double
find_height(const LsModel *model, const LsView *view)
{
    g_autoptr(LsTensorLanes) lanes =
        view->mode == LS_VIEW_TENSORS ? ls_tensor_lanes_new(model, view) : NULL;
    g_autoptr(GArray) rows = ls_rows_new(model, view, lanes);
    return ls_rows_get_height(rows);
}

/* The least folding with which the shown ranks fit the height; LS_FOLD_BAND if none does. */
static LsFold
find_fold(const LsView *view, const LsModel *model)
{
    LsView asked = *view; /* shares the arrays: only read */
    for (int fold = LS_FOLD_OPEN; fold < LS_FOLD_BAND; fold++) {
        asked.fold = (LsFold)fold;
        asked.stretch = MIN_STRETCH[fold];
        if (find_height(model, &asked) <= view->height)
            return asked.fold;
    }
    return LS_FOLD_BAND;
}

void
ls_view_fit(LsView *view, const LsModel *model)
{
    view->stretch = 1;
    view->fold = find_fold(view, model);
    double height = find_height(model, view), least = MIN_STRETCH[view->fold];
    double most = MAX_STRETCH[view->fold];
    if (height <= 0)
        return;
    if (view->fold == LS_FOLD_BAND && view->mode == LS_VIEW_RANKS)
        least = MIN_BAND;
    view->stretch = CLAMP(view->height / height, least, most);
    while (view->stretch > least && find_height(model, view) > view->height)
        view->stretch = MAX(view->stretch - 0.05, least);
    /* Not all rows are stretched: what they leave goes to those that are. */
    LsView more = *view; /* shares the arrays: only read */
    while (view->stretch < most) {
        more.stretch = MIN(view->stretch + 0.05, most);
        if (find_height(model, &more) > view->height)
            break;
        view->stretch = more.stretch;
    }
}

/* The rank that tells most of the tensors: the one with tensor tracks, else with uses. */
static uint32_t
find_tensor_rank(const LsModel *model)
{
    uint32_t best = 0;
    size_t most = 0;
    for (size_t r = 0; r < model->n_ranks; r++) {
        const LsSlice *slice = &model->rank[r].tracks;
        size_t found = model->rank[r].calls.n > 0 ? 1 : 0;
        for (size_t t = slice->first; t < slice->first + slice->n; t++)
            found += model->tracks[t].kind == LS_TRACK_TENSOR;
        if (found > most) {
            most = found;
            best = (uint32_t)r;
        }
    }
    return best;
}

/* Whether only tensors were recorded, as in a timeline of Horovod or of its descendants. */
static bool
has_tensors_alone(const LsModel *model)
{
    bool tensors = model->n_uses > 0;
    for (size_t t = 0; t < model->n_tracks; t++) {
        LsTrackKind kind = model->tracks[t].kind;
        tensors |= kind == LS_TRACK_TENSOR;
        if (kind == LS_TRACK_PHASES || kind == LS_TRACK_STREAM || kind == LS_TRACK_STEPS)
            return false;
    }
    return tensors && model->n_rank_steps == 0;
}

static void
choose_mode(LsView *view, const LsModel *model)
{
    if (has_tensors_alone(model)) {
        ls_view_set_mode(view, model, LS_VIEW_TENSORS);
        return;
    }
    ls_view_set_mode(view, model, LS_VIEW_RANKS);
    if (find_height(model, view) > view->height)
        ls_view_set_mode(view, model, LS_VIEW_OVERVIEW);
}

/* One round of the tensors; where they do not come round, from the first to the last of them. */
static void
show_round(LsView *view, const LsModel *model)
{
    int64_t start, end;
    if (!ls_model_find_round(model, view->tensor_rank, &start, &end) &&
        !ls_model_find_extent(model, view->tensor_rank, &start, &end))
        return;
    ls_view_show(view, start, end, 0.04);
    view->order_start_ns = start;
    view->order_end_ns = end;
    ls_view_fit(view, model);
}

void
ls_view_init(LsView *view, const LsModel *model, double width, double height, int scale)
{
    *view = (LsView){.step = -1, .stretch = 1, .selected.kind = LS_PICK_NONE};
    ls_view_set_size(view, width, height, scale);
    view->n_ranks = (uint32_t)model->n_ranks;
    view->order = g_new(uint32_t, MAX(model->n_ranks, 1));
    view->shown = g_new(bool, MAX(model->n_ranks, 1));
    view->folds = g_new(uint8_t, MAX(model->n_ranks, 1));
    for (uint32_t r = 0; r < model->n_ranks; r++) {
        view->order[r] = r;
        view->shown[r] = true;
        view->folds[r] = LS_N_FOLDS;
    }
    view->tensor_rank = find_tensor_rank(model);
    ls_view_show_all(view, model);
    ls_view_show_step(view, model, ls_model_find_slowest_step(model));
    choose_mode(view, model);
    if (model->n_steps == 0 && view->mode == LS_VIEW_TENSORS)
        show_round(view, model);
}

void
ls_view_clear(LsView *view)
{
    g_clear_pointer(&view->order, g_free);
    g_clear_pointer(&view->shown, g_free);
    g_clear_pointer(&view->folds, g_free);
}

void
ls_view_copy(LsView *to, const LsView *from)
{
    if (to == from)
        return;
    size_t n = from->n_ranks;
    LsView old = *to;
    *to = *from;
    to->order = old.n_ranks == n ? old.order : g_renew(uint32_t, old.order, MAX(n, 1));
    to->shown = old.n_ranks == n ? old.shown : g_renew(bool, old.shown, MAX(n, 1));
    to->folds = old.n_ranks == n ? old.folds : g_renew(uint8_t, old.folds, MAX(n, 1));
    if (n > 0) {
        memcpy(to->order, from->order, n * sizeof *to->order);
        memcpy(to->shown, from->shown, n * sizeof *to->shown);
        memcpy(to->folds, from->folds, n * sizeof *to->folds);
    }
}
