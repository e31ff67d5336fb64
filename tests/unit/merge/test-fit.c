/* SPDX-License-Identifier: Apache-2.0
 * Gates around a known difference of clocks: the map passes them and its bound holds. */
#include "merge/fit.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)

/* offset(t) of a clock that is off by `offset`, drifts, and whose rate swings with a period of 20 s
 * or changes at `slew_at`. */
typedef struct Truth {
    int64_t offset_ns, slew_at_ns;
    double ppm, swing_ppb, slew_ppm;
} Truth;

static int64_t
get_offset(const Truth *truth, int64_t t)
{
    double swing_ns = truth->swing_ppb * 1e-9 * 20e9 / (2 * G_PI);
    double slewed_ns = t > truth->slew_at_ns ? (double)(t - truth->slew_at_ns) : 0;

    return truth->offset_ns +
           (int64_t)llround((double)t * truth->ppm * 1e-6 + slewed_ns * truth->slew_ppm * 1e-6 +
                            swing_ns * sin(2 * G_PI * (double)t / 20e9));
}

/* n gates over [0, last], true ones: each side away by a random share of `wide`. */
static LsGate *
make_gates(const Truth *truth, GRand *rand, size_t n, int64_t last_ns, double wide_ns)
{
    LsGate *gates = g_new(LsGate, n);

    for (size_t i = 0; i < n; i++) {
        int64_t at_ns = (int64_t)(g_rand_double(rand) * (double)last_ns);
        int64_t offset_ns = get_offset(truth, at_ns);

        gates[i] = (LsGate){at_ns, offset_ns - (int64_t)(g_rand_double(rand) * wide_ns),
                            offset_ns + (int64_t)(g_rand_double(rand) * wide_ns), LS_GATE_NO_GUESS};
    }
    return gates;
}

/* The largest error over the recording; asserts that it is within the bound everywhere, which is
 * said as well. */
static int64_t
check_map(const LsClockmap *map, const Truth *truth, int64_t last_ns, int64_t *ret_bound_ns)
{
    int64_t worst_ns = 0;

    for (int64_t t = 0; t <= last_ns; t += last_ns / 997) {
        int64_t error_ns = ABS(ls_clockmap_map(map, t) - t - get_offset(truth, t));

        g_assert_cmpint(error_ns, <=, ls_clockmap_get_bound_ns(map, t));
        worst_ns = MAX(worst_ns, error_ns);
    }
    *ret_bound_ns = ls_clockmap_get_worst_ns(map, 0, last_ns);
    return worst_ns;
}

static void
test_even(void)
{
    for (guint32 seed = 0; seed < 100; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Truth truth = {g_rand_int_range(rand, -1000000000, 1000000000), 0,
                       g_rand_double_range(rand, -200, 200), 0, 0};
        size_t n = (size_t)g_rand_int_range(rand, 2, 400), contradictions = 1;
        g_autofree LsGate *gates = make_gates(&truth, rand, n, 10 * SECOND, 20000);
        g_autoptr(LsClockmap) map = ls_fit_gates(gates, n, 0, 10 * SECOND, &contradictions, NULL);
        int64_t bound_ns;

        g_assert_nonnull(map);
        g_assert_cmpuint(contradictions, ==, 0);
        check_map(map, &truth, 10 * SECOND, &bound_ns);
        g_assert_cmpint(bound_ns, <=, n < 100 ? INT64_MAX : 20000);
    }
}

/* The rate swings by 0.4 ppm within seconds and gates are so narrow that it shows. */
static void
test_wander(void)
{
    for (guint32 seed = 0; seed < 100; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Truth truth = {12345, 0, 30, 400, 0};
        size_t contradictions;
        g_autofree LsGate *gates = make_gates(&truth, rand, 3000, 60 * SECOND, 100);
        g_autoptr(LsClockmap) map =
            ls_fit_gates(gates, 3000, 0, 60 * SECOND, &contradictions, NULL);
        int64_t bound_ns;

        check_map(map, &truth, 60 * SECOND, &bound_ns);
        g_assert_cmpint(bound_ns, <, 15000);
    }
}

