/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tracer costs on the host: an NVTX range (two events: push and pop), an NCCL event (start
 * and stop), and a kernel's record (on CUPTI's or our own thread, not the program's). Batches with
 * a pause behind each, so that the drain keeps up and every record counts, which is checked; the
 * first ones, which meet memory that was never touched, are not measured. Beside them two readings
 * of the clock, which are in each of the first two. Then the memory of a thread that has made one
 * range. Prints `key value unit`; medians.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "abi/cupti.h"
#include "abi/nccl-profiler.h"
#include "abi/nvtx.h"
#include "capture/recorder.h"
#include "lks.h"
#include "tracer/cupti-activity.h"

#define REPEATS 101
#define BATCH   400
#define WARM_UP 42 /* batches: all slots of NCCL's events once */
#define THREADS 32

int InitializeInjectionNvtx2(LsNvtxGetTable get_table);
extern const LsNcclProfilerV5 ncclProfiler_v5;

static LsNvtxFunction core[LS_NVTX_CORE_SIZE], core2[LS_NVTX_CORE2_SIZE];
static LsNvtxFunction *core_places[LS_NVTX_CORE_SIZE], *core2_places[LS_NVTX_CORE2_SIZE];
static void *nccl;
static uint8_t buffer[BATCH * LS_CUPTI_KERNEL_BYTES_13_0];

static int
get_functions(int module, LsNvtxFunction ***ret_table, unsigned *ret_n)
{
    *ret_table = module == LS_NVTX_MODULE_CORE ? core_places : core2_places;
    *ret_n = LS_NVTX_CORE_SIZE;
    return module == LS_NVTX_MODULE_CORE || module == LS_NVTX_MODULE_CORE2;
}

