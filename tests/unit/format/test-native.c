/* SPDX-License-Identifier: Apache-2.0
 * The trace file: what an encoder of its own (samples/synth-file) wrote is read back, and what is
 * damaged, cut, missing or unknown costs no more than itself. */
#include "base/error.h"
#include "format/format.h"
#include "samples/synth-file.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

typedef struct Fixture {
    char *folder;
    GPtrArray *processes; /* LsProcess */
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->folder = g_dir_make_tmp("native-XXXXXX", NULL);
    g_assert_nonnull(fixture->folder);
    fixture->processes = g_ptr_array_new_with_free_func((GDestroyNotify)ls_process_free);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_ptr_array_unref(fixture->processes);
    GDir *dir = g_dir_open(fixture->folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
        g_unlink(path);
    }
    g_dir_close(dir);
    g_rmdir(fixture->folder);
    g_free(fixture->folder);
}

static char *
path_of(const Fixture *fixture, const char *name)
{
    return g_build_filename(fixture->folder, name, NULL);
}

static LsProcess *
load(Fixture *fixture, const char *name, guint n_expected)
{
    g_autofree char *path = path_of(fixture, name);
    g_autoptr(GError) error = NULL;
    g_ptr_array_set_size(fixture->processes, 0);
    bool done = ls_format_load(path, fixture->processes, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(done);
    g_assert_cmpuint(fixture->processes->len, ==, n_expected);
    return g_ptr_array_index(fixture->processes, 0);
}

static void
put(const Fixture *fixture, const char *name, const void *data, size_t length)
{
    g_autofree char *path = path_of(fixture, name);
    g_assert_true(g_file_set_contents(path, data, (gssize)length, NULL));
}

static size_t
get(const Fixture *fixture, const char *name, char **ret_data)
{
    g_autofree char *path = path_of(fixture, name);
    size_t length;
    g_assert_true(g_file_get_contents(path, ret_data, &length, NULL));
    return length;
}

static LsSynthFile *
begin(const Fixture *fixture, const char *name, uint32_t rank)
{
    g_autofree char *path = path_of(fixture, name);
    LsSynthFile *file = ls_synth_file_open(path, rank, 1000 + rank, 0);
    g_assert_nonnull(file);
    return file;
}

static void
add(LsSynthFile *file, uint32_t thread, uint16_t kind, const char *name, int64_t start, int64_t end,
    const int64_t *args, size_t n_args)
{
    LsRecord record = {
        .kind = kind, .name = ls_synth_file_name(file, name), .start_ns = start, .end_ns = end};
    memcpy(record.args, args, n_args * sizeof *args);
    ls_synth_file_add(file, thread, &record);
}
#define ADD(file, thread, kind, name, start, end, ...)                                             \
    add(file, thread, LS_RECORD_##kind, name, start, end, (const int64_t[]){__VA_ARGS__},          \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Severity of the finding that holds the text, -1: there is none. */
static int
severity_of(const LsProcess *process, const char *text)
{
    for (guint i = 0; i < process->findings->len; i++) {
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, i);
        if (strstr(finding->text, text))
            return (int)finding->severity;
    }
    return -1;
}

static int64_t
time_of(const LsProcess *process, const char *text)
{
    for (guint i = 0; i < process->findings->len; i++) {
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, i);
        if (strstr(finding->text, text))
            return finding->time_ns;
    }
    return 0;
}

static size_t
count_spans(const LsProcess *process, LsTrackKind kind)
{
    size_t n = 0;
    for (guint i = 0; i < process->tracks->len; i++) {
        const LsTrackBuilder *track = g_ptr_array_index(process->tracks, i);
        if (ls_track_builder_get_kind(track) == kind)
            n += ls_track_builder_get_n(track);
    }
    return n;
}

/* What reduce knows of its tensors; what its cache was asked; what compression made of a buffer. */
static void
test_graph_cache_and_wire_are_read(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 2, TENSOR, "b", 100, 100, 0, 64, ls_synth_file_name(file, "group 0"), 1);
    ADD(file, 2, TENSOR, "a", 101, 101, 0, 32, ls_synth_file_name(file, "group 0"), 0);
    ADD(file, 2, TENSOR, "beside", 102, 102, 0, -1, ls_synth_file_name(file, "group 1"), -1);
    ADD(file, 2, NEEDS, "b", 103, 103, 0, ls_synth_file_name(file, "a"),
        ls_synth_file_name(file, "x"));
    ADD(file, 2, CYCLE, "bitvector", 200, 300, 9, LS_PATH_MIXED, 3, 1);
    ADD(file, 2, CACHE, "", 290, 290, 9, 0, 5, 2, (int64_t)(UINT64_C(7) << 32 | 1));
    ADD(file, 2, CYCLE, "bitvector", 300, 400, 10, LS_PATH_IDLE, 0, 0);
    ADD(file, 2, OPERATION, "ONEBIT_ALLREDUCE", 400, 500, 3, 0, 4096, 1);
    ADD(file, 2, WIRE, "", 500, 500, 3, 0, 140);
    g_assert_true(ls_synth_file_close(file));

    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->findings->len, ==, 0);
    g_assert_cmpuint(process->graph_tensors->len, ==, 3);
    const LsGraphTensor *tensors = (const LsGraphTensor *)(void *)process->graph_tensors->data;
    g_assert_cmpstr(ls_strings_get(process->strings, tensors[0].tensor), ==, "b");
    g_assert_cmpstr(ls_strings_get(process->strings, tensors[0].group), ==, "group 0");
    g_assert_cmpint(tensors[0].bytes, ==, 64);
    g_assert_cmpint(tensors[0].place, ==, 1);
    g_assert_cmpint(tensors[2].bytes, ==, -1);
    g_assert_cmpint(tensors[2].place, ==, -1);
    g_assert_cmpuint(process->graph_needs->len, ==, 2);
    const LsGraphNeed *needs = (const LsGraphNeed *)(void *)process->graph_needs->data;
    g_assert_cmpuint(needs[0].tensor, ==, tensors[0].tensor);
    g_assert_cmpuint(needs[0].needed, ==, tensors[1].tensor);
    g_assert_cmpstr(ls_strings_get(process->strings, needs[1].needed), ==, "x");
    g_assert_cmpuint(process->cycles->len, ==, 2);
    const LsCycle *cycles = (const LsCycle *)(void *)process->cycles->data;
    g_assert_true(cycles[0].cache_known);
    g_assert_cmpuint(cycles[0].hits, ==, 5);
    g_assert_cmpuint(cycles[0].misses, ==, 2);
    g_assert_cmpuint(cycles[0].invalid, ==, 1);
    g_assert_cmpuint(cycles[0].evicted, ==, 7);
    g_assert_cmpint(cycles[0].start_ns, ==, 200);
    g_assert_false(cycles[1].cache_known);
    g_assert_cmpuint(process->calls->len, ==, 1);
    const LsCall *call = (const LsCall *)(void *)process->calls->data;
    g_assert_cmpint(call->bytes, ==, 4096);
    g_assert_cmpint(call->wire_bytes, ==, 140);
    g_assert_cmpint(call->start_ns, ==, 400);
}

