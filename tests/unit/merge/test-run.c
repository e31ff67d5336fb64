/* SPDX-License-Identifier: Apache-2.0
 * Folders of files become traces: made-up jobs whose every time is known, and folders that are
 * wrong. */
#include "merge/run.h"

#include "base/error.h"
#include "samples/synth-run.h"
#include "tests/folder.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *
make_folder(void)
{
    char *folder = g_dir_make_tmp("lockstep-run-XXXXXX", NULL);

    g_assert_nonnull(folder);
    return folder;
}

static void
write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* With the truth beside it, as text. */
static char *
write_run_and_truth(const char *folder, const LsSynthOptions *options)
{
    char problem[256], *text = NULL;
    size_t length;
    FILE *truth = open_memstream(&text, &length);

    if (!ls_synth_run_write(options, folder, truth, problem, sizeof problem))
        g_error("%s", problem);
    fclose(truth);
    return text;
}

static void
write_run(const char *folder, const LsSynthOptions *options)
{
    free(write_run_and_truth(folder, options));
}

static void
remove_rank(const char *folder, const LsSynthOptions *options, uint32_t rank)
{
    char path[4096];

    ls_synth_run_get_path(folder, rank, options->ranks_per_host, path, sizeof path);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

static LsTrace *
load(const char *path)
{
    const char *paths[] = {path};
    g_autoptr(GError) error = NULL;
    LsTrace *trace = ls_run_load(paths, 1, NULL, NULL, &error);

    g_assert_no_error(error);
    return trace;
}

static void
check_refused(const char *path, const char *part)
{
    const char *paths[] = {path};
    g_autoptr(GError) error = NULL;

    g_assert_null(ls_run_load(paths, 1, NULL, NULL, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_BAD_FILE);
    g_assert_nonnull(strstr(error->message, part));
    g_assert_null(strchr(error->message, '\n'));
}

static const LsFinding *
find_finding(const LsTrace *trace, const char *part)
{
    size_t n;
    const LsFinding *findings = ls_trace_get_findings(trace, &n);

    for (size_t i = 0; i < n; i++)
        if (strstr(findings[i].text, part) != NULL)
            return &findings[i];
    return NULL;
}

static json_object *
get_member(json_object *object, const char *name)
{
    json_object *value = NULL;

    g_assert_true(json_object_object_get_ex(object, name, &value));
    return value;
}

static int64_t
get_item(json_object *object, const char *name, size_t i)
{
    return json_object_get_int64(json_object_array_get_idx(get_member(object, name), i));
}

/* One collective: every rank's call at its true time, within the uncertainty that the rank says. */
static void
check_collective(const LsTrace *trace, const LsBuffer *buffer, json_object *truth)
{
    size_t n, n_ranks;
    const uint32_t *refs = ls_trace_get_call_refs(trace, &n) + buffer->first_call_ref;
    const LsCall *calls = ls_trace_get_calls(trace, &n);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);

    g_assert_true(buffer->pairing_exact);
    g_assert_cmpuint(buffer->n_calls, ==, n_ranks);
    g_assert_cmpuint(buffer->ranks_expected, ==, n_ranks);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const LsCall *call = &calls[refs[rank]];
        int64_t bound_ns = ranks[rank].clock_uncertainty_ns;

        g_assert_cmpuint(call->rank, ==, rank);
        g_assert_cmpint(call->sequence, ==, json_object_get_int64(get_member(truth, "buffer")));
        g_assert_cmpint(call->bytes, ==, json_object_get_int64(get_member(truth, "bytes")));
        g_assert_cmpint(ABS(call->start_ns - get_item(truth, "call_start_ns", rank)), <=, bound_ns);
        g_assert_cmpint(ABS(call->end_ns - get_item(truth, "call_end_ns", rank)), <=, bound_ns);
    }
}

static void
check_calls(const LsTrace *trace, const char *text, size_t n_ranks_made, int64_t bound_max_ns)
{
    json_object *truth = json_tokener_parse(text);
    json_object *collectives = get_member(truth, "collectives");
    size_t n_ranks, n_buffers, n_made = json_object_array_length(collectives);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    const LsBuffer *buffers = ls_trace_get_buffers(trace, &n_buffers);

    g_assert_cmpuint(n_ranks, ==, n_ranks_made);
    for (size_t i = 0; i < n_ranks; i++)
        g_assert_cmpint(ranks[i].clock_uncertainty_ns, <=, bound_max_ns);
    g_assert_cmpuint(n_made, >, 0);
    g_assert_cmpuint(n_buffers, ==, n_made);
    /* Both in the order of their start. */
    for (size_t i = 0; i < n_made; i++)
        check_collective(trace, &buffers[i], json_object_array_get_idx(collectives, i));
    json_object_put(truth);
}

