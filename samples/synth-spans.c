/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-spans.c: very many spans, cheaply: what load and draw are measured with.
 */
#include "samples/synth-run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "samples/synth-file.h"

#define N_NAMES 40
#define PID     10000u

static void
write_head(LsSynthFile *file, uint32_t rank, uint32_t ranks, uint32_t threads)
{
    char text[32];
    snprintf(text, sizeof text, "%u", rank);
    ls_synth_file_info(file, "rank", text);
    ls_synth_file_info(file, "local_rank", text);
    snprintf(text, sizeof text, "%u", ranks);
    ls_synth_file_info(file, "world", text);
    snprintf(text, sizeof text, "%u", PID + rank);
    ls_synth_file_info(file, "pid", text);
    ls_synth_file_info(file, "host", "node0");
    ls_synth_file_info(file, "boot_id", "00000000-0000-4000-a000-000000000001");
    for (uint32_t t = 0; t < threads; t++) {
        LsRecord record = {.kind = LS_RECORD_THREAD, .args = {PID + rank + t}};
        snprintf(text, sizeof text, "worker %u", t);
        record.name = ls_synth_file_name(file, text);
        ls_synth_file_add(file, 0, &record);
    }
}

/* An outer span with an inner one, by turns on each thread. */
static void
write_spans(LsSynthFile *file, uint32_t rank, uint32_t threads, uint64_t spans, uint64_t *random)
{
    uint32_t names[N_NAMES];
    int64_t now[256] = {0};
    char text[32];

    for (int i = 0; i < N_NAMES; i++) {
        snprintf(text, sizeof text, "operator_%02d", i);
        names[i] = ls_synth_file_name(file, text);
    }
    for (uint64_t i = 0; i < spans; i += 2) {
        uint32_t t = (uint32_t)(i / 2 % threads);
        uint64_t draw = ls_synth_random(random);
        int64_t length = 1000 + (int64_t)(draw % 49000);
        int64_t gap = (int64_t)((draw >> 32) % 5000);
        LsRecord inner = {.kind = LS_RECORD_PHASE, .name = names[(draw >> 20) % N_NAMES]};
        LsRecord outer = {.kind = LS_RECORD_PHASE, .name = names[(draw >> 44) % N_NAMES]};
        now[t] += gap;
        outer.start_ns = 1000000000000 + now[t];
        outer.end_ns = outer.start_ns + length;
        inner.start_ns = outer.start_ns + length / 4;
        inner.end_ns = outer.start_ns + length / 4 * 3;
        now[t] += length;
        if (i + 1 < spans)
            ls_synth_file_add(file, PID + rank + t, &inner);
        ls_synth_file_add(file, PID + rank + t, &outer);
    }
}

bool
ls_synth_spans_write(const char *folder, uint32_t ranks, uint32_t threads, uint64_t spans,
                     uint64_t seed, char *ret_error, size_t error_size)
{
    char path[4096];
    uint64_t random = seed;

    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        snprintf(ret_error, error_size, "%s: %s", folder, strerror(errno));
        return false;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t share = spans / ranks + (r < spans % ranks ? 1 : 0);
        ls_synth_run_get_path(folder, r, ranks, path, sizeof path);
        LsSynthFile *file = ls_synth_file_open(path, r, PID + r);
        if (file != NULL) {
            write_head(file, r, ranks, threads);
            write_spans(file, r, threads, share, &random);
        }
        if (file == NULL || !ls_synth_file_close(file)) {
            snprintf(ret_error, error_size, "%s: %s", path, strerror(errno));
            return false;
        }
    }
    return true;
}
