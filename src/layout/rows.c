/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks to rows. A rank is a block of rows: its header, the overlap band, compute, communication,
 * and below them what explains these: copies, cycles, threads, counters. Folding makes the rows
 * lower, then fewer, until one line per rank is left. By tensor a row is a tensor, under it who was
 * ready.
 */
#include "layout/rows.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "layout/model-private.h"
#include "layout/tensors.h"

enum { OPEN_LANES = 4 };

/* Heights by fold: full, open, compact, band. */
static const double HEIGHTS[][LS_N_FOLDS] = {
    [LS_ROW_RANK] = {24, 24, 0, 0},   [LS_ROW_BAND] = {13, 13, 17, 15},
    [LS_ROW_SPANS] = {25, 25, 13, 0}, [LS_ROW_COMMUNICATION] = {27, 27, 15, 0},
    [LS_ROW_CYCLES] = {15, 15, 0, 0}, [LS_ROW_COUNTER] = {22, 22, 14, 0},
    [LS_ROW_GROUP] = {24, 24, 20, 0}, [LS_ROW_TENSOR] = {20, 20, 15, 8},
    [LS_ROW_READY] = {19, 19, 0, 0},
};
static const double DEEP_LANE = 17, GAP[LS_N_FOLDS] = {6, 6, 3, 0};

typedef struct Maker {
    const LsModel *model;
    const LsView *view;
    GArray *rows;
    double y;
    LsFold fold;
    uint32_t rank;
} Maker;

static void
clear_row(void *data)
{
    LsRow *row = data;
    g_free(row->label);
    g_free(row->note);
}

/* A row of the height that its kind has in this fold; NULL where it has none. */
static LsRow *
add_row(Maker *maker, LsRowKind kind, uint32_t track, uint32_t lane, const char *label)
{
    double height = HEIGHTS[kind][maker->fold];
    if (height <= 0)
        return NULL;
    if (kind == LS_ROW_SPANS && lane > 0)
        height = DEEP_LANE;
    if (maker->fold < LS_FOLD_BAND && (kind == LS_ROW_SPANS || kind == LS_ROW_COMMUNICATION ||
                                       kind == LS_ROW_COUNTER || kind == LS_ROW_TENSOR))
        height = floor(height * maker->view->stretch);
    if (kind == LS_ROW_TENSOR && maker->fold == LS_FOLD_BAND)
        height = floor(height * MAX(maker->view->stretch, 1));
    if (kind == LS_ROW_BAND && maker->fold == LS_FOLD_BAND)
        height = floor(height * maker->view->stretch);
    LsRow row = {
        .kind = kind,
        .y = maker->y,
        .height = height,
        .rank = maker->rank,
        .track = track,
        .lane = lane,
        .tensor = LS_NONE,
        .lane_of = LS_NONE,
        .label = g_strdup(label),
        .greyed = maker->rank != LS_NONE && maker->model->rank[maker->rank].greyed,
    };
    g_array_append_val(maker->rows, row);
    maker->y += height;
    return &g_array_index(maker->rows, LsRow, maker->rows->len - 1);
}

static size_t
count_tracks(const Maker *maker, LsTrackKind kind)
{
    const LsSlice *slice = &maker->model->rank[maker->rank].tracks;
    size_t n = 0;
    for (size_t t = slice->first; t < slice->first + slice->n; t++)
        n += maker->model->tracks[t].kind == kind;
    return n;
}

static void
add_span_rows(Maker *maker, LsTrackKind kind, const char *label)
{
    const LsModel *model = maker->model;
    const LsSlice *slice = &model->rank[maker->rank].tracks;
    bool one = count_tracks(maker, kind) == 1;
    for (size_t t = slice->first; t < slice->first + slice->n; t++) {
        const LsTrack *track = &model->tracks[t];
        uint32_t lanes = track->n_lanes;
        if (track->kind != kind)
            continue;
        if (maker->fold != LS_FOLD_FULL)
            lanes = MIN(lanes, maker->fold == LS_FOLD_OPEN ? OPEN_LANES : 1);
        const char *name = ls_trace_get_string(model->trace, track->name);
        for (uint32_t l = 0; l < lanes; l++)
            if (track->lanes[l].n > 0)
                add_row(maker, LS_ROW_SPANS, (uint32_t)t, l,
                        l > 0          ? ""
                        : one && label ? label
                                       : name);
    }
}

