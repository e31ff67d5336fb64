/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/replay-data.h: what the tensors of a workload hold, and that it was summed.
 *
 * Every rank's elements are small whole numbers, other ones on other ranks, so that every sum is
 * exact in every type and whoever knows the ranks knows it.
 */
#pragma once

#include "samples/replay-workload.h"

typedef struct TensorData {
    void *input, *output;
} TensorData;

/* One per tensor; inputs are filled. NULL: out of memory. */
TensorData *data_new(const Workload *workload, int rank);
void data_free(TensorData *data, const Workload *workload);
/* Whether the outputs hold the sums over all ranks; if not, the first tensor that does not. Exact
 * up to 85 ranks (bfloat16). */
bool data_check(const TensorData *data, const Workload *workload, int ranks, size_t *ret_tensor);
/* into[i] += from[i]; the 16-bit types, which MPI does not have, by way of float32. */
void data_add(lockstep_dtype dtype, const void *from, void *into, size_t n);
