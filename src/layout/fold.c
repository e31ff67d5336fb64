/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding: the cost of a lane is its columns, not its spans. Edges are rounded to device pixels. A
 * span of at least a pixel is an item of its own; smaller ones are summed per column through the
 * busy pyramid, and the column keeps how much of it they fill and their strongest role. The time of
 * all items together is the lane's busy time within the range, exactly.
 */
#include "layout/fold.h"

#include <math.h>

#include "index/spans.h"

/* Columns whose shares differ less than a step are alike. */
enum { SHARE_STEPS = LS_ITEM_SHARE_STEPS };

LsScale
ls_scale_new(const LsView *view)
{
    double width = MIN(floor(view->width * view->scale), 32767);
    return (LsScale){
        .start_ns = view->start_ns,
        .end_ns = view->end_ns,
        .px_per_ns = width / (double)(view->end_ns - view->start_ns),
        .ns_per_px = (double)(view->end_ns - view->start_ns) / width,
        .width = (int32_t)width,
    };
}

static double
get_x(const LsScale *scale, int64_t time_ns)
{
    return (double)(time_ns - scale->start_ns) * scale->px_per_ns;
}

int32_t
ls_scale_get_x(const LsScale *scale, int64_t time_ns)
{
    return (int32_t)(CLAMP(get_x(scale, time_ns), -1e6, 1e6) + (1e6 + 0.5)) - 1000000;
}

int64_t
ls_scale_get_time(const LsScale *scale, int32_t x)
{
    return scale->start_ns + (int64_t)((double)x * scale->ns_per_px + 0.5);
}

void
ls_scale_set_edges(LsScale *scale, GArray *edges, GArray *columns)
{
    g_array_set_size(columns, (guint)scale->width);
    scale->columns = (LsBusyColumn *)(void *)columns->data;
    g_array_set_size(edges, (guint)scale->width + 1);
    for (int32_t x = 0; x < scale->width; x++)
        g_array_index(edges, int64_t, x) = ls_scale_get_time(scale, x);
    g_array_index(edges, int64_t, scale->width) = scale->end_ns;
    scale->edges = (const int64_t *)(void *)edges->data;
}

bool
ls_fold_make_item(const LsScale *scale, int64_t start_ns, int64_t end_ns, LsItem *ret_item)
{
    int64_t start = MAX(start_ns, scale->start_ns), end = MIN(end_ns, scale->end_ns);
    if (start >= scale->end_ns || end < scale->start_ns || end_ns < start_ns ||
        (end == scale->start_ns && end > start_ns))
        return false;
    int32_t x0 = MIN((int32_t)(get_x(scale, start) + 0.5), scale->width - 1);
    int32_t x1 = MIN(MAX((int32_t)(get_x(scale, end) + 0.5), x0 + 1), scale->width);
    *ret_item = (LsItem){
        .x0 = (uint16_t)x0,
        .x1 = (uint16_t)x1,
        .count = 1,
        .busy_ns = MAX(end - start, 0),
        .share = 255,
        .ref = LS_NONE,
    };
    return true;
}

/* In steps, 1 to SHARE_STEPS: of `steps_per_ns` in a pixel. */
static uint8_t
get_share(double steps_per_ns, int64_t busy_ns)
{
    int step = (int)((double)busy_ns * steps_per_ns) + 1;
    return (uint8_t)(MIN(step, SHARE_STEPS) * 255 / SHARE_STEPS);
}

typedef struct Folder {
    const LsScale *scale;
    const LsBusy *busy;
    LsItem *items; /* of this lane; there is room for one a column */
    size_t n;
    int32_t next; /* the first column not yet taken */
} Folder;

/* What finds no column of its own (rounding) goes to the item before. */
static void
add_to_last(Folder *folder, size_t n, int64_t busy_ns)
{
    if (folder->n == 0)
        return;
    LsItem *last = &folder->items[folder->n - 1];
    last->count += (uint32_t)n;
    last->busy_ns += busy_ns;
}