static LsSynthOptions
make_options(void)
{
    LsSynthOptions options = ls_synth_options();

    options.ranks = 6;
    options.steps = 12;
    options.offset_max_ns = 5000000000;
    options.drift_max_ppm = 100;
    return options;
}

/* Three hosts, clocks off by up to 5 s and drifting by up to 100 ppm. */
static void
test_skewed(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        g_autofree char *folder = make_folder();
        g_autoptr(LsTrace) trace = NULL;
        char *truth;
        LsSynthOptions options = make_options();
        const LsRank *ranks;
        size_t n;

        options.seed = seed;
        truth = write_run_and_truth(folder, &options);
        trace = load(folder);
        ranks = ls_trace_get_ranks(trace, &n);
        check_calls(trace, truth, 6, 50000);
        free(truth);
        for (size_t i = 0; i < n; i++) {
            static const LsClockMethod methods[] = {LS_CLOCK_REFERENCE, LS_CLOCK_SAME_BOOT,
                                                    LS_CLOCK_ROUNDTRIP, LS_CLOCK_ROUNDTRIP,
                                                    LS_CLOCK_ROUNDTRIP, LS_CLOCK_ROUNDTRIP};

            g_assert_cmpint(ranks[i].clock_method, ==, methods[i]);
        }
        folder_remove(folder);
    }
}

static void
test_one_host(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    char *truth;
    LsSynthOptions options = make_options();

    options.ranks_per_host = 6;
    truth = write_run_and_truth(folder, &options);
    trace = load(folder);
    check_calls(trace, truth, 6, 0);
    free(truth);
    folder_remove(folder);
}

static void
test_collectives(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    char *truth;
    LsSynthOptions options = make_options();
    const LsRank *ranks;
    size_t n;

    options.roundtrips = 0;
    truth = write_run_and_truth(folder, &options);
    trace = load(folder);
    check_calls(trace, truth, 6, 5000000);
    free(truth);
    ranks = ls_trace_get_ranks(trace, &n);
    g_assert_cmpint(ranks[5].clock_method, ==, LS_CLOCK_COLLECTIVE);
    g_assert_nonnull(find_finding(trace, "inferred from collectives"));
    folder_remove(folder);
}

static void
test_absent_rank(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    LsSynthOptions options = make_options();
    const LsFinding *finding;
    const LsBuffer *buffers;
    size_t n;

    write_run(folder, &options);
    remove_rank(folder, &options, 3);
    trace = load(folder);
    finding = find_finding(trace, "Rank 3 of 6 has no file.");
    g_assert_true(finding != NULL && finding->rank == 3);
    buffers = ls_trace_get_buffers(trace, &n);
    g_assert_true(buffers != NULL);
    g_assert_cmpuint(buffers[0].n_calls, ==, 5);
    g_assert_cmpuint(buffers[0].ranks_expected, ==, 6);
    folder_remove(folder);
}

/* A damaged member costs what was damaged, with its place; the others nothing. */
static void
test_damaged(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    LsSynthOptions options = make_options();
    char problem[256];
    const LsFinding *findings;
    const LsRank *ranks;
    size_t n, places = 0;

    options.steps = 200;
    write_run(folder, &options);
    g_assert_true(ls_synth_run_damage(folder, 2, options.ranks_per_host, 100000, 40, problem,
                                      sizeof problem));
    trace = load(folder);
    ranks = ls_trace_get_ranks(trace, &n);
    g_assert_cmpuint(n, ==, 6);
    for (size_t i = 0; i < n; i++)
        g_assert_cmpuint(ranks[i].damaged > 0, ==, i == 2);
    findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++)
        places += findings[i].severity == LS_FAULT && findings[i].offset > 0 &&
                  findings[i].rank == 2 && strstr(findings[i].file, "rank-00002") != NULL;
    g_assert_cmpuint(places, >, 0);
    folder_remove(folder);
}

