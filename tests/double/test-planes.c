/* SPDX-License-Identifier: Apache-2.0
 * tests/double/test-planes.c: tensors on devices, over each plane that takes them: all types and
 * operations, counts from 0 to a million, in place or not, fused or not, some ranks' tensors on the
 * host. Whole numbers and exact sums bit for bit, other floats within ranks times epsilon.
 *
 * Under the test double; on a real device with one rank too (tests/gpu/run.sh). */
#include "device.h"

#include <math.h>
#include <string.h>

#include "reduce/device.h"

#define N_KINDS (8 * 5)

static const char *const planes[] = {"plane=nccl", "plane=hierarchical;memory=device",
                                     "plane=hybrid;memory=device"};

/* One tensor of a kind (dtype, op), from filling to checking. */
typedef struct Job {
    lockstep_dtype dtype;
    lockstep_op op;
    int64_t count;
    size_t bytes;
    bool on_device;
    void *host, *in, *out; /* in, out: of the device, or the host */
    lockstep_handle handle;
} Job;

static void
fill(Job *job, int kind, int64_t count, bool in_place, bool on_device)
{
    *job = (Job){.dtype = (lockstep_dtype)(kind / 5),
                 .op = (lockstep_op)(kind % 5),
                 .count = count,
                 .on_device = on_device};
    job->bytes = (size_t)count * support_bytes(job->dtype);
    job->host = g_malloc(job->bytes + 1);
    for (int64_t i = 0; i < count; i++)
        support_put(job->host, job->dtype, i,
                    support_input(job->dtype, job->op, i, support_rank()));
    job->in = on_device ? device_new(job->bytes) : g_memdup2(job->host, job->bytes + 1);
    job->out = in_place ? job->in : on_device ? device_new(job->bytes) : g_malloc0(job->bytes + 1);
    if (on_device)
        device_put(job->in, job->host, job->bytes);
    memset(job->host, 0, job->bytes);
}

static lockstep_tensor
tensor_of(const Job *job, const char *name)
{
    lockstep_tensor tensor = device_tensor(name, job->in, job->out, job->count, job->dtype);
    tensor.memory = job->on_device ? LOCKSTEP_DEVICE : LOCKSTEP_HOST;
    return tensor;
}

/* Long ones are looked at here and there, and at their ends. */
static void
finish(Job *job, lockstep_context *context, const char *what)
{
    int64_t stride = job->count > 5000 ? 61 : 1;
    double slack = device_slack(job->dtype, job->op, support_ranks());
    assert_status(lockstep_wait(context, job->handle, -1), LOCKSTEP_OK);
    if (job->on_device)
        device_get(job->host, job->out, job->bytes);
    else
        memcpy(job->host, job->out, job->bytes);
    for (int64_t i = 0; i < job->count; i += i + stride < job->count ? stride : 1) {
        double got = support_get(job->host, job->dtype, i);
        double expected = support_expect(job->dtype, job->op, i, support_ranks());
        if (!(fabs(got - expected) <= slack))
            g_error("rank %d of %d, %s, dtype %d, op %d, element %d of %d: %.17g, expected %.17g",
                    support_rank(), support_ranks(), what, job->dtype, job->op, (int)i,
                    (int)job->count, got, expected);
    }
    if (job->out != job->in)
        (job->on_device ? device_free : g_free)(job->out);
    (job->on_device ? device_free : g_free)(job->in);
    g_free(job->host);
}

static void
submit_all(lockstep_context *context, Job *jobs, int n)
{
    for (int kind = 0; kind < n; kind++) {
        char name[32];
        g_snprintf(name, sizeof name, "t%d", kind);
        lockstep_tensor tensor = tensor_of(&jobs[kind], name);
        assert_status(lockstep_allreduce(context, &tensor, jobs[kind].op, &jobs[kind].handle),
                      LOCKSTEP_OK);
    }
}

