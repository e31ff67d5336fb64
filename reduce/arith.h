/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/arith.h: arithmetic that MPI does not have: float16, bfloat16, a minimum and maximum that
 * let NaN pass, and 8-bit integers that wrap.
 *
 * MPI has no 16-bit floats; its minimum of a number and a NaN is either of them, by order; and Open
 * MPI 4.1 adds 8-bit integers with saturation, whose result depends on the order too.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stddef.h>
#include <stdint.h>

float ls_float16_load(uint16_t bits);
uint16_t ls_float16_store(float value); /* to nearest, ties to even; too large: infinity */
float ls_bfloat16_load(uint16_t bits);
uint16_t ls_bfloat16_store(float value);

/* inout[i] = in[i] op inout[i]; 16-bit floats are computed in float32 and rounded once. */
typedef void (*LsCombine)(const void *in, void *inout, size_t count);

/* Rows of (dtype, op) that need code of our own: SYMBOL of lockstep_dtype, SYMBOL of lockstep_op,
 * name, element, load, store, expression in a and b. */
#define LS_ARITH_ROWS(ROW)                                                                         \
    ROW(FLOAT16, SUM, float16_sum, uint16_t, ls_float16_load, ls_float16_store, a + b)             \
    ROW(FLOAT16, MIN, float16_min, uint16_t, ls_float16_load, ls_float16_store, LS_MIN_NAN(a, b))  \
    ROW(FLOAT16, MAX, float16_max, uint16_t, ls_float16_load, ls_float16_store, LS_MAX_NAN(a, b))  \
    ROW(FLOAT16, PRODUCT, float16_product, uint16_t, ls_float16_load, ls_float16_store, a *b)      \
    ROW(BFLOAT16, SUM, bfloat16_sum, uint16_t, ls_bfloat16_load, ls_bfloat16_store, a + b)         \
    ROW(BFLOAT16, MIN, bfloat16_min, uint16_t, ls_bfloat16_load, ls_bfloat16_store,                \
        LS_MIN_NAN(a, b))                                                                          \
    ROW(BFLOAT16, MAX, bfloat16_max, uint16_t, ls_bfloat16_load, ls_bfloat16_store,                \
        LS_MAX_NAN(a, b))                                                                          \
    ROW(BFLOAT16, PRODUCT, bfloat16_product, uint16_t, ls_bfloat16_load, ls_bfloat16_store, a *b)  \
    ROW(INT8, SUM, int8_sum, int8_t, , (int8_t), a + b)                                            \
    ROW(INT8, PRODUCT, int8_product, int8_t, , (int8_t), a *b)                                     \
    ROW(UINT8, SUM, uint8_sum, uint8_t, , (uint8_t), a + b)                                        \
    ROW(UINT8, PRODUCT, uint8_product, uint8_t, , (uint8_t), a *b)                                 \
    ROW(FLOAT32, MIN, float32_min, float, , , LS_MIN_NAN(a, b))                                    \
    ROW(FLOAT32, MAX, float32_max, float, , , LS_MAX_NAN(a, b))                                    \
    ROW(FLOAT64, MIN, float64_min, double, , , LS_MIN_NAN(a, b))                                   \
    ROW(FLOAT64, MAX, float64_max, double, , , LS_MAX_NAN(a, b))

/* The other rows, which MPI has: for planes that combine by themselves. Sums and products of whole
 * numbers are taken without a sign, so that they wrap. */
#define LS_ARITH_PLAIN_ROWS(ROW)                                                                   \
    ROW(FLOAT32, SUM, float32_sum, float, , , a + b)                                               \
    ROW(FLOAT32, PRODUCT, float32_product, float, , , a *b)                                        \
    ROW(FLOAT64, SUM, float64_sum, double, , , a + b)                                              \
    ROW(FLOAT64, PRODUCT, float64_product, double, , , a *b)                                       \
    ROW(INT8, MIN, int8_min, int8_t, , , a < b ? a : b)                                            \
    ROW(INT8, MAX, int8_max, int8_t, , , a > b ? a : b)                                            \
    ROW(UINT8, MIN, uint8_min, uint8_t, , , a < b ? a : b)                                         \
    ROW(UINT8, MAX, uint8_max, uint8_t, , , a > b ? a : b)                                         \
    ROW(INT32, SUM, int32_sum, uint32_t, , , a + b)                                                \
    ROW(INT32, MIN, int32_min, int32_t, , , a < b ? a : b)                                         \
    ROW(INT32, MAX, int32_max, int32_t, , , a > b ? a : b)                                         \
    ROW(INT32, PRODUCT, int32_product, uint32_t, , , a *b)                                         \
    ROW(INT64, SUM, int64_sum, uint64_t, , , a + b)                                                \
    ROW(INT64, MIN, int64_min, int64_t, , , a < b ? a : b)                                         \
    ROW(INT64, MAX, int64_max, int64_t, , , a > b ? a : b)                                         \
    ROW(INT64, PRODUCT, int64_product, uint64_t, , , a *b)

/* Any type with any operation but AVERAGE, for which it is the sum. */
LsCombine ls_arith_find(lockstep_dtype dtype, lockstep_op op);

#define LS_ARITH_DECLARE(DTYPE, OP, name, element, load, store, expression)                        \
    void ls_arith_##name(const void *in, void *inout, size_t count);
LS_ARITH_ROWS(LS_ARITH_DECLARE)
#undef LS_ARITH_DECLARE
