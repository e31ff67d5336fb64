/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/average.c: widening before the sum, division after it.
 */
#include "reduce/average.h"

#include "reduce/arith.h"

LsWide
ls_average_wide(lockstep_dtype dtype)
{
    switch (dtype) {
    case LOCKSTEP_FLOAT16:
    case LOCKSTEP_BFLOAT16:
        return (LsWide){LOCKSTEP_FLOAT32, 1};
    case LOCKSTEP_INT8:
    case LOCKSTEP_UINT8:
    case LOCKSTEP_INT32:
        return (LsWide){LOCKSTEP_INT64, 1};
    case LOCKSTEP_INT64:
        return (LsWide){LOCKSTEP_INT64, 2};
    case LOCKSTEP_FLOAT32:
    case LOCKSTEP_FLOAT64:
        break;
    }
    return (LsWide){dtype, 0};
}

/* SYMBOL, element, value it is summed as, load, store. */
#define WIDE_ROWS(ROW)                                                                             \
    ROW(FLOAT16, uint16_t, float, ls_float16_load, ls_float16_store)                               \
    ROW(BFLOAT16, uint16_t, float, ls_bfloat16_load, ls_bfloat16_store)                            \
    ROW(INT8, int8_t, int64_t, , (int8_t))                                                         \
    ROW(UINT8, uint8_t, int64_t, , (uint8_t))                                                      \
    ROW(INT32, int32_t, int64_t, , (int32_t))

#define WIDEN_CASE(SYMBOL, element, value, load, store)                                            \
    case LOCKSTEP_##SYMBOL:                                                                        \
        for (size_t i = 0; i < count; i++)                                                         \
            ((value *)wide)[i] = load(((const element *)from)[i]);                                 \
        break;

#define NARROW_CASE(SYMBOL, element, value, load, store)                                           \
    case LOCKSTEP_##SYMBOL:                                                                        \
        for (size_t i = 0; i < count; i++)                                                         \
            ((element *)to)[i] = store(((const value *)wide)[i] / (value)ranks);                   \
        break;

static void
widen_int64(const int64_t *from, int64_t *wide, size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++) {
        wide[2 * i] = from[i] / ranks;
        wide[2 * i + 1] = from[i] % ranks;
    }
}

/* The sum is quotient * ranks + remainder; toward zero means that both have one sign. */
static void
narrow_int64(const int64_t *wide, int64_t *to, size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++) {
        int64_t quotient = wide[2 * i] + wide[2 * i + 1] / ranks;
        int64_t remainder = wide[2 * i + 1] % ranks;
        to[i] = quotient - (quotient > 0 && remainder < 0) + (quotient < 0 && remainder > 0);
    }
}

void
ls_average_widen(lockstep_dtype dtype, const void *from, void *wide, size_t count, int ranks)
{
    switch (dtype) {
        WIDE_ROWS(WIDEN_CASE)
    case LOCKSTEP_INT64:
        widen_int64(from, wide, count, ranks);
        break;
    case LOCKSTEP_FLOAT32:
    case LOCKSTEP_FLOAT64:
        break;
    }
}

void
ls_average_narrow(lockstep_dtype dtype, const void *wide, void *to, size_t count, int ranks)
{
    switch (dtype) {
        WIDE_ROWS(NARROW_CASE)
    case LOCKSTEP_INT64:
        narrow_int64(wide, to, count, ranks);
        break;
    case LOCKSTEP_FLOAT32:
    case LOCKSTEP_FLOAT64:
        break;
    }
}

void
ls_average_divide(lockstep_dtype dtype, void *data, size_t count, int ranks)
{
    float *singles = data;
    double *doubles = data;
    for (size_t i = 0; dtype == LOCKSTEP_FLOAT32 && i < count; i++)
        singles[i] /= (float)ranks;
    for (size_t i = 0; dtype == LOCKSTEP_FLOAT64 && i < count; i++)
        doubles[i] /= (double)ranks;
}
