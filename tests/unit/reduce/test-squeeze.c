/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/reduce/test-squeeze.c: code and remainder together are what was; codes have the length
 * that they are said to have; the largest values are those that a sort finds. */
#include "reduce/squeeze.h"

#include <glib.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const LsSqueeze kinds[] = {
    {LS_SQUEEZE_ONEBIT, 0}, {LS_SQUEEZE_TOPK, 1}, {LS_SQUEEZE_TOPK, 100}, {LS_SQUEEZE_TOPK, 1000}};
static const int counts[] = {0, 1, 2, 7, 8, 9, 1000, 65535, 65536, 65537, 200000};

/* Multiples of 1/64 of at most 16 bits, so that sums and differences of few are exact. */
static float *
make_values(int count, guint32 seed)
{
    GRand *random = g_rand_new_with_seed(seed);
    float *values = g_new(float, count + 1);
    for (int i = 0; i < count; i++)
        values[i] = (float)g_rand_int_range(random, -30000, 30000) / 64;
    g_rand_free(random);
    return values;
}

static void
test_nothing_is_lost(void)
{
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
        for (guint c = 0; c < G_N_ELEMENTS(counts); c++) {
            int count = counts[c];
            size_t bytes = ls_squeeze_bytes(&kinds[k], count);
            float *before = make_values(count, 7 + c),
                  *left = g_memdup2(before, 4 * (gsize)count + 4);
            float *held = g_new0(float, count + 1);
            guint8 *code = g_malloc(bytes + 1);
            code[bytes] = 0x5a;
            g_assert_cmpuint(bytes, <=, (guint)count * LS_SQUEEZE_BYTES_MAX);
            ls_squeeze(&kinds[k], left, count, code);
            g_assert_cmpuint(code[bytes], ==, 0x5a);
            ls_unsqueeze(&kinds[k], code, count, 1, held);
            for (int i = 0; i < count; i++)
                g_assert_cmpfloat_with_epsilon(held[i] + left[i], before[i], 1e-3);
            g_free(code);
            g_free(held);
            g_free(left);
            g_free(before);
        }
    }
}

static int
compare_magnitudes(const void *a, const void *b)
{
    float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

static void
test_topk_holds_the_largest(void)
{
    for (guint32 seed = 0; seed < 50; seed++) {
        int count = 1 + (int)(seed * 131 % 3000);
        LsSqueeze squeeze = {LS_SQUEEZE_TOPK, 1 + (int)(seed * 37 % 1000)};
        int kept = MAX(1, count * squeeze.permille / 1000), held = 0;
        float *values = make_values(count, seed), *sorted = g_memdup2(values, 4 * (gsize)count);
        float *sums = g_new0(float, count);
        double in_code = 0, largest = 0;
        guint8 *code = g_malloc(ls_squeeze_bytes(&squeeze, count));
        for (int i = 0; i < count && seed % 2 == 0; i++)
            values[i] = sorted[i] = (float)((i * 7) % 5 - 2); /* many are equal */
        qsort(sorted, (size_t)count, sizeof *sorted, compare_magnitudes);
        ls_squeeze(&squeeze, values, count, code);
        ls_unsqueeze(&squeeze, code, count, 2, sums);
        for (int i = 0; i < count; i++) {
            g_assert_true(sums[i] == 0 || values[i] == 0);
            held += sums[i] != 0;
            in_code += fabsf(sums[i]) / 2;
            largest += i < kept ? fabsf(sorted[i]) : 0;
        }
        g_assert_cmpint(held, <=, kept);
        g_assert_cmpfloat(in_code, ==, largest);
        g_free(code);
        g_free(sums);
        g_free(sorted);
        g_free(values);
    }
}

static void
test_onebit_is_sign_and_mean(void)
{
    float values[] = {1, -2, 3, -6}, sums[4] = {0};
    const float expected[] = {3, -3, 3, -3};
    LsSqueeze squeeze = {LS_SQUEEZE_ONEBIT, 0};
    guint8 code[5];
    g_assert_cmpuint(ls_squeeze_bytes(&squeeze, 4), ==, 5);
    ls_squeeze(&squeeze, values, 4, code);
    ls_unsqueeze(&squeeze, code, 4, 1, sums);
    g_assert_cmpint(code[4], ==, 0xa);
    for (int i = 0; i < 4; i++)
        g_assert_cmpfloat(sums[i], ==, expected[i]);
}

static void
test_what_is_not_finite_leaves_nothing(void)
{
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
        float values[] = {1, -2, k % 2 == 0 ? NAN : INFINITY, 4}, sums[4] = {0};
        guint8 code[24];
        ls_squeeze(&kinds[k], values, 4, code);
        ls_unsqueeze(&kinds[k], code, 4, 1, sums);
        g_assert_false(isfinite(sums[2]));
        for (int i = 0; i < 4; i++)
            g_assert_true(isfinite(values[i]));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/squeeze/nothing-is-lost", test_nothing_is_lost);
    g_test_add_func("/reduce/squeeze/topk-holds-the-largest", test_topk_holds_the_largest);
    g_test_add_func("/reduce/squeeze/onebit-is-sign-and-mean", test_onebit_is_sign_and_mean);
    g_test_add_func("/reduce/squeeze/what-is-not-finite-leaves-nothing",
                    test_what_is_not_finite_leaves_nothing);
    return g_test_run();
}
