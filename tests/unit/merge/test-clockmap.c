/* SPDX-License-Identifier: Apache-2.0
 * Maps against arithmetic done by hand. */
#include "merge/clockmap.h"

#include "base/error.h"
#include "trace/tables.h"

static const LsKnot drift[] = {
    {0, 1000, 10}, {1000000000, 1000101000, 30}, {2000000000, 2000101000, 20}};

static void
test_two_segments(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(LsClockmap) map = ls_clockmap_new(drift, 3, &error);

    g_assert_no_error(error);
    g_assert_cmpint(ls_clockmap_map(map, 0), ==, 1000);
    g_assert_cmpint(ls_clockmap_map(map, 500000000), ==, 500051000);
    g_assert_cmpint(ls_clockmap_map(map, 1500000000), ==, 1500101000);
    /* Beyond: the nearest slope, 100 ppm before and none after. */
    g_assert_cmpint(ls_clockmap_map(map, -1000000000), ==, -1000099000);
    g_assert_cmpint(ls_clockmap_map(map, 3000000000), ==, 3000101000);
}

static void
test_bound(void)
{
    g_autoptr(LsClockmap) map = ls_clockmap_new(drift, 3, NULL);

    g_assert_cmpint(ls_clockmap_get_bound_ns(map, 0), ==, 10);
    g_assert_cmpint(ls_clockmap_get_bound_ns(map, 500000000), ==, 20);
    g_assert_cmpint(ls_clockmap_get_bound_ns(map, 1000000000), ==, 30);
    /* The last piece, errors of opposite sign: 2 * 20 + 1 * 30. */
    g_assert_cmpint(ls_clockmap_get_bound_ns(map, 3000000000), ==, 70);
    g_assert_cmpint(ls_clockmap_get_worst_ns(map, 0, 2000000000), ==, 30);
    g_assert_cmpint(ls_clockmap_get_worst_ns(map, 0, 3000000000), ==, 70);
}

static void
test_shift(void)
{
    g_autoptr(LsClockmap) map = ls_clockmap_new_shift(-5, 3);

    g_assert_cmpint(ls_clockmap_map(map, INT64_C(2000000000000000000)), ==,
                    INT64_C(1999999999999999995));
    g_assert_cmpint(ls_clockmap_get_bound_ns(map, INT64_C(2000000000000000000)), ==, 3);
}

/* Clocks as far apart as damage can put them: nothing leaves the times that can be, and order is
 * kept. */
static void
test_bounds(void)
{
    const LsKnot knots[] = {{-LS_TIME_MAX, LS_TIME_MAX - 1, LS_TIME_MAX},
                            {LS_TIME_MAX, 3 * LS_TIME_MAX - 1, LS_TIME_MAX}};
    g_autoptr(LsClockmap) map = ls_clockmap_new(knots, 2, NULL);
    g_autoptr(LsClockmap) chain = ls_clockmap_new_chain(map, map);
    const LsClockmap *maps[] = {map, chain};

    for (size_t i = 0; i < G_N_ELEMENTS(maps); i++) {
        g_assert_cmpint(ls_clockmap_map(maps[i], LS_TIME_MAX), ==, LS_TIME_MAX);
        g_assert_cmpint(ls_clockmap_map(maps[i], -LS_TIME_MAX), <=, LS_TIME_MAX);
        g_assert_cmpint(ls_clockmap_get_bound_ns(maps[i], LS_TIME_MAX), <=, LS_TIME_MAX);
        g_assert_cmpint(ls_clockmap_unmap(maps[i], -LS_TIME_MAX), ==, -LS_TIME_MAX);
    }
    g_assert_cmpint(ls_clockmap_map(map, -LS_TIME_MAX), ==, LS_TIME_MAX - 1);
}

