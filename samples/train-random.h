/* SPDX-License-Identifier: Apache-2.0
 * samples/train-random.h: numbers that only look random, the same everywhere. */
#pragma once

#include <stdint.h>

/* SplitMix64 (Steele et al., 2014). */
uint64_t random_next(uint64_t *state);
/* In [0, 1). */
double random_unit(uint64_t *state);
/* Of mean 0 and deviation 1: the sum of twelve, less six. */
double random_normal(uint64_t *state);
