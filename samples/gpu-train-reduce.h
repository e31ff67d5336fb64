/* SPDX-License-Identifier: Apache-2.0
 * samples/gpu-train-reduce.h: the gradients of gpu-train through lockstep.
 */
#pragma once

#include <stddef.h>

#include "reduce/lockstep.h"

#define GPU_REDUCE_MAX 64

typedef struct GpuReduce {
    lockstep_context *context; /* NULL: not in use */
    lockstep_handle handles[GPU_REDUCE_MAX];
} GpuReduce;

/* The context of the device is current. What fails ends the program with a sentence. */
void gpu_reduce_open(GpuReduce *reduce, const char *settings, int ranks);
void gpu_reduce_close(GpuReduce *reduce);
/* The gradient of a layer, whose kernel is in the stream. */
void gpu_reduce_submit(GpuReduce *reduce, int layer, void *gradient, size_t floats, void *stream);
/* Until the layer's gradient is that of all ranks. */
void gpu_reduce_wait(GpuReduce *reduce, int layer);
