/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding: the cost of a lane is its columns, not its spans. Edges are rounded to device pixels. A
 * span of at least a pixel is an item of its own; smaller ones are summed per column through the
 * busy pyramid, and the column keeps how much of it they fill and their strongest role. The time of
 * all items together is the lane's busy time within the range, exactly.
 */
#include "layout/fold.h"

#include <math.h>

enum { SHARE_STEPS = 12 }; /* columns whose shares differ less are alike */

LsScale
ls_scale_new(const LsView *view)
{
    double width = MIN(floor(view->width * view->scale), 32767);
    return (LsScale){
        .start_ns = view->start_ns,
        .end_ns = view->end_ns,
        .px_per_ns = width / (double)(view->end_ns - view->start_ns),
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
    return (int32_t)CLAMP(floor(get_x(scale, time_ns) + 0.5), -1e6, 1e6);
}

int64_t
ls_scale_get_time(const LsScale *scale, int32_t x)
{
    return scale->start_ns + (int64_t)llround((double)x / scale->px_per_ns);
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
    double share = (double)busy_ns * scale->px_per_ns;
    double step = ceil(CLAMP(share, 0, 1) * SHARE_STEPS);
    return (uint8_t)(MAX(step, 1) * 255 / SHARE_STEPS);
}

typedef struct Folder {
    const LsScale *scale;
    const LsBusy *busy;
    GArray *items;
    guint first;  /* of this lane's items */
    int32_t next; /* the first column not yet taken */
} Folder;

/* What finds no column of its own (rounding) goes to the item before. */
static bool
add_to_last(Folder *folder, size_t n, int64_t busy_ns)
{
    if (folder->items->len == folder->first)
        return false;
    LsItem *last = &g_array_index(folder->items, LsItem, folder->items->len - 1);
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
    if (item.x0 < folder->next)
        item.x0 = (uint16_t)MIN(folder->next, folder->scale->width);
    if (item.x1 <= item.x0) {
        if (add_to_last(folder, 1, item.busy_ns))
            return;
        item.x1 = (uint16_t)(item.x0 + 1);
    }
    item.ref = (uint32_t)span;
    item.role = ls_busy_get_category(folder->busy, span);
    g_array_append_val(folder->items, item);
    folder->next = item.x1;
}

static void
add_column(Folder *folder, int32_t x, size_t span, const LsBusySum *sum)
{
    if (x >= folder->scale->width && add_to_last(folder, sum->n, sum->busy_ns))
        return;
    x = MIN(x, folder->scale->width - 1);
    uint8_t role = ls_busy_sum_get_strongest(sum);
    uint8_t share = get_share(folder->scale, sum->busy_ns);
    folder->next = x + 1;
    if (folder->items->len > folder->first) {
        LsItem *last = &g_array_index(folder->items, LsItem, folder->items->len - 1);
        if ((last->flags & LS_ITEM_FOLDED) && last->x1 == x && last->role == role &&
            last->share == share) {
            last->x1++;
            last->count += (uint32_t)sum->n;
            last->busy_ns += sum->busy_ns;
            return;
        }
    }
    LsItem item = {
        .x0 = (uint16_t)x,
        .x1 = (uint16_t)(x + 1),
        .ref = (uint32_t)span,
        .count = (uint32_t)sum->n,
        .busy_ns = sum->busy_ns,
        .role = role,
        .share = share,
        .flags = sum->n > 1 ? LS_ITEM_FOLDED : 0,
    };
    if (sum->n == 1 && share < 255)
        item.flags = LS_ITEM_FOLDED;
    g_array_append_val(folder->items, item);
}

/* Sums the spans of the column in which `span` begins; returns the first span after it. */
static size_t
fold_column(Folder *folder, size_t span, int64_t long_ns)
{
    const LsScale *scale = folder->scale;
    int64_t start = ls_busy_get_start(folder->busy, span);
    int32_t x = (int32_t)floor(get_x(scale, MAX(start, scale->start_ns)));
    x = MAX(x, folder->next);
    int64_t until = MIN(MAX(ls_scale_get_time(scale, x + 1), start + 1), scale->end_ns);
    LsBusySum sum = {0};
    size_t next = ls_busy_sum(folder->busy, span, until, scale->end_ns, long_ns, &sum);
    int64_t before = MAX(scale->start_ns - start, 0);
    if (before > 0) { /* it reaches in from the left */
        sum.busy_ns -= before;
        sum.by_category[ls_busy_get_category(folder->busy, span)] -= before;
    }
    add_column(folder, x, span, &sum);
    return next;
}

void
ls_fold_lane(const LsScale *scale, const LsBusy *busy, GArray *items)
{
    Folder folder = {scale, busy, items, items->len, 0};
    int64_t long_ns = MAX((int64_t)ceil(1 / scale->px_per_ns), 1);
    size_t n = ls_busy_get_n(busy), span = ls_busy_find(busy, scale->start_ns);
    while (span < n && ls_busy_get_start(busy, span) < scale->end_ns) {
        int64_t start = ls_busy_get_start(busy, span), end = ls_busy_get_end(busy, span);
        if (end - start >= long_ns) {
            add_span(&folder, span, start, end);
            span++;
        } else {
            span = fold_column(&folder, span, long_ns);
        }
    }
}
