/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/replay-workload.h: what a training step asks of gradient reduction, read from a file.
 *
 * The file is JSON: {"workload": 1, "name", "source": [sentences], "dtype", "samples",
 * "operations", "input_us", "forward_us", "optimizer_us", "jitter", "slow_ranks": [{"rank", "ms"}],
 * "tensors":
 * [{"name", "layer", "bytes", "backward_us"}]}, the tensors in the order in which backward produces
 * their gradients, each with the time that backward takes to it. A tensor may have a dtype of its
 * own. dtype: float64, float32, float16 or bfloat16. samples/workloads/make.py writes such files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/lockstep.h"

typedef struct WorkloadTensor {
    char *name, *layer;
    lockstep_dtype dtype;
    int64_t count; /* elements */
    int64_t backward_ns;
} WorkloadTensor;

typedef struct SlowRank {
    int rank;
    int64_t late_ns; /* in the input phase of every step */
} SlowRank;

typedef struct Workload {
    char *name;
    int64_t samples, operations; /* of one rank and step */
    int64_t input_ns, forward_ns, optimizer_ns;
    double jitter; /* each timed part takes up to this share longer, by chance */
    SlowRank *slow;
    size_t n_slow;
    WorkloadTensor *tensors;
    size_t n;
} Workload;

/* NULL, and a sentence in `error`: what is wrong, and where. */
Workload *workload_read(const char *path, char error[256]);
void workload_free(Workload *workload);
/* Divides all times, and the elements of every tensor (at least one is left). */
void workload_scale(Workload *workload, double times, double bytes);
int64_t workload_get_bytes(const Workload *workload);
size_t workload_get_width(lockstep_dtype dtype); /* bytes of an element */