/* One tensor's life: the loop's half (thread 2) is written before the program's (thread 1). */
static void
test_life_of_a_tensor_is_joined(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 3);
    ls_synth_file_info(file, "host", "gpu05");
    ls_synth_file_info(file, "world", "4");
    ls_synth_file_info(file, "local_rank", "1");
    ls_synth_file_info(file, "boot_id", "b-1");
    ls_synth_file_info(file, "command", "train");
    ADD(file, 2, AGREED, "layer1", 2000, 2000, 7, 40, 11, 2);
    ADD(file, 2, STAGE, "DRAIN", 1800, 1850, 40);
    ADD(file, 2, STAGE, "EXCHANGE", 1850, 1950, 40);
    ADD(file, 2, CYCLE, "coordinator", 1790, 2010, 40, LS_PATH_SLOW, 3, 1);
    ADD(file, 2, PACK, "MEMCPY_IN_FUSION_BUFFER", 2100, 2200, 11, 0, 4096);
    ADD(file, 2, OPERATION, "MPI_ALLREDUCE", 2200, 2900, 11, 0, 4096, 3, 0 | 1 << 8 | 1 << 16);
    ADD(file, 2, UNPACK, "MEMCPY_OUT_FUSION_BUFFER", 2900, 2950, 11, 0, 4096);
    ADD(file, 2, DONE, "layer1", 2960, 2960, 7, 11, 0);
    ADD(file, 2, SLEEP, "", 2960, 3960, 40);
    ADD(file, 2, MESSAGE, "gather", 1860, 1900, 40, 3, 0, 300, 0);
    ls_synth_file_flush(file, 2);
    ADD(file, 1, SUBMIT, "layer1", 1000, 1000, 7, 1024, ls_synth_file_name(file, "group0"), 1 << 8);
    ADD(file, 1, GATE, "layer1", 1200, 1200, 7, ls_synth_file_name(file, "group0"));
    g_assert_true(ls_synth_file_close(file));

    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpint(process->rank.rank, ==, 3);
    g_assert_cmpint(process->rank.pid, ==, 1003);
    g_assert_cmpint(process->rank.world, ==, 4);
    g_assert_cmpint(process->rank.local_rank, ==, 1);
    g_assert_cmpstr(process->rank.host, ==, "gpu05");
    g_assert_cmpstr(process->rank.boot_id, ==, "b-1");
    g_assert_cmpstr(g_hash_table_lookup(process->facts, "command"), ==, "train");
    g_assert_cmpuint(process->rank.records, ==, 12);
    g_assert_cmpint(process->rank.first_ns, ==, 1000);
    g_assert_cmpint(process->rank.last_ns, ==, 3960);
    g_assert_cmpuint(process->findings->len, ==, 0);

    g_assert_cmpuint(process->uses->len, ==, 1);
    const LsUse *use = &g_array_index(process->uses, LsUse, 0);
    g_assert_cmpstr(ls_strings_get(process->strings, use->tensor), ==, "layer1");
    g_assert_cmpstr(ls_strings_get(process->strings, use->group), ==, "group0");
    g_assert_cmpuint(use->occurrence, ==, 7);
    g_assert_cmpint(use->bytes, ==, 1024);
    g_assert_cmpuint(use->dtype, ==, 1);
    g_assert_cmpuint(use->position, ==, 2);
    g_assert_cmpint(use->submit_ns, ==, 1000);
    g_assert_cmpint(use->gate_ns, ==, 1200);
    g_assert_cmpint(use->agreed_ns, ==, 2000);
    g_assert_cmpint(use->done_ns, ==, 2960);

    g_assert_cmpuint(process->calls->len, ==, 1);
    const LsCall *call = &g_array_index(process->calls, LsCall, use->call);
    g_assert_cmpint(call->sequence, ==, 11);
    g_assert_cmpuint(call->tensors, ==, 3);
    g_assert_cmpint(call->bytes, ==, 4096);
    g_assert_cmpuint(call->reduction, ==, 1);
    g_assert_cmpint(call->start_ns, ==, 2200);
    g_assert_cmpint(call->end_ns, ==, 2900);
    g_assert_cmpint(call->pack_start_ns, ==, 2100);
    g_assert_cmpint(call->unpack_end_ns, ==, 2950);
    g_assert_true(call->device_timed);
    g_assert_false(call->open);

    g_assert_cmpuint(process->cycles->len, ==, 1);
    const LsCycle *cycle = &g_array_index(process->cycles, LsCycle, 0);
    g_assert_cmpint(cycle->number, ==, 40);
    g_assert_cmpint(cycle->start_ns, ==, 1790);
    g_assert_cmpint(cycle->end_ns, ==, 2010);
    g_assert_cmpint(cycle->drain_ns, ==, 50);
    g_assert_cmpint(cycle->exchange_ns, ==, 100);
    g_assert_cmpuint(cycle->path, ==, LS_PATH_SLOW);
    g_assert_cmpuint(process->sleeps->len, ==, 1);
    g_assert_cmpint(g_array_index(process->messages, LsMessage, 0).bytes_in, ==, 300);
    g_assert_cmpuint(count_spans(process, LS_TRACK_COMMUNICATION), ==, 3);
    g_assert_cmpuint(count_spans(process, LS_TRACK_CYCLES), ==, 3);
    /* NEGOTIATE_ALLREDUCE, ALLREDUCE, QUEUE, in, MPI_ALLREDUCE, out. */
    g_assert_cmpuint(count_spans(process, LS_TRACK_TENSOR), ==, 6);
}

