/* SPDX-License-Identifier: Apache-2.0
 * Horovod timelines of every version and dialect that is at hand: what the loader makes of them
 * equals a plain reading of their events, and the schedule under which Horovod is known to have
 * written them. */
#include "base/error.h"
#include "format/format.h"
#include "trace/builder.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <string.h>

/* What a plain reading counts. */
typedef struct Plain {
    size_t records, tensors, negotiations, ticks, cycles, spans, packs;
    int highest_tick;
} Plain;

static char *
shared_path(const char *file)
{
    const char *shared = g_getenv("LOCKSTEP_SHARED");
    return g_build_filename(shared ? shared : "../shared", "horovod-timelines", file, NULL);
}

static void
count_event(json_object *event, Plain *plain, GHashTable *pids)
{
    json_object *value;
    const char *ph = "", *name = "";
    if (json_object_object_get_ex(event, "ph", &value))
        ph = json_object_get_string(value);
    if (json_object_object_get_ex(event, "name", &value))
        name = json_object_get_string(value);
    plain->records++;
    if (strcmp(ph, "i") == 0)
        plain->cycles++;
    if (strchr("BEX", ph[0]) && json_object_object_get_ex(event, "pid", &value))
        g_hash_table_add(pids, GINT_TO_POINTER(json_object_get_int(value)));
    if (ph[0] == 'B') {
        plain->spans++;
        plain->negotiations += g_str_has_prefix(name, "NEGOTIATE_");
        plain->packs += strcmp(name, "MEMCPY_IN_FUSION_BUFFER") == 0;
    }
    if (ph[0] == 'X') {
        plain->ticks++;
        plain->highest_tick = MAX(plain->highest_tick, atoi(name));
    }
}

/* Event by event with json-c, however the array ends. */
static bool
read_plainly(const char *path, Plain *ret_plain)
{
    g_autofree char *text = NULL;
    size_t length, at = 0;
    if (!g_file_get_contents(path, &text, &length, NULL))
        return false;
    g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);
    json_tokener *tokener = json_tokener_new();
    *ret_plain = (Plain){.highest_tick = -1};
    while ((at += strcspn(text + at, "{")) < length) {
        json_object *event = json_tokener_parse_ex(tokener, text + at, (int)(length - at));
        g_assert_nonnull(event);
        at += json_tokener_get_parse_end(tokener);
        count_event(event, ret_plain, pids);
        json_object_put(event);
    }
    json_tokener_free(tokener);
    ret_plain->tensors = g_hash_table_size(pids);
    return true;
}

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

