/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/squeeze.h: lossy codes of float32 values, and what they leave out.
 *
 * onebit (Seide et al., 2014; the code of DoubleSqueeze, Tang et al., ICML 2019): signs, and the
 * mean of the absolute values. topk: the largest values as they are, with their places. Values go
 * in pieces of LS_SQUEEZE_PIECE, each with a mean, or a share, of its own: a code's length depends
 * on the count alone, so that every rank knows it. Libc only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LS_SQUEEZE_PIECE 65536
/* No code is longer than that for each value. */
#define LS_SQUEEZE_BYTES_MAX 6

typedef enum LsSqueezeKind { LS_SQUEEZE_ONEBIT, LS_SQUEEZE_TOPK } LsSqueezeKind;

typedef struct LsSqueeze {
    LsSqueezeKind kind;
    int permille; /* topk: of the values, at least one of a piece */
} LsSqueeze;

size_t ls_squeeze_bytes(const LsSqueeze *squeeze, int64_t count);
/* Writes the code, and leaves in `values` what it does not hold: code + values is what values were.
 * What is not finite is passed on and leaves nothing. */
void ls_squeeze(const LsSqueeze *squeeze, float *values, int64_t count, uint8_t *code);
/* Adds factor times what the code holds. */
void ls_unsqueeze(const LsSqueeze *squeeze, const uint8_t *code, int64_t count, float factor,
                  float *sums);
