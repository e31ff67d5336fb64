/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/reduce/test-arith.c: 16-bit floats against their definition, every one of them;
 * averages against wider arithmetic. */
#include "reduce/arith.h"
#include "reduce/average.h"

#include <glib.h>

#include <math.h>
#include <string.h>

typedef struct Half {
    int exponent_bits, mantissa_bits;
    float (*load)(uint16_t bits);
    uint16_t (*store)(float value);
} Half;

static const Half float16 = {5, 10, ls_float16_load, ls_float16_store};
static const Half bfloat16 = {8, 7, ls_bfloat16_load, ls_bfloat16_store};

/* The value by IEEE 754's definition. */
static double
define(const Half *half, unsigned bits)
{
    int bias = (1 << (half->exponent_bits - 1)) - 1, top = (1 << half->exponent_bits) - 1;
    int exponent = (int)(bits >> half->mantissa_bits) & top;
    double mantissa = bits & ((1u << half->mantissa_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1, one = 1 << half->mantissa_bits;
    if (exponent == top)
        return mantissa > 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - half->mantissa_bits);
    return sign * ldexp(one + mantissa, exponent - bias - half->mantissa_bits);
}

static void
test_load(gconstpointer data)
{
    const Half *half = data;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        double expected = define(half, bits), got = half->load((uint16_t)bits);
        if (isnan(expected) ? !isnan(got) : got != expected || signbit(got) != signbit(expected))
            g_error("%04x: %g, expected %g", bits, got, expected);
    }
}

/* Each value stores as itself; between two neighbours the nearer one, in the middle the even one.
 */
static void
test_store(gconstpointer data)
{
    const Half *half = data;
    unsigned infinity = ((1u << half->exponent_bits) - 1) << half->mantissa_bits;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        float value = half->load((uint16_t)bits);
        uint16_t stored = half->store(value);
        if (isnan(value))
            g_assert_true(isnan(half->load(stored)));
        else
            g_assert_cmphex(stored, ==, bits);
    }
    for (unsigned bits = 0; bits + 1 < infinity; bits++) {
        float low = half->load((uint16_t)bits), high = half->load((uint16_t)(bits + 1));
        float middle = low + (high - low) / 2;
        g_assert_cmphex(half->store(middle), ==, bits % 2 == 0 ? bits : bits + 1);
        g_assert_cmphex(half->store(nextafterf(middle, low)), ==, bits);
        g_assert_cmphex(half->store(nextafterf(middle, high)), ==, bits + 1);
        g_assert_cmphex(half->store(-middle), ==, (bits % 2 == 0 ? bits : bits + 1) | 0x8000);
    }
    /* Past the largest: half a step and more is infinity. */
    double largest = define(half, infinity - 1), step = largest - define(half, infinity - 2);
    g_assert_cmphex(half->store((float)(largest + step / 2)), ==, infinity);
    g_assert_cmphex(half->store(nextafterf((float)(largest + step / 2), 0)), ==, infinity - 1);
    g_assert_cmphex(half->store(INFINITY), ==, infinity);
}

static void
test_combine(void)
{
    uint16_t in[3] = {ls_float16_store(3), 0x7e00, 0x7c00}, inout[3] = {ls_float16_store(-5), 0, 0};
    ls_arith_float16_min(in, inout, 3);
    g_assert_cmphex(inout[0], ==, ls_float16_store(-5));
    g_assert_true(isnan(ls_float16_load(inout[1])));
    g_assert_cmphex(inout[2], ==, 0);
    float singles[2] = {NAN, 1}, others[2] = {2, NAN};
    ls_arith_float32_max(singles, others, 2);
    g_assert_true(isnan(others[0]) && isnan(others[1]));
    int8_t a = -128, b = -27;
    ls_arith_int8_sum(&a, &b, 1);
    g_assert_cmpint(b, ==, 101);
    uint16_t big = 0x7bff, sum = 0x7bff; /* 65504 twice */
    ls_arith_float16_sum(&big, &sum, 1);
    g_assert_cmphex(sum, ==, 0x7c00);
}

/* Random values of ranks, through the wide sum, against __int128. */
static void
test_average_integers(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int round = 0; round < 20000; round++) {
        int ranks = g_rand_int_range(random, 1, 9);
        int64_t wide[2] = {0, 0}, result;
        __int128 sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            int64_t value = (int64_t)((guint64)g_rand_int(random) << 32 | g_rand_int(random));
            int64_t part[2];
            if (round % 3 == 0)
                value >>= 60;
            ls_average_widen(LOCKSTEP_INT64, &value, part, 1, ranks);
            wide[0] += part[0];
            wide[1] += part[1];
            sum += value;
        }
        ls_average_narrow(LOCKSTEP_INT64, wide, &result, 1, ranks);
        g_assert_cmpint(result, ==, (int64_t)(sum / ranks));
    }
    int8_t least = -128, average;
    int64_t wide;
    ls_average_widen(LOCKSTEP_INT8, &least, &wide, 1, 3);
    wide *= 3;
    ls_average_narrow(LOCKSTEP_INT8, &wide, &average, 1, 3);
    g_assert_cmpint(average, ==, -128);
    wide = -7;
    ls_average_narrow(LOCKSTEP_INT8, &wide, &average, 1, 2);
    g_assert_cmpint(average, ==, -3); /* toward zero */
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/reduce/arith/float16-load", &float16, test_load);
    g_test_add_data_func("/reduce/arith/float16-store", &float16, test_store);
    g_test_add_data_func("/reduce/arith/bfloat16-load", &bfloat16, test_load);
    g_test_add_data_func("/reduce/arith/bfloat16-store", &bfloat16, test_store);
    g_test_add_func("/reduce/arith/combine", test_combine);
    g_test_add_func("/reduce/arith/average-integers", test_average_integers);
    return g_test_run();
}
