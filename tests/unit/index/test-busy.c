/* SPDX-License-Identifier: Apache-2.0
 *
 * The pyramid against a look at each span; a counter's least and most against a look at each
 * sample.
 */
#include "index/busy.h"
#include "index/series.h"

enum { N = 5000 };

typedef struct Lane {
    int64_t start_ns[N], end_ns[N];
    uint8_t category[N];
    LsSpans spans;
    LsBusy *busy;
} Lane;

static Lane *
make_lane(uint32_t seed)
{
    Lane *lane = g_new0(Lane, 1);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
        at += g_rand_int_range(random, 0, 50);
        lane->start_ns[i] = at;
        at += g_rand_int_range(random, 0, i % 100 == 0 ? 5000 : 60);
        lane->end_ns[i] = at;
        lane->category[i] = (uint8_t)g_rand_int_range(random, 0, LS_BUSY_CATEGORIES);
    }
    lane->spans = (LsSpans){.n = N, .start_ns = lane->start_ns, .end_ns = lane->end_ns};
    lane->busy = ls_busy_new(&lane->spans, lane->category);
    return lane;
}

static void
free_lane(Lane *lane)
{
    ls_busy_free(lane->busy);
    g_free(lane);
}

static void
test_within(void)
{
    Lane *lane = make_lane(1);
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    for (int round = 0; round < 2000; round++) {
        int64_t start = g_rand_int_range(random, -100, (gint32)lane->end_ns[N - 1]);
        int64_t end = start + g_rand_int_range(random, 0, round % 2 ? 300 : 100000), truth = 0;
        for (int i = 0; i < N; i++)
            truth += MAX(MIN(lane->end_ns[i], end) - MAX(lane->start_ns[i], start), 0);
        g_assert_cmpint(ls_busy_get_within(lane->busy, start, end), ==, truth);
    }
    free_lane(lane);
}

/* Whatever the columns, every span is in one of them, and stands before the first long one. */
static void
test_sum(void)
{
    Lane *lane = make_lane(3);
    for (int64_t step = 7; step < 40000; step *= 3) {
        size_t i = 0;
        int64_t total = 0, truth = 0;
        while (i < N) {
            LsBusySum sum = {0};
            int64_t until = lane->start_ns[i] + step, by_category = 0;
            size_t next = ls_busy_sum(lane->busy, i, until, INT64_MAX, step, &sum);
            g_assert_cmpuint(sum.n, ==, next - i);
            for (int c = 0; c < LS_BUSY_CATEGORIES; c++)
                by_category += sum.by_category[c];
            g_assert_cmpint(by_category, ==, sum.busy_ns);
            for (size_t k = i; k < next; k++) {
                g_assert_cmpint(lane->end_ns[k] - lane->start_ns[k], <, step);
                g_assert_cmpint(lane->start_ns[k], <, until + step / 2);
            }
            total += sum.busy_ns;
            if (next < N && lane->start_ns[next] < until)
                g_assert_cmpint(lane->end_ns[next] - lane->start_ns[next], >=, step);
            if (next == i) { /* a long one: a run of its own */
                total += lane->end_ns[i] - lane->start_ns[i];
                next++;
            }
            i = next;
        }
        for (int k = 0; k < N; k++)
            truth += lane->end_ns[k] - lane->start_ns[k];
        g_assert_cmpint(total, ==, truth);
    }
    free_lane(lane);
}

/* A lane of one category and no long span, whose columns are read from cells: none of its time or
 * spans is lost, and up to any edge what was summed is what lies before it, but for a part of a
 * column. A gap of a third, in which no column is. */
