/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu-train --reduce: device pointers handed in by name as the backward pass launches what makes
 * them, summed in place on lockstep's own stream, waited for by the host before the optimizer.
 */
#include "samples/gpu-train-reduce.h"

#include <stdio.h>
#include <stdlib.h>

static void
check(const char *what, lockstep_status status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "gpu-train: %s: %s\n", what, lockstep_last_error());
    exit(1);
}

void
gpu_reduce_open(GpuReduce *reduce, const char *settings, int ranks)
{
    lockstep_options options;
    lockstep_options_init(&options);
    options.settings = settings;
    options.alone = ranks == 1;
    check("lockstep_init", lockstep_init(&options, &reduce->context));
}

void
gpu_reduce_close(GpuReduce *reduce)
{
    check("lockstep_shutdown", lockstep_shutdown(reduce->context));
}

void
gpu_reduce_submit(GpuReduce *reduce, int layer, void *gradient, size_t floats, void *stream)
{
    char name[32];
    snprintf(name, sizeof name, "layer/%d", layer);
    lockstep_tensor tensor = {.size = sizeof tensor,
                              .name = name,
                              .input = gradient,
                              .output = gradient,
                              .count = (int64_t)floats,
                              .dtype = LOCKSTEP_FLOAT32,
                              .memory = LOCKSTEP_DEVICE,
                              .stream = stream};
    check("lockstep_allreduce",
          lockstep_allreduce(reduce->context, &tensor, LOCKSTEP_SUM, &reduce->handles[layer]));
}

void
gpu_reduce_wait(GpuReduce *reduce, int layer)
{
    check("lockstep_wait", lockstep_wait(reduce->context, reduce->handles[layer], -1));
}
