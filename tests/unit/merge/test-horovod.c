/* SPDX-License-Identifier: Apache-2.0
 *
 * Real Horovod's ranges, calls of MPI and timeline, joined: counts as
 * shared/horovod-observed/README.md says them, names by the size of the tensor, which is another
 * one for each in these runs.
 */
#include "merge/run.h"

#include "capture/format.h"
#include "observed.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define RANKS 4

static const ObservedOptions whole = {
    .with_timeline = true, .with_calls = true, .with_mirror = true};

static LsTrace *
load(const char *name, const ObservedOptions *options)
{
    char *folder = observed_make_run(name, options);
    g_autoptr(GError) error = NULL;
    LsTrace *trace;

    if (folder == NULL)
        return NULL;
    trace = ls_run_load((const char *const *)&folder, 1, NULL, NULL, &error);
    g_assert_no_error(error);
    observed_remove_run(folder);
    return trace;
}

/* -- The schedule -- */

/* Bytes by name of tensor. */
static GHashTable *
read_sizes(const char *name)
{
    g_autofree char *path = observed_find(name, ".truth.json");
    json_object *truth = json_object_from_file(path), *tensors, *value;
    GHashTable *sizes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    g_assert_true(json_object_object_get_ex(truth, "tensors", &tensors));
    for (size_t i = 0; i < json_object_array_length(tensors); i++) {
        json_object *tensor = json_object_array_get_idx(tensors, i);
        const char *text;

        g_assert_true(json_object_object_get_ex(tensor, "name", &value));
        text = json_object_get_string(value);
        g_assert_true(json_object_object_get_ex(tensor, "bytes", &value));
        g_hash_table_insert(sizes, g_strdup(text),
                            GSIZE_TO_POINTER((gsize)json_object_get_int64(value)));
    }
    json_object_put(truth);
    return sizes;
}

static const char *
get_tensor(const LsTrace *trace, const LsUse *use)
{
    const char *name = ls_trace_get_string(trace, use->tensor);

    return g_str_has_prefix(name, "allreduce.") ? name + strlen("allreduce.") : name;
}

static size_t
count_findings(const LsTrace *trace, const char *part)
{
    size_t n, found = 0;
    const LsFinding *findings = ls_trace_get_findings(trace, &n);

    for (size_t i = 0; i < n; i++)
        found += strstr(findings[i].text, part) != NULL;
    return found;
}

/* Every use by the size of its tensor; all ranks agree on when; ten of each on each rank. */
static void
check_names(const LsTrace *trace, GHashTable *sizes, size_t steps)
{
    size_t n, n_ranks, n_calls;
    const LsUse *uses = ls_trace_get_uses(trace, &n);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);

    ls_trace_get_ranks(trace, &n_ranks);
    g_assert_cmpint(n_ranks, ==, RANKS);
    g_assert_cmpint(n, ==, RANKS * steps * g_hash_table_size(sizes));
    for (size_t i = 0; i < n; i++) {
        gsize bytes = GPOINTER_TO_SIZE(g_hash_table_lookup(sizes, get_tensor(trace, &uses[i])));

        g_assert_cmpint(uses[i].bytes, ==, bytes);
        g_assert_cmpint(uses[i].occurrence, <, steps);
        g_assert_cmpint(uses[i].submit_ns, !=, LS_TIME_NONE);
        g_assert_cmpint(uses[i].agreed_ns, >, uses[i].submit_ns);
        g_assert_cmpint(uses[i].done_ns, >, uses[i].agreed_ns);
        g_assert_cmpint(uses[i].call, <, n_calls);
        g_assert_cmpint(calls[uses[i].call].rank, ==, uses[i].rank);
    }
}