static LsTrace *
load(const char *path)
{
    g_autoptr(GPtrArray) processes = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    bool done = ls_format_load(path, processes, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(done);
    LsBuilder *builder = ls_builder_new(no_class, NULL);
    for (guint i = 0; i < processes->len; i++)
        ls_builder_take(builder, g_ptr_array_index(processes, i));
    return ls_builder_freeze(builder);
}

static LsTrace *
load_text(const char *text)
{
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("timeline-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_close(fd, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    LsTrace *trace = load(path);
    g_unlink(path);
    return trace;
}

/* Spans of tensor tracks, of all names or of those that begin so. */
static size_t
count_spans(const LsTrace *trace, LsTrackKind kind, const char *prefix)
{
    size_t n_tracks, n = 0;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    for (size_t t = 0; t < n_tracks; t++)
        for (uint32_t lane = 0; tracks[t].kind == kind && lane < tracks[t].n_lanes; lane++)
            for (size_t i = 0; i < tracks[t].lanes[lane].n; i++)
                n += g_str_has_prefix(ls_trace_get_string(trace, tracks[t].lanes[lane].name[i]),
                                      prefix);
    return n;
}

static size_t
count_tensors(const LsTrace *trace)
{
    g_autoptr(GHashTable) names = g_hash_table_new(NULL, NULL);
    size_t n_tracks, n_uses;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    for (size_t t = 0; t < n_tracks; t++)
        if (tracks[t].kind == LS_TRACK_TENSOR)
            g_hash_table_add(names, GUINT_TO_POINTER(tracks[t].name));
    for (size_t i = 0; i < n_uses; i++)
        g_hash_table_add(names, GUINT_TO_POINTER(uses[i].tensor));
    return g_hash_table_size(names);
}

static size_t
count_submissions(const LsTrace *trace)
{
    size_t n_uses, n = 0;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    for (size_t i = 0; i < n_uses; i++)
        n += uses[i].submit_ns != LS_TIME_NONE;
    return n;
}

static size_t
count_cycles(const LsTrace *trace)
{
    size_t n_instants, n = 0;
    const LsInstant *instants = ls_trace_get_instants(trace, &n_instants);
    for (size_t i = 0; i < n_instants; i++)
        n += instants[i].kind == LS_INSTANT_CYCLE;
    return n;
}

static const char *const files[] = {"alcf-cpu-n1-broadcast.json",
                                    "alcf-gpu-n1-cycles-only.json",
                                    "atpesc-cpu-mpi.json",
                                    "bluefog-ybc1.json",
                                    "boinc-tcnn-timeline.json",
                                    "bytescheduler-timeline_worker.json",
                                    "smdebug-horovod_timeline_small-old48k.json",
                                    "smdebug-rewritten-events.json",
                                    "tf-logs-12rank-mpi-bcast-straggler.json",
                                    "allreduce/15gpu_15gpu-2dmesh.json",
                                    "allreduce/15gpu_15gpu-mpi.json",
                                    "allreduce/15gpu_15gpu-nccl.json",
                                    "allreduce/32gpu_logs_100g-mpi-fast.json",
                                    "allreduce/32gpu_logs_100g-mpi-slow.json",
                                    "allreduce/32gpu_logs_100g-nccl-only.json",
                                    "allreduce/32gpu_logs_100g_mpi-fast.json",
                                    "allreduce/32gpu_logs_100g_mpi-slow.json",
                                    "allreduce/32gpu_logs_100g_nccl-slow.json",
                                    "allreduce/32gpu_logs_10g-mpi-only.json",
                                    "allreduce/32gpu_logs_10g-nccl-fast.json",
                                    "allreduce/32gpu_logs_10g-nccl-slow.json",
                                    "allreduce/32gpu_logs_10g_mpi-only.json",
                                    "allreduce/32gpu_logs_10g_nccl-only.json",
                                    "horovod-0.28.1/cached-1.0.json",
                                    "horovod-0.28.1/cached-4.0.json",
                                    "horovod-0.28.1/crashed-gloo-ops-4.0.json",
                                    "horovod-0.28.1/cycle5-4.0.json",
                                    "horovod-0.28.1/dynamic-4.0.json",
                                    "horovod-0.28.1/gloo-4.0.json",
                                    "horovod-0.28.1/grouped-4.0.json",
                                    "horovod-0.28.1/killed-4.0.json",
                                    "horovod-0.28.1/late-tensor-4.0.json",
                                    "horovod-0.28.1/late-tensor-uncached-4.0.json",
                                    "horovod-0.28.1/nofusion-4.0.json",
                                    "horovod-0.28.1/slow-4.0.json",
                                    "horovod-0.28.1/slow-uncached-4.0.json",
                                    "horovod-0.28.1/train-4.0.json",
                                    "horovod-0.28.1/train-grouped-4.0.json",
                                    "horovod-0.28.1/train-uncached-4.0.json",
                                    "horovod-0.28.1/uncached-4.0.json",
                                    "horovod-0.28.1/uncached-8.0.json"};

static void
test_counts_equal_a_plain_reading(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = shared_path(files[i]);
        Plain plain;
        if (!read_plainly(path, &plain)) {
            g_test_skip("../shared/horovod-timelines is not here");
            return;
        }
        g_autofree char *ticks = g_strdup_printf("%zu", plain.ticks);
        g_test_message("%s", files[i]);
        g_autoptr(LsTrace) trace = load(path);
        size_t n_ranks;
        const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
        g_assert_cmpuint(
            ranks[plain.highest_tick >= 0 || ranks[0].rank == 0 ? 0 : n_ranks - 1].records, ==,
            plain.records);
        g_assert_cmpuint(count_tensors(trace), ==, plain.tensors);
        g_assert_cmpuint(count_spans(trace, LS_TRACK_TENSOR, "NEGOTIATE_"), ==, plain.negotiations);
        g_assert_cmpuint(count_spans(trace, LS_TRACK_TENSOR, ""), ==, plain.spans);
        g_assert_cmpstr(ls_trace_get_fact(trace, "timeline.ticks"), ==, ticks);
        /* SageMaker's file has events moved between tensors: rank 7 ticks three times. */
        g_assert_cmpuint(count_submissions(trace), ==,
                         plain.ticks - (strstr(path, "rewritten") ? 2 : 0));
        g_assert_cmpuint(count_cycles(trace), ==, plain.cycles);
        g_assert_cmpuint(ls_trace_get_world(trace), ==,
                         (guint)(plain.highest_tick >= 0 ? plain.highest_tick + 1
                                 : ranks[0].rank == 0    ? 1
                                                         : 0));
    }
}

static json_object *
load_truth(const char *name)
{
    g_autofree char *file = g_strdup_printf("horovod-0.28.1/%s.truth.json", name);
    g_autofree char *path = shared_path(file);
    return json_object_from_file(path);
}

static int
get_int(json_object *object, const char *key)
{
    json_object *value;
    return json_object_object_get_ex(object, key, &value) ? json_object_get_int(value) : 0;
}

/* Uses of the writer, by tensor name: how often, and of how many bytes. */
static size_t
count_uses(const LsTrace *trace, const char *tensor, int64_t bytes)
{
    size_t n_uses, n = 0;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    for (size_t i = 0; i < n_uses && uses[i].rank == 0; i++)
        if (g_str_equal(ls_trace_get_string(trace, uses[i].tensor), tensor)) {
            g_assert_cmpint(uses[i].bytes, ==, bytes);
            n++;
        }
    return n;
}

static void
test_tensors_are_those_of_the_schedule(void)
{
    static const char *const names[] = {"cached-1",   "cached-4",        "gloo-4",
                                        "nofusion-4", "slow-uncached-4", "uncached-4"};
    for (size_t f = 0; f < G_N_ELEMENTS(names); f++) {
        json_object *truth = load_truth(names[f]), *tensors;
        if (!truth) {
            g_test_skip("../shared/horovod-timelines is not here");
            return;
        }
        g_autofree char *file = g_strdup_printf("horovod-0.28.1/%s.0.json", names[f]);
        g_autofree char *path = shared_path(file);
        g_autoptr(LsTrace) trace = load(path);
        json_object_object_get_ex(truth, "tensors", &tensors);
        for (size_t i = 0; i < json_object_array_length(tensors); i++) {
            json_object *tensor = json_object_array_get_idx(tensors, i), *name;
            json_object_object_get_ex(tensor, "name", &name);
            g_autofree char *full = g_strconcat("allreduce.", json_object_get_string(name), NULL);
            g_assert_cmpuint(count_uses(trace, full, get_int(tensor, "bytes")), ==,
                             (size_t)get_int(truth, "steps"));
        }
        json_object_put(truth);
    }
}

/* slow-uncached: rank 2 sleeps 20 ms before each step, so its tick is the last of the step's first
 * tensor. */
static void
test_ticks_name_the_slow_rank(void)
{
    g_autofree char *path = shared_path("horovod-0.28.1/slow-uncached-4.0.json");
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_test_skip("../shared/horovod-timelines is not here");
        return;
    }
    g_autoptr(LsTrace) trace = load(path);
    size_t n_uses, late = 0, rounds = 0;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    for (size_t i = 0; i < n_uses && uses[i].rank == 0; i++)
        for (size_t k = 0; k < n_uses; k++)
            if (uses[k].rank == 2 && uses[k].tensor == uses[i].tensor &&
                uses[k].occurrence == uses[i].occurrence) {
                int64_t wait = uses[k].submit_ns - uses[i].submit_ns;
                rounds++;
                late += wait > 15000000;
                g_assert_cmpint(uses[k].agreed_ns, ==, uses[i].agreed_ns);
            }
    g_assert_cmpuint(rounds, ==, 120);
    g_assert_cmpuint(late, >=, 10); /* at least the first tensor of each of 10 steps */
}

