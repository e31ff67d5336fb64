/* SPDX-License-Identifier: Apache-2.0
 *
 * A training-like program on GPUs: layers of kernels, gradients by NCCL on a stream of their own
 * while the backward pass goes on, copies on a third, NVTX ranges as frameworks set them.
 *
 * It knows the CUDA driver and NCCL by dlopen alone, so that the same file runs on a real device
 * and on the test double (tests/double), and says what is missing elsewhere. At the end each rank
 * prints exactly how many kernels, copies and collectives it asked for. With --reduce the gradients
 * go through lockstep instead, by name, with these settings ("plane=nccl").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/nccl.h"
#include "abi/nvtx-client.h"
#include "samples/gpu-train-kernels.h"
#include "samples/gpu-train-launch.h"
#include "samples/gpu-train-reduce.h"

#define LAYERS_MAX GPU_REDUCE_MAX
#define THREADS    256u
#define EVERY      10 /* steps between two broadcasts */

typedef struct Options {
    int steps, layers, floats, late_rank;
    long late_us;
    const char *reduce; /* settings of lockstep; NULL: gradients by NCCL's own calls */
} Options;

typedef struct Layer {
    LsCuPointer weights, gradient, output;
} Layer;

typedef struct Numbers {
    long kernels, copies, copied_bytes, memsets, collectives, collective_bytes, point_to_point;
} Numbers;

typedef struct Train {
    LsCuda cuda;
    LsNccl nccl;
    Options options;
    int rank, ranks;
    LsCuStream compute, communication, copies;
    LsCuEvent ready[LAYERS_MAX], reduced, input;
    LsCuFunction forward, backward, update;
    LsNcclComm comm;
    GpuReduce reduce;
    Layer layers[LAYERS_MAX];
    LsCuPointer batch, loss, gathered;
    float *host_batch;
    double *host_loss;
    Numbers numbers;
} Train;

static void
fail(const char *what, int status)
{
    fprintf(stderr, "gpu-train: %s failed (%d)\n", what, status);
    exit(1);
}

static void
check(const char *what, int status)
{
    if (status != 0)
        fail(what, status);
}
#define CUDA(train, call) check(#call, (train)->cuda.call)
#define NCCL(train, call) check(#call, (train)->nccl.call)

/* -- Setting up -- */

static bool
parse_options(Options *options, int argc, char **argv)
{
    *options = (Options){.steps = 20, .layers = 4, .floats = 4096, .late_rank = -1};
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--steps") == 0)
            options->steps = atoi(value);
        else if (strcmp(argv[i], "--layers") == 0)
            options->layers = atoi(value);
        else if (strcmp(argv[i], "--floats") == 0)
            options->floats = atoi(value);
        else if (strcmp(argv[i], "--reduce") == 0 && i + 1 < argc)
            options->reduce = value;
        else if (strcmp(argv[i], "--late") != 0 ||
                 sscanf(value, "%d:%ld", &options->late_rank, &options->late_us) != 2)
            return false;
    }
    return options->steps >= 0 && options->layers >= 1 && options->layers <= LAYERS_MAX &&
           options->floats >= 1;
}

static bool
load(Train *train)
{
    const char *missing = ls_cuda_load(&train->cuda);
    if (missing == NULL && train->cuda.cuInit(0) != LS_CUDA_SUCCESS)
        missing = "no CUDA device can be used";
    if (missing == NULL)
        missing = ls_nccl_load(&train->nccl);
    if (missing != NULL)
        fprintf(stderr, "gpu-train: %s\n", missing);
    return missing == NULL;
}

static LsCuPointer
allocate(Train *train, size_t bytes)
{
    LsCuPointer pointer;
    CUDA(train, cuMemAlloc_v2(&pointer, bytes));
    return pointer;
}