/* As the library writes it: the loop's thread says the group, the program's does not know it. */
static void
test_group_is_the_gates_whoever_is_read_first(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 1, SUBMIT, "before", 1000, 1000, 0, 1024, 0, 1 << 8);
    ls_synth_file_flush(file, 1);
    ADD(file, 2, GATE, "before", 1100, 1100, 0, ls_synth_file_name(file, "group0"));
    ADD(file, 2, GATE, "after", 1200, 1200, 0, ls_synth_file_name(file, "group1"));
    ls_synth_file_flush(file, 2);
    ADD(file, 1, SUBMIT, "after", 1010, 1010, 0, 1024, 0, 1 << 8);
    g_assert_true(ls_synth_file_close(file));

    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->uses->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const LsUse *use = &g_array_index(process->uses, LsUse, i);
        g_assert_cmpint(use->submit_ns, ==, 1000 + 10 * (int64_t)i);
        g_assert_cmpint(use->gate_ns, ==, 1100 + 100 * (int64_t)i);
        g_assert_cmpstr(ls_strings_get(process->strings, use->group), ==,
                        i == 0 ? "group0" : "group1");
    }
}

static void
test_marks_and_counters(Fixture *fixture, gconstpointer data)
{
    int64_t half;
    memcpy(&half, &(double){0.5}, sizeof half);
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 0, THREAD, "loader", 1, 1, 6);
    ADD(file, 5, STEP, "step", 100, 900, 17, 32, 1000000);
    ADD(file, 5, PHASE, "forward", 100, 300, 5000);
    ADD(file, 6, PHASE, "input", 50, 90);
    ADD(file, 5, COUNTER, "loss", 850, 850, half);
    ADD(file, 5, INSTANT, "epoch", 860, 860, 0);
    ADD(file, 0, CLOCK, "", 70, 70, 1700000000000000000, 25);
    ADD(file, 5, ROUNDTRIP, "", 500, 540, 2, 9000, 9010, 3);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const LsStep *step = &g_array_index(process->steps, LsStep, 0);
    g_assert_cmpint(step->number, ==, 17);
    g_assert_cmpint(step->samples, ==, 32);
    g_assert_cmpint(step->operations, ==, 1000000);
    g_assert_false(step->cut);
    g_assert_cmpuint(process->phases->len, ==, 1); /* the other says no operations */
    g_assert_cmpint(g_array_index(process->phases, LsPhase, 0).operations, ==, 5000);
    g_assert_cmpuint(count_spans(process, LS_TRACK_PHASES), ==, 2);
    g_assert_cmpuint(count_spans(process, LS_TRACK_COUNTER), ==, 1);
    g_assert_cmpuint(g_array_index(process->instants, LsInstant, 0).kind, ==, LS_INSTANT_MARK);
    const LsClockPair *pair = &g_array_index(process->clock_pairs, LsClockPair, 0);
    g_assert_cmpint(pair->wall_ns, ==, 1700000000000000000);
    g_assert_cmpint(pair->uncertainty_ns, ==, 25);
    const LsRoundtrip *trip = &g_array_index(process->roundtrips, LsRoundtrip, 0);
    g_assert_cmpint(trip->peer, ==, 2);
    g_assert_cmpint(trip->peer_send_ns, ==, 9010);
    g_assert_cmpint(trip->receive_ns, ==, 540);
}