/* Communication lies in the lanes of its track; pack and unpack on the lane that they belong to.
 * Without such a track the calls themselves make one row. */
static void
add_communication_rows(Maker *maker)
{
    const LsModel *model = maker->model;
    const LsRankModel *rank = &model->rank[maker->rank];
    const char *label = "communication";
    for (size_t t = rank->tracks.first; t < rank->tracks.first + rank->tracks.n; t++) {
        const LsTrack *track = &model->tracks[t];
        if (track->kind != LS_TRACK_COMMUNICATION)
            continue;
        for (uint32_t l = 0; l < track->n_lanes; l++) {
            if (l > 0 && (model->lanes[t][l].fusion_only || maker->fold >= LS_FOLD_COMPACT))
                continue;
            add_row(maker, LS_ROW_COMMUNICATION, (uint32_t)t, l, label);
            label = "";
        }
    }
    if (*label && rank->calls.n > 0)
        add_row(maker, LS_ROW_COMMUNICATION, LS_NONE, 0, label);
}

/* With what the line's top stands for, and its bottom where that is not 0. */
static void
add_counter_row(Maker *maker, uint32_t track, uint32_t power, const char *label)
{
    LsRow *row = add_row(maker, LS_ROW_COUNTER, track, power, label);
    const LsCounter counter = ls_model_get_counter(maker->model, track, power);
    double low, high;
    if (!row || !ls_counter_get_bounds(&counter, &low, &high))
        return;
    LsCounter bare = counter;
    bare.unit = "";
    g_autofree char *bottom = ls_counter_format(&bare, low);
    g_autofree char *top = ls_counter_format(&counter, high);
    row->note = g_strdup_printf("%s to %s", bottom, top);
}

static void
add_counter_rows(Maker *maker)
{
    const LsSlice *slice = &maker->model->rank[maker->rank].tracks;
    for (size_t t = slice->first; t < slice->first + slice->n; t++) {
        const LsTrack *track = &maker->model->tracks[t];
        if (track->kind == LS_TRACK_COUNTER && track->n_samples > 0)
            add_counter_row(maker, (uint32_t)t, 0,
                            ls_trace_get_string(maker->model->trace, track->name));
    }
}

/* Where there is no room for every counter: power, which is asked for rarely and then looked for.
 */
static void
add_power_rows(Maker *maker)
{
    const LsModel *model = maker->model;
    const LsSlice *slice = &model->rank[maker->rank].tracks;
    for (size_t t = slice->first; t < slice->first + slice->n; t++)
        if (ls_model_is_power(model, t))
            add_counter_row(maker, (uint32_t)t, 0,
                            ls_trace_get_string(model->trace, model->tracks[t].name));
}

/* Above all ranks. */
static void
add_run_power_rows(Maker *maker)
{
    guint first = maker->rows->len;
    for (guint i = 0; i < maker->model->power->len; i++) {
        const LsPowerModel *power = &g_array_index(maker->model->power, LsPowerModel, i);
        g_autofree char *label =
            g_strdup_printf("%s, whole run", ls_trace_get_string(maker->model->trace, power->name));
        add_counter_row(maker, LS_NONE, i, label);
    }
    if (maker->rows->len > first)
        maker->y += GAP[maker->fold];
}