static void
open_device(Train *train)
{
    LsCuContext context;
    LsCuModule module;
    LsCuDevice device;
    char name[128];
    int count = 0;
    CUDA(train, cuDeviceGetCount(&count));
    CUDA(train, cuDeviceGet(&device, train->rank % (count > 0 ? count : 1)));
    CUDA(train, cuDeviceGetName(name, sizeof name, device));
    CUDA(train, cuDevicePrimaryCtxRetain(&context, device));
    CUDA(train, cuCtxSetCurrent(context));
    CUDA(train, cuModuleLoadData(&module, gpu_train_ptx));
    CUDA(train, cuModuleGetFunction(&train->forward, module, "forward"));
    CUDA(train, cuModuleGetFunction(&train->backward, module, "backward"));
    CUDA(train, cuModuleGetFunction(&train->update, module, "update"));
    CUDA(train, cuStreamCreate(&train->compute, LS_CU_STREAM_NON_BLOCKING));
    CUDA(train, cuStreamCreate(&train->communication, LS_CU_STREAM_NON_BLOCKING));
    CUDA(train, cuStreamCreate(&train->copies, LS_CU_STREAM_NON_BLOCKING));
    if (train->rank == 0)
        printf("gpu-train: %d ranks, %d steps on %s\n", train->ranks, train->options.steps, name);
}

static void
open_layers(Train *train)
{
    const Options *options = &train->options;
    size_t bytes = (size_t)options->floats * sizeof(float);
    CUDA(train, cuMemHostAlloc((void **)&train->host_batch, bytes, 0));
    CUDA(train, cuMemHostAlloc((void **)&train->host_loss, 8 * sizeof(double), 0));
    for (int i = 0; i < options->floats; i++)
        train->host_batch[i] = 1.0f + (float)(i % 7) / 8.0f;
    for (int i = 0; i < options->layers; i++) {
        Layer *layer = &train->layers[i];
        layer->weights = allocate(train, bytes);
        layer->gradient = allocate(train, bytes);
        layer->output = allocate(train, bytes);
        CUDA(train, cuMemcpyHtoD_v2(layer->weights, train->host_batch, bytes));
        CUDA(train, cuEventCreate(&train->ready[i], LS_CU_EVENT_DISABLE_TIMING));
        train->numbers.copies++;
        train->numbers.copied_bytes += (long)bytes;
    }
    CUDA(train, cuEventCreate(&train->reduced, LS_CU_EVENT_DISABLE_TIMING));
    CUDA(train, cuEventCreate(&train->input, LS_CU_EVENT_DISABLE_TIMING));
    train->batch = allocate(train, bytes);
    train->loss = allocate(train, 64);
    train->gathered = allocate(train, bytes * (size_t)train->ranks);
}

static void
open_nccl(Train *train)
{
    LsNcclId id;
    memset(&id, 0, sizeof id);
    if (train->rank == 0)
        NCCL(train, ncclGetUniqueId(&id));
    if (!gpu_launch_share(&id, sizeof id))
        fail("sharing NCCL's id", 1);
    NCCL(train, ncclCommInitRank(&train->comm, train->ranks, id, train->rank));
}

/* -- A step -- */