/* Logs beside our files are nobody's business; run.json gives facts. */
static void
test_folder_of_ours(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    LsSynthOptions options = make_options();
    const LsFinding *findings;
    size_t n;

    write_run(folder, &options);
    write_file(folder, "train.log", "epoch 1\n");
    write_file(folder, ".hidden", "x");
    write_file(folder, "run.json",
               "{\"id\": \"r-17\", \"command\": [\"train\", \"--steps\", \"12\"], \"tags\": "
               "{\"branch\": \"main\"}, \"settings\": {\"cycle_time_ms\": 3.5}}");
    trace = load(folder);
    g_assert_cmpstr(ls_trace_get_fact(trace, "run.id"), ==, "r-17");
    g_assert_cmpstr(ls_trace_get_fact(trace, "command"), ==, "train --steps 12");
    g_assert_cmpstr(ls_trace_get_fact(trace, "tags.branch"), ==, "main");
    g_assert_cmpstr(ls_trace_get_fact(trace, "settings.cycle_time_ms"), ==, "3.5");
    findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++)
        g_assert_true(findings[i].file == NULL || strstr(findings[i].file, "train.log") == NULL);
    folder_remove(folder);
}

static void
test_broken_run_json(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    LsSynthOptions options = make_options();

    write_run(folder, &options);
    write_file(folder, "run.json", "{\"id\": \"r-1");
    trace = load(folder);
    g_assert_nonnull(find_finding(trace, "run.json is not a whole JSON object"));
    folder_remove(folder);
}

static void
test_refused(void)
{
    g_autofree char *folder = make_folder();
    g_autofree char *text = g_build_filename(folder, "notes.txt", NULL);

    check_refused("/nowhere/run", "There is no file or folder /nowhere/run.");
    check_refused(folder, "holds no trace file");
    write_file(folder, "notes.txt", "not a trace\n");
    write_file(folder, "picture.png", "\x89PNG\r\n\x1a\n");
    check_refused(folder, "holds no trace file");
    check_refused(text, "notes.txt");
    folder_remove(folder);
}

/* One bad path among good ones is a finding. */
static void
test_bad_among_good(void)
{
    g_autofree char *folder = make_folder();
    g_autofree char *text = g_build_filename(folder, "notes.txt", NULL);
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GError) error = NULL;
    const char *paths[] = {"/nowhere/x.lks", folder, text};
    const LsFinding *finding;
    LsSynthOptions options = make_options();
    size_t n;

    write_run(folder, &options);
    write_file(folder, "notes.txt", "not a trace\n");
    trace = ls_run_load(paths, 3, NULL, NULL, &error);
    g_assert_no_error(error);
    ls_trace_get_ranks(trace, &n);
    g_assert_cmpuint(n, ==, 6);
    finding = find_finding(trace, "no file or folder");
    g_assert_true(finding != NULL && finding->severity == LS_FAULT);
    g_assert_nonnull(find_finding(trace, "is of no format"));
    folder_remove(folder);
}

/* The same rank twice in one folder: both stay. */
static void
test_conflict(void)
{
    g_autofree char *folder = make_folder(), *other = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GError) error = NULL;
    const char *paths[] = {folder, other};
    LsSynthOptions options = make_options();
    size_t n;

    write_run(folder, &options);
    options.seed = 77;
    write_run(other, &options);
    trace = ls_run_load(paths, 2, NULL, NULL, &error);
    g_assert_no_error(error);
    ls_trace_get_ranks(trace, &n);
    g_assert_cmpuint(n, ==, 12);
    g_assert_nonnull(find_finding(trace, "both say that they are rank 0 at"));
    folder_remove(folder);
    folder_remove(other);
}

static void
copy_part(const char *from, const char *folder, const char *name, size_t first, size_t last)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *bytes = NULL;
    size_t length;

    g_assert_true(g_file_get_contents(from, &bytes, &length, NULL));
    first = MIN(first, length);
    g_assert_true(
        g_file_set_contents(path, bytes + first, (gssize)(MIN(last, length) - first), NULL));
}

/* Twice the same file is one recording; a file cut in two where a chunk ends is one as well. */
static void
test_copy_and_parts(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) whole = NULL, copied = NULL, parted = NULL;
    LsSynthOptions options = make_options();
    size_t n[3], n_ranks, cut;
    g_autofree char *bytes = NULL;
    char path[4096];

    options.steps = 100;
    write_run(folder, &options);
    whole = load(folder);
    ls_synth_run_get_path(folder, 1, options.ranks_per_host, path, sizeof path);
    copy_part(path, folder, "a-copy.lks", 0, SIZE_MAX);
    copied = load(folder);
    g_assert_nonnull(find_finding(copied, "is the same recording again"));
    g_assert_true(g_file_get_contents(path, &bytes, &cut, NULL));
    for (cut /= 2; memcmp(bytes + cut, "LSK1", 4) != 0;)
        cut++;
    copy_part(path, folder, "a-copy.lks", 0, cut);
    copy_part(path, folder, "b-rest.lks", cut, SIZE_MAX);
    g_assert_cmpint(g_unlink(path), ==, 0);
    parted = load(folder);
    ls_trace_get_calls(whole, &n[0]);
    ls_trace_get_calls(copied, &n[1]);
    ls_trace_get_calls(parted, &n[2]);
    ls_trace_get_ranks(parted, &n_ranks);
    g_assert_cmpuint(n[0], ==, n[1]);
    g_assert_cmpuint(n[0], <=, n[2]); /* the call in which the file was cut has two halves */
    g_assert_cmpuint(n[2], <=, n[0] + 1);
    g_assert_cmpuint(n_ranks, ==, 6);
    folder_remove(folder);
}