/* Buffers are whole: a call of each rank, the same tensors and bytes, under way together. */
static void
check_buffers(const LsTrace *trace)
{
    size_t n, n_refs, n_calls;
    const LsBuffer *buffers = ls_trace_get_buffers(trace, &n);
    const uint32_t *refs = ls_trace_get_call_refs(trace, &n_refs);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);

    g_assert_cmpint(n * RANKS, ==, n_calls);
    for (size_t i = 0; i < n; i++) {
        const LsCall *first = &calls[refs[buffers[i].first_call_ref]];

        g_assert_true(buffers[i].pairing_exact);
        g_assert_cmpint(buffers[i].n_calls, ==, RANKS);
        for (uint32_t k = 0; k < RANKS; k++) {
            const LsCall *call = &calls[refs[buffers[i].first_call_ref + k]];

            g_assert_cmpint(call->tensors, ==, first->tensors);
            g_assert_cmpint(call->bytes, ==, first->bytes);
            g_assert_true(call->device_timed);
            g_assert_cmpint(call->start_ns, <, first->end_ns);
            g_assert_cmpint(first->start_ns, <, call->end_ns);
        }
    }
}

static void
test_names(const void *data)
{
    const char *name = data;
    g_autoptr(LsTrace) trace = load(name, &whole);
    g_autoptr(GHashTable) sizes = NULL;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    sizes = read_sizes(name);
    check_names(trace, sizes, 10);
    check_buffers(trace);
    g_assert_cmpint(count_findings(trace, "name"), ==, 0);
    g_assert_cmpint(count_findings(trace, "not visible"), ==, 0);
}

static void
test_groups(void)
{
    g_autoptr(LsTrace) trace = load("grouped-4", &whole);
    size_t n;
    const LsUse *uses;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    uses = ls_trace_get_uses(trace, &n);
    g_assert_cmpint(n, ==, RANKS * 120);
    check_buffers(trace);
    for (size_t i = 0; i < n; i++) {
        const char *tensor = ls_trace_get_string(trace, uses[i].tensor);
        const char *group = ls_trace_get_string(trace, uses[i].group);

        g_assert_cmpint(uses[i].group, !=, LS_NONE);
        g_assert_true(g_str_has_prefix(tensor, group));
        g_assert_cmpstr(strrchr(tensor, 'o'), ==, "of4");
        g_assert_cmpint(uses[i].submit_ns, !=, LS_TIME_NONE);
        for (size_t k = 0; k < i; k++) /* one range: one submission, one end */
            if (uses[k].rank == uses[i].rank && uses[k].group == uses[i].group &&
                uses[k].occurrence == uses[i].occurrence) {
                g_assert_cmpint(uses[k].submit_ns, ==, uses[i].submit_ns);
                g_assert_cmpint(uses[k].done_ns, ==, uses[i].done_ns);
            }
    }
}

/* Rank 2 comes 20 ms late to each step: its first tensor is the last one submitted. */
static void
test_late_rank(void)
{
    g_autoptr(LsTrace) trace = load("slow-4", &whole);
    int64_t submitted[10][RANKS];
    size_t n;
    const LsUse *uses;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    uses = ls_trace_get_uses(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(get_tensor(trace, &uses[i]), "fc.bias") == 0)
            submitted[uses[i].occurrence][uses[i].rank] = uses[i].submit_ns;
    for (int step = 0; step < 10; step++)
        for (int rank = 0; rank < RANKS; rank++)
            if (rank != 2)
                g_assert_cmpint(submitted[step][2] - submitted[step][rank], >, 15000000);
}

/* -- Control -- */

typedef struct Counts {
    const char *run;
    int bits, bit_bytes, ors, slow, data, ranges; /* of each rank */
} Counts;

/* The table of the README. */
static const Counts observed[] = {
    {"cached-4", 120, 16, 0, 8, 95, 120},       {"uncached-4", 0, 0, 0, 130, 103, 120},
    {"slow-4", 309, 16, 0, 20, 105, 120},       {"grouped-4", 47, 16, 0, 5, 23, 30},
    {"notimeline-4", 129, 8, 0, 11, 113, 120},  {"reshape-4", 352, 8, 1, 27, 120, 120},
    {"reshape-one-4", 347, 8, 1, 36, 115, 120}, {"evict-4", 352, 8, 0, 179, 120, 120},
};

