/* SPDX-License-Identifier: Apache-2.0
 * trace/sort.h: the order of rows by key, as a permutation. Stable. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* order[i]: index of the row that comes i-th when sorted by (major, minor) rising; NULL where the
 * rows are in that order already. major may be NULL. Caller frees. */
uint32_t *ls_sort_order(const uint32_t *major, const int64_t *minor, size_t n);

/* The inverse: where row i went. */
uint32_t *ls_sort_inverse(const uint32_t *order, size_t n);