static void
test_what_never_ended_is_kept_open(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord step = {.kind = LS_RECORD_STEP,
                     .flags = LS_RECORD_OPEN,
                     .start_ns = 100,
                     .end_ns = 100,
                     .args = {1}};
    LsRecord call = {.kind = LS_RECORD_OPERATION,
                     .flags = LS_RECORD_OPEN,
                     .start_ns = 150,
                     .end_ns = 150,
                     .args = {9}};
    step.name = ls_synth_file_name(file, "step");
    call.name = ls_synth_file_name(file, "MPI_ALLREDUCE");
    ls_synth_file_add(file, 5, &step);
    ls_synth_file_add(file, 5, &call);
    step.flags = 0;
    step.end_ns = 500;
    ls_synth_file_add(file, 5, &step); /* supersedes */
    step = (LsRecord){.kind = LS_RECORD_STEP,
                      .flags = LS_RECORD_OPEN,
                      .name = step.name,
                      .start_ns = 600,
                      .end_ns = 600,
                      .args = {2}};
    ls_synth_file_add(file, 5, &step);
    ADD(file, 5, PHASE, "forward", 600, 700, 0);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->steps->len, ==, 2);
    const LsStep *steps = &g_array_index(process->steps, LsStep, 0);
    g_assert_false(steps[0].cut);
    g_assert_cmpint(steps[0].end_ns, ==, 500);
    g_assert_true(steps[1].cut);
    g_assert_cmpint(steps[1].start_ns, ==, 600);
    g_assert_cmpint(steps[1].end_ns, ==, 700);
    const LsCall *open = &g_array_index(process->calls, LsCall, 0);
    g_assert_true(open->open);
    g_assert_cmpint(open->end_ns, ==, 700);
}

/* A rank that died between a buffer's preparation and its execution; what a record of the wire
 * alone tells. */
/* What was begun and not ended when records ceased to be kept, by request, ends there, not with the
 * process, whose clock goes on. What began in the last window, which lasted, ends with it. */
static void
test_a_window_ends_what_is_open_in_it(Fixture *fixture, gconstpointer data)
{
    static const int64_t starts[] = {120, 450, 720}, ends[] = {200, 500, 900};
    for (int last_is_cut = 0; last_is_cut < 2; last_is_cut++) {
        LsSynthFile *file = begin(fixture, last_is_cut ? "b.lks" : "a.lks", 0);
        for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
            LsRecord step = {.kind = LS_RECORD_STEP,
                             .flags = LS_RECORD_OPEN,
                             .start_ns = starts[i],
                             .end_ns = starts[i],
                             .args = {(int64_t)i}};
            ls_synth_file_add(file, 2, &step);
        }
        ADD(file, 0, WINDOW, "", 100, 200);
        ADD(file, 0, WINDOW, "", 400, 500);
        if (last_is_cut)
            ADD(file, 0, WINDOW, "", 700, 750);
        ADD(file, 0, CLOCK, "", 900, 900, 5000, 1);
        g_assert_true(ls_synth_file_close(file));
        const LsProcess *process = load(fixture, last_is_cut ? "b.lks" : "a.lks", 1);
        g_assert_cmpuint(process->steps->len, ==, 3);
        for (guint i = 0; i < 3; i++) {
            const LsStep *step = &g_array_index(process->steps, LsStep, i);
            int64_t end_ns = i == 2 && last_is_cut ? 750 : ends[i];
            g_assert_cmpint(step->start_ns, ==, starts[i]);
            g_assert_cmpint(step->end_ns, ==, end_ns);
            g_assert_true(step->cut);
        }
        if (last_is_cut)
            g_assert_cmpint(process->rank.last_ns, ==, 750);
    }
}

static void
test_a_call_has_times_whatever_told_of_it(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord wait = {.kind = LS_RECORD_OPERATION,
                     .flags = LS_RECORD_OPEN,
                     .name = ls_synth_file_name(file, "WAIT_FOR_DATA"),
                     .start_ns = 150,
                     .end_ns = 150,
                     .args = {10}};
    ADD(file, 2, OPERATION, "INIT_NCCL", 100, 140, 9);
    ADD(file, 2, WIRE, "", 145, 145, 8, 0, 12);
    ls_synth_file_add(file, 2, &wait);
    ADD(file, 5, PHASE, "forward", 120, 700, 0);
    ADD(file, 2, WIRE, "", 300, 300, 11, 0, 12);
    ADD(file, 2, OPERATION, "MPI_ALLREDUCE", 200, 290, 11);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->calls->len, ==, 4);
    const int64_t starts[] = {140, 145, 200, 700}, ends[] = {140, 145, 290, 700};
    const int64_t buffers[] = {9, 8, 11, 10};
    for (guint i = 0; i < 4; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        g_assert_cmpint(call->sequence, ==, buffers[i]);
        g_assert_cmpint(call->start_ns, ==, starts[i]);
        g_assert_cmpint(call->end_ns, ==, ends[i]);
        g_assert_cmpint(call->open, ==, buffers[i] != 11);
    }
}

/* What can be no time, no number of bytes and no place in an order is not passed on, so that nobody
 * who adds up or subtracts need fear it. */
static void
test_what_cannot_be_is_unknown(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 0, CLOCK, "", 10, 10, INT64_MIN, 5);
    ADD(file, 0, CLOCK, "", 11, 11, 5, INT64_MAX);
    ADD(file, 0, CLOCK, "", 12, 12, 1790000000000000000, 5);
    ADD(file, 2, ROUNDTRIP, "", 20, 21, 1, INT64_MAX, 5);
    ADD(file, 2, ROUNDTRIP, "", 20, 21, 1, 5, INT64_MIN);
    ADD(file, 2, SUBMIT, "a", 30, 30, 0, INT64_MAX);
    ADD(file, 2, OPERATION, "MPI_ALLREDUCE", 31, 32, 0, 0, INT64_MAX);
    ADD(file, 2, WIRE, "", 32, 32, 0, 0, INT64_MAX);
    ADD(file, 2, MESSAGE, "gather", 33, 34, 0, -1, INT64_MAX, INT64_MIN, 7);
    ADD(file, 2, STEP, "", 1, 35, 1, INT64_MAX, INT64_MAX);
    ADD(file, 2, NCCL_COLL, "AllReduce", 36, 37, 1, INT64_MAX, INT64_MAX);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpint(severity_of(process, "4 records make no sense"), ==, LS_FAULT);
    g_assert_cmpuint(process->clock_pairs->len, ==, 1);
    g_assert_cmpuint(process->roundtrips->len, ==, 0);
    g_assert_cmpint(g_array_index(process->uses, LsUse, 0).bytes, ==, -1);
    g_assert_cmpuint(process->calls->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        g_assert_cmpint(call->bytes, ==, -1);
        g_assert_cmpint(call->wire_bytes, ==, 0);
        g_assert_cmpint(call->sequence, ==, call->by_nccl ? -1 : 0);
    }
    const LsMessage *message = &g_array_index(process->messages, LsMessage, 0);
    g_assert_cmpint(message->messages_in, ==, 0);
    g_assert_cmpint(message->messages_out, ==, 0);
    g_assert_cmpint(message->bytes_in, ==, 0);
    g_assert_cmpint(message->bytes_out, ==, 7);
    const LsStep *step = &g_array_index(process->steps, LsStep, 0);
    g_assert_cmpint(step->samples, ==, 0);
    g_assert_cmpint(step->operations, ==, 0);
}