/* Members of fused batches: each writes a packing of its own, members of others none. */
static void
check_packing(const LsTrace *trace, const Plain *plain)
{
    size_t n, fused = 0;
    const LsCall *calls = ls_trace_get_calls(trace, &n);
    for (size_t i = 0; i < n; i++) {
        fused += calls[i].tensors > 1 ? calls[i].tensors : 0;
        g_assert_true((calls[i].pack_start_ns != LS_TIME_NONE) == (calls[i].tensors > 1));
        g_assert_false(calls[i].device_timed);
    }
    g_assert_cmpuint(fused, ==, plain->packs);
}

static void
test_who_was_packed_was_fused(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = shared_path(files[i]);
        Plain plain;
        if (!strstr(path, "0.28.1") && !strstr(path, "atpesc"))
            continue;
        if (!read_plainly(path, &plain)) {
            g_test_skip("../shared/horovod-timelines is not here");
            return;
        }
        g_test_message("%s", files[i]);
        g_autoptr(LsTrace) trace = load(path);
        check_packing(trace, &plain);
    }
}

/* Bytes of the data allreduces in order, as a wrapper around MPI saw them in the same run. */
static GArray *
read_mpi_log(const char *name)
{
    g_autofree char *file = g_strdup_printf("../horovod-observed/%s.0.mpi.txt", name);
    g_autofree char *path = shared_path(file), *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    GArray *bytes = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (size_t i = 0; lines[i]; i++) {
        g_auto(GStrv) words = g_strsplit(lines[i], " ", -1);
        if (g_strv_length(words) < 6 || !g_str_equal(words[3], "allreduce") ||
            !g_str_equal(words[5], "sum"))
            continue;
        int64_t value = g_ascii_strtoll(words[4], NULL, 10);
        g_array_append_val(bytes, value);
    }
    return bytes;
}