static void
test_classes(void)
{
    g_autofree char *folder = make_folder();
    g_autofree char *rules = g_build_filename(folder, "rules", NULL);
    g_autoptr(LsTrace) trace = NULL, other = NULL;
    g_autoptr(GError) error = NULL;
    const char *paths[] = {folder};
    LsSynthOptions options = make_options();
    int64_t length[2][LS_N_CLASSES] = {0};

    write_run(folder, &options);
    write_file(folder, "rules", "lockstep * backward io\n");
    trace = load(folder);
    other = ls_run_load(paths, 1, rules, NULL, &error);
    g_assert_no_error(error);
    for (int k = 0; k < 2; k++) {
        size_t n;
        const LsTrack *tracks = ls_trace_get_tracks(k ? other : trace, &n);

        for (size_t i = 0; i < n; i++)
            for (uint32_t lane = 0; lane < tracks[i].n_lanes; lane++) {
                const LsSpans *spans = &tracks[i].lanes[lane];

                for (size_t s = 0; s < spans->n; s++)
                    length[k][spans->klass[s]] += spans->end_ns[s] - spans->start_ns[s];
            }
    }
    g_assert_cmpint(length[0][LS_CLASS_COMMUNICATION], >, 0);
    g_assert_cmpint(length[0][LS_CLASS_NEGOTIATION], >, 0);
    g_assert_cmpint(length[0][LS_CLASS_FUSION], >, 0);
    g_assert_cmpint(length[0][LS_CLASS_CONTROL], >, 0);
    /* 6 ranks, 12 steps: 33 ms compute, 2 ms input; then 20 ms of the former count as the latter.
     */
    g_assert_cmpint(ABS(length[0][LS_CLASS_COMPUTE] - INT64_C(72) * 33000000), <, 1000000);
    g_assert_cmpint(ABS(length[0][LS_CLASS_IO] - INT64_C(72) * 2000000), <, 1000000);
    g_assert_cmpint(ABS(length[1][LS_CLASS_COMPUTE] - INT64_C(72) * 13000000), <, 1000000);
    g_assert_cmpint(ABS(length[1][LS_CLASS_IO] - INT64_C(72) * 22000000), <, 1000000);
    folder_remove(folder);
}

static void
test_bad_rules(void)
{
    g_autofree char *folder = make_folder();
    g_autofree char *rules = g_build_filename(folder, "rules", NULL);
    g_autoptr(GError) error = NULL;
    const char *paths[] = {folder};

    write_file(folder, "rules", "lockstep *\n");
    g_assert_null(ls_run_load(paths, 1, rules, NULL, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_USAGE);
    folder_remove(folder);
}

static void
test_cancel(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsProgress) progress = ls_progress_new();
    g_autoptr(GError) error = NULL;
    const char *paths[] = {folder};
    LsSynthOptions options = make_options();

    write_run(folder, &options);
    ls_progress_cancel(progress);
    g_assert_null(ls_run_load(paths, 1, NULL, progress, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_CANCELLED);
    folder_remove(folder);
}

/* Nothing in the folder changes, and it need not be writable. */
static void
test_reads_only(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GDir) dir = NULL;
    LsSynthOptions options = make_options();
    guint files = 0;

    write_run(folder, &options);
    g_assert_cmpint(g_chmod(folder, 0500), ==, 0);
    trace = load(folder);
    dir = g_dir_open(folder, 0, NULL);
    while (g_dir_read_name(dir) != NULL)
        files++;
    g_assert_cmpuint(files, ==, 6);
    g_assert_cmpint(g_chmod(folder, 0700), ==, 0);
    folder_remove(folder);
}

static char *
get_shared(const char *name)
{
    const char *shared = g_getenv("LOCKSTEP_SHARED");
    char *path = g_build_filename(shared != NULL ? shared : "../shared", name, NULL);

    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_test_skip(name);
        g_clear_pointer(&path, g_free);
    }
    return path;
}

