/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/squeeze.c: the codes.
 *
 *   onebit   mean f32, a bit for each value (1: below 0), lowest first
 *   topk     value f32 ... (k), place u16 ... (k), in order of place
 *
 * The k-th largest is found digit by digit: the bits of an absolute value are in the order of the
 * values, NaN last.
 */
#include "reduce/squeeze.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static size_t
kept_of(const LsSqueeze *squeeze, size_t n)
{
    size_t kept = n * (size_t)squeeze->permille / 1000;
    return kept > 0 ? kept : 1;
}

static size_t
piece_bytes(const LsSqueeze *squeeze, size_t n)
{
    if (squeeze->kind == LS_SQUEEZE_ONEBIT)
        return sizeof(float) + (n + 7) / 8;
    return kept_of(squeeze, n) * (sizeof(float) + sizeof(uint16_t));
}

static size_t
piece_of(int64_t left)
{
    return left < LS_SQUEEZE_PIECE ? (size_t)left : LS_SQUEEZE_PIECE;
}

size_t
ls_squeeze_bytes(const LsSqueeze *squeeze, int64_t count)
{
    size_t whole = (size_t)count / LS_SQUEEZE_PIECE, rest = (size_t)count % LS_SQUEEZE_PIECE;
    return whole * piece_bytes(squeeze, LS_SQUEEZE_PIECE) +
           (rest > 0 ? piece_bytes(squeeze, rest) : 0);
}

static void
put_onebit(float *values, size_t n, uint8_t *code)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabsf(values[i]);
    float mean = (float)(sum / (double)n);
    bool finite = isfinite(mean);
    memcpy(code, &mean, sizeof mean);
    code += sizeof mean;
    memset(code, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        bool below = values[i] < 0;
        code[i / 8] |= (uint8_t)(below << i % 8);
        values[i] = finite ? values[i] + (below ? mean : -mean) : 0;
    }
}

static void
add_onebit(const uint8_t *code, size_t n, float factor, float *sums)
{
    float mean;
    memcpy(&mean, code, sizeof mean);
    code += sizeof mean;
    mean *= factor;
    for (size_t i = 0; i < n; i++)
        sums[i] += (code[i / 8] >> i % 8 & 1) != 0 ? -mean : mean;
}

static uint32_t
magnitude_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x7fffffffu;
}

/* The magnitude of the kept-th largest value; *ret_equal: how many that are equal to it are among
 * the kept. */
static uint32_t
find_least(const float *values, size_t n, size_t kept, size_t *ret_equal)
{
    uint32_t least = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint32_t counts[256] = {0};
        uint64_t known = ~(uint64_t)0 << (shift + 8);
        int digit = 255;
        for (size_t i = 0; i < n; i++) {
            uint32_t magnitude = magnitude_of(values[i]);
            if (((magnitude ^ least) & known) == 0)
                counts[magnitude >> shift & 255]++;
        }
        while (digit > 0 && counts[digit] < kept)
            kept -= counts[digit--];
        least |= (uint32_t)digit << shift;
    }
    *ret_equal = kept;
    return least;
}

static void
put_topk(float *values, size_t n, size_t kept, uint8_t *code)
{
    size_t equal, at = 0;
    uint32_t least = find_least(values, n, kept, &equal);
    for (size_t i = 0; i < n && at < kept; i++) {
        uint32_t magnitude = magnitude_of(values[i]);
        uint16_t place = (uint16_t)i;
        if (magnitude < least || (magnitude == least && equal == 0))
            continue;
        equal -= magnitude == least;
        memcpy(code + at * sizeof(float), &values[i], sizeof(float));
        memcpy(code + kept * sizeof(float) + at * sizeof place, &place, sizeof place);
        values[i] = 0;
        at++;
    }
}

/* A place beyond the piece, which no code of ours has, is passed over. */
static void
add_topk(const uint8_t *code, size_t n, size_t kept, float factor, float *sums)
{
    for (size_t k = 0; k < kept; k++) {
        float value;
        uint16_t place;
        memcpy(&value, code + k * sizeof value, sizeof value);
        memcpy(&place, code + kept * sizeof value + k * sizeof place, sizeof place);
        if (place < n)
            sums[place] += factor * value;
    }
}

void
ls_squeeze(const LsSqueeze *squeeze, float *values, int64_t count, uint8_t *code)
{
    for (int64_t at = 0; at < count; at += LS_SQUEEZE_PIECE) {
        size_t n = piece_of(count - at);
        if (squeeze->kind == LS_SQUEEZE_ONEBIT)
            put_onebit(values + at, n, code);
        else
            put_topk(values + at, n, kept_of(squeeze, n), code);
        code += piece_bytes(squeeze, n);
    }
}

void
ls_unsqueeze(const LsSqueeze *squeeze, const uint8_t *code, int64_t count, float factor,
             float *sums)
{
    for (int64_t at = 0; at < count; at += LS_SQUEEZE_PIECE) {
        size_t n = piece_of(count - at);
        if (squeeze->kind == LS_SQUEEZE_ONEBIT)
            add_onebit(code, n, factor, sums + at);
        else
            add_topk(code, n, kept_of(squeeze, n), factor, sums + at);
        code += piece_bytes(squeeze, n);
    }
}