static void
test_findings_of_the_recorder_come_through(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 5, PEER_LOST, "", 100, 100, 2, 4711);
    ADD(file, 5, STALL, "layer1", 90, 90, 2, 60000000000);
    ADD(file, 5, STALL, "layer2/w", 91, 91, 2, 61000000000, 0, ls_synth_file_name(file, "layer2"));
    ADD(file, 5, ERROR, "shapes differ", 95, 95, -7);
    ADD(file, 0, NOTICE, "disk is nearly full", 97, 97, 1);
    ADD(file, 0, LOST, "", 10, 20, 5, 321);
    ls_synth_file_add_lost(file, 5, 321);
    ADD(file, 5, INSTANT, "x", 110, 110, 0);
    ls_synth_file_add_unknown(file, 5, 1234);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpint(severity_of(process, "Rank 2 (pid 4711) was lost"), ==, LS_FAULT);
    g_assert_cmpint(severity_of(process, "layer1 waited 60000 ms for rank 2"), ==, LS_WARNING);
    g_assert_cmpint(severity_of(process, "layer2/w of group layer2 waited 61000 ms"), ==,
                    LS_WARNING);
    g_assert_cmpint(severity_of(process, "shapes differ"), ==, LS_FAULT);
    g_assert_cmpint(severity_of(process, "disk is nearly full"), ==, LS_WARNING);
    g_assert_cmpint(severity_of(process, "321 records of thread 5 were lost"), ==, LS_WARNING);
    g_assert_cmpint(severity_of(process, "kinds that this version does not know"), ==, LS_NOTE);
    g_assert_cmpint(time_of(process, "Rank 2 (pid 4711) was lost"), ==, 100);
    g_assert_cmpint(time_of(process, "layer1 waited"), ==, 90);
    g_assert_cmpint(time_of(process, "shapes differ"), ==, 95);
    g_assert_cmpint(time_of(process, "disk is nearly full"), ==, 97);
    g_assert_cmpint(time_of(process, "321 records of thread 5 were lost within 10 ns"), ==, 10);
    g_assert_cmpint(time_of(process, "kinds that this version"), ==, LS_TIME_NONE);
    g_assert_cmpuint(process->rank.lost, ==, 321);
    g_assert_cmpuint(process->findings->len, ==, 7);
    g_assert_cmpuint(process->instants->len, ==, 5);
}

/* A file of `chunks` chunks with ten phases each. */
static void
write_phases(const Fixture *fixture, const char *name, uint32_t rank, int chunks)
{
    LsSynthFile *file = begin(fixture, name, rank);
    for (int c = 0; c < chunks; c++) {
        for (int i = 0; i < 10; i++)
            ADD(file, 7, PHASE, "forward", c * 1000 + i * 10, c * 1000 + i * 10 + 9, 1);
        ls_synth_file_flush(file, 7);
    }
    g_assert_true(ls_synth_file_close(file));
}

/* Offset of the n-th chunk with records of thread 7. */
static size_t
chunk_offset(const char *data, size_t length, int n)
{
    for (size_t at = 0; at < length;) {
        LsChunkHeader header;
        memcpy(&header, data + at, sizeof header);
        if (header.thread == 7 && n-- == 0)
            return at;
        at += header.header_bytes + header.payload_bytes;
    }
    g_assert_not_reached();
}

static void
test_damage_costs_one_chunk(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 20);
    g_autofree char *bytes = NULL;
    size_t length = get(fixture, "a.lks", &bytes);
    size_t at = chunk_offset(bytes, length, 5);
    for (size_t where = 0; where < 100; where += 9) { /* in header and payload */
        g_autofree char *copy = g_memdup2(bytes, length);
        copy[at + where] ^= 0x55;
        put(fixture, "b.lks", copy, length);
        const LsProcess *process = load(fixture, "b.lks", 1);
        g_assert_cmpuint(process->phases->len, ==, 190);
        g_assert_cmpuint(process->rank.damaged, ==, 1);
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, 0);
        g_assert_cmpint(finding->severity, ==, LS_FAULT);
        g_assert_cmpint(finding->offset, ==, (int64_t)at);
    }
}