/* NTP begins to slew by 40 ppm: one line does not pass, two do. */
static void
test_slew(void)
{
    int64_t worst_ns = 0;

    for (guint32 seed = 0; seed < 100; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Truth truth = {0, 7 * SECOND + g_rand_int_range(rand, 0, 1000000000), 10, 0, 40};
        size_t contradictions;
        g_autofree LsGate *gates = make_gates(&truth, rand, 2000, 20 * SECOND, 20000);
        g_autoptr(LsClockmap) map =
            ls_fit_gates(gates, 2000, 0, 20 * SECOND, &contradictions, NULL);
        int64_t bound_ns;

        check_map(map, &truth, 20 * SECOND, &bound_ns);
        worst_ns = MAX(worst_ns, bound_ns);
    }
    g_test_message("worst bound %" G_GINT64_FORMAT " ns", worst_ns);
    g_assert_cmpint(worst_ns, <, 100000);
}

/* A few gates that are not true (another collective's) are left out and counted. */
static void
test_contradictions(void)
{
    for (guint32 seed = 0; seed < 100; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Truth truth = {-5000, 0, 80, 0, 0};
        size_t contradictions;
        g_autofree LsGate *gates = make_gates(&truth, rand, 500, 10 * SECOND, 10000);
        g_autoptr(LsClockmap) map = NULL;
        int64_t bound_ns;

        for (int i = 0; i < 3; i++) {
            gates[100 * (i + 1)].low_ns += 3000000;
            gates[100 * (i + 1)].high_ns += 3050000;
        }
        map = ls_fit_gates(gates, 500, 0, 10 * SECOND, &contradictions, NULL);
        g_assert_cmpuint(contradictions, ==, 3);
        check_map(map, &truth, 10 * SECOND, &bound_ns);
    }
}

/* The guesses are off the middle, and right to 50 ns: they decide the map, not its bound. */
static void
test_guesses(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    Truth truth = {777, 0, -60, 0, 0};
    size_t contradictions;
    g_autofree LsGate *gates = make_gates(&truth, rand, 500, 10 * SECOND, 1000);
    g_autoptr(LsClockmap) map = NULL;
    int64_t bound_ns;

    for (int i = 0; i < 500; i++) {
        gates[i].low_ns -= 100;
        gates[i].high_ns += 20000;
        gates[i].guess_ns = get_offset(&truth, gates[i].at_ns) + g_rand_int_range(rand, -50, 50);
    }
    map = ls_fit_gates(gates, 500, 0, 10 * SECOND, &contradictions, NULL);
    g_assert_cmpint(check_map(map, &truth, 10 * SECOND, &bound_ns), <, 1500);
    g_assert_cmpint(bound_ns, >, 15000);
}

static void
test_open(void)
{
    LsGate gates[40];
    g_autoptr(GError) error = NULL;
    size_t contradictions;

    for (int i = 0; i < 40; i++)
        gates[i] = (LsGate){i * 10000000, 5000, LS_GATE_OPEN_HIGH, LS_GATE_NO_GUESS};
    g_assert_null(ls_fit_gates(gates, 40, 0, SECOND, &contradictions, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_UNALIGNED);
    g_clear_error(&error);
    g_assert_null(ls_fit_gates(gates, 0, 0, SECOND, &contradictions, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_UNALIGNED);
}

/* One reading: true there, and less and less so away from it, as clocks may drift by 500 ppm; half
 * as much again is kept in reserve. */
static void
test_single(void)
{
    LsGate gate = {SECOND, 90, 110, LS_GATE_NO_GUESS};
    size_t contradictions;
    g_autoptr(LsClockmap) map = ls_fit_gates(&gate, 1, 0, 3 * SECOND, &contradictions, NULL);

    g_assert_cmpint(ls_clockmap_map(map, SECOND), ==, SECOND + 100);
    g_assert_cmpint(ls_clockmap_get_bound_ns(map, 3 * SECOND), >=, 1000000);
    g_assert_cmpint(ls_clockmap_get_bound_ns(map, 3 * SECOND), <=, 1600000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/fit/even-clocks", test_even);
    g_test_add_func("/merge/fit/rate-that-swings", test_wander);
    g_test_add_func("/merge/fit/rate-that-changes", test_slew);
    g_test_add_func("/merge/fit/false-gates-are-left-out", test_contradictions);
    g_test_add_func("/merge/fit/guesses-decide-within-the-bound", test_guesses);
    g_test_add_func("/merge/fit/one-side-only-is-refused", test_open);
    g_test_add_func("/merge/fit/one-gate", test_single);
    return g_test_run();
}
