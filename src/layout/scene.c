/* SPDX-License-Identifier: Apache-2.0
 *
 * One view laid out. Rows are kept while what they depend on stays (mode, folding, filter, order);
 * items are made anew for the rows in sight alone.
 */
#include "layout/scene.h"

#include <stdio.h>
#include <string.h>

#include "layout/scene-private.h"

enum { STORED_TEXT = 1u << 31 }; /* a text of the scene's own, else a string of the trace */

typedef struct LsSceneInside {
    LsScene scene; /* first: the public part */
    LsTensorLanes *lanes;
    GArray *scratch, *edges, *columns;
    bool made;
    bool same_cells; /* the overview of the view before is that of this one */
} LsSceneInside;

uint32_t
ls_scene_add_text(LsScene *scene, const char *text)
{
    size_t at = scene->texts->len;
    g_string_append_len(scene->texts, text, (gssize)strlen(text) + 1);
    return (uint32_t)at | STORED_TEXT;
}

const char *
ls_scene_get_text(const LsScene *scene, uint32_t text)
{
    if (text & STORED_TEXT)
        return scene->texts->str + (text & ~STORED_TEXT);
    return ls_trace_get_string(scene->model->trace, text);
}

LsScene *
ls_scene_new(const LsModel *model)
{
    LsSceneInside *inside = g_new0(LsSceneInside, 1);
    LsScene *scene = &inside->scene;
    scene->model = model;
    scene->rows = g_array_new(FALSE, FALSE, sizeof(LsRow));
    scene->items = g_array_new(FALSE, FALSE, sizeof(LsItem));
    scene->ticks = g_array_new(FALSE, FALSE, sizeof(LsTick));
    scene->points = g_array_new(FALSE, FALSE, sizeof(LsPoint));
    scene->pills = g_array_new(FALSE, FALSE, sizeof(LsPill));
    scene->lines = g_array_new(FALSE, FALSE, sizeof(LsLine));
    scene->ruler = g_array_new(FALSE, FALSE, sizeof(LsRulerTick));
    scene->step_bars = g_array_new(FALSE, FALSE, sizeof(LsStepBar));
    scene->legend = g_array_new(FALSE, FALSE, sizeof(LsLegend));
    scene->overview.x_ticks = g_array_new(FALSE, FALSE, sizeof(LsRulerTick));
    scene->overview.y_ticks = g_array_new(FALSE, FALSE, sizeof(LsRulerTick));
    scene->texts = g_string_new(NULL);
    inside->scratch = g_array_new(FALSE, FALSE, sizeof(LsItem));
    inside->edges = g_array_new(FALSE, FALSE, sizeof(int64_t));
    inside->columns = g_array_new(FALSE, FALSE, sizeof(LsBusyColumn));
    return scene;
}

void
ls_scene_free(LsScene *scene)
{
    if (!scene)
        return;
    LsSceneInside *inside = (LsSceneInside *)scene;
    GArray *arrays[] = {scene->rows,
                        scene->items,
                        scene->ticks,
                        scene->points,
                        scene->pills,
                        scene->lines,
                        scene->ruler,
                        scene->step_bars,
                        scene->legend,
                        scene->overview.x_ticks,
                        scene->overview.y_ticks};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_free(scene->overview.cells);
    g_string_free(scene->texts, TRUE);
    ls_tensor_lanes_free(inside->lanes);
    g_array_unref(inside->scratch);
    g_array_unref(inside->edges);
    g_array_unref(inside->columns);
    ls_view_clear(&scene->view);
    g_free(inside);
}

/* Whether the rows of both views are the same. */
static bool
has_same_rows(const LsView *a, const LsView *b)
{
    size_t n = a->n_ranks;
    if (a->mode != b->mode || a->fold != b->fold || a->stretch != b->stretch || n != b->n_ranks)
        return false;
    if (a->mode == LS_VIEW_TENSORS)
        return a->tensor_rank == b->tensor_rank && a->order_start_ns == b->order_start_ns &&
               a->order_end_ns == b->order_end_ns;
    return n == 0 || (memcmp(a->order, b->order, n * sizeof *a->order) == 0 &&
                      memcmp(a->shown, b->shown, n * sizeof *a->shown) == 0 &&
                      memcmp(a->folds, b->folds, n * sizeof *a->folds) == 0);
}

static void
update_rows(LsSceneInside *inside, const LsView *view)
{
    LsScene *scene = &inside->scene;
    const LsView *before = &scene->view;
    bool same_rows = inside->made && has_same_rows(before, view);
    inside->same_cells =
        same_rows && before->width == view->width && before->height == view->height;
    if (same_rows)
        return;
    g_clear_pointer(&inside->lanes, ls_tensor_lanes_free);
    if (view->mode == LS_VIEW_TENSORS)
        inside->lanes = ls_tensor_lanes_new(scene->model, view);
    g_array_unref(scene->rows);
    scene->rows = ls_rows_new(scene->model, view, inside->lanes);
    scene->content_height = ls_rows_get_height(scene->rows);
    inside->made = true;
}