static void
add_rank(Maker *maker, uint32_t r)
{
    const LsModel *model = maker->model;
    guint first = maker->rows->len;
    maker->rank = r;
    maker->fold =
        maker->view->folds[r] < LS_N_FOLDS ? (LsFold)maker->view->folds[r] : maker->view->fold;
    if (!model->rank[r].has_spans && maker->fold < LS_FOLD_COMPACT)
        maker->fold = LS_FOLD_BAND;
    const char *label = ls_trace_get_rank_label(model->trace, r);
    bool headed = add_row(maker, LS_ROW_RANK, LS_NONE, 0, label) != NULL;
    if (!headed || model->rank[r].has_compute || model->rank[r].calls.n > 0)
        add_row(maker, LS_ROW_BAND, LS_NONE, 0, headed ? "overlap" : label);
    if (maker->fold < LS_FOLD_BAND) {
        add_span_rows(maker, LS_TRACK_PHASES, "compute");
        add_span_rows(maker, LS_TRACK_STREAM, NULL);
        add_communication_rows(maker);
    }
    if (maker->fold < LS_FOLD_COMPACT) {
        add_span_rows(maker, LS_TRACK_COPIES, "copies");
        if (model->rank[r].n_marks > 0)
            add_row(maker, LS_ROW_CYCLES, LS_NONE, 0, "cycles");
        add_span_rows(maker, LS_TRACK_THREAD, NULL);
        add_counter_rows(maker);
    } else if (maker->fold == LS_FOLD_COMPACT) {
        add_power_rows(maker);
    }
    g_array_index(maker->rows, LsRow, first).first = true;
    maker->y += GAP[maker->fold];
}

/* How much of both names is the same and ends before a dot or a slash: a layer. */
static size_t
get_common_layer(const char *a, const char *b, size_t most)
{
    size_t common = 0;
    for (size_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
        if ((a[i + 1] == '.' || a[i + 1] == '/') && (b[i + 1] == '.' || b[i + 1] == '/'))
            common = i + 1;
    return common;
}

/* The layer that all its tensors are of, "" if there is none. */
static char *
find_layer(const LsModel *model, const LsTensorLanes *lanes, const LsTensorGroup *group)
{
    const LsTensorLane *lane = &g_array_index(lanes->lanes, LsTensorLane, group->first_lane);
    const char *first = ls_trace_get_string(model->trace, lane[0].tensor);
    size_t length = strlen(first);
    for (uint32_t i = 0; i < group->n_lanes; i++)
        length = get_common_layer(first, ls_trace_get_string(model->trace, lane[i].tensor), length);
    return g_strndup(first, length);
}

/* "group 0", "layer1.bn1 · group 0" where all are of that layer, or the buffer in which its tensors
 * were fused. */
static char *
format_group(const LsModel *model, const LsTensorLanes *lanes, const LsTensorGroup *group)
{
    g_autofree char *layer = find_layer(model, lanes, group);
    if (group->name != LS_NONE) {
        const char *name = ls_trace_get_string(model->trace, group->name);
        return *layer && !g_str_has_prefix(name, layer) ? g_strdup_printf("%s · %s", layer, name)
                                                        : g_strdup(name);
    }
    if (group->call != LS_NONE && model->calls[group->call].buffer != LS_NONE)
        return g_strdup_printf("buffer %u", model->calls[group->call].buffer);
    return g_strdup(group->call != LS_NONE ? "one buffer" : "no group");
}

static bool
is_headed(const LsTensorGroup *group)
{
    return group->n_lanes > 1 || group->name != LS_NONE;
}

static void
add_lane(Maker *maker, const LsTensorLanes *lanes, uint32_t index)
{
    const LsTensorLane *lane = &g_array_index(lanes->lanes, LsTensorLane, index);
    LsRow *row = add_row(maker, LS_ROW_TENSOR, lane->track, 0,
                         ls_trace_get_string(maker->model->trace, lane->tensor));
    row->tensor = lane->tensor;
    row->lane_of = index;
    if (!lanes->ready)
        return;
    row = add_row(maker, LS_ROW_READY, LS_NONE, 0, "ready");
    if (!row)
        return;
    row->tensor = lane->tensor;
    row->lane_of = index;
}

/* A group, or a tensor that was fused with no other: those follow each other without a line. */
static void
add_group(Maker *maker, const LsTensorLanes *lanes, guint g)
{
    const LsTensorGroup *groups = (const LsTensorGroup *)(void *)lanes->groups->data;
    guint first = maker->rows->len;
    bool headed = is_headed(&groups[g]);
    if (headed) {
        g_autofree char *label = format_group(maker->model, lanes, &groups[g]);
        LsRow *row = add_row(maker, LS_ROW_GROUP, LS_NONE, 0, label);
        if (row) {
            row->note = groups[g].bytes > 0 ? ls_format_bytes(groups[g].bytes) : NULL;
            row->lane_of = g;
        }
    }
    for (uint32_t i = 0; i < groups[g].n_lanes; i++)
        add_lane(maker, lanes, groups[g].first_lane + i);
    g_array_index(maker->rows, LsRow, first).first =
        maker->fold < LS_FOLD_BAND && (headed || g == 0 || is_headed(&groups[g - 1]));
    if (headed || (g + 1 < lanes->groups->len && is_headed(&groups[g + 1])))
        maker->y += GAP[maker->fold];
}

static void
add_tensor_rows(Maker *maker, const LsTensorLanes *lanes)
{
    maker->rank = maker->view->tensor_rank;
    if (maker->rank < maker->model->n_ranks && maker->model->rank[maker->rank].n_marks > 0) {
        LsFold fold = maker->fold;
        maker->fold = LS_FOLD_OPEN;
        add_row(maker, LS_ROW_CYCLES, LS_NONE, 0, "cycles")->first = true;
        maker->fold = fold;
        maker->y += 4;
    }
    guint n = lanes->lanes->len;
    for (guint i = 0; i < n && lanes->groups->len == 0; i++)
        add_lane(maker, lanes, i);
    for (guint g = 0; g < lanes->groups->len; g++)
        add_group(maker, lanes, g);
}

GArray *
ls_rows_new(const LsModel *model, const LsView *view, const LsTensorLanes *lanes)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(LsRow));
    g_array_set_clear_func(rows, clear_row);
    Maker maker = {model, view, rows, 0, view->fold, LS_NONE};
    if (view->mode == LS_VIEW_TENSORS && lanes) {
        add_tensor_rows(&maker, lanes);
    }
    if (view->mode == LS_VIEW_RANKS)
        add_run_power_rows(&maker);
    if (view->mode == LS_VIEW_RANKS)
        for (uint32_t i = 0; i < view->n_ranks; i++)
            if (view->shown[view->order[i]])
                add_rank(&maker, view->order[i]);
    return rows;
}