static void
count_messages(const LsTrace *trace, uint32_t rank, Counts *counts)
{
    size_t n;
    const LsMessage *messages = ls_trace_get_messages(trace, &n);
    int four[4] = {0};

    for (size_t i = 0; i < n; i++) {
        const char *name = ls_trace_get_string(trace, messages[i].name);

        if (messages[i].rank != rank)
            continue;
        if (strcmp(name, "allreduce") == 0) {
            counts->bits++;
            g_assert_cmpint(messages[i].bytes_out, ==, counts->bit_bytes);
        }
        counts->ors += strcmp(name, "allreduce or") == 0;
        four[0] += strcmp(name, "gather") == 0;
        four[1] += strcmp(name, "gatherv") == 0;
        four[2] += strcmp(name, "bcast") == 0;
    }
    counts->slow = four[0];
    g_assert_cmpint(four[1], ==, four[0]);
    g_assert_cmpint(four[2], ==, 2 * four[0]);
}

static void
check_cycles(const LsTrace *trace, uint32_t rank, const Counts *expected)
{
    size_t n;
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n);
    int paths[4] = {0}, all = 0;

    for (size_t i = 0; i < n; i++)
        if (cycles[i].rank == rank) {
            g_assert_cmpint(cycles[i].number, ==, all++);
            paths[cycles[i].path]++;
            g_assert_cmpstr(ls_trace_get_string(trace, cycles[i].control), ==,
                            expected->bits > 0 ? "bitvector" : "coordinator");
        }
    if (expected->bits > 0) {
        g_assert_cmpint(all, ==, expected->bits);
        g_assert_cmpint(paths[LS_PATH_SLOW] + paths[LS_PATH_MIXED], ==, expected->slow);
    } else {
        g_assert_cmpint(all, ==, expected->slow);
        g_assert_cmpint(paths[LS_PATH_BYPASS] + paths[LS_PATH_MIXED], ==, 0);
    }
}

/* Buffers that MPI moved on this rank: calls, and what no call is. */
static int
count_data(const LsTrace *trace, uint32_t rank)
{
    size_t n, n_tracks;
    const LsCall *calls = ls_trace_get_calls(trace, &n);
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n_tracks);
    int data = 0;

    for (size_t i = 0; i < n; i++)
        data += calls[i].rank == rank && calls[i].device_timed;
    for (size_t i = 0; i < n_tracks; i++) {
        if (tracks[i].rank != rank ||
            strcmp(ls_trace_get_string(trace, tracks[i].category), "mpi") != 0)
            continue;
        for (uint32_t lane = 0; lane < tracks[i].n_lanes; lane++)
            for (size_t k = 0; k < tracks[i].lanes[lane].n; k++)
                data += strcmp(ls_trace_get_string(trace, tracks[i].lanes[lane].name[k]),
                               "MPI_Allreduce") == 0;
    }
    return data;
}

static int
count_ranges(const LsTrace *trace, uint32_t rank)
{
    size_t n;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n);
    int ranges = 0;

    for (size_t i = 0; i < n; i++)
        if (tracks[i].rank == rank &&
            strcmp(ls_trace_get_string(trace, tracks[i].name), "HorovodOps") == 0)
            for (uint32_t lane = 0; lane < tracks[i].n_lanes; lane++)
                ranges += (int)tracks[i].lanes[lane].n;
    return ranges;
}

static void
test_control(const void *data)
{
    const Counts *expected = data;
    g_autoptr(LsTrace) trace = load(expected->run, &whole);

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        Counts counts = {.bit_bytes = expected->bit_bytes};

        count_messages(trace, rank, &counts);
        g_assert_cmpint(counts.bits, ==, expected->bits);
        g_assert_cmpint(counts.ors, ==, expected->ors);
        g_assert_cmpint(counts.slow, ==, expected->slow);
        check_cycles(trace, rank, expected);
        g_assert_cmpint(count_data(trace, rank), ==, expected->data);
        g_assert_cmpint(count_ranges(trace, rank), ==, expected->ranges);
    }
    g_assert_cmpint(count_findings(trace, "invalid"), ==, expected->ors > 0 ? RANKS : 0);
}

/* -- What is not there is said -- */

static void
test_no_timeline(void)
{
    g_autoptr(LsTrace) trace = load("notimeline-4", &whole);
    size_t n;
    const LsUse *uses;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    g_assert_cmpint(count_findings(trace, "no Horovod timeline"), ==, 1);
    uses = ls_trace_get_uses(trace, &n);
    g_assert_cmpint(n, ==, RANKS * 120);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpstr(ls_trace_get_string(trace, uses[i].tensor), ==, "HorovodAllreduce");
        g_assert_cmpint(uses[i].agreed_ns, ==, LS_TIME_NONE);
    }
    check_buffers(trace);
}