static void
test_any_cut_keeps_what_is_whole(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 6);
    g_autofree char *bytes = NULL;
    size_t length = get(fixture, "a.lks", &bytes);
    for (size_t cut = sizeof(uint32_t); cut < length; cut++) {
        g_ptr_array_set_size(fixture->processes, 0);
        g_assert_true(ls_format_load_bytes(bytes, cut, "cut", fixture->processes, NULL, NULL));
        size_t phases = 0;
        for (guint i = 0; i < fixture->processes->len; i++)
            phases += ((LsProcess *)g_ptr_array_index(fixture->processes, i))->phases->len;
        size_t whole = 0;
        for (int c = 0; c < 6; c++) {
            LsChunkHeader header;
            size_t at = chunk_offset(bytes, length, c);
            memcpy(&header, bytes + at, sizeof header);
            whole += at + header.header_bytes + header.payload_bytes <= cut ? 10 : 0;
        }
        g_assert_cmpuint(phases, ==, whole);
        if (whole == 0)
            continue;
        /* And the rest, from the cut on, is a file too: what the cut chunk held is lost, no more.
         */
        g_ptr_array_set_size(fixture->processes, 0);
        bool loaded =
            ls_format_load_bytes(bytes + cut, length - cut, "rest", fixture->processes, NULL, NULL);
        g_assert_true(loaded || whole >= 50); /* else there is no chunk in it, and it is no trace */
        size_t rest = 0;
        for (guint i = 0; i < fixture->processes->len; i++)
            rest += ((LsProcess *)g_ptr_array_index(fixture->processes, i))->phases->len;
        g_assert_cmpuint(phases + rest, >=, 50);
    }
}

static void
test_names_that_come_late_are_put_in(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord record = {.kind = LS_RECORD_PHASE, .name = 1, .start_ns = 5, .end_ns = 9, .args = {1}};
    ls_synth_file_add(file, 7, &record);
    record.name = 99;
    ls_synth_file_add(file, 7, &record);
    ls_synth_file_flush(file, 7);
    g_assert_cmpuint(ls_synth_file_name(file, "backward"), ==, 1);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const LsPhase *phases = &g_array_index(process->phases, LsPhase, 0);
    g_assert_cmpstr(ls_strings_get(process->strings, phases[0].name), ==, "backward");
    g_assert_cmpstr(ls_strings_get(process->strings, phases[1].name), ==, "name 99");
    g_assert_cmpint(severity_of(process, "1 names are not in the file"), ==, LS_WARNING);
}

static void
test_files_behind_one_another_are_several_processes(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 3);
    write_phases(fixture, "b.lks", 1, 4);
    g_autofree char *a = NULL, *b = NULL, *again = NULL;
    size_t n_a = get(fixture, "a.lks", &a), n_b = get(fixture, "b.lks", &b), n_again;
    LsSynthFile *file =
        begin(fixture, "again.lks", 0); /* the same pid, counting from 0: opened anew */
    ADD(file, 7, PHASE, "backward", 50000, 50009, 1);
    g_assert_true(ls_synth_file_close(file));
    n_again = get(fixture, "again.lks", &again);
    g_autoptr(GByteArray) all = g_byte_array_new();
    g_byte_array_append(all, (const guint8 *)a, (guint)n_a);
    g_byte_array_append(all, (const guint8 *)b, (guint)n_b);
    g_byte_array_append(all, (const guint8 *)again, (guint)n_again);
    g_byte_array_append(all, (const guint8 *)b, (guint)n_b); /* once more: nothing new */
    put(fixture, "c.lks", all->data, all->len);
    load(fixture, "c.lks", 3);
    const guint phases[] = {30, 40, 1};
    const int ranks[] = {0, 1, 0};
    for (guint i = 0; i < 3; i++) {
        const LsProcess *process = g_ptr_array_index(fixture->processes, i);
        g_assert_cmpuint(process->phases->len, ==, phases[i]);
        g_assert_cmpint(process->rank.rank, ==, ranks[i]);
        g_assert_cmpuint(process->findings->len, ==, 0);
    }
}

/* Each chunk has a phase and the fact's next value; a step begins in one and ends in another. */
static size_t
write_ten_chunks(const Fixture *fixture, char **ret_bytes)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord step = {
        .kind = LS_RECORD_STEP, .flags = LS_RECORD_OPEN, .start_ns = 2000, .end_ns = 2000};
    for (int c = 0; c < 10; c++) {
        ADD(file, 7, PHASE, "forward", c * 1000, c * 1000 + 9, 1);
        if (c == 2 || c == 8) { /* begun in chunk 2, ended in chunk 8 */
            step.flags = c == 2 ? LS_RECORD_OPEN : 0;
            step.end_ns = c == 2 ? 2000 : 8000;
            ls_synth_file_add(file, 7, &step);
        }
        g_autofree char *value = g_strdup_printf("%d", c);
        ls_synth_file_info(file, "key", value);
        ls_synth_file_flush(file, 7);
    }
    g_assert_true(ls_synth_file_close(file));
    return get(fixture, "a.lks", ret_bytes);
}

static void
check_ten_chunks(Fixture *fixture, const char *name)
{
    const LsProcess *process = load(fixture, name, 1);
    g_assert_cmpuint(process->phases->len, ==, 10);
    for (guint i = 0; i < 10; i++)
        g_assert_cmpint(g_array_index(process->phases, LsPhase, i).start_ns, ==, i * 1000);
    g_assert_cmpuint(process->steps->len, ==, 1);
    g_assert_false(g_array_index(process->steps, LsStep, 0).cut);
    g_assert_cmpstr(g_hash_table_lookup(process->facts, "key"), ==, "9");
    g_assert_cmpint(process->rank.incarnation, ==, 0);
    g_assert_cmpuint(process->findings->len, ==, 0);
}