void
ls_row_set_note(LsRow *row, const LsModel *model, const LsView *view)
{
    if (row->kind == LS_ROW_GROUP || !row->first || row->rank == LS_NONE ||
        view->mode != LS_VIEW_RANKS)
        return;
    g_clear_pointer(&row->note, g_free);
    row->alarm = false;
    if (!model->rank[row->rank].has_spans) {
        row->note = g_strdup("not recorded");
        return;
    }
    LsRankNote note = ls_model_get_note(model, row->rank, view->start_ns, view->end_ns);
    if (!note.placed) {
        row->note = g_strdup("clock unknown");
        return;
    }
    /* Being last now and then is chance; in half of the buffers or more, with several ranks, it is
     * not. */
    if (note.buffers > 0 && note.last * 2 >= note.buffers) {
        row->alarm = true;
        row->note = g_strdup_printf("last in %u of %u", note.last, note.buffers);
    } else if (note.wait_ns > 0) {
        g_autofree char *time = ls_format_ns(note.wait_ns);
        row->note = g_strdup_printf("waits %s", time);
    }
}

double
ls_rows_get_height(const GArray *rows)
{
    if (rows->len == 0)
        return 0;
    const LsRow *last = &g_array_index(rows, LsRow, rows->len - 1);
    return last->y + last->height + GAP[LS_FOLD_OPEN];
}

int
ls_rows_find(const GArray *rows, double y)
{
    guint low = 0, high = rows->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const LsRow *row = &g_array_index(rows, LsRow, middle);
        if (row->y + row->height <= y)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= rows->len || g_array_index(rows, LsRow, low).y > y)
        return -1;
    return (int)low;
}