static void
test_refuses(void)
{
    const LsKnot fast[] = {{0, 0, 0}, {1000000, 1001001, 0}},
                 fit[] = {{0, 0, 0}, {1000000, 1001000, 0}}, back[] = {{5, 5, 0}, {5, 5, 0}};
    g_autoptr(GError) error = NULL;
    g_autoptr(LsClockmap) map = NULL;

    g_assert_null(ls_clockmap_new(NULL, 0, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_UNALIGNED);
    g_clear_error(&error);
    g_assert_null(ls_clockmap_new(back, 2, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_UNALIGNED);
    g_clear_error(&error);
    g_assert_null(ls_clockmap_new(fast, 2, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_UNALIGNED);
    g_clear_error(&error);
    map = ls_clockmap_new(fit, 2, &error);
    g_assert_no_error(error);
}

/* A map of random knots within 900 ppm of even. */
static LsClockmap *
make_random(GRand *rand, size_t n)
{
    g_autofree LsKnot *knots = g_new(LsKnot, n);

    knots[0] = (LsKnot){g_rand_int_range(rand, -1000000, 1000000),
                        g_rand_int_range(rand, -1000000000, 1000000000), 5};
    for (size_t i = 1; i < n; i++) {
        int64_t run = g_rand_int_range(rand, 10000000, 1000000000);
        int64_t skew = (int64_t)((double)run * g_rand_double_range(rand, -900e-6, 900e-6));

        knots[i] = (LsKnot){knots[i - 1].local_ns + run, knots[i - 1].common_ns + run + skew,
                            g_rand_int_range(rand, 0, 50000)};
    }
    return ls_clockmap_new(knots, n, NULL);
}

static void
test_monotonic(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);

    for (int round = 0; round < 50; round++) {
        g_autoptr(LsClockmap) map = make_random(rand, (size_t)g_rand_int_range(rand, 1, 12));
        int64_t local = -2000000000, before = INT64_MIN;

        for (int i = 0; i < 2000; i++) {
            int64_t common = ls_clockmap_map(map, local);

            g_assert_cmpint(common, >=, before);
            g_assert_cmpint(ABS(ls_clockmap_unmap(map, common) - local), <=, 1);
            before = common;
            local += i % 2 ? 1 : g_rand_int_range(rand, 1, 10000000);
        }
    }
}

static void
test_chain(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(8);

    for (int round = 0; round < 100; round++) {
        g_autoptr(LsClockmap) inner = make_random(rand, (size_t)g_rand_int_range(rand, 1, 6));
        g_autoptr(LsClockmap) outer = make_random(rand, (size_t)g_rand_int_range(rand, 1, 6));
        g_autoptr(LsClockmap) chain = ls_clockmap_new_chain(inner, outer);

        for (int i = 0; i < 200; i++) {
            int64_t local = g_rand_int_range(rand, 0, 2000000000);
            int64_t middle = ls_clockmap_map(inner, local);
            int64_t exact = ls_clockmap_map(outer, middle);
            int64_t bound =
                ls_clockmap_get_bound_ns(inner, local) + ls_clockmap_get_bound_ns(outer, middle);

            /* Knots dropped for lying within 1 ms move a point by 1 ms x 1800 ppm at most. */
            g_assert_cmpint(ABS(ls_clockmap_map(chain, local) - exact), <=, 1800);
            g_assert_cmpint(ls_clockmap_get_bound_ns(chain, local), >=, bound / 2);
        }
    }
}

static void
test_chain_of_shifts_is_exact(void)
{
    g_autoptr(LsClockmap) inner = ls_clockmap_new_shift(INT64_C(1700000000000000001), 4);
    g_autoptr(LsClockmap) outer = ls_clockmap_new_shift(INT64_C(-1700000000000000000), 5);
    g_autoptr(LsClockmap) chain = ls_clockmap_new_chain(inner, outer);

    g_assert_cmpint(ls_clockmap_map(chain, 123456789), ==, 123456790);
    g_assert_cmpint(ls_clockmap_get_bound_ns(chain, INT64_C(1) << 60), ==, 9);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/clockmap/drift-two-segments", test_two_segments);
    g_test_add_func("/merge/clockmap/bound-between-and-beyond", test_bound);
    g_test_add_func("/merge/clockmap/shift-is-exact", test_shift);
    g_test_add_func("/merge/clockmap/times-stay-those-that-can-be", test_bounds);
    g_test_add_func("/merge/clockmap/refuses-what-clocks-cannot-do", test_refuses);
    g_test_add_func("/merge/clockmap/monotonic-and-inverse", test_monotonic);
    g_test_add_func("/merge/clockmap/chain-is-one-after-the-other", test_chain);
    g_test_add_func("/merge/clockmap/chain-of-shifts-is-exact", test_chain_of_shifts_is_exact);
    return g_test_run();
}