static const void *
get_table(uint32_t id)
{
    static const LsNvtxCallbacks callbacks = {sizeof callbacks, get_functions};
    return id == LS_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

/* The least that steps through a buffer of kernels. */
static LsCuptiResult
get_next(uint8_t *data, size_t valid, uint8_t **record)
{
    *record = *record == NULL ? data : *record + LS_CUPTI_KERNEL_BYTES_13_0;
    return *record < data + valid ? LS_CUPTI_SUCCESS : LS_CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static void
run_clock(void)
{
    for (int i = 0; i < BATCH; i++) {
        ls_recorder_now();
        ls_recorder_now();
    }
}

static void
run_nvtx(void)
{
    int (*push)(const char *) = (int (*)(const char *))core[LS_NVTX_RANGE_PUSH_A];
    int (*pop)(void) = (int (*)(void))core[LS_NVTX_RANGE_POP];
    for (int i = 0; i < BATCH; i++) {
        push("layer4.conv2");
        pop();
    }
}

static void
run_nccl(void)
{
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_COLL};
    event.coll.func = "AllReduce";
    event.coll.type = "ncclFloat32";
    event.coll.count = 4096;
    for (int i = 0; i < BATCH; i++) {
        void *handle;
        event.coll.sequence++;
        ncclProfiler_v5.startEvent(nccl, &handle, &event);
        ncclProfiler_v5.stopEvent(handle);
    }
}

static void
run_kernels(void)
{
    static const LsCupti api = {.cuptiActivityGetNextRecord = get_next};
    ls_cupti_activity_read(&api, buffer, sizeof buffer, 0, 0);
}

static void
fill_kernels(void)
{
    static const char name[] = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm>";
    const char *text = name;
    for (int i = 0; i < BATCH; i++) {
        uint8_t *record = buffer + i * LS_CUPTI_KERNEL_BYTES_13_0;
        uint32_t kind = LS_CUPTI_CONCURRENT_KERNEL, number = (uint32_t)i;
        int64_t start = ls_recorder_now() + i * 20000, end = start + 15000;
        memcpy(record, &kind, sizeof kind);
        memcpy(record + LS_CUPTI_KERNEL_START, &start, sizeof start);
        memcpy(record + LS_CUPTI_KERNEL_END, &end, sizeof end);
        memcpy(record + LS_CUPTI_KERNEL_CORRELATION, &number, sizeof number);
        memcpy(record + LS_CUPTI_KERNEL_NAME, &text, sizeof text);
    }
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
measure(const char *key, void (*run)(void))
{
    double values[REPEATS];
    for (int repeat = -WARM_UP; repeat < REPEATS; repeat++) {
        int64_t start = ls_recorder_now();
        run();
        values[repeat < 0 ? 0 : repeat] = (double)(ls_recorder_now() - start) / BATCH;
        ls_recorder_flush();
    }
    qsort(values, REPEATS, sizeof *values, compare);
    printf("%s.median %.1f ns\n%s.best %.1f ns\n", key, values[REPEATS / 2], key, values[0]);
}

/* -- Memory -- */

static pthread_barrier_t have_marked, may_end;

static void *
mark_and_rest(void *user)
{
    ((int (*)(const char *))core[LS_NVTX_RANGE_PUSH_A])("layer4.conv2");
    ((int (*)(void))core[LS_NVTX_RANGE_POP])();
    pthread_barrier_wait(&have_marked);
    pthread_barrier_wait(&may_end);
    return NULL;
}

static int64_t
get_ring_bytes(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    int64_t sum = 0;
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        struct stat status;
        if (stat(path, &status) == 0)
            sum += (int64_t)status.st_blocks * 512;
    }
    return sum;
}

/* Shared memory of a thread that has a ring. What is thread-local in the library (11 KB where a
 * thread makes ranges) comes beside it; here it lies in the program's own. */
static void
measure_memory(const char *rings)
{
    pthread_t threads[THREADS];
    int64_t before = get_ring_bytes(rings);
    pthread_barrier_init(&have_marked, NULL, THREADS + 1);
    pthread_barrier_init(&may_end, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, mark_and_rest, NULL);
    pthread_barrier_wait(&have_marked);
    printf("memory.per_thread.ring %.1f KiB\n",
           (double)(get_ring_bytes(rings) - before) / THREADS / 1024);
    pthread_barrier_wait(&may_end);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* -- The file -- */

static int
check_file(const char *folder)
{
    g_autoptr(GPtrArray) paths = lks_list(folder);
    if (paths->len != 1)
        return 1;
    g_autoptr(LksFile) file = lks_read(paths->pdata[0]);
    uint64_t ranges = lks_count(file, LS_RECORD_RANGE),
             colls = lks_count(file, LS_RECORD_NCCL_COLL);
    uint64_t kernels = lks_count(file, LS_RECORD_KERNEL), lost = lks_sum_lost(file);
    uint64_t all = ranges + colls + kernels;
    printf("tracer.in_file %" G_GUINT64_FORMAT " events\ntracer.lost %" G_GUINT64_FORMAT
           " events\n",
           all, lost);
    printf("tracer.bytes_per_event %.2f bytes\n", (double)file->length / (double)all);
    g_remove(paths->pdata[0]);
    return all != 3 * (WARM_UP + REPEATS) * BATCH + THREADS || lost != 0;
}

int
main(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-bench-XXXXXX", NULL);
    g_autofree char *manifest = g_build_filename(folder, "run.json", NULL);
    char rings[] = "/dev/shm/lockstep-bench-XXXXXX";
    int mask = 0;
    if (g_mkdtemp(rings) == NULL)
        return 1;
    g_setenv("LOCKSTEP_SHM_DIR", rings, TRUE);
    g_setenv("LOCKSTEP_RUN", folder, TRUE);
    g_setenv("LOCKSTEP_POWER", "0", TRUE);
    for (int i = 0; i < LS_NVTX_CORE_SIZE; i++) {
        core_places[i] = &core[i];
        core2_places[i] = &core2[i];
    }
    if (InitializeInjectionNvtx2(get_table) != 1 || core[LS_NVTX_RANGE_POP] == NULL ||
        ncclProfiler_v5.init(&nccl, 1, &mask, "bench", 1, 1, 0, NULL) != 0)
        return 1;
    fill_kernels();
    measure("clock_twice", run_clock);
    measure("nvtx.push_pop", run_nvtx);
    measure("nccl.start_stop", run_nccl);
    measure("cupti.kernel_with_flush", run_kernels);
    measure_memory(rings);
    ls_recorder_close();
    int status = check_file(folder);
    g_remove(manifest);
    g_rmdir(folder);
    g_rmdir(rings);
    if (status != 0)
        printf("tracer.valid 0 (records were lost; the figures do not count)\n");
    return status;
}