static void
clear_parts(LsScene *scene)
{
    g_array_set_size(scene->items, 0);
    g_array_set_size(scene->ticks, 0);
    g_array_set_size(scene->points, 0);
    g_array_set_size(scene->pills, 0);
    g_array_set_size(scene->lines, 0);
    g_array_set_size(scene->ruler, 0);
    g_array_set_size(scene->step_bars, 0);
    g_array_set_size(scene->legend, 0);
    g_string_truncate(scene->texts, 0);
    scene->ruler_label[0] = scene->steps_label[0] = 0;
}

/* What all items of the row have in common; they are in the cache now. */
static void
look_at_items(LsMaking *making, LsRow *row)
{
    const LsItem *items = &g_array_index(making->scene->items, LsItem, row->first_item);
    uint64_t seen = 0;
    unsigned flags = 0, forms = 0, least = 255;
    uint32_t text = 0;
    for (size_t i = 0; i < row->n_items; i++) {
        seen |= ls_legend_get_bit(items[i].role, items[i].form);
        flags |= items[i].flags;
        forms |= 1u << items[i].form;
        text |= items[i].text;
        least = MIN(least, items[i].share);
    }
    making->seen |= seen;
    row->even = !(flags & LS_ITEM_THIN) && !(forms & 1u << LS_FORM_HATCHED) &&
                (row->kind != LS_ROW_BAND || least == 255);
    row->edged = text != 0 || (flags & LS_ITEM_OPEN) || (forms & 1u << LS_FORM_STRONG);
    row->selected = flags & LS_ITEM_SELECTED;
}

static void
add_row(LsMaking *making, uint32_t index)
{
    LsRow *row = &g_array_index(making->scene->rows, LsRow, index);
    guint first = making->scene->items->len;
    switch (row->kind) {
    case LS_ROW_RANK:
        ls_making_add_rank_steps(making, row);
        break;
    case LS_ROW_BAND:
        ls_making_add_band(making, row);
        break;
    case LS_ROW_SPANS:
        ls_making_add_spans(making, row);
        break;
    case LS_ROW_COMMUNICATION:
        ls_making_add_communication(making, row);
        break;
    case LS_ROW_CYCLES:
        ls_making_add_cycles(making, row, index);
        break;
    case LS_ROW_COUNTER:
        ls_making_add_counter(making, row, index);
        break;
    case LS_ROW_TENSOR:
        ls_making_add_tensor(making, row, index);
        break;
    case LS_ROW_READY:
        ls_making_add_ready(making, row, index);
        break;
    case LS_ROW_GROUP:
        break;
    }
    ls_row_set_note(row, making->model, making->view);
    row->first_item = first;
    row->n_items = making->scene->items->len - first;
    look_at_items(making, row);
}

static void
add_rows_in_sight(LsMaking *making)
{
    LsScene *scene = making->scene;
    double top = making->view->scroll_y, bottom = top + making->view->height;
    for (guint i = 0; i < scene->rows->len; i++) {
        LsRow *row = &g_array_index(scene->rows, LsRow, i);
        row->first_item = row->n_items = 0;
        if (row->y + row->height > top && row->y < bottom)
            add_row(making, i);
    }
}

static bool
sees_many_steps(const LsModel *model, const LsView *view)
{
    size_t n = 0;
    int64_t range = view->end_ns - view->start_ns;
    for (size_t i = 0; i < model->n_steps && n < 2; i++) {
        int64_t from = MAX(model->steps[i].start_ns, view->start_ns);
        int64_t to = MIN(model->steps[i].end_ns, view->end_ns);
        n +=
            to - from > range / 8 || to - from == model->steps[i].end_ns - model->steps[i].start_ns;
    }
    return n > 1;
}

static void
make_banner(LsScene *scene)
{
    const LsModel *model = scene->model;
    scene->banner[0] = 0;
    for (size_t r = 0; r < model->n_ranks; r++)
        if (model->ranks[r].test_double) {
            g_strlcpy(scene->banner, "CPU test double: its times are never a result",
                      sizeof scene->banner);
            return;
        }
}

void
ls_scene_update(LsScene *scene, const LsView *view)
{
    LsSceneInside *inside = (LsSceneInside *)scene;
    update_rows(inside, view);
    ls_view_copy(&scene->view, view);
    clear_parts(scene);
    LsMaking making = {
        .scene = scene,
        .model = scene->model,
        .view = &scene->view,
        .scale = ls_scale_new(&scene->view),
        .lanes = inside->lanes,
        .scratch = inside->scratch,
        .many_steps = sees_many_steps(scene->model, view),
    };
    ls_scale_set_edges(&making.scale, inside->edges, inside->columns);
    ls_making_add_step_lines(&making);
    add_rows_in_sight(&making);
    if (view->mode == LS_VIEW_TENSORS)
        ls_making_add_agreed(&making);
    if (!inside->same_cells)
        ls_making_add_overview(&making);
    ls_making_add_ruler(&making);
    ls_making_add_step_bars(&making);
    ls_making_add_legend(&making);
    make_banner(scene);
}

const LsRow *
ls_scene_get_row(const LsScene *scene, size_t row)
{
    return row < scene->rows->len ? &g_array_index(scene->rows, LsRow, row) : NULL;
}

size_t
ls_scene_get_n_rows(const LsScene *scene)
{
    return scene->rows->len;
}