static lockstep_context *
open_plane(const char *plane, const char *more)
{
    g_autofree char *settings = g_strconcat(plane, more, NULL);
    return support_open(settings);
}

static void
check_counts(const char *plane, const char *more, const int64_t *counts, guint n)
{
    lockstep_context *context = open_plane(plane, more);
    for (guint c = 0; c < n; c++) {
        Job jobs[N_KINDS];
        for (int kind = 0; kind < N_KINDS; kind++)
            fill(&jobs[kind], kind, counts[c], (c & 1) != (kind % 3 == 0), true);
        submit_all(context, jobs, N_KINDS);
        for (int kind = 0; kind < N_KINDS; kind++)
            finish(&jobs[kind], context, plane);
    }
    support_close(context);
}

static void
test_sums(gconstpointer plane)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 16, 255, 1025, 4099, 65537};
    check_counts(plane, ";fusion_threshold_bytes=0", counts, G_N_ELEMENTS(counts));
}

/* Longer than the memory for fused buffers, of which it goes in pieces. */
static void
test_long(gconstpointer plane)
{
    lockstep_context *context = open_plane(plane, ";fusion_threshold_bytes=0");
    for (int kind = 0; kind < N_KINDS; kind += 3) {
        Job job;
        fill(&job, kind, 1000003, kind % 2 == 0, kind % 4 != 1 || support_rank() != 1);
        lockstep_tensor tensor = tensor_of(&job, "long");
        assert_status(lockstep_allreduce(context, &tensor, job.op, &job.handle), LOCKSTEP_OK);
        finish(&job, context, plane);
    }
    support_close(context);
}

/* Many at once, in whatever order, a third of them on the host of one rank: fused as they come. */
static void
test_fused(gconstpointer plane)
{
    enum { EACH = 5 };
    Job jobs[EACH * N_KINDS];
    lockstep_context *context = open_plane(plane, "");
    for (int i = 0; i < EACH * N_KINDS; i++)
        fill(&jobs[i], i % N_KINDS, 1 + i * 7 % 300, i % 2 == 0,
             i % 3 != 0 || support_rank() != support_ranks() - 1);
    submit_all(context, jobs, EACH * N_KINDS);
    for (int i = 0; i < EACH * N_KINDS; i++)
        finish(&jobs[i], context, plane);
    support_close(context);
}

/* Hosts of `user` ranks each, the last one taking what is left. */
static void
test_hosts(gconstpointer user)
{
    static const int64_t counts[] = {1, 3, 7, 1030, 70001};
    g_autofree char *host = g_strdup_printf(";fusion_threshold_bytes=64K;host=h%d",
                                            support_rank() / GPOINTER_TO_INT(user));
    for (guint p = 1; p < G_N_ELEMENTS(planes); p++)
        check_counts(planes[p], host, counts, G_N_ELEMENTS(counts));
}

/* What overflows in the type itself, does not on the way to its average. */
static void
test_averages(gconstpointer plane)
{
    static const struct {
        lockstep_dtype dtype;
        double value;
    } cases[] = {{LOCKSTEP_FLOAT16, 65504},
                 {LOCKSTEP_INT8, 127},
                 {LOCKSTEP_INT8, -128},
                 {LOCKSTEP_UINT8, 255},
                 {LOCKSTEP_INT32, 2147483647}};
    lockstep_context *context = open_plane(plane, "");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        double host[8] = {0};
        void *data = device_new(64);
        for (int k = 0; k < 4; k++)
            support_put(host, cases[i].dtype, k, cases[i].value);
        device_put(data, host, 4 * support_bytes(cases[i].dtype));
        lockstep_tensor tensor = device_tensor("large", data, data, 4, cases[i].dtype);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_AVERAGE), LOCKSTEP_OK);
        device_get(host, data, 4 * support_bytes(cases[i].dtype));
        double slack = cases[i].dtype == LOCKSTEP_FLOAT16 ? 3 * 64 : 0;
        for (int k = 0; k < 4; k++)
            g_assert_cmpfloat(fabs(support_get(host, cases[i].dtype, k) - cases[i].value), <=,
                              slack);
        device_free(data);
    }
    support_close(context);
}

