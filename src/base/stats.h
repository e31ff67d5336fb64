/* SPDX-License-Identifier: Apache-2.0
 * base/stats.h: sums and ranks of int64 samples, without losing a nanosecond on the way. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The middle value (the lower of two), 0 for none; reorders `values`. */
int64_t ls_stats_median(int64_t *values, size_t n);
/* Median distance of the values from `center`. */
int64_t ls_stats_deviation(const int64_t *values, size_t n, int64_t center);
/* sum / n rounded down, 0 for n = 0: parts of one whole must be divided like the whole. */
int64_t ls_stats_mean(int64_t sum, int64_t n);