/* Batches rebuilt from the timeline are the allreduces that MPI carried out: as many, of these
 * bytes, in this order. The timeline misses what was still queued when the job ended. */
static void
test_batches_are_those_that_mpi_saw(void)
{
    static const char *const names[] = {"cached-4", "uncached-4", "slow-4", "grouped-4"};
    static const guint expected[] = {95, 103, 105, 23};
    for (size_t f = 0; f < G_N_ELEMENTS(names); f++) {
        g_autoptr(GArray) bytes = read_mpi_log(names[f]);
        if (!bytes) {
            g_test_skip("../shared/horovod-observed is not here");
            return;
        }
        g_autofree char *file = g_strdup_printf("../horovod-observed/%s.0.json", names[f]);
        g_autofree char *path = shared_path(file);
        g_autoptr(LsTrace) trace = load(path);
        size_t n;
        const LsCall *calls = ls_trace_get_calls(trace, &n);
        g_assert_cmpuint(bytes->len, ==, expected[f]);
        g_assert_cmpuint(n, ==, bytes->len);
        for (size_t i = 0; i < n; i++)
            g_assert_cmpint(calls[i].bytes, ==, g_array_index(bytes, int64_t, i));
    }
}

#define META(pid, name)                                                                            \
    "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": " #pid ", \"args\": {\"name\": \"" name  \
    "\"}},\n"