/* What the file lacks the mirror has: at its end, or all of it. */
static void
check_mirror(const ObservedOptions *options, const char *said)
{
    g_autoptr(LsTrace) trace = load("cached-4", options);
    g_autoptr(GHashTable) sizes = NULL;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    sizes = read_sizes("cached-4");
    check_names(trace, sizes, 10);
    check_buffers(trace);
    g_assert_cmpint(count_findings(trace, said), ==, 1);
    g_assert_cmpint(count_findings(trace, "no Horovod timeline"), ==, 0);
    g_assert_cmpint(count_findings(trace, "no name"), ==, 0);
}

static void
test_cut_timeline(void)
{
    /* In the end of the last operation, in its activity, within others before it. */
    static const unsigned lost[] = {1, 2, 3, 4, 5, 6, 50, 300};

    for (size_t i = 0; i < G_N_ELEMENTS(lost); i++) {
        const ObservedOptions options = {.with_timeline = true,
                                         .with_calls = true,
                                         .with_mirror = true,
                                         .lost_records = lost[i]};

        check_mirror(&options, "missing or open at the end of Horovod's timeline");
    }
}

static void
test_mirror_alone(void)
{
    const ObservedOptions options = {.with_calls = true, .with_mirror = true};

    check_mirror(&options, "The file of Horovod's timeline is not here");
}

/* Without the mirror, by wall clock: what the file lacks has no name. */
static void
test_cut_without_mirror(void)
{
    const ObservedOptions options = {
        .with_timeline = true, .with_calls = true, .with_wall = true, .lost_records = 1};
    g_autoptr(LsTrace) trace = load("cached-4", &options);
    size_t n;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    ls_trace_get_uses(trace, &n);
    g_assert_cmpint(n, ==, RANKS * 119 + 1);
    g_assert_cmpint(count_findings(trace, "lie outside"), ==, RANKS);
}

static void
test_no_control(void)
{
    const ObservedOptions options = {.with_timeline = true, .with_mirror = true};
    g_autoptr(LsTrace) trace = load("cached-4", &options);
    size_t n, n_calls;
    const LsUse *uses;
    const LsCall *calls;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    g_assert_cmpint(count_findings(trace, "not visible"), ==, 1);
    ls_trace_get_cycles(trace, &n);
    g_assert_cmpint(n, ==, 0);
    ls_trace_get_messages(trace, &n);
    g_assert_cmpint(n, ==, 0);
    g_assert_cmpint(count_findings(trace, "The start of"), ==, RANKS - 1);
    uses = ls_trace_get_uses(trace, &n);
    calls = ls_trace_get_calls(trace, &n_calls);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpint(calls[uses[i].call].start_ns, <=, calls[uses[i].call].end_ns);
        if (uses[i].rank > 0) /* rank 0's is told in whole microseconds */
            g_assert_cmpint(calls[uses[i].call].end_ns, <=, uses[i].done_ns);
    }
}

/* -- A wrong name is worse than none -- */

/* Rank 2 loses the range with ID 50, whose tensor is then not there in its step. */
static bool
lose_range(int rank, unsigned line, char **text)
{
    return rank != 2 || (strstr(*text, " start 50 ") == NULL && !g_str_has_suffix(*text, "end 50"));
}

/* Rank 1's range with ID 50 has another size. */
static bool
change_size(int rank, unsigned line, char **text)
{
    if (rank == 1 && strstr(*text, " start 50 ") != NULL) {
        char *payload = strstr(*text, "payload ");
        char *changed = g_strdup_printf("%.*spayload 4444", (int)(payload - *text), *text);

        g_free(*text);
        *text = changed;
    }
    return true;
}

