/* SPDX-License-Identifier: Apache-2.0
 *
 * What a record costs the program that makes it, and how many bytes it takes on disk.
 *
 * Records come in batches with a pause behind each, so that the drain keeps up: the figure is of
 * records that are kept, which is checked against the file. Beside it, with the same pauses, the
 * same record copied into a private ring, which is the least that any recorder does. Prints `key
 * value unit`; medians of repeats, in CPU time of the recording thread.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "capture/recorder.h"
#include "lks.h"

#define REPEATS      15
#define BATCHES      100
#define BATCH        400
#define PRIVATE_RING 1024

typedef struct Way {
    const char *key;
    bool is_recorded, reads_clock;
} Way;

static const Way ways[] = {
    {"record.with_clock", true, true},
    {"record.without_clock", true, false},
    {"memcpy.with_clock", false, true},
    {"memcpy.without_clock", false, false},
};

static LsRecord private_ring[PRIVATE_RING];

/* CPU time of this thread: what others do on the machine, and the drain in its own thread, is not
 * in it. */
static int64_t
read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One record a call, as an instrumented program has it: not a loop that the compiler can merge. */
__attribute__((noinline)) static void
make_record(const Way *way, LsRecord *record, uint32_t i)
{
    if (way->reads_clock) {
        record->end_ns = ls_recorder_now();
        record->start_ns = record->end_ns - 1234567;
    } else {
        record->start_ns += 15000;
        record->end_ns = record->start_ns + 1234567;
    }
    record->args[0] = i;
    if (way->is_recorded)
        ls_recorder_write(record);
    else
        memcpy(&private_ring[i % PRIVATE_RING], record, sizeof *record);
}

static double
measure(const Way *way)
{
    LsRecord record = {.kind = LS_RECORD_OPERATION,
                       .name = ls_recorder_name("MPI_ALLREDUCE"),
                       .start_ns = ls_recorder_now(),
                       .args = {0, 0, 25557032, 12, 0}};
    int64_t spent = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t start = read_clock();
        for (int i = 0; i < BATCH; i++)
            make_record(way, &record, (uint32_t)(batch * BATCH + i));
        spent += read_clock() - start;
        ls_recorder_flush(); /* a batch fits into the ring; the next finds it empty */
    }
    return (double)spent / (BATCHES * BATCH);
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
print_median(const char *key, double *values, int n, const char *unit)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    printf("%s.median %.1f %s\n", key, values[n / 2], unit);
    printf("%s.best %.1f %s\n", key, values[0], unit);
}

static int
check_file(const char *folder, uint64_t written)
{
    g_autoptr(GPtrArray) paths = lks_list(folder);
    if (paths->len != 1)
        return 1;
    g_autoptr(LksFile) file = lks_read(paths->pdata[0]);
    uint64_t kept = lks_count(file, LS_RECORD_OPERATION), lost = lks_sum_lost(file);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("record.written %" G_GUINT64_FORMAT " events\n", written);
    printf("record.in_file %" G_GUINT64_FORMAT " events\n", kept);
    printf("record.lost %" G_GUINT64_FORMAT " events\n", lost);
    printf("record.bytes_per_event %.2f bytes\n", (double)file->length / (double)kept);
    g_remove(paths->pdata[0]);
    return kept != written || lost != 0;
}

int
main(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-bench-XXXXXX", NULL);
    g_autofree char *manifest = g_build_filename(folder, "run.json", NULL);
    double values[G_N_ELEMENTS(ways)][REPEATS];
    uint64_t written = 0;
    struct rusage usage;
    if (ls_recorder_open(folder) != LS_OK)
        return 1;
    ls_recorder_set_rank(0, 1, 0);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t w = 0; w < G_N_ELEMENTS(ways); w++) {
            values[w][repeat] = measure(&ways[w]);
            written += ways[w].is_recorded ? BATCHES * BATCH : 0;
        }
    }
    getrusage(RUSAGE_SELF, &usage);
    ls_recorder_close();
    for (size_t w = 0; w < G_N_ELEMENTS(ways); w++)
        print_median(ways[w].key, values[w], REPEATS, "ns");
    printf("record.peak_memory %ld KiB\n", usage.ru_maxrss);
    int status = check_file(folder, written);
    g_remove(manifest);
    g_rmdir(folder);
    if (status != 0)
        printf("record.valid 0 (records were lost; the figures do not count)\n");
    return status;
}
