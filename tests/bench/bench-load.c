/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/bench/bench-load.c: how fast the own format becomes processes, and processes a trace:
 * spans/s, MB/s and peak memory, beside a plain read of the same file. `bench-load [SPANS]`; the
 * file is made here. Times are one processor's (thread CPU time), the best of ROUNDS.
 */
#include "base/units.h"
#include "format/format.h"
#include "samples/synth-run.h"
#include "trace/builder.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 3

/* Of this thread's own processor: what other programs do does not count. */
static int64_t
now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static size_t
count_spans(const LsProcess *process)
{
    size_t n = 0;
    for (guint i = 0; i < process->tracks->len; i++)
        n += ls_track_builder_get_n(g_ptr_array_index(process->tracks, i));
    return n;
}

static int64_t
read_plainly(const char *path, int64_t *ret_bytes)
{
    static char buffer[1 << 20];
    int64_t start = now_ns();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_bytes = 0;
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
        *ret_bytes += n;
    close(fd);
    return now_ns() - start;
}

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

/* Loads, then freezes; times in ns. false: the file could not be read whole. */
static bool
load_once(const char *path, size_t expected, int64_t *ret_load_ns, int64_t *ret_freeze_ns)
{
    g_autoptr(GPtrArray) processes = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    int64_t start = now_ns();
    if (!ls_format_load(path, processes, NULL, &error) || processes->len != 1) {
        g_printerr("%s\n", error ? error->message : "not one process");
        return false;
    }
    *ret_load_ns = now_ns() - start;
    LsProcess *process = g_ptr_array_index(processes, 0);
    size_t n = count_spans(process);
    start = now_ns();
    LsBuilder *builder = ls_builder_new(no_class, NULL);
    ls_builder_take(builder, process);
    LsTrace *trace = ls_builder_freeze(builder);
    *ret_freeze_ns = now_ns() - start;
    ls_trace_unref(trace);
    if (n < expected)
        g_printerr("%zu spans instead of %zu\n", n, expected);
    return n >= expected;
}

static void
print_line(const char *what, int64_t ns, size_t spans, int64_t bytes)
{
    double seconds = (double)ns / 1e9;
    g_autofree char *time = ls_format_ns(ns);
    g_autofree char *rate = ls_format_rate((double)bytes / seconds);
    printf("# %-12s %9s %8.1f M spans/s %12s\n", what, time, (double)spans / seconds / 1e6, rate);
}

static bool
measure(const char *path, size_t spans)
{
    int64_t load = INT64_MAX, freeze = INT64_MAX, plain = INT64_MAX, bytes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t load_ns, freeze_ns;
        if (!load_once(path, spans, &load_ns, &freeze_ns))
            return false;
        load = MIN(load, load_ns);
        freeze = MIN(freeze, freeze_ns);
        plain = MIN(plain, read_plainly(path, &bytes));
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    g_autofree char *size = ls_format_bytes(bytes),
                    *peak = ls_format_bytes((int64_t)usage.ru_maxrss * 1024);
    printf("# %zu spans, %s, %.1f bytes a span; peak memory %s\n", spans, size,
           (double)bytes / (double)spans, peak);
    print_line("load", load, spans, bytes);
    print_line("freeze", freeze, spans, bytes);
    print_line("plain read", plain, spans, bytes);
    return true;
}

int
main(int argc, char **argv)
{
    size_t spans = argc > 1 ? (size_t)g_ascii_strtoull(argv[1], NULL, 10) : 10000000;
    g_autofree char *folder = g_dir_make_tmp("bench-load-XXXXXX", NULL);
    g_autofree char *run = g_build_filename(folder, "run", NULL);
    char text[256], path[512];
    bool done = ls_synth_spans_write(run, 1, 15, spans, 1, text, sizeof text);
    ls_synth_run_get_path(run, 0, 1, path, sizeof path);
    if (!done)
        g_printerr("%s\n", text);
    done = done && measure(path, spans);
    g_unlink(path);
    g_rmdir(run);
    g_rmdir(folder);
    printf("1..1\n%s 1 /bench/load\n", done ? "ok" : "not ok");
    return done ? 0 : 1;
}
