/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu-reduce SETTINGS...: what one device can show of reduce's planes there, for each of the
 * settings: how long an allreduce of one rank takes, that it comes after what makes its data and
 * beside what does not, and the priority of streams. Prints `key value` lines (run.sh); status 1
 * where a value is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cuda.h"
#include "reduce/lockstep.h"

static LsCuda cuda;
static LsCuFunction spin;
static LsCuStream compute;
static lockstep_context *context;
static int wrong;

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry spin(\n    .param .u64 p0\n)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [p0];\n    mov.u64 %rd2, %globaltimer;\n    add.s64 %rd3, %rd2, %rd1;\n"
    "AGAIN:\n    mov.u64 %rd4, %globaltimer;\n    setp.lt.u64 %p1, %rd4, %rd3;\n"
    "    @%p1 bra AGAIN;\n    ret;\n}\n";

static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
check(const char *what, int status)
{
    if (status == 0)
        return;
    fprintf(stderr, "gpu-reduce: %s: error %d: %s\n", what, status, lockstep_last_error());
    exit(1);
}
#define CUDA(call) check(#call, cuda.call)

static void
open_device(void)
{
    LsCuContext device_context;
    LsCuModule module;
    LsCuDevice device;
    const char *missing = ls_cuda_load(&cuda);
    if (missing != NULL || cuda.cuInit(0) != 0) {
        fprintf(stderr, "gpu-reduce: %s\n", missing != NULL ? missing : "no device");
        exit(77);
    }
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&device_context, device));
    CUDA(cuCtxSetCurrent(device_context));
    CUDA(cuModuleLoadData(&module, ptx));
    CUDA(cuModuleGetFunction(&spin, module, "spin"));
    CUDA(cuStreamCreate(&compute, LS_CU_STREAM_NON_BLOCKING));
}

static void *
allocate(size_t bytes)
{
    LsCuPointer memory;
    CUDA(cuMemAlloc_v2(&memory, bytes));
    return (void *)(uintptr_t)memory;
}

static void
launch_spin(uint64_t ns)
{
    void *params[] = {&ns};
    CUDA(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, compute, params, NULL));
}

/* stream: whose present work makes the data. */
static void
reduce(const char *name, void *memory, int64_t count, LsCuStream stream)
{
    lockstep_handle handle;
    lockstep_tensor tensor = {.size = sizeof tensor,
                              .name = name,
                              .input = memory,
                              .output = memory,
                              .count = count,
                              .dtype = LOCKSTEP_FLOAT32,
                              .memory = LOCKSTEP_DEVICE,
                              .stream = stream};
    check("lockstep_allreduce", lockstep_allreduce(context, &tensor, LOCKSTEP_SUM, &handle));
    check("lockstep_wait", lockstep_wait(context, handle, -1));
}

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void
measure(const char *key, void *memory, int64_t count, int n)
{
    int64_t times[100];
    for (int i = 0; i < n; i++) {
        int64_t start = now_ns();
        reduce(key, memory, count, NULL);
        times[i] = now_ns() - start;
    }
    qsort(times, (size_t)n, sizeof times[0], compare);
    printf("%s.ns.median %lld\n%s.ns.worst %lld\n", key, (long long)times[n / 2], key,
           (long long)times[n - 1]);
}

/* Data that is made 50 ms from now. */
static void
check_order(void *memory, int64_t count)
{
    float *host = malloc((size_t)count * sizeof *host);
    uint32_t bits;
    float value = 3;
    memcpy(&bits, &value, sizeof bits);
    LsCuPointer at = (LsCuPointer)(uintptr_t)memory;
    CUDA(cuMemsetD32Async(at, 0, (size_t)count, compute));
    launch_spin(50000000);
    CUDA(cuMemsetD32Async(at, bits, (size_t)count, compute));
    int64_t start = now_ns();
    reduce("order", memory, count, compute);
    int64_t took = now_ns() - start;
    CUDA(cuMemcpyDtoH_v2(host, at, (size_t)count * sizeof *host));
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad += host[i] != value;
    printf("order.wrong_elements %lld\norder.ns %lld\n", (long long)bad, (long long)took);
    wrong |= bad > 0;
    free(host);
}

/* How many are done while a kernel of 200 ms runs, which has nothing to do with them. */
static void
check_overlap(void *memory, int64_t count)
{
    int during = 0;
    LsCuStream own;
    CUDA(cuStreamCreate(&own, LS_CU_STREAM_NON_BLOCKING));
    CUDA(cuStreamSynchronize(compute));
    launch_spin(200000000);
    for (int i = 0; i < 20; i++) {
        reduce("overlap", memory, count, own);
        during += cuda.cuStreamQuery(compute) == LS_CUDA_ERROR_NOT_READY;
    }
    CUDA(cuStreamSynchronize(compute));
    CUDA(cuStreamDestroy_v2(own));
    printf("overlap.during_kernel %d\noverlap.of 20\n", during);
}

static void
run(const char *settings)
{
    int64_t large = 16 << 20; /* floats */
    lockstep_options options;
    void *memory = allocate((size_t)large * sizeof(float));
    lockstep_options_init(&options);
    options.settings = settings;
    check("lockstep_init", lockstep_init(&options, &context));
    printf("settings %s\n", settings);
    reduce("first", memory, 1, NULL);
    measure("one_float", memory, 1, 100);
    measure("64_mb", memory, large, 10);
    check_order(memory, 1 << 20);
    check_overlap(memory, 1 << 20);
    check("lockstep_shutdown", lockstep_shutdown(context));
    CUDA(cuMemFree_v2((LsCuPointer)(uintptr_t)memory));
}

int
main(int argc, char **argv)
{
    int least, greatest;
    open_device();
    CUDA(cuCtxGetStreamPriorityRange(&least, &greatest));
    printf("priority.least %d\npriority.greatest %d\n", least, greatest);
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    return wrong;
}