/* 4 ranks, 120 negotiations; three ranks are known by their ticks only, on rank 0's clock. */
static void
test_timeline(void)
{
    g_autofree char *path = get_shared("horovod-timelines/horovod-0.28.1/uncached-4.0.json");
    g_autoptr(LsTrace) trace = NULL;
    const LsBuffer *buffers;
    const LsRank *ranks;
    size_t n;

    if (path == NULL)
        return;
    trace = load(path);
    ranks = ls_trace_get_ranks(trace, &n);
    g_assert_cmpuint(n, ==, 4);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpint(ranks[i].rank, ==, i);
        g_assert_true(ranks[i].recorded == (i == 0));
        g_assert_cmpint(ranks[i].clock_method, ==, i ? LS_CLOCK_SAME_BOOT : LS_CLOCK_REFERENCE);
        g_assert_cmpint(ranks[i].clock_uncertainty_ns, ==, 0);
    }
    g_assert_nonnull(find_finding(trace, "Of rank 1-3 only ticks"));
    g_assert_null(find_finding(trace, "no file"));
    buffers = ls_trace_get_buffers(trace, &n);
    g_assert_true(buffers != NULL);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpuint(buffers[i].n_calls, ==, 1);
        g_assert_cmpuint(buffers[i].ranks_expected, ==, 4);
    }
}

/* A folder of timelines and other files: what no format knows is named, nothing else is lost. */
static void
test_timelines(void)
{
    g_autofree char *path = get_shared("horovod-timelines");
    g_autoptr(LsTrace) trace = NULL;
    const LsFinding *finding;
    size_t n, recorded = 0;
    const LsRank *ranks;

    if (path == NULL)
        return;
    trace = load(path);
    finding = find_finding(trace, "of no known format");
    g_assert_true(finding != NULL && g_str_has_suffix(finding->file, "README.md"));
    ranks = ls_trace_get_ranks(trace, &n);
    for (size_t i = 0; i < n; i++)
        recorded += ranks[i].recorded;
    g_assert_cmpuint(recorded, ==, 9);
}

/* Beside our own files a timeline is one more process of rank 0. */
static void
test_timeline_beside(void)
{
    g_autofree char *folder = make_folder();
    g_autofree char *path = get_shared("horovod-timelines/horovod-0.28.1/uncached-4.0.json");
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GError) error = NULL;
    LsSynthOptions options = make_options();

    if (path != NULL) {
        const char *paths[] = {folder, path};
        size_t n;

        write_run(folder, &options);
        trace = ls_run_load(paths, 2, NULL, NULL, &error);
        g_assert_no_error(error);
        ls_trace_get_ranks(trace, &n);
        g_assert_cmpuint(n, ==, 10);
        g_assert_nonnull(find_finding(trace, "of another format; both are shown"));
    }
    folder_remove(folder);
}

static void
test_empty(void)
{
    g_autofree char *folder = make_folder();
    static const char *const texts[] = {"", "["};

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *path = g_build_filename(folder, "timeline.json", NULL);
        g_autoptr(LsTrace) trace = NULL;

        write_file(folder, "timeline.json", texts[i]);
        trace = load(path);
        g_assert_nonnull(find_finding(trace, "No events recorded"));
    }
    folder_remove(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/run/skewed-clocks-of-three-hosts", test_skewed);
    g_test_add_func("/merge/run/one-host-moves-nothing", test_one_host);
    g_test_add_func("/merge/run/clocks-from-collectives", test_collectives);
    g_test_add_func("/merge/run/absent-rank-is-named", test_absent_rank);
    g_test_add_func("/merge/run/damage-costs-only-itself", test_damaged);
    g_test_add_func("/merge/run/facts-of-run-json", test_folder_of_ours);
    g_test_add_func("/merge/run/broken-run-json-is-found", test_broken_run_json);
    g_test_add_func("/merge/run/no-trace-is-one-sentence", test_refused);
    g_test_add_func("/merge/run/bad-file-among-good-ones", test_bad_among_good);
    g_test_add_func("/merge/run/same-rank-twice", test_conflict);
    g_test_add_func("/merge/run/copies-and-parts", test_copy_and_parts);
    g_test_add_func("/merge/run/classes-and-rules-file", test_classes);
    g_test_add_func("/merge/run/bad-rules-are-refused", test_bad_rules);
    g_test_add_func("/merge/run/cancel", test_cancel);
    g_test_add_func("/merge/run/reads-only", test_reads_only);
    g_test_add_func("/merge/run/horovod-timeline", test_timeline);
    g_test_add_func("/merge/run/folder-of-timelines", test_timelines);
    g_test_add_func("/merge/run/timeline-beside-our-files", test_timeline_beside);
    g_test_add_func("/merge/run/begun-and-empty", test_empty);
    return g_test_run();
}
