/* SPDX-License-Identifier: Apache-2.0
 *
 * index/series.h: least and most of a counter over any range, without looking at each sample.
 * Immutable once made; any thread. Samples that are not valid are left out.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/track.h"

typedef struct LsSeries LsSeries;

/* The samples, sorted by time, must outlive it. */
LsSeries *ls_series_new(const LsSample *samples, size_t n);
void ls_series_free(LsSeries *series);
/* The first sample not before the time; n if there is none. */
size_t ls_series_find(const LsSeries *series, int64_t time_ns);
/* Least and most of the valid samples [first, last); false: there is none. */
bool ls_series_get_range(const LsSeries *series, size_t first, size_t last, double *ret_low,
                         double *ret_high);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsSeries, ls_series_free)