static void
test_order_of_chunks_does_not_matter(Fixture *fixture, gconstpointer data)
{
    g_autofree char *bytes = NULL;
    size_t length = write_ten_chunks(fixture, &bytes);
    size_t two = chunk_offset(bytes, length, 1), six = chunk_offset(bytes, length, 6),
           seven = chunk_offset(bytes, length, 7);
    g_autoptr(GByteArray) mixed = g_byte_array_new();
    static const uint8_t padding[300];
    g_byte_array_append(mixed, (const guint8 *)bytes, (guint)two);
    g_byte_array_append(mixed, padding, sizeof padding);
    g_byte_array_append(mixed, (const guint8 *)bytes + six, (guint)(length - six));
    g_byte_array_append(mixed, (const guint8 *)bytes + two, (guint)(six - two));
    g_byte_array_append(mixed, (const guint8 *)bytes + six, (guint)(seven - six));
    g_byte_array_append(mixed, padding, sizeof padding);
    put(fixture, "b.lks", mixed->data, mixed->len);
    check_ten_chunks(fixture, "b.lks");
}

/* Where each chunk begins, and where the last one ends. */
static GArray *
list_chunks(const char *data, size_t length)
{
    GArray *offsets = g_array_new(FALSE, FALSE, sizeof(size_t));
    for (size_t at = 0; at < length;) {
        LsChunkHeader header;
        memcpy(&header, data + at, sizeof header);
        g_array_append_val(offsets, at);
        at += header.header_bytes + header.payload_bytes;
    }
    g_array_append_val(offsets, length);
    return offsets;
}