static void
test_traps(void)
{
    g_autoptr(LsTrace) trace = load_text("[\n" META(
        1,
        "we\"ird \\ name") "{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\", \"ts\": 10, "
                           "\"pid\": 1},"
                           "{\"ph\": \"X\", \"name\": \"1\", \"ts\": 11, \"pid\": 1, \"dur\": "
                           "812355471858},"
                           "{\"ph\": \"X\", \"name\": \"1\", \"ts\": 12, \"pid\": 1, \"dur\": 0},,"
                           "{\"ph\": \"i\", \"name\": \"CYCLE_START\", \"ts\": 12, \"s\": \"g\"},"
                           "{\"ph\": \"E\", \"ts\": 15.5, \"pid\": 1},{\"ph\": \"E\", \"ts\": 16, "
                           "\"pid\": 1},"
                           "{\"ph\": \"B\", \"name\": \"ALLREDUCE\", \"ts\": 20, \"pid\": 1},\n"
                           "{\"ph\": \"B\", \"name\": \"MPI_ALLREDUCE\", \"ts\": 21, \"pid\": 1},\n"
                           "{\"ph\": \"E\", \"ts\": 29, \"pid\": 1}, garbage {\"x\" {\"ph\": "
                           "\"E\", \"ts\": 30, \"pid\": 1, "
                           "\"args\": {\"dtype\": \"float16\", \"shape\": \"[3, 4]\"}},{\"ph\": "
                           "\"B\", \"na");
    size_t n_uses, n_ranks, n_calls, n_findings;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    g_assert_cmpuint(n_ranks, ==, 2);
    g_assert_true(ranks[0].recorded);
    g_assert_false(ranks[1].recorded);
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    g_assert_cmpuint(n_uses, ==, 2);
    g_assert_cmpstr(ls_trace_get_string(trace, uses[0].tensor), ==, "we\"ird \\ name");
    g_assert_cmpint(uses[0].submit_ns, ==,
                    LS_TIME_NONE); /* no tick of rank 0: not recorded, not absent */
    g_assert_cmpint(uses[0].agreed_ns, ==, 15500);
    g_assert_cmpint(uses[0].done_ns, ==, 30000);
    g_assert_cmpint(uses[0].bytes, ==, 24);
    g_assert_cmpint(uses[1].submit_ns, ==, 11000);
    g_assert_cmpint(uses[1].agreed_ns, ==, 15500);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    g_assert_cmpuint(n_calls, ==, 1);
    g_assert_cmpuint(uses[0].call, ==, 0);
    g_assert_cmpint(calls[0].start_ns, ==, 21000);
    g_assert_cmpint(calls[0].end_ns, ==, 29000);
    g_assert_cmpint(calls[0].bytes, ==, 24);
    ls_trace_get_findings(trace, &n_findings);
    g_assert_cmpuint(n_findings, ==, 4); /* garbage, no object, cut, a lone end */
}

/* Of every library that Horovod has moved bytes by; what runs inside a host is none. */
static void
test_each_library_moves_bytes(void)
{
    static const char *const names[] = {
        "MPI_ALLREDUCE",  "NCCL_ALLREDUCE", "GLOO_ALLREDUCE",         "CCL_ALLREDUCE",
        "MLSL_ALLREDUCE", "DDL_ALLREDUCE",  "MEMCPY_IN_SHARED_BUFFER"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *text = g_strdup_printf(
            "[\n" META(
                1,
                "w") "{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\", \"ts\": 10, \"pid\": 1},"
                     "{\"ph\": \"E\", \"ts\": 15, \"pid\": 1},"
                     "{\"ph\": \"B\", \"name\": \"ALLREDUCE\", \"ts\": 20, \"pid\": 1},"
                     "{\"ph\": \"B\", \"name\": \"%s\", \"ts\": 21, \"pid\": 1},"
                     "{\"ph\": \"E\", \"ts\": 29, \"pid\": 1},{\"ph\": \"E\", \"ts\": 30, \"pid\": "
                     "1}]",
            names[i]);
        g_autoptr(LsTrace) trace = load_text(text);
        size_t n_calls;
        const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
        g_test_message("%s", names[i]);
        bool moves = i + 1 < G_N_ELEMENTS(names); /* else the operation itself does */
        g_assert_cmpuint(n_calls, ==, 1);
        g_assert_cmpint(calls[0].start_ns, ==, moves ? 21000 : 20000);
        g_assert_cmpstr(ls_trace_get_string(trace, calls[0].name), ==,
                        moves ? names[i] : "ALLREDUCE");
    }
}

