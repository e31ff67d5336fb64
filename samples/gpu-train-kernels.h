/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/gpu-train-kernels.h: the kernels of gpu-train: for devices as PTX text, which the driver
 * compiles when it loads it, and their twins on the CPU, which the test double calls by name.
 */
#pragma once

#include <stdint.h>

extern const char gpu_train_ptx[];

#define TWIN __attribute__((visibility("default")))
/* y = x * w; g = y - w; w -= rate * g. n elements. */
TWIN void lockstep_twin_forward(const unsigned grid[3], const unsigned block[3],
                                void *const *params);
TWIN void lockstep_twin_backward(const unsigned grid[3], const unsigned block[3],
                                 void *const *params);
TWIN void lockstep_twin_update(const unsigned grid[3], const unsigned block[3],
                               void *const *params);