/* The first chunk too is anywhere, and some come twice: still one process, one life, in order. */
static void
test_shuffled_chunks_are_one_life(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    g_autofree char *bytes = NULL;
    size_t length = write_ten_chunks(fixture, &bytes);
    g_autoptr(GArray) offsets = list_chunks(bytes, length);
    guint n = offsets->len - 1;
    g_assert_cmpuint(n, >=, 10);
    for (int round = 0; round < 40; round++) {
        g_autoptr(GByteArray) mixed = g_byte_array_new();
        g_autofree guint *order = g_new0(guint, n);
        for (guint i = 0; i < n; i++) { /* Fisher and Yates, from the inside out */
            guint at = (guint)g_rand_int_range(rand, 0, (gint32)i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (guint i = 0; i < n + 3; i++) {
            size_t from = g_array_index(offsets, size_t, order[i % n]);
            size_t to = g_array_index(offsets, size_t, order[i % n] + 1);
            g_byte_array_append(mixed, (const guint8 *)bytes + from, (guint)(to - from));
        }
        put(fixture, "b.lks", mixed->data, mixed->len);
        check_ten_chunks(fixture, "b.lks");
    }
}

static void
test_gzip_and_zstd_are_transparent(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 2000);
    g_autofree char *bytes = NULL;
    size_t length = get(fixture, "a.lks", &bytes);
    g_autofree char *gz = path_of(fixture, "a.gz");
    gzFile out = gzopen(gz, "wb");
    g_assert_cmpint(gzwrite(out, bytes, (unsigned)length), ==, (int)length);
    gzclose(out);
    g_assert_cmpuint(load(fixture, "a.gz", 1)->phases->len, ==, 20000);
    g_autofree char *packed = NULL;
    size_t n_packed = get(fixture, "a.gz", &packed);
    put(fixture, "cut.gz", packed, n_packed / 2);
    const LsProcess *process = load(fixture, "cut.gz", 1);
    g_assert_cmpuint(process->phases->len, >, 1000);
    g_assert_cmpint(severity_of(process, "the gzip data ends early"), ==, LS_FAULT);

    size_t bound = ZSTD_compressBound(length);
    g_autofree char *zstd = g_malloc(bound);
    size_t n_zstd = ZSTD_compress(zstd, bound, bytes, length, 1);
    put(fixture, "a.zst", zstd, n_zstd);
    g_assert_cmpuint(load(fixture, "a.zst", 1)->phases->len, ==, 20000);
    put(fixture, "cut.zst", zstd, n_zstd - 5);
    g_assert_cmpint(severity_of(load(fixture, "cut.zst", 1), "the zstd data ends early"), ==,
                    LS_FAULT);
}

static size_t
count_track(LsProcess *process, LsTrackKind kind, const char *name, const char *category,
            int64_t id)
{
    guint n = process->tracks->len;
    size_t spans = ls_track_builder_get_n(ls_process_get_track(process, kind, name, category, id));
    g_assert_cmpuint(process->tracks->len, ==, n); /* it was there */
    return spans;
}

/* More threads and streams, by turns, than the reader keeps at hand, and numbers that share a place
 * there. */
static void
test_tracks_of_a_device_are_told_apart(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    const int64_t many = 150, turns = 3;
    for (int64_t i = 0; i < turns * many; i++) {
        int64_t of = i % many, at = i * 100;
        ADD(file, 7, API, "cuLaunchKernel", at, at + 9, i, of * 64);
        ADD(file, 7, KERNEL, "gemm", at, at + 9, of / 2, i, of % 2);
        ADD(file, 7, COPY, "copy", at, at + 9, 0, 0, 0, 0, of % 3);
        ADD(file, 7, MEMSET, "fill", at, at + 9);
        ADD(file, 7, SYNC, "wait", at, at + 9);
    }
    g_assert_true(ls_synth_file_close(file));
    LsProcess *process = load(fixture, "a.lks", 1);
    for (int64_t of = 0; of < many; of++) {
        g_autofree char *calls = g_strdup_printf("calls of thread %" G_GINT64_FORMAT, of * 64);
        g_autofree char *stream =
            g_strdup_printf(of % 2 ? "device 1 stream %d" : "stream %d", (int)of / 2);
        g_assert_cmpuint(count_track(process, LS_TRACK_THREAD, calls, "driver call", of * 64), ==,
                         turns);
        g_assert_cmpuint(count_track(process, LS_TRACK_STREAM, stream, "kernel", of / 2), ==,
                         turns);
    }
    static const char *const copies[] = {"copies", "copies to device", "copies to host"};
    for (size_t i = 0; i < G_N_ELEMENTS(copies); i++)
        g_assert_cmpuint(count_track(process, LS_TRACK_COPIES, copies[i], "memcpy", -1), ==,
                         turns * many / 3);
    g_assert_cmpuint(count_track(process, LS_TRACK_COPIES, "fills", "memset", -1), ==,
                     turns * many);
    g_assert_cmpuint(count_track(process, LS_TRACK_THREAD, "waits for the device", "sync", -1), ==,
                     turns * many);
}

/* NCCL that tells of no launch: the last kernel that the collective's thread had launched. */
static void
test_a_collective_has_the_kernel_launched_before_it(Fixture *fixture, gconstpointer data)
{
    static const char kernel[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    for (int64_t i = 0; i < 3; i++) { /* thread 5 launches 1, 2, 3; thread 6 launches 11, 12, 13 */
        ADD(file, 5, API, "cudaLaunchKernel", 100 * i, 100 * i + 5, 1 + i, 5);
        ADD(file, 6, API, "cudaLaunchKernel", 100 * i + 20, 100 * i + 25, 11 + i, 6);
        ADD(file, 9, KERNEL, kernel, 1000 + 100 * i, 1050 + 100 * i, 7, 1 + i, 256);
        ADD(file, 9, KERNEL, kernel, 2000 + 100 * i, 2050 + 100 * i, 8, 11 + i, 256);
    }
    ADD(file, 9, KERNEL, kernel, 500, 510, 7, 77, 256); /* nobody launched it */
    ADD(file, 6, NCCL_COLL, "AllReduce", 10, 11, 1, 0, 64);
    ADD(file, 5, NCCL_COLL, "AllReduce", 100, 101, 1, 1, 64);
    ADD(file, 6, NCCL_COLL, "AllReduce", 219, 220, 1, 2, 64);
    ADD(file, 5, NCCL_COLL, "AllReduce", 900, 901, 1, 3, 64);
    ADD(file, 7, NCCL_COLL, "AllReduce", 950, 951, 1, 4, 64);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const int64_t starts[] = {1100, 2100, 1200};
    g_assert_cmpuint(process->calls->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        g_assert_cmpint(call->sequence, ==, 16 * (i + 1));
        g_assert_cmpint(call->start_ns, ==, starts[i]);
        g_assert_true(call->device_timed);
    }
    g_assert_cmpint(severity_of(process, "2 of 5 NCCL operations are left out"), ==, LS_NOTE);
}

static void
test_what_is_no_trace_is_refused_with_a_sentence(Fixture *fixture, gconstpointer data)
{
    static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    put(fixture, "x.png", png, sizeof png);
    g_autofree char *absent = path_of(fixture, "absent"), *image = path_of(fixture, "x.png");
    const char *paths[] = {absent, image, fixture->folder};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(ls_format_load(paths[i], fixture->processes, NULL, &error));
        g_assert_error(error, LS_ERROR, LS_ERROR_BAD_FILE);
        g_assert_true(g_str_has_suffix(error->message, "."));
        g_assert_nonnull(strstr(error->message, paths[i]));
    }
}

#define TEST(name, function)                                                                       \
    g_test_add("/format/native/" name, Fixture, NULL, set_up, function, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST("life-of-a-tensor-is-joined", test_life_of_a_tensor_is_joined);
    TEST("group-is-the-gates-whoever-is-read-first", test_group_is_the_gates_whoever_is_read_first);
    TEST("graph-cache-and-wire-are-read", test_graph_cache_and_wire_are_read);
    TEST("marks-and-counters", test_marks_and_counters);
    TEST("what-never-ended-is-kept-open", test_what_never_ended_is_kept_open);
    TEST("a-call-has-times-whatever-told-of-it", test_a_call_has_times_whatever_told_of_it);
    TEST("what-cannot-be-is-unknown", test_what_cannot_be_is_unknown);
    TEST("a-window-ends-what-is-open-in-it", test_a_window_ends_what_is_open_in_it);
    TEST("findings-of-the-recorder-come-through", test_findings_of_the_recorder_come_through);
    TEST("damage-costs-one-chunk", test_damage_costs_one_chunk);
    TEST("any-cut-keeps-what-is-whole", test_any_cut_keeps_what_is_whole);
    TEST("names-that-come-late-are-put-in", test_names_that_come_late_are_put_in);
    TEST("files-behind-one-another-are-several-processes",
         test_files_behind_one_another_are_several_processes);
    TEST("order-of-chunks-does-not-matter", test_order_of_chunks_does_not_matter);
    TEST("shuffled-chunks-are-one-life", test_shuffled_chunks_are_one_life);
    TEST("gzip-and-zstd-are-transparent", test_gzip_and_zstd_are_transparent);
    TEST("tracks-of-a-device-are-told-apart", test_tracks_of_a_device_are_told_apart);
    TEST("a-collective-has-the-kernel-launched-before-it",
         test_a_collective_has_the_kernel_launched_before_it);
    TEST("what-is-no-trace-is-refused-with-a-sentence",
         test_what_is_no_trace_is_refused_with_a_sentence);
    return g_test_run();
}