static void
check_damage(ObservedChange change, int damaged)
{
    const ObservedOptions options = {
        .with_timeline = true, .with_calls = true, .with_mirror = true, .change = change};
    g_autoptr(LsTrace) trace = load("cached-4", &options);
    g_autoptr(GHashTable) sizes = NULL;
    size_t n, of_rank[RANKS] = {0};
    const LsUse *uses;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    sizes = read_sizes("cached-4");
    uses = ls_trace_get_uses(trace, &n);
    for (size_t i = 0; i < n; i++) {
        gsize bytes = GPOINTER_TO_SIZE(g_hash_table_lookup(sizes, get_tensor(trace, &uses[i])));

        g_assert_cmpint(uses[i].bytes, ==, bytes);
        of_rank[uses[i].rank]++;
    }
    for (int rank = 0; rank < RANKS; rank++)
        if (rank != damaged)
            g_assert_cmpint(of_rank[rank], ==, 120);
    g_assert_cmpint(of_rank[damaged], >=, 120 - 12 * 2);
    g_assert_cmpint(of_rank[damaged], <, 120);
    g_assert_cmpint(count_findings(trace, "stay without names"), ==, 1);
}

static void
test_lost_range(void)
{
    check_damage(lose_range, 2);
}

/* Recorded from the sixth step on: the first 60 ranges of each rank are not there. */
static bool
begin_late(int rank, unsigned line, char **text)
{
    static unsigned begun;
    static bool skipped[4096];
    long long id;
    char time[32];

    begun = line == 0 ? 0 : begun;
    if (line == 0)
        memset(skipped, 0, sizeof skipped);
    if (sscanf(*text, "%31s start %lld", time, &id) == 2) {
        begun += strstr(*text, "dom HorovodOps") != NULL;
        skipped[id] = begun <= 60;
        return !skipped[id];
    }
    return sscanf(*text, "%31s end %lld", time, &id) != 2 || !skipped[id];
}

static void
test_late_recording(void)
{
    const ObservedOptions options = {.with_timeline = true,
                                     .with_calls = true,
                                     .with_mirror = true,
                                     .with_wall = true,
                                     .change = begin_late};
    g_autoptr(LsTrace) trace = load("cached-4", &options);
    g_autoptr(GHashTable) sizes = NULL;
    size_t n, named = 0;
    const LsUse *uses;

    if (trace == NULL) {
        g_test_skip("shared/horovod-observed is not there");
        return;
    }
    sizes = read_sizes("cached-4");
    uses = ls_trace_get_uses(trace, &n);
    for (size_t i = 0; i < n; i++) {
        gsize bytes = GPOINTER_TO_SIZE(g_hash_table_lookup(sizes, get_tensor(trace, &uses[i])));

        g_assert_cmpint(uses[i].bytes, ==, bytes);
        named += uses[i].rank > 0; /* rank 0's timeline holds the first steps as well */
    }
    g_assert_cmpint(named, ==, (RANKS - 1) * 60);
    g_assert_cmpint(count_findings(trace, "stay without names"), ==, 0);
    g_assert_cmpint(count_findings(trace, "lie outside"), ==, 0);
}

static void
test_changed_size(void)
{
    check_damage(change_size, 1);
}

int
main(int argc, char **argv)
{
    static const char *const named[] = {"cached-4", "uncached-4", "slow-4"};

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(named); i++) {
        g_autofree char *path =
            g_strdup_printf("/merge/horovod/every-range-has-its-name/%s", named[i]);

        g_test_add_data_func(path, named[i], test_names);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(observed); i++) {
        g_autofree char *path =
            g_strdup_printf("/merge/horovod/control-is-recognised/%s", observed[i].run);

        g_test_add_data_func(path, &observed[i], test_control);
    }
    g_test_add_func("/merge/horovod/a-group-is-one-submission", test_groups);
    g_test_add_func("/merge/horovod/the-late-rank-submits-last", test_late_rank);
    g_test_add_func("/merge/horovod/no-timeline-is-said", test_no_timeline);
    g_test_add_func("/merge/horovod/the-mirror-ends-a-cut-timeline", test_cut_timeline);
    g_test_add_func("/merge/horovod/the-mirror-stands-for-the-file", test_mirror_alone);
    g_test_add_func("/merge/horovod/no-mirror-no-name-beyond-the-file", test_cut_without_mirror);
    g_test_add_func("/merge/horovod/no-control-is-said", test_no_control);
    g_test_add_func("/merge/horovod/a-lost-range-names-nothing-wrong", test_lost_range);
    g_test_add_func("/merge/horovod/another-size-names-nothing-wrong", test_changed_size);
    g_test_add_func("/merge/horovod/a-recording-that-begins-late", test_late_recording);
    return g_test_run();
}
