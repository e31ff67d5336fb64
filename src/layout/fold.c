/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding: the cost of a lane is its columns, not its spans. Edges are rounded to device pixels. A
 * span of at least a pixel is an item of its own; smaller ones are summed per column through the
 * busy pyramid, and the column keeps how much of it they fill and their strongest role. The time of
 * all items together is the lane's busy time within the range, exactly.
 */
#include "layout/fold.h"

#include <math.h>

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
ls_scale_set_edges(LsScale *scale, GArray *edges)
{
    g_array_set_size(edges, (guint)scale->width + 1);
    for (int32_t x = 0; x <= scale->width; x++)
        g_array_index(edges, int64_t, x) = ls_scale_get_time(scale, x);
    scale->edges = (const int64_t *)(void *)edges->data;
}

bool
ls_fold_make_item(const LsScale *scale, int64_t start_ns, int64_t end_ns, LsItem *ret_item)
{
    int64_t start = MAX(start_ns, scale->start_ns), end = MIN(end_ns, scale->end_ns);
    if (start >= scale->end_ns || end < scale->start_ns || end_ns < start_ns ||
        (end == scale->start_ns && end > start_ns))
        return false;
    int32_t x0 = MIN(ls_scale_get_x(scale, start), scale->width - 1);
    int32_t x1 = MIN(MAX(ls_scale_get_x(scale, end), x0 + 1), scale->width);
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

static uint8_t
get_share(const LsScale *scale, int64_t busy_ns)
{
    double steps = (double)busy_ns * scale->px_per_ns * SHARE_STEPS;
    int step = steps >= SHARE_STEPS ? SHARE_STEPS : (int)steps + 1;
    return (uint8_t)(MIN(step, SHARE_STEPS) * 255 / SHARE_STEPS);
}

typedef struct Folder {
    const LsScale *scale;
    const LsBusy *busy;
    LsItem *items; /* of this lane; there is room for one a column */
    size_t n;
    int32_t next;  /* the first column not yet taken */
    LsBusySum sum; /* of a column; all 0 between columns */
} Folder;

/* What finds no column of its own (rounding) goes to the item before. */
static bool
add_to_last(Folder *folder, size_t n, int64_t busy_ns)
{
    if (folder->n == 0)
        return false;
    LsItem *last = &folder->items[folder->n - 1];
    last->count += (uint32_t)n;
    last->busy_ns += busy_ns;
    return true;
}

static void
add_span(Folder *folder, size_t span, int64_t start_ns, int64_t end_ns)
{
    LsItem item;
    if (!ls_fold_make_item(folder->scale, start_ns, end_ns, &item))
        return;
    item.x0 = (uint16_t)MAX(item.x0, folder->next);
    if (item.x1 <= item.x0) {
        add_to_last(folder, 1, item.busy_ns);
        return;
    }
    item.ref = (uint32_t)span;
    item.role = ls_busy_get_category(folder->busy, span);
    folder->items[folder->n++] = item;
    folder->next = item.x1;
}

static void
add_column(Folder *folder, int32_t x, size_t span, const LsBusySum *sum)
{
    if (x >= folder->scale->width) {
        add_to_last(folder, sum->n, sum->busy_ns);
        return;
    }
    uint8_t role = ls_busy_sum_get_strongest(sum);
    uint8_t share = get_share(folder->scale, sum->busy_ns);
    LsItem *last = folder->n > 0 ? &folder->items[folder->n - 1] : NULL;
    folder->next = x + 1;
    if (last && (last->flags & LS_ITEM_FOLDED) && last->x1 == x && last->role == role &&
        last->share == share) {
        last->x1++;
        last->count += (uint32_t)sum->n;
        last->busy_ns += sum->busy_ns;
        return;
    }
    folder->items[folder->n++] = (LsItem){
        .x0 = (uint16_t)x,
        .x1 = (uint16_t)(x + 1),
        .ref = (uint32_t)span,
        .count = (uint32_t)sum->n,
        .busy_ns = sum->busy_ns,
        .role = role,
        .share = share,
        .flags = sum->n > 1 || share < 255 ? LS_ITEM_FOLDED : 0,
    };
}

/* Sums the spans of the column in which `span` begins; returns the first span after it. */
static size_t
fold_column(Folder *folder, size_t span, int64_t start, int64_t long_ns)
{
    const LsScale *scale = folder->scale;
    int32_t x = folder->next;
    /* In a dense lane it is the next column: a look into the table instead of a chain of
     * conversions. */
    if (!scale->edges || x >= scale->width || start >= scale->edges[x + 1])
        x = MAX((int32_t)get_x(scale, MAX(start, scale->start_ns)), x); /* a floor: not negative */
    int64_t edge =
        scale->edges && x < scale->width ? scale->edges[x + 1] : ls_scale_get_time(scale, x + 1);
    int64_t until = MIN(MAX(edge, start + 1), scale->end_ns);
    LsBusySum *sum = &folder->sum;
    size_t next = ls_busy_sum(folder->busy, span, until, scale->end_ns, long_ns, sum);
    int64_t before = MAX(scale->start_ns - start, 0);
    if (before > 0) { /* it reaches in from the left */
        sum->busy_ns -= before;
        sum->by_category[ls_busy_get_category(folder->busy, span)] -= before;
    }
    add_column(folder, x, span, sum);
    for (uint32_t left = sum->used; left; left &= left - 1)
        sum->by_category[__builtin_ctz(left)] = 0;
    sum->n = 0;
    sum->busy_ns = 0;
    sum->used = 0;
    return next;
}

void
ls_fold_lane(const LsScale *scale, const LsBusy *busy, GArray *items)
{
    guint first = items->len;
    g_array_set_size(items, first + (guint)scale->width + 1);
    Folder folder = {scale, busy, &g_array_index(items, LsItem, first), 0, 0, {0}};
    int64_t long_ns = MAX((int64_t)ceil(1 / scale->px_per_ns), 1);
    size_t n = ls_busy_get_n(busy), span = ls_busy_find(busy, scale->start_ns);
    while (span < n) {
        int64_t start;
        bool is_long = ls_busy_is_long(busy, span, long_ns, &start);
        if (start >= scale->end_ns)
            break;
        if (is_long) {
            add_span(&folder, span, start, ls_busy_get_end(busy, span));
            span++;
        } else {
            span = fold_column(&folder, span, start, long_ns);
        }
    }
    g_array_set_size(items, first + (guint)folder.n);
}
