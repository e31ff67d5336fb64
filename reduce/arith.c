/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/arith.c: 16-bit floats by their bits (IEEE 754 binary16; bfloat16 is the upper half of a
 * binary32), and the loops of the rows in arith.h.
 */
#include "reduce/arith.h"

#include <string.h>

static uint32_t
bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float
float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float
ls_float16_load(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t rest = (uint32_t)(bits & 0x7fffu) << 13;
    if (rest >= 0x7c00u << 13) /* infinity, NaN */
        return float_of(sign | 0x7f800000u | (rest & 0x007fffffu));
    /* As a binary32 the exponent is 112 too small; the product sets it right, subnormals too. */
    return float_of(sign | bits_of(float_of(rest) * 0x1p112f));
}

uint16_t
ls_float16_store(float value)
{
    uint32_t bits = bits_of(value);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) /* NaN stays one: set its quiet bit */
        return (uint16_t)(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
    if (bits >= 0x477ff000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (bits < 0x38800000u) { /* below 2^-14: the sum with 0.5 rounds at the right place */
        uint32_t rounded = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
        return (uint16_t)(sign | rounded);
    }
    bits += 0xfffu + ((bits >> 13) & 1u);
    return (uint16_t)(sign | ((bits - 0x38000000u) >> 13));
}

float
ls_bfloat16_load(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t
ls_bfloat16_store(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* NaN if either is: a comparison with NaN is false. */
#define LS_MIN_NAN(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define LS_MAX_NAN(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

#define LS_ARITH_DEFINE(DTYPE, OP, name, element, load, store, expression)                         \
    void ls_arith_##name(const void *in, void *inout, size_t count)                                \
    {                                                                                              \
        const element *from = in;                                                                  \
        element *to = inout;                                                                       \
        for (size_t i = 0; i < count; i++) {                                                       \
            __auto_type a = load(from[i]);                                                         \
            __auto_type b = load(to[i]);                                                           \
            to[i] = store(expression);                                                             \
        }                                                                                          \
    }
LS_ARITH_ROWS(LS_ARITH_DEFINE)

/* Only the table below calls them. */
#define LS_ARITH_DEFINE_STATIC(...) static LS_ARITH_DEFINE(__VA_ARGS__)
LS_ARITH_PLAIN_ROWS(LS_ARITH_DEFINE_STATIC)

static const LsCombine combines[][LOCKSTEP_PRODUCT + 1] = {
#define LS_ARITH_ROW(DTYPE, OP, name, element, load, store, expression)                            \
    [LOCKSTEP_##DTYPE][LOCKSTEP_##OP] = ls_arith_##name,
    LS_ARITH_ROWS(LS_ARITH_ROW) LS_ARITH_PLAIN_ROWS(LS_ARITH_ROW)
#undef LS_ARITH_ROW
};

LsCombine
ls_arith_find(lockstep_dtype dtype, lockstep_op op)
{
    return combines[dtype][op == LOCKSTEP_AVERAGE ? LOCKSTEP_SUM : op];
}