static void
launch(Train *train, LsCuFunction function, void **params)
{
    unsigned n = (unsigned)train->options.floats;
    CUDA(train, cuLaunchKernel(function, (n + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0,
                               train->compute, params, NULL));
    train->numbers.kernels++;
}

static void
count_collective(Train *train, size_t bytes)
{
    train->numbers.collectives++;
    train->numbers.collective_bytes += (long)bytes;
}

static void
read_input(Train *train, int step)
{
    const Options *options = &train->options;
    size_t bytes = (size_t)options->floats * sizeof(float);
    ls_nvtx_push(NULL, "input");
    if (options->late_rank == train->rank && options->late_us > 0) {
        struct timespec time = {options->late_us / 1000000, options->late_us % 1000000 * 1000};
        nanosleep(&time, NULL);
    }
    CUDA(train, cuMemcpyHtoDAsync_v2(train->batch, train->host_batch, bytes, train->copies));
    CUDA(train, cuEventRecord(train->input, train->copies));
    CUDA(train, cuStreamWaitEvent(train->compute, train->input, 0));
    train->numbers.copies++;
    train->numbers.copied_bytes += (long)bytes;
    ls_nvtx_pop(NULL);
}

static void
go_forward(Train *train)
{
    unsigned n = (unsigned)train->options.floats;
    LsCuPointer input = train->batch;
    ls_nvtx_push(NULL, "forward");
    for (int i = 0; i < train->options.layers; i++) {
        Layer *layer = &train->layers[i];
        launch(train, train->forward, (void *[]){&layer->output, &input, &layer->weights, &n});
        input = layer->output;
    }
    ls_nvtx_pop(NULL);
}

/* The gradient of a layer whose kernel was just launched. */
static void
reduce_gradient(Train *train, int i)
{
    Layer *layer = &train->layers[i];
    void *gradient = (void *)(uintptr_t)layer->gradient;
    size_t n = (size_t)train->options.floats;
    if (train->reduce.context != NULL) {
        gpu_reduce_submit(&train->reduce, i, gradient, n, train->compute);
        return;
    }
    CUDA(train, cuEventRecord(train->ready[i], train->compute));
    CUDA(train, cuStreamWaitEvent(train->communication, train->ready[i], 0));
    NCCL(train, ncclAllReduce(gradient, gradient, n, LS_NCCL_FLOAT32, LS_NCCL_SUM, train->comm,
                              train->communication));
    count_collective(train, n * sizeof(float));
}

/* From the last layer to the first; each gradient is reduced as soon as it is there. */
static void
go_backward(Train *train)
{
    unsigned n = (unsigned)train->options.floats;
    ls_nvtx_push(NULL, "backward");
    for (int i = train->options.layers - 1; i >= 0; i--) {
        Layer *layer = &train->layers[i];
        launch(train, train->backward,
               (void *[]){&layer->gradient, &layer->output, &layer->weights, &n});
        reduce_gradient(train, i);
    }
    ls_nvtx_pop(NULL);
}

static void
optimize(Train *train)
{
    unsigned n = (unsigned)train->options.floats;
    float rate = 1.0f / 1024.0f / (float)train->ranks;
    ls_nvtx_push(NULL, "optimizer");
    for (int i = 0; i < train->options.layers && train->reduce.context != NULL; i++)
        gpu_reduce_wait(&train->reduce, i);
    CUDA(train, cuEventRecord(train->reduced, train->communication));
    CUDA(train, cuStreamWaitEvent(train->compute, train->reduced, 0));
    for (int i = 0; i < train->options.layers; i++) {
        Layer *layer = &train->layers[i];
        launch(train, train->update, (void *[]){&layer->weights, &layer->gradient, &rate, &n});
    }
    ls_nvtx_pop(NULL);
}

/* Two small reductions in one group: one kernel carries both. */
static void
report_loss(Train *train)
{
    void *loss = (void *)(uintptr_t)train->loss, *samples = (void *)(uintptr_t)(train->loss + 32);
    CUDA(train, cuMemsetD32Async(train->loss, 0, 16, train->communication));
    train->numbers.memsets++;
    NCCL(train, ncclGroupStart());
    NCCL(train, ncclAllReduce(loss, loss, 4, LS_NCCL_FLOAT64, LS_NCCL_SUM, train->comm,
                              train->communication));
    NCCL(train, ncclAllReduce(samples, samples, 2, LS_NCCL_INT64, LS_NCCL_MAX, train->comm,
                              train->communication));
    NCCL(train, ncclGroupEnd());
    count_collective(train, 4 * 8);
    count_collective(train, 2 * 8);
    CUDA(train, cuMemcpyDtoHAsync_v2(train->host_loss, train->loss, 64, train->communication));
    train->numbers.copies++;
    train->numbers.copied_bytes += 64;
}

static void
run_step(Train *train, int step)
{
    char name[32];
    snprintf(name, sizeof name, "step %d", step);
    ls_nvtx_push(NULL, name);
    read_input(train, step);
    go_forward(train);
    go_backward(train);
    optimize(train);
    report_loss(train);
    if (step % EVERY == 0) {
        void *weights = (void *)(uintptr_t)train->layers[0].weights;
        size_t n = (size_t)train->options.floats;
        NCCL(train,
             ncclBroadcast(weights, weights, n, LS_NCCL_FLOAT32, 0, train->comm, train->compute));
        NCCL(train, ncclAllGather(weights, (void *)(uintptr_t)train->gathered, n, LS_NCCL_FLOAT32,
                                  train->comm, train->compute));
        count_collective(train, n * sizeof(float));
        count_collective(train, n * sizeof(float));
    }
    CUDA(train, cuStreamSynchronize(train->compute));
    CUDA(train, cuStreamSynchronize(train->communication));
    ls_nvtx_pop(NULL);
}

/* -- The end -- */

/* Each rank sends its loss to the next. */
static void
pass_on(Train *train)
{
    void *loss = (void *)(uintptr_t)train->loss, *other = (void *)(uintptr_t)(train->loss + 32);
    int next = (train->rank + 1) % train->ranks;
    int before = (train->rank + train->ranks - 1) % train->ranks;
    NCCL(train, ncclGroupStart());
    NCCL(train, ncclSend(loss, 4, LS_NCCL_FLOAT64, next, train->comm, train->communication));
    NCCL(train, ncclRecv(other, 4, LS_NCCL_FLOAT64, before, train->comm, train->communication));
    NCCL(train, ncclGroupEnd());
    CUDA(train, cuStreamSynchronize(train->communication));
    train->numbers.point_to_point += 2;
}

/* Whether the first layer's weights are the same on all ranks. */
static bool
is_equal(Train *train)
{
    size_t n = (size_t)train->options.floats, bytes = n * sizeof(float);
    float *low = malloc(bytes), *high = malloc(bytes);
    void *weights = (void *)(uintptr_t)train->layers[0].weights;
    static const int ops[] = {LS_NCCL_MIN, LS_NCCL_MAX};
    float *results[] = {low, high};
    for (int i = 0; i < 2; i++) {
        NCCL(train, ncclAllReduce(weights, (void *)(uintptr_t)train->batch, n, LS_NCCL_FLOAT32,
                                  ops[i], train->comm, train->communication));
        CUDA(train, cuStreamSynchronize(train->communication));
        CUDA(train, cuMemcpyDtoH_v2(results[i], train->batch, bytes));
        count_collective(train, bytes);
        train->numbers.copies++;
        train->numbers.copied_bytes += (long)bytes;
    }
    bool equal = memcmp(low, high, bytes) == 0;
    free(low);
    free(high);
    return equal;
}

int
main(int argc, char **argv)
{
    static Train train;
    if (!gpu_launch_start(&argc, &argv, &train.rank, &train.ranks))
        return 1;
    if (!parse_options(&train.options, argc, argv)) {
        fputs("gpu-train [--steps N] [--layers N] [--floats N] [--late RANK:MICROSECONDS] "
              "[--reduce SETTINGS]\n",
              stderr);
        return 2;
    }
    if (!load(&train))
        return 1;
    open_device(&train);
    open_layers(&train);
    open_nccl(&train);
    if (train.options.reduce != NULL)
        gpu_reduce_open(&train.reduce, train.options.reduce, train.ranks);
    for (int step = 0; step < train.options.steps; step++)
        run_step(&train, step);
    pass_on(&train);
    bool equal = is_equal(&train);
    CUDA(&train, cuCtxSynchronize());
    if (train.reduce.context != NULL)
        gpu_reduce_close(&train.reduce);
    NCCL(&train, ncclCommDestroy(train.comm));
    const Numbers *n = &train.numbers;
    printf("rank %d: steps %d kernels %ld copies %ld copied_bytes %ld memsets %ld collectives %ld "
           "collective_bytes %ld point_to_point %ld weights %s\n",
           train.rank, train.options.steps, n->kernels, n->copies, n->copied_bytes, n->memsets,
           n->collectives, n->collective_bytes, n->point_to_point, equal ? "equal" : "DIFFER");
    fflush(stdout);
    gpu_launch_stop();
    return equal ? 0 : 1;
}
