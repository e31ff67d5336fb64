/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of time against bitmaps: random sets over 256 units of time, each operation compared unit by
 * unit with the same operation on bits, and the form (sorted, disjoint, not touching) checked.
 */
#include "index/intervals.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define UNITS 256

typedef struct Sample {
    LsIntervals set;
    bool bits[UNITS];
} Sample;

static void
sample_init(Sample *sample, GRand *random)
{
    int n = g_rand_int_range(random, 0, 24);
    LsInterval items[24];

    memset(sample->bits, 0, sizeof sample->bits);
    for (int i = 0; i < n; i++) {
        int start = g_rand_int_range(random, 0, UNITS), length = g_rand_int_range(random, -3, 30);

        items[i] = (LsInterval){start, MIN(start + length, UNITS)};
        for (int t = start; t < items[i].end_ns; t++)
            sample->bits[t] = true;
    }
    sample->set = ls_intervals_union_of(items, (size_t)n);
}

static void
assert_form(const LsIntervals *set)
{
    for (size_t i = 0; i < set->n; i++) {
        g_assert_cmpint(set->items[i].start_ns, <, set->items[i].end_ns);
        if (i > 0)
            g_assert_cmpint(set->items[i - 1].end_ns, <, set->items[i].start_ns);
    }
}

static void
assert_bits(LsIntervals set, const bool bits[UNITS])
{
    bool found[UNITS] = {false};
    int64_t length = 0;

    assert_form(&set);
    for (size_t i = 0; i < set.n; i++)
        for (int64_t t = set.items[i].start_ns; t < set.items[i].end_ns; t++)
            found[t] = true;
    g_assert_cmpmem(found, sizeof found, bits, sizeof found);
    for (int t = 0; t < UNITS; t++)
        length += bits[t];
    g_assert_cmpint(ls_intervals_length(&set), ==, length);
    ls_intervals_clear(&set);
    g_assert_cmpuint(set.n, ==, 0);
}

static void
check_pair(const Sample *a, const Sample *b)
{
    bool either[UNITS], both[UNITS], only[UNITS];

    for (int t = 0; t < UNITS; t++) {
        either[t] = a->bits[t] || b->bits[t];
        both[t] = a->bits[t] && b->bits[t];
        only[t] = a->bits[t] && !b->bits[t];
    }
    assert_bits(ls_intervals_union(&a->set, &b->set), either);
    assert_bits(ls_intervals_intersect(&a->set, &b->set), both);
    assert_bits(ls_intervals_subtract(&a->set, &b->set), only);
}

static void
check_within(const Sample *a, int start, int end)
{
    int64_t length = 0;

    for (int t = start; t < end; t++)
        length += a->bits[t];
    g_assert_cmpint(ls_intervals_length_within(&a->set, start, end), ==, length);
}

static void
test_like_bitmaps(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(20261129);

    for (int round = 0; round < 4000; round++) {
        Sample a, b;

        sample_init(&a, random);
        sample_init(&b, random);
        check_pair(&a, &b);
        check_within(&a, g_rand_int_range(random, 0, UNITS), g_rand_int_range(random, 0, UNITS));
        assert_bits(a.set, a.bits);
        assert_bits(b.set, b.bits);
    }
}

static void
test_touching_joins(void)
{
    const LsInterval items[] = {{20, 30}, {0, 10}, {10, 20}, {40, 40}, {50, 45}};
    LsIntervals set = ls_intervals_union_of(items, G_N_ELEMENTS(items));

    g_assert_cmpuint(set.n, ==, 1);
    g_assert_cmpint(set.items[0].start_ns, ==, 0);
    g_assert_cmpint(set.items[0].end_ns, ==, 30);
    ls_intervals_clear(&set);
}

static void
test_far_times(void)
{
    const LsInterval items[] = {{INT64_MIN / 2, -5}, {INT64_MAX / 2 - 3, INT64_MAX / 2}};
    LsIntervals set = ls_intervals_union_of(items, G_N_ELEMENTS(items));

    g_assert_cmpint(ls_intervals_length_within(&set, INT64_MAX / 2 - 2, INT64_MAX), ==, 2);
    g_assert_cmpint(ls_intervals_length_within(&set, INT64_MIN, INT64_MIN / 2 + 7), ==, 7);
    ls_intervals_clear(&set);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/intervals/operations-agree-with-bitmaps", test_like_bitmaps);
    g_test_add_func("/index/intervals/touching-intervals-are-one", test_touching_joins);
    g_test_add_func("/index/intervals/far-times-do-not-overflow", test_far_times);
    return g_test_run();
}
