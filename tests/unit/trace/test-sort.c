/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of rows, whichever way it is found: by rank, then time, then as they stood.
 */
#include "trace/sort.h"

#include <glib.h>
#include <stdbool.h>

enum { N = 30000 };

static void
check(const uint32_t *ranks, const int64_t *times, size_t n)
{
    g_autofree uint32_t *order = ls_sort_order(ranks, times, n);
    g_autofree bool *seen = g_new0(bool, n);
    for (size_t i = 0; i < n; i++) {
        size_t row = order ? order[i] : i, before = order ? order[MAX(i, 1) - 1] : MAX(i, 1) - 1;
        g_assert_false(seen[row]);
        seen[row] = true;
        if (i == 0)
            continue;
        if (ranks && ranks[before] != ranks[row]) {
            g_assert_cmpuint(ranks[before], <, ranks[row]);
            continue;
        }
        g_assert_cmpint(times[before], <=, times[row]);
        if (times[before] == times[row])
            g_assert_cmpuint(before, <, row);
    }
}

/* Times by chance; of them all but one in `crowd` within a thousandth of the range. */
static int64_t *
make_times(GRand *random, size_t n, int crowd)
{
    int64_t *times = g_new(int64_t, n);
    for (size_t i = 0; i < n; i++) {
        times[i] = (int64_t)(g_rand_double(random) * 1e12);
        if (crowd > 0 && i % (size_t)crowd != 0)
            times[i] = 500000000000 + times[i] / 100000000;
    }
    return times;
}

static void
test_times(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    static const size_t numbers[] = {1, 2, 47, 48, 49, 1000, N};
    static const int crowds[] = {0, 3, 1000};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        for (size_t c = 0; c < G_N_ELEMENTS(crowds); c++) {
            g_autofree int64_t *times = make_times(random, numbers[i], crowds[c]);
            check(NULL, times, numbers[i]);
        }
}

/* Threads that write in turns, each a piece in order: as a trace file has them. */
static void
test_pieces(void)
{
    g_autofree int64_t *times = g_new(int64_t, N);
    for (int64_t i = 0; i < N; i++)
        times[i] = i / 3000 * 1000000 + i % 1000 * 1500 + i / 1000 % 3;
    check(NULL, times, N);
}

static void
test_ranks(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    for (int in_order = 0; in_order < 2; in_order++) {
        g_autofree int64_t *times = make_times(random, N, 0);
        g_autofree uint32_t *ranks = g_new(uint32_t, N);
        for (uint32_t i = 0; i < N; i++)
            ranks[i] = in_order ? i / 1000 : (uint32_t)g_rand_int_range(random, 0, 7);
        check(ranks, times, N);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/sort/times-rise-and-equal-ones-stay", test_times);
    g_test_add_func("/trace/sort/pieces-of-threads-are-merged", test_pieces);
    g_test_add_func("/trace/sort/ranks-come-before-times", test_ranks);
    return g_test_run();
}