/* Sums that are not exact: near, and the same bits on all ranks. */
static void
test_rounding(gconstpointer plane)
{
    static const double epsilons[] = {0x1p-23, 0x1p-52, 0x1p-10, 0x1p-7};
    enum { COUNT = 5003 };
    int ranks = support_ranks();
    lockstep_context *context = open_plane(plane, "");
    for (int d = LOCKSTEP_FLOAT32; d <= LOCKSTEP_FLOAT64; d++) {
        static double data[COUNT], sums[COUNT];
        lockstep_dtype dtype = (lockstep_dtype)d;
        size_t bytes = COUNT * support_bytes(dtype);
        void *memory = device_new(bytes);
        for (int i = 0; i < COUNT; i++) {
            sums[i] = 0;
            for (int rank = 0; rank < ranks; rank++)
                sums[i] += support_round(dtype, 1.0 / (3 + rank + i % 101));
            support_put(data, dtype, i, 1.0 / (3 + support_rank() + i % 101));
        }
        device_put(memory, data, bytes);
        lockstep_tensor tensor = device_tensor("rounded", memory, memory, COUNT, dtype);
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        device_get(data, memory, bytes);
        device_free(memory);
        for (int i = 0; i < COUNT; i++)
            g_assert_cmpfloat(fabs(support_get(data, dtype, i) - sums[i]), <=,
                              ranks * epsilons[d] * sums[i]);
    }
    support_close(context);
}

/* -- Other operations -- */

static bool
lies_here(int round)
{
    return round == 0 || (round == 1 ? support_rank() % 2 == 0 : false);
}