static void
test_even(void)
{
    enum { WIDTH = 200 };
    Lane *lane = g_new0(Lane, 1);
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    int64_t at = 1000, edges[WIDTH + 1];
    for (int i = 0; i < N; i++) {
        at += g_rand_int_range(random, 0, 100) + (i == N / 2 ? 300000 : 0);
        lane->start_ns[i] = at;
        at += g_rand_int_range(random, 20, 140);
        lane->end_ns[i] = at;
        lane->category[i] = 3;
    }
    lane->spans = (LsSpans){.n = N, .start_ns = lane->start_ns, .end_ns = lane->end_ns};
    lane->busy = ls_busy_new(&lane->spans, lane->category);
    for (int x = 0; x <= WIDTH; x++)
        edges[x] = 1000 + (at - 1000) * x / WIDTH;
    LsBusyColumns columns = {.edges = edges, .width = WIDTH, .long_ns = (at - 1000) / WIDTH};
    LsBusyColumn found[WIDTH];
    size_t n = 0, spans = 0;
    int64_t sum_ns = 0;
    ls_busy_choose_levels(lane->busy, 0, N, &columns);
    g_assert_cmpint(columns.cell_level, >=, 0);
    g_assert_cmpuint(ls_busy_sum_columns(lane->busy, &columns, 0, N, 0, found, &n), ==, N);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpuint(found[i].first, ==, spans);
        g_assert_cmpuint(found[i].category, ==, 3);
        g_assert_cmpint(found[i].x, >, i == 0 ? -1 : found[i - 1].x);
        spans += found[i].n;
        sum_ns += found[i].busy_ns;
        int64_t truth = ls_busy_get_within(lane->busy, 0, edges[found[i].x + 1]);
        g_assert_cmpint(ABS(sum_ns - truth), <=, columns.long_ns / 4);
    }
    g_assert_cmpuint(spans, ==, N);
    g_assert_cmpint(sum_ns, ==, ls_busy_get_within(lane->busy, 0, at));
    g_assert_cmpuint(n, <, WIDTH * 3 / 4);
    free_lane(lane);
}

static void
test_empty(void)
{
    LsSpans none = {0};
    LsBusy *busy = ls_busy_new(&none, NULL);
    g_assert_cmpuint(ls_busy_find(busy, 0), ==, 0);
    g_assert_cmpint(ls_busy_get_within(busy, 0, 100), ==, 0);
    ls_busy_free(busy);
    busy = ls_busy_new_of_intervals(NULL);
    g_assert_cmpint(ls_busy_get_within(busy, 0, 100), ==, 0);
    ls_busy_free(busy);
}

static void
test_series(void)
{
    g_autofree LsSample *samples = g_new(LsSample, N);
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    for (int i = 0; i < N; i++)
        samples[i] = (LsSample){i * 10, g_rand_double(random), g_rand_int_range(random, 0, 4) > 0};
    LsSeries *series = ls_series_new(samples, N);
    for (int round = 0; round < 1000; round++) {
        size_t first = (size_t)g_rand_int_range(random, 0, N);
        size_t last = first + (size_t)g_rand_int_range(random, 0, round % 2 ? 5 : N);
        double low = 2, high = -1, found_low, found_high;
        for (size_t i = first; i < MIN(last, N); i++)
            if (samples[i].valid) {
                low = MIN(low, samples[i].value);
                high = MAX(high, samples[i].value);
            }
        bool found = ls_series_get_range(series, first, last, &found_low, &found_high);
        g_assert_cmpint(found, ==, low <= high);
        if (found) {
            g_assert_cmpfloat(found_low, ==, low);
            g_assert_cmpfloat(found_high, ==, high);
        }
    }
    g_assert_cmpuint(ls_series_find(series, 25), ==, 3);
    ls_series_free(series);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/busy/time-within-any-range-is-exact", test_within);
    g_test_add_func("/index/busy/columns-hold-every-span-once", test_sum);
    g_test_add_func("/index/busy/even-columns-are-those-of-the-spans", test_even);
    g_test_add_func("/index/busy/nothing-is-never-busy", test_empty);
    g_test_add_func("/index/series/least-and-most-are-those-of-the-samples", test_series);
    return g_test_run();
}
