/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/average.h: a sum over ranks divided by their number, for the types whose own sum would
 * overflow or round twice.
 *
 * 8-bit sums overflow with two ranks, so an average is summed in a wider type and divided there:
 * 16-bit floats in float32, integers in int64. An int64 is summed as quotient and remainder by the
 * number of ranks, which never overflows. float32 and float64 are summed as they are.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stddef.h>
#include <stdint.h>

typedef struct LsWide {
    lockstep_dtype dtype; /* summed in */
    size_t per_element;   /* values of it for each element; 0: summed as it is */
} LsWide;

LsWide ls_average_wide(lockstep_dtype dtype);

/* count elements of dtype into wide, count * per_element values. */
void ls_average_widen(lockstep_dtype dtype, const void *from, void *wide, size_t count, int ranks);
/* The summed values back, divided by ranks; integers truncate toward zero. */
void ls_average_narrow(lockstep_dtype dtype, const void *wide, void *to, size_t count, int ranks);
/* For the types that are summed as they are. */
void ls_average_divide(lockstep_dtype dtype, void *data, size_t count, int ranks);