/* Made where it stays: a copy of what was just written by parts waits for them. */
static void
add_span(Folder *folder, size_t span)
{
    LsItem *item = &folder->items[folder->n];
    if (!ls_fold_make_item(folder->scale, ls_busy_get_start(folder->busy, span),
                           ls_busy_get_end(folder->busy, span), item))
        return;
    if (item->x1 <= folder->next) {
        add_to_last(folder, 1, item->busy_ns);
        return;
    }
    item->x0 = (uint16_t)MAX(item->x0, folder->next);
    item->ref = (uint32_t)span;
    item->role = ls_busy_get_category(folder->busy, span);
    folder->next = item->x1;
    folder->n++;
}

/* A column as an item; like ones side by side are one. */
static inline void
add_column(Folder *folder, const LsBusyColumn *c, double steps_per_ns)
{
    LsItem *item = &folder->items[folder->n], *last = item - 1;
    uint8_t share = get_share(steps_per_ns, c->busy_ns);
    folder->next = c->x + 1;
    if (folder->n > 0 && last->x1 == c->x && last->share == share && last->role == c->category &&
        (last->flags & LS_ITEM_FOLDED)) {
        last->x1++;
        last->count += (uint32_t)c->n;
        last->busy_ns += c->busy_ns;
        return;
    }
    folder->n++;
    *item = (LsItem){
        .x0 = (uint16_t)c->x,
        .x1 = (uint16_t)(c->x + 1),
        .ref = (uint32_t)c->first,
        .count = (uint32_t)c->n,
        .busy_ns = c->busy_ns,
        .role = c->category,
        .share = share,
        .flags = c->n > 1 || share < 255 ? LS_ITEM_FOLDED : 0,
    };
}

/* Behind the last column, by rounding: its spans that begin before the range ends. */
static size_t
add_rest(Folder *folder, size_t span, size_t to, int64_t long_ns)
{
    LsBusySum sum = {0};
    int64_t end = folder->scale->end_ns;
    size_t next = ls_busy_sum(folder->busy, span, end, end, long_ns, &sum);
    add_to_last(folder, sum.n, sum.busy_ns);
    return next > span ? next : to;
}

static void
fold_columns(Folder *folder, const LsBusyColumns *columns, size_t from, size_t to)
{
    const LsBusy *busy = folder->busy;
    LsBusyColumn *found = folder->scale->columns;
    double steps_per_ns = folder->scale->px_per_ns * SHARE_STEPS;
    for (size_t span = from, n; span < to;) {
        int64_t start = ls_busy_get_start(busy, span);
        if (ls_busy_get_end(busy, span) - start >= columns->long_ns) {
            add_span(folder, span++);
        } else if (folder->next >= columns->width) {
            span = add_rest(folder, span, to, columns->long_ns);
        } else {
            span = ls_busy_sum_columns(busy, columns, span, to, folder->next, found, &n);
            for (size_t i = 0; i < n; i++)
                add_column(folder, &found[i], steps_per_ns);
        }
    }
}

void
ls_fold_lane(const LsScale *scale, const LsBusy *busy, GArray *items)
{
    guint first = items->len;
    size_t room = (size_t)scale->width + 1;
    size_t span = ls_busy_find(busy, scale->start_ns), to = ls_busy_find(busy, scale->end_ns);
    if (to < ls_busy_get_n(busy) && ls_busy_get_start(busy, to) < scale->end_ns)
        to++;
    if (span >= to)
        return;
    g_array_set_size(items, first + (guint)room);
    Folder folder = {scale, busy, &g_array_index(items, LsItem, first), 0, 0};
    LsBusyColumns columns = {.edges = scale->edges,
                             .width = scale->width,
                             .long_ns = MAX((int64_t)ceil(1 / scale->px_per_ns), 1)};
    ls_busy_choose_levels(busy, span, to, &columns);
    fold_columns(&folder, &columns, span, to);
    g_array_set_size(items, first + (guint)folder.n);
}

bool
ls_fold_is_under(const LsTrack *track, uint32_t lane, int64_t start_ns, int64_t end_ns)
{
    size_t first, last;
    if (lane + 1 >= track->n_lanes)
        return false;
    ls_spans_find_range(&track->lanes[lane + 1], start_ns, end_ns, &first, &last);
    return last > first;
}
