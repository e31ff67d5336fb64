/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding to pixels: places are exact, columns do not overlap, and no time is lost at any zoom.
 */
#include "layout/fold.h"

#include <math.h>

enum { N = 20000 };

static LsView
make_view(int64_t start_ns, int64_t end_ns, double width, int scale)
{
    return (LsView){
        .start_ns = start_ns, .end_ns = end_ns, .width = width, .height = 100, .scale = scale};
}

static GArray *
fold(const LsView *view, const LsBusy *busy)
{
    LsScale scale = ls_scale_new(view);
    g_autoptr(GArray) edges = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_autoptr(GArray) columns = g_array_new(FALSE, FALSE, sizeof(LsBusyColumn));
    GArray *items = g_array_new(FALSE, FALSE, sizeof(LsItem));
    ls_scale_set_edges(&scale, edges, columns);
    ls_fold_lane(&scale, busy, items);
    return items;
}

static void
test_places(void)
{
    static const int64_t start_ns[] = {0, 100, 250, 999}, end_ns[] = {50, 101, 500, 1200};
    static const struct {
        uint16_t x0, x1;
        int64_t busy_ns;
    } truth[] = {{0, 50, 50}, {100, 101, 1}, {250, 500, 250}, {999, 1000, 1}};
    LsSpans spans = {.n = 4, .start_ns = start_ns, .end_ns = end_ns};
    LsBusy *busy = ls_busy_new(&spans, NULL);
    for (int scale = 1; scale <= 4; scale++) {
        LsView view = make_view(0, 1000, 1000, scale);
        g_autoptr(GArray) items = fold(&view, busy);
        g_assert_cmpuint(items->len, ==, G_N_ELEMENTS(truth));
        for (guint i = 0; i < items->len; i++) {
            const LsItem *item = &g_array_index(items, LsItem, i);
            g_assert_cmpuint(item->x0, ==, truth[i].x0 * scale);
            g_assert_cmpuint(item->x1, ==, truth[i].x1 * scale);
            g_assert_cmpint(item->busy_ns, ==, truth[i].busy_ns);
            g_assert_cmpuint(item->ref, ==, i);
        }
    }
    ls_busy_free(busy);
}

/* A lane by chance: spans of very unequal length. */
static LsBusy *
make_lane(int64_t *start_ns, int64_t *end_ns, uint32_t seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
        at += g_rand_int_range(random, 0, 1000);
        start_ns[i] = at;
        at += g_rand_int_range(random, 1, i % 50 == 0 ? 100000 : 1000);
        end_ns[i] = at;
    }
    LsSpans spans = {.n = N, .start_ns = start_ns, .end_ns = end_ns};
    return ls_busy_new(&spans, NULL);
}

/* Short spans alone, a tenth of the time between them. */
static LsBusy *
make_dense_lane(int64_t *start_ns, int64_t *end_ns)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
        at += g_rand_int_range(random, 0, 200);
        start_ns[i] = at;
        at += g_rand_int_range(random, 800, 1200);
        end_ns[i] = at;
    }
    LsSpans spans = {.n = N, .start_ns = start_ns, .end_ns = end_ns};
    return ls_busy_new(&spans, NULL);
}

static void
check_items(const GArray *items, const LsView *view, const LsBusy *busy)
{
    int64_t total = 0;
    uint32_t end = 0;
    int width = (int)(view->width * view->scale);
    for (guint i = 0; i < items->len; i++) {
        const LsItem *item = &g_array_index(items, LsItem, i);
        g_assert_cmpuint(item->x0, <, item->x1);
        g_assert_cmpuint(item->x0, >=, end);
        g_assert_cmpuint(item->x1, <=, width);
        g_assert_cmpuint(item->share, >, 0);
        end = item->x1;
        total += item->busy_ns;
    }
    g_assert_cmpint(total, ==, ls_busy_get_within(busy, view->start_ns, view->end_ns));
}

static void
test_total(void)
{
    g_autofree int64_t *start_ns = g_new(int64_t, N), *end_ns = g_new(int64_t, N);
    LsBusy *busy = make_lane(start_ns, end_ns, 7);
    g_autoptr(GRand) random = g_rand_new_with_seed(8);
    for (int64_t range = 500; range < 4 * end_ns[N - 1]; range = range * 5 / 3)
        for (int round = 0; round < 8; round++) {
            int64_t start = (int64_t)(g_rand_double(random) * (double)end_ns[N - 1]) - range / 3;
            LsView view = make_view(start, start + range, 700, 1 + round % 3);
            g_autoptr(GArray) items = fold(&view, busy);
            check_items(items, &view, busy);
        }
    ls_busy_free(busy);
}

/* Time of the lane within a column, looked up span by span. */
static int64_t
look_at_column(const LsBusy *busy, const LsScale *scale, int x)
{
    int64_t sum = 0;
    for (size_t i = ls_busy_find(busy, scale->edges[x]);
         i < N && ls_busy_get_start(busy, i) < scale->edges[x + 1]; i++)
        sum += MIN(ls_busy_get_end(busy, i), scale->edges[x + 1]) -
               MAX(ls_busy_get_start(busy, i), scale->edges[x]);
    return sum;
}

/* Dense lanes: up to a column no time strays further than into the next one. */
static void
test_columns(void)
{
    g_autofree int64_t *start_ns = g_new(int64_t, N), *end_ns = g_new(int64_t, N);
    LsBusy *busy = make_dense_lane(start_ns, end_ns);
    for (int width = 50; width < 8000; width = width * 3 / 2) {
        LsView view = make_view(0, end_ns[N - 1], width, 1);
        LsScale scale = ls_scale_new(&view);
        g_autoptr(GArray) edges = g_array_new(FALSE, FALSE, sizeof(int64_t));
        g_autoptr(GArray) columns = g_array_new(FALSE, FALSE, sizeof(LsBusyColumn));
        g_autoptr(GArray) items = fold(&view, busy);
        int64_t behind = 0, px = (int64_t)ceil(scale.ns_per_px);
        ls_scale_set_edges(&scale, edges, columns);
        for (guint i = 0; i < items->len; i++) {
            const LsItem *item = &g_array_index(items, LsItem, i);
            behind += item->busy_ns;
            for (int x = item->x0; x < item->x1; x++)
                behind -= look_at_column(busy, &scale, x);
            g_assert_cmpint(ABS(behind), <=, px / 2);
        }
        g_assert_cmpint(behind, ==, 0);
        check_items(items, &view, busy);
    }
    ls_busy_free(busy);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout/fold/a-nanosecond-a-pixel-is-exact", test_places);
    g_test_add_func("/layout/fold/no-time-is-lost-at-any-zoom", test_total);
    g_test_add_func("/layout/fold/columns-of-dense-lanes-hold-their-own-time", test_columns);
    return g_test_run();
}