static void
test_ticks_and_end_without_begin(void)
{
    g_autoptr(LsTrace) trace = load_text(
        "[\n" META(1, "t") "{\"ph\": \"X\", \"name\": \"0\", \"ts\": 5, \"pid\": 1, \"dur\": 0},\n"
                           "{\"ph\": \"X\", \"name\": \"2\", \"ts\": 6, \"pid\": 1, \"dur\": "
                           "0},\n{\"ph\": \"E\", \"ts\": 7, \"pid\": 1},\n"
                           "{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\", \"ts\": "
                           "1410000000000, \"pid\": 1},\n");
    size_t n;
    const LsUse *uses = ls_trace_get_uses(trace, &n);
    g_assert_cmpuint(n, ==, 3);
    g_assert_cmpint(uses[0].agreed_ns, ==, 7000);
    g_assert_cmpint(uses[1].agreed_ns, ==, LS_TIME_NONE);
    g_assert_cmpuint(uses[1].occurrence, ==, 1);
    g_assert_cmpint(uses[2].submit_ns, ==, 6000);
    g_assert_cmpuint(ls_trace_get_world(trace), ==, 3);
}

static void
test_nothing_recorded_is_no_error(void)
{
    static const char *const texts[] = {"", "[", "[\n", "[]", "  \n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(LsTrace) trace = load_text(texts[i]);
        size_t n;
        ls_trace_get_ranks(trace, &n);
        g_assert_cmpuint(n, ==, 0);
    }
}

static void
test_other_json_is_refused(void)
{
    static const char *const texts[] = {"{}", "[1, 2]", "hello",
                                        "[{\"cat\": \"kernel\", \"ph\": \"X\"}]", "nul"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *path = NULL;
        g_autoptr(GPtrArray) processes = g_ptr_array_new();
        g_autoptr(GError) error = NULL;
        g_close(g_file_open_tmp("other-XXXXXX", &path, NULL), NULL);
        g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
        g_assert_false(ls_format_load(path, processes, NULL, &error));
        g_assert_error(error, LS_ERROR, LS_ERROR_BAD_FILE);
        g_unlink(path);
    }
}

/* Every prefix of a file loads, and tells at most what the whole tells. */
static void
test_any_cut_loads(void)
{
    g_autofree char *path = shared_path("horovod-0.28.1/crashed-gloo-ops-4.0.json");
    g_autofree char *text = NULL;
    size_t length, last = 0, n;
    if (!g_file_get_contents(path, &text, &length, NULL)) {
        g_test_skip("../shared/horovod-timelines is not here");
        return;
    }
    for (size_t cut = 1; cut < length; cut += 7) {
        g_autofree char *part = g_strndup(text, cut);
        g_autoptr(LsTrace) trace = load_text(part);
        ls_trace_get_uses(trace, &n);
        g_assert_cmpuint(n, >=, last);
        last = n;
    }
    g_assert_cmpuint(last, >, 10);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/format/horovod/counts-equal-a-plain-reading",
                    test_counts_equal_a_plain_reading);
    g_test_add_func("/format/horovod/tensors-are-those-of-the-schedule",
                    test_tensors_are_those_of_the_schedule);
    g_test_add_func("/format/horovod/ticks-name-the-slow-rank", test_ticks_name_the_slow_rank);
    g_test_add_func("/format/horovod/who-was-packed-was-fused", test_who_was_packed_was_fused);
    g_test_add_func("/format/horovod/batches-are-those-that-mpi-saw",
                    test_batches_are_those_that_mpi_saw);
    g_test_add_func("/format/horovod/traps", test_traps);
    g_test_add_func("/format/horovod/each-library-moves-bytes", test_each_library_moves_bytes);
    g_test_add_func("/format/horovod/ticks-and-end-without-begin",
                    test_ticks_and_end_without_begin);
    g_test_add_func("/format/horovod/nothing-recorded-is-no-error",
                    test_nothing_recorded_is_no_error);
    g_test_add_func("/format/horovod/other-json-is-refused", test_other_json_is_refused);
    g_test_add_func("/format/horovod/any-cut-loads", test_any_cut_loads);
    return g_test_run();
}
