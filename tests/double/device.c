/* SPDX-License-Identifier: Apache-2.0
 * tests/double/device.c: see device.h. */
#include "device.h"


static LsCuda cuda;

bool
device_open(void)
{
    LsCuContext context;
    int count = 0;
    if (ls_cuda_load(&cuda) != NULL || cuda.cuInit(0) != LS_CUDA_SUCCESS ||
        cuda.cuDeviceGetCount(&count) != LS_CUDA_SUCCESS || count < 1)
        return false;
    CUDA(cuDevicePrimaryCtxRetain(&context, support_rank() % count));
    CUDA(cuCtxSetCurrent(context));
    return true;
}

const LsCuda *
device_cuda(void)
{
    return &cuda;
}

void *
device_new(size_t bytes)
{
    LsCuPointer memory = 0;
    CUDA(cuMemAlloc_v2(&memory, bytes + 1));
    return (void *)(uintptr_t)memory;
}

void
device_free(void *memory)
{
    CUDA(cuMemFree_v2((LsCuPointer)(uintptr_t)memory));
}

void
device_put(void *memory, const void *from, size_t bytes)
{
    if (bytes > 0)
        CUDA(cuMemcpyHtoD_v2((LsCuPointer)(uintptr_t)memory, from, bytes));
}

void
device_get(void *to, const void *memory, size_t bytes)
{
    if (bytes > 0)
        CUDA(cuMemcpyDtoH_v2(to, (LsCuPointer)(uintptr_t)memory, bytes));
}

lockstep_tensor
device_tensor(const char *name, const void *input, void *output, int64_t count,
              lockstep_dtype dtype)
{
    lockstep_tensor tensor = support_tensor(name, input, output, count, dtype);
    tensor.memory = LOCKSTEP_DEVICE;
    return tensor;
}

double
device_slack(lockstep_dtype dtype, lockstep_op op, int ranks)
{
    static const double epsilons[] = {0x1p-23, 0x1p-52, 0x1p-10, 0x1p-7};
    if (op != LOCKSTEP_AVERAGE || dtype >= LOCKSTEP_INT8 || (ranks & (ranks - 1)) == 0)
        return 0;
    return ranks * epsilons[dtype] * 11;
}