static void
check_broadcast(lockstep_context *context, int64_t count, bool here)
{
    int root = support_ranks() - 1;
    size_t bytes = (size_t)count * 4;
    g_autofree int32_t *host = g_malloc(bytes + 1);
    for (int64_t i = 0; i < count; i++)
        host[i] = (int32_t)(i * 3 + support_rank());
    void *in = here ? device_new(bytes) : g_memdup2(host, bytes + 1);
    void *out = here ? device_new(bytes) : g_malloc0(bytes + 1);
    lockstep_handle handle;
    if (here)
        device_put(in, host, bytes);
    lockstep_tensor tensor =
        device_tensor("broadcast", support_rank() == root ? in : NULL, out, count, LOCKSTEP_INT32);
    tensor.memory = here ? LOCKSTEP_DEVICE : LOCKSTEP_HOST;
    assert_status(lockstep_broadcast(context, &tensor, root, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    if (here)
        device_get(host, out, bytes);
    else
        memcpy(host, out, bytes);
    for (int64_t i = 0; i < count; i++)
        g_assert_cmpint(host[i], ==, (int32_t)(i * 3 + root));
    (here ? device_free : g_free)(in);
    (here ? device_free : g_free)(out);
}

/* Rank r gives count + r * more elements; its input lies in the output `shift` elements from its
 * place. */
static void
check_allgather(lockstep_context *context, int64_t count, int64_t more, bool here, int64_t shift)
{
    int64_t own = count + support_rank() * more, before = 0, total = 0;
    for (int rank = 0; rank < support_ranks(); rank++) {
        before += rank < support_rank() ? count + rank * more : 0;
        total += count + rank * more;
    }
    size_t bytes = (size_t)(total + 64) * 4;
    g_autofree int32_t *host = g_malloc0(bytes);
    g_autofree int64_t *counts = g_new0(int64_t, support_ranks());
    int64_t place = MAX(before + shift, 0);
    for (int64_t i = 0; i < own; i++)
        host[place + i] = (int32_t)(support_rank() * 1000003 + i);
    char *data = here ? device_new(bytes) : g_memdup2(host, bytes);
    lockstep_gather gather = {sizeof gather, total, counts};
    lockstep_handle handle;
    if (here)
        device_put(data, host, bytes);
    lockstep_tensor tensor =
        device_tensor("allgather", data + place * 4, data, own, LOCKSTEP_INT32);
    tensor.memory = here ? LOCKSTEP_DEVICE : LOCKSTEP_HOST;
    assert_status(lockstep_allgather(context, &tensor, &gather, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    if (here)
        device_get(host, data, bytes);
    else
        memcpy(host, data, bytes);
    for (int rank = 0, at = 0; rank < support_ranks(); rank++) {
        g_assert_cmpint(counts[rank], ==, count + rank * more);
        for (int64_t i = 0; i < counts[rank]; i++, at++)
            g_assert_cmpint(host[at], ==, (int32_t)(rank * 1000003 + i));
    }
    (here ? device_free : g_free)(data);
}

static void
check_reduce_scatter(lockstep_context *context, int64_t rows, int64_t columns, lockstep_dtype dtype,
                     lockstep_op op, bool here)
{
    int64_t count = rows * columns, own = lockstep_share(context, rows, support_rank()) * columns;
    int64_t before = 0, shape[] = {rows, columns};
    size_t width = support_bytes(dtype);
    g_autofree void *host = g_malloc0((size_t)count * width + 1);
    for (int rank = 0; rank < support_rank(); rank++)
        before += lockstep_share(context, rows, rank) * columns;
    for (int64_t i = 0; i < count; i++)
        support_put(host, dtype, i, support_input(dtype, op, i, support_rank()));
    void *in = here ? device_new((size_t)count * width) : g_memdup2(host, (gsize)count * width + 1);
    void *out = here ? device_new((size_t)own * width) : g_malloc0((gsize)own * width + 1);
    lockstep_handle handle;
    if (here)
        device_put(in, host, (size_t)count * width);
    lockstep_tensor tensor = device_tensor("scatter", in, out, count, dtype);
    tensor.memory = here ? LOCKSTEP_DEVICE : LOCKSTEP_HOST;
    tensor.shape = shape;
    tensor.ndim = 2;
    assert_status(lockstep_reduce_scatter(context, &tensor, op, &handle), LOCKSTEP_OK);
    assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    if (here)
        device_get(host, out, (size_t)own * width);
    else
        memcpy(host, out, (size_t)own * width);
    for (int64_t i = 0; i < own; i++)
        g_assert_cmpfloat(fabs(support_get(host, dtype, i) -
                               support_expect(dtype, op, before + i, support_ranks())),
                          <=, device_slack(dtype, op, support_ranks()));
    (here ? device_free : g_free)(in);
    (here ? device_free : g_free)(out);
}

/* All tensors on devices; some ranks' on the host; all on the host. */
static void
test_operations(gconstpointer plane)
{
    lockstep_context *context = open_plane(plane, ";fusion_threshold_bytes=0");
    for (int round = 0; round < 3; round++) {
        bool here = lies_here(round);
        lockstep_handle handle;
        check_broadcast(context, 0, here);
        check_broadcast(context, 1001, here);
        check_broadcast(context, 1300001, here);
        check_allgather(context, 100, 0, here, 0);
        check_allgather(context, 0, 37, here, 5);
        check_allgather(context, 33, 1, here, -5);
        check_allgather(context, 1100000, 3, here, 40);
        for (int kind = 0; kind < N_KINDS; kind += 3)
            check_reduce_scatter(context, kind % 2 == 0 ? 12 : 10 + kind, 5,
                                 (lockstep_dtype)(kind / 5), (lockstep_op)(kind % 5), here);
        check_reduce_scatter(context, 700001, 3, LOCKSTEP_FLOAT32, LOCKSTEP_AVERAGE, here);
        assert_status(lockstep_barrier(context, "barrier", &handle), LOCKSTEP_OK);
        assert_status(lockstep_wait(context, handle, -1), LOCKSTEP_OK);
    }
    support_close(context);
}

/* -- Order of streams -- */

static void
sleep_a_while(void *user)
{
    g_usleep(50000);
}

/* Submitted while its data is still being made: the sum is that of the data. */
static void
test_readiness(gconstpointer plane)
{
    enum { COUNT = 1000 };
    lockstep_context *context = open_plane(plane, "");
    float host[COUNT], wrong[COUNT] = {0};
    void *memory = device_new(sizeof host);
    LsCuStream stream;
    CUDA(cuStreamCreate(&stream, LS_CU_STREAM_NON_BLOCKING));
    for (int step = 0; step < 5; step++) {
        device_put(memory, wrong, sizeof wrong);
        for (int i = 0; i < COUNT; i++)
            host[i] = (float)(i + support_rank() + step);
        CUDA(cuLaunchHostFunc(stream, sleep_a_while, NULL));
        CUDA(cuMemcpyHtoDAsync_v2((LsCuPointer)(uintptr_t)memory, host, sizeof host, stream));
        lockstep_tensor tensor = device_tensor("late", memory, memory, COUNT, LOCKSTEP_FLOAT32);
        tensor.stream = stream;
        assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
        CUDA(cuStreamSynchronize(stream));
        device_get(host, memory, sizeof host);
        int ranks = support_ranks();
        for (int i = 0; i < COUNT; i++)
            g_assert_cmpfloat(host[i], ==, (float)(ranks * (i + step) + ranks * (ranks - 1) / 2));
    }
    support_close(context);
    CUDA(cuStreamDestroy_v2(stream));
    device_free(memory);
}

static void
test_priority(void)
{
    LsDevice *device = NULL;
    int least, greatest, priority;
    assert_status(ls_device_open("", 0, 4096, ls_device_get_current(), &device), LOCKSTEP_OK);
    CUDA(cuCtxGetStreamPriorityRange(&least, &greatest));
    CUDA(cuStreamGetPriority(device->stream, &priority));
    g_assert_cmpint(priority, ==, greatest);
    g_assert_cmpint(greatest, <=, least);
    ls_device_close(device);
}

/* The device's times lie between the host's, and where they should. */
static void
test_times(void)
{
    LsDevice *device = NULL;
    assert_status(ls_device_open("", 0, 4096, ls_device_get_current(), &device), LOCKSTEP_OK);
    for (int i = 0; i < 3; i++) {
        int64_t before = g_get_monotonic_time() * 1000;
        assert_status(ls_device_begin(device), LOCKSTEP_OK);
        CUDA(cuLaunchHostFunc(device->stream, sleep_a_while, NULL));
        assert_status(ls_device_mark(device, 1, "slept", 0), LOCKSTEP_OK);
        assert_status(ls_device_await(device, NULL, NULL), LOCKSTEP_OK);
        int64_t after = g_get_monotonic_time() * 1000 + 1000;
        g_assert_cmpint(ls_device_time(device, 0), >=, before);
        g_assert_cmpint(ls_device_time(device, 1), <=, after);
        g_assert_cmpint(ls_device_time(device, 1) - ls_device_time(device, 0), >, 40000000);
    }
    ls_device_close(device);
}

/* -- What is refused -- */

static void
refuse_init(const char *settings, const char *part)
{
    lockstep_context *context = NULL;
    lockstep_options options;
    lockstep_options_init(&options);
    options.settings = settings;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_ERR_SETTINGS);
    assert_contains(lockstep_last_error(), part);
    g_assert_null(context);
}

static void
refuse_tensor(lockstep_context *context, const lockstep_tensor *tensor, lockstep_status expected,
              const char *part)
{
    lockstep_handle handle = 7;
    assert_status(lockstep_allreduce(context, tensor, LOCKSTEP_SUM, &handle), expected);
    assert_contains(lockstep_last_error(), part);
    g_assert_cmpint(handle, ==, 0);
}

static void
test_refusals(void)
{
    float host[4] = {0};
    void *memory = device_new(sizeof host);
    refuse_init("plane=ring;memory=device", "plane 'ring' is not for tensors on a device");
    refuse_init("plane=nccl;memory=host", "plane 'nccl' is not for tensors on the host");
    refuse_init("plane=nccl;compression=onebit", "compression: onebit");
    refuse_init("plane=nccl;device=900", "setting device: '900'");
    refuse_init("plane=nccl;device=x", "setting device: 'x'");
    lockstep_context *context = support_open("plane=nccl");
    lockstep_tensor tensor = device_tensor("t", host, host, 4, LOCKSTEP_FLOAT32);
    refuse_tensor(context, &tensor, LOCKSTEP_ERR_ARGUMENT, "its input is not memory of a device");
    tensor.input = memory;
    refuse_tensor(context, &tensor, LOCKSTEP_ERR_ARGUMENT, "its output is not memory of a device");
    tensor.output = memory;
    tensor.stream = host;
    refuse_tensor(context, &tensor, LOCKSTEP_ERR_DEVICE, "cuEventRecord");
    tensor.stream = NULL;
    tensor.memory = (lockstep_memory)3;
    refuse_tensor(context, &tensor, LOCKSTEP_ERR_ARGUMENT, "there is no memory 3");
    tensor.memory = LOCKSTEP_DEVICE;
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    support_close(context);
    context = support_open(support_ranks() > 1 ? "plane=mpi" : "plane=self");
    refuse_tensor(context, &tensor, LOCKSTEP_ERR_ARGUMENT, "it lies on a device, and plane");
    support_close(context);
    device_free(memory);
}

/* Of an older header: a struct without the last fields. */
static void
test_older_header(void)
{
    lockstep_context *context = support_open("plane=nccl");
    float host[4] = {1, 2, 3, 4};
    lockstep_tensor tensor = support_tensor("old", host, host, 4, LOCKSTEP_FLOAT32);
    tensor.size = offsetof(lockstep_tensor, memory);
    tensor.memory = (lockstep_memory)99; /* not read */
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    g_assert_cmpfloat(host[3], ==, (float)(4 * support_ranks()));
    tensor.size--;
    refuse_tensor(context, &tensor, LOCKSTEP_ERR_ARGUMENT, "tensor->size");
    support_close(context);
}

static void
add(const char *name, guint plane, void (*test)(gconstpointer))
{
    static const char *const names[] = {"nccl", "hierarchical", "hybrid"};
    g_autofree char *path = g_strdup_printf("/reduce/device/%s/%s", names[plane], name);
    g_test_add_data_func(path, planes[plane], test);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    if (!device_open()) {
        g_print("1..0 # SKIP no CUDA device\n");
        MPI_Finalize();
        return 77;
    }
    for (guint plane = 0; plane < G_N_ELEMENTS(planes); plane++) {
        add("sums", plane, test_sums);
        add("long", plane, test_long);
        add("fused", plane, test_fused);
        add("averages", plane, test_averages);
        add("rounding", plane, test_rounding);
        add("operations", plane, test_operations);
        add("readiness", plane, test_readiness);
    }
    for (int each = 1; each < support_ranks(); each++) {
        g_autofree char *path = g_strdup_printf("/reduce/device/hosts/of-%d", each);
        g_test_add_data_func(path, GINT_TO_POINTER(each), test_hosts);
    }
    g_test_add_func("/reduce/device/priority", test_priority);
    g_test_add_func("/reduce/device/times", test_times);
    g_test_add_func("/reduce/device/refusals", test_refusals);
    g_test_add_func("/reduce/device/older-header", test_older_header);
    return support_run();
}
