/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu-probe device | launch N | clock N SECONDS | end WAY | graph NODES REPLAYS | nvml SECONDS:
 * small programs whose recording answers what only a real device can (run.sh). Prints `key value`
 * lines.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "abi/nvml.h"

static LsCuda cuda;
static LsCuFunction empty, spin;
static LsCuStream stream;

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry empty()\n{\n    ret;\n}\n"
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
    fprintf(stderr, "gpu-probe: %s: error %d\n", what, status);
    exit(1);
}
#define CUDA(call) check(#call, cuda.call)

static void
open_device(void)
{
    LsCuContext context;
    LsCuModule module;
    LsCuDevice device;
    const char *missing = ls_cuda_load(&cuda);
    if (missing != NULL) {
        fprintf(stderr, "gpu-probe: %s\n", missing);
        exit(1);
    }
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuModuleLoadData(&module, ptx));
    CUDA(cuModuleGetFunction(&empty, module, "empty"));
    CUDA(cuModuleGetFunction(&spin, module, "spin"));
    CUDA(cuStreamCreate(&stream, LS_CU_STREAM_NON_BLOCKING));
}

static void
launch_empty(void)
{
    CUDA(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void
launch_spin(uint64_t ns)
{
    void *params[] = {&ns};
    CUDA(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void
show_device(void)
{
    char name[128];
    int version, major, minor;
    CUDA(cuDeviceGetName(name, sizeof name, 0));
    CUDA(cuDriverGetVersion(&version));
    CUDA(cuDeviceGetAttribute(&major, LS_CU_DEVICE_CAPABILITY_MAJOR, 0));
    CUDA(cuDeviceGetAttribute(&minor, LS_CU_DEVICE_CAPABILITY_MINOR, 0));
    printf("device %s\ndriver %d\ncapability %d.%d\n", name, version, major, minor);
}

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* In batches that the queue can hold; the median of the batches' means. */
static void
measure_launches(long n)
{
    enum { BATCH = 500 };
    long batches = n / BATCH > 0 ? n / BATCH : 1;
    int64_t *means = calloc((size_t)batches, sizeof *means);
    for (long b = 0; b < batches; b++) {
        int64_t start = now_ns();
        for (int i = 0; i < BATCH && i < n; i++)
            launch_empty();
        means[b] = (now_ns() - start) / BATCH;
        CUDA(cuStreamSynchronize(stream));
    }
    qsort(means, (size_t)batches, sizeof *means, compare);
    printf("launches %ld\nns_per_launch.median %lld\nns_per_launch.worst %lld\n", batches * BATCH,
           (long long)means[batches / 2], (long long)means[batches - 1]);
    free(means);
}

static void
pause_between(long n, unsigned seconds)
{
    for (int half = 0; half < 2; half++) {
        for (long i = 0; i < n; i++) {
            launch_empty();
            CUDA(cuStreamSynchronize(stream));
        }
        if (half == 0)
            sleep(seconds);
    }
    printf("kernels %ld\n", 2 * n);
}

static void *
leave(void *user)
{
    exit(0);
}

static void
end_in(const char *way)
{
    pthread_t thread;
    for (int i = 0; i < 1000; i++)
        launch_empty();
    CUDA(cuStreamSynchronize(stream));
    launch_spin(UINT64_C(3000000000));
    usleep(1200000); /* two flushes with a kernel in flight */
    if (strcmp(way, "exit-thread") == 0 && pthread_create(&thread, NULL, leave, NULL) == 0)
        pthread_join(thread, NULL);
    else if (strcmp(way, "_exit") == 0)
        _exit(0);
    else if (strcmp(way, "sigterm") == 0)
        raise(SIGTERM);
    else if (strcmp(way, "sigkill") == 0)
        raise(SIGKILL);
}

static void *
find(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *function = library != NULL ? dlsym(library, name) : NULL;
    if (function == NULL) {
        fprintf(stderr, "gpu-probe: libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return function;
}

static void
replay_graph(long nodes, long replays)
{
    void *graph, *executable;
    int (*begin)(LsCuStream, int), (*end)(LsCuStream, void **);
    int (*instantiate)(void **, void *, unsigned long long), (*run)(void *, LsCuStream);
    *(void **)(void *)&begin = find("cuStreamBeginCapture_v2");
    *(void **)(void *)&end = find("cuStreamEndCapture");
    *(void **)(void *)&instantiate = find("cuGraphInstantiateWithFlags");
    *(void **)(void *)&run = find("cuGraphLaunch");
    check("begin", begin(stream, 1)); /* of this thread */
    for (long i = 0; i < nodes; i++)
        launch_empty();
    check("end", end(stream, &graph));
    check("instantiate", instantiate(&executable, graph, 0));
    int64_t start = now_ns();
    for (long i = 0; i < replays; i++) {
        check("launch", run(executable, stream));
        if (i % 100 == 99)
            CUDA(cuStreamSynchronize(stream));
    }
    CUDA(cuStreamSynchronize(stream));
    printf("graph_kernels %ld\ngraph_seconds %.3f\n", nodes * replays,
           (double)(now_ns() - start) / 1e9);
}

/* How often each field changes, and what one call costs. */
static void
watch_sensors(int seconds)
{
    static const uint32_t fields[] = {LS_NVML_FIELD_POWER_INSTANT, LS_NVML_FIELD_POWER_AVERAGE,
                                      LS_NVML_FIELD_ENERGY};
    LsNvml nvml;
    LsNvmlDevice device;
    char bus[32];
    if (ls_nvml_load(&nvml) != NULL || nvml.nvmlInit_v2() != 0)
        exit(1);
    CUDA(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
    check("handle", nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, &device));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        LsNvmlField field = {.field = fields[i]};
        int64_t start = now_ns(), end = start + seconds * INT64_C(1000000000) / 3, calls = 0;
        int64_t spent = 0, changes = 0;
        uint64_t before = 0;
        int status = 0;
        while (now_ns() < end) {
            int64_t called = now_ns();
            status = nvml.nvmlDeviceGetFieldValues(device, 1, &field);
            spent += now_ns() - called;
            calls++;
            changes += field.value.uint64 != before;
            before = field.value.uint64;
            usleep(500);
        }
        printf("field_%u.status %d\nfield_%u.own_status %d\nfield_%u.ns_per_call %lld\n"
               "field_%u.changes_per_s %.1f\nfield_%u.type %u\n",
               fields[i], status, fields[i], field.status, fields[i],
               (long long)(spent / (calls > 0 ? calls : 1)), fields[i],
               (double)changes * 1e9 / (double)(now_ns() - start), fields[i], field.value_type);
    }
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 0, m = argc > 3 ? atol(argv[3]) : 0;
    open_device();
    if (strcmp(what, "device") == 0)
        show_device();
    else if (strcmp(what, "launch") == 0)
        measure_launches(n);
    else if (strcmp(what, "clock") == 0)
        pause_between(n, (unsigned)m);
    else if (strcmp(what, "end") == 0 && argc > 2)
        end_in(argv[2]);
    else if (strcmp(what, "graph") == 0)
        replay_graph(n, m);
    else if (strcmp(what, "nvml") == 0)
        watch_sensors((int)n);
    else
        return 2;
    return 0;
}
