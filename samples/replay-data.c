/* SPDX-License-Identifier: Apache-2.0
 * samples/replay-data.c: element i of rank r is 1 + (r + i) modulo 3; 16-bit floats by their bits.
 */
#include "samples/replay-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN 3

static float
from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t
to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float
load_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;

    if (rest < 0x400) /* smaller than the least normal number */
        return from_bits(sign | to_bits((float)rest * 0x1p-24f));
    if (rest >= 0x7c00)
        return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return from_bits(sign | ((rest << 13) + 0x38000000));
}

/* To nearest, ties to even. */
static uint16_t
store_half(float value)
{
    uint32_t bits = to_bits(value), rest = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    if (rest > 0x7f800000)
        return sign | 0x7e00;
    if (rest >= 0x477ff000)
        return sign | 0x7c00;
    if (rest < 0x38800000)
        return (uint16_t)(sign | (uint16_t)lrintf(from_bits(rest) * 0x1p24f));
    return (uint16_t)(sign | (rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13);
}

static float
load_bfloat(uint16_t bits)
{
    return from_bits((uint32_t)bits << 16);
}

static uint16_t
store_bfloat(float value)
{
    uint32_t bits = to_bits(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void
data_add(lockstep_dtype dtype, const void *from, void *into, size_t n)
{
    const uint16_t *shorts = from;
    uint16_t *sums = into;

    if (dtype == LOCKSTEP_FLOAT64)
        for (size_t i = 0; i < n; i++)
            ((double *)into)[i] += ((const double *)from)[i];
    else if (dtype == LOCKSTEP_FLOAT32)
        for (size_t i = 0; i < n; i++)
            ((float *)into)[i] += ((const float *)from)[i];
    else if (dtype == LOCKSTEP_FLOAT16)
        for (size_t i = 0; i < n; i++)
            sums[i] = store_half(load_half(sums[i]) + load_half(shorts[i]));
    else
        for (size_t i = 0; i < n; i++)
            sums[i] = store_bfloat(load_bfloat(sums[i]) + load_bfloat(shorts[i]));
}

/* The bytes of one element that is this number. */
static void
encode(lockstep_dtype dtype, int number, void *element)
{
    double wide = number;
    float single = (float)number;
    uint16_t half = dtype == LOCKSTEP_FLOAT16 ? store_half(single) : store_bfloat(single);

    memcpy(element,
           dtype == LOCKSTEP_FLOAT64   ? (const void *)&wide
           : dtype == LOCKSTEP_FLOAT32 ? (const void *)&single
                                       : (const void *)&half,
           workload_get_width(dtype));
}

TensorData *
data_new(const Workload *workload, int rank)
{
    TensorData *data = calloc(workload->n, sizeof *data);

    for (size_t t = 0; data != NULL && t < workload->n; t++) {
        const WorkloadTensor *tensor = &workload->tensors[t];
        size_t width = workload_get_width(tensor->dtype);
        data[t].input = malloc((size_t)tensor->count * width);
        data[t].output = calloc((size_t)tensor->count, width);
        if (data[t].input == NULL || data[t].output == NULL) {
            data_free(data, workload);
            return NULL;
        }
        for (int64_t i = 0; i < tensor->count; i++)
            encode(tensor->dtype, 1 + (int)((rank + i) % PATTERN),
                   (char *)data[t].input + (size_t)i * width);
    }
    return data;
}

void
data_free(TensorData *data, const Workload *workload)
{
    for (size_t t = 0; data != NULL && t < workload->n; t++) {
        free(data[t].input);
        free(data[t].output);
    }
    free(data);
}

bool
data_check(const TensorData *data, const Workload *workload, int ranks, size_t *ret_tensor)
{
    int sums[PATTERN] = {0};

    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < PATTERN; i++)
            sums[i] += 1 + (rank + i) % PATTERN;
    for (size_t t = 0; t < workload->n; t++) {
        const WorkloadTensor *tensor = &workload->tensors[t];
        size_t width = workload_get_width(tensor->dtype);
        char right[PATTERN][sizeof(double)];
        for (int i = 0; i < PATTERN; i++)
            encode(tensor->dtype, sums[i], right[i]);
        for (int64_t i = 0; i < tensor->count; i++)
            if (memcmp((const char *)data[t].output + (size_t)i * width, right[i % PATTERN],
                       width) != 0) {
                *ret_tensor = t;
                return false;
            }
    }
    return true;
}
