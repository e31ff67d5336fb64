/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables against the truth of made-up jobs, which samples/synth computes from the construction and
 * never from a file: exactly on one host, within the clocks' stated bound over several.
 */
#include "merge/run.h"
#include "samples/synth-run.h"
#include "tests/folder.h"
#include "tests/unit/sample-cells.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

typedef struct Job {
    LsTrace *trace;
    LsActivity *activity;
    json_object *truth;
    int64_t bound_ns; /* of any difference: twice the clocks' largest uncertainty, and rounding */
} Job;

static void
job_init(Job *job, const LsSynthOptions *options)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-synth-XXXXXX", NULL);
    const char *paths[] = {folder};
    g_autoptr(GError) error = NULL;
    char problem[256], *text = NULL;
    size_t length, n_ranks;
    FILE *out = open_memstream(&text, &length);
    const LsRank *ranks;

    if (!ls_synth_run_write(options, folder, out, problem, sizeof problem))
        g_error("%s", problem);
    fclose(out);
    job->truth = json_tokener_parse(text);
    free(text);
    g_assert_nonnull(job->truth);
    job->trace = ls_run_load(paths, 1, NULL, NULL, &error);
    g_assert_no_error(error);
    folder_remove(folder);
    job->activity = ls_activity_new(job->trace);
    ranks = ls_trace_get_ranks(job->trace, &n_ranks);
    job->bound_ns = 1;
    for (size_t r = 0; r < n_ranks; r++)
        job->bound_ns = MAX(job->bound_ns, 2 * ranks[r].clock_uncertainty_ns + 1);
}

static void
job_clear(Job *job)
{
    json_object_put(job->truth);
    ls_activity_free(job->activity);
    ls_trace_unref(job->trace);
}

static json_object *
get_member(json_object *object, const char *name)
{
    json_object *value = NULL;

    if (!json_object_object_get_ex(object, name, &value))
        g_error("the truth has no %s", name);
    return value;
}

static int64_t
get_true(json_object *object, const char *name)
{
    return json_object_get_int64(get_member(object, name));
}

/* The table's row with these values in these columns (b NULL: one column). */
static size_t
find_row(const LsTable *table, const char *a, int64_t value_a, const char *b, int64_t value_b)
{
    for (size_t r = 0; r < ls_table_get_rows(table); r++)
        if (get_int(table, r, a) == value_a && (b == NULL || get_int(table, r, b) == value_b))
            return r;
    g_error("%s has no row with %s = %" G_GINT64_FORMAT, ls_table_get_name(table), a, value_a);
}

static void
check(const LsTable *table, size_t row, json_object *truth, const char *column, int64_t bound_ns)
{
    int64_t found = get_int(table, row, column), expected = get_true(truth, column);

    if (ABS(found - expected) > bound_ns)
        g_error("%s[%zu].%s is %" G_GINT64_FORMAT ", true is %" G_GINT64_FORMAT
                " and the bound %" G_GINT64_FORMAT,
                ls_table_get_name(table), row, column, found, expected, bound_ns);
}

static void
check_steps(const Job *job)
{
    static const char *const columns[] = {"step_ns",
                                          "compute_ns",
                                          "communication_ns",
                                          "hidden_ns",
                                          "exposed_ns",
                                          "exposed_wait_ns",
                                          "exposed_transfer_ns",
                                          "negotiation_exposure_ns",
                                          "waited_for_ns",
                                          "idle_ns",
                                          "io_ns",
                                          "fusion_ns"};
    g_autoptr(LsTable) table = run_analysis("steps", job->trace, job->activity);
    json_object *steps = get_member(job->truth, "steps");

    g_assert_cmpuint(ls_table_get_rows(table), ==, json_object_array_length(steps));
    for (size_t i = 0; i < json_object_array_length(steps); i++) {
        json_object *step = json_object_array_get_idx(steps, i);
        size_t row =
            find_row(table, "step", get_true(step, "step"), "rank", get_true(step, "rank"));

        g_assert_cmpint(get_int(table, row, "cut"), ==, get_true(step, "cut"));
        if (get_int(table, row, "cut"))
            continue;
        check(table, row, step, "samples", 0);
        check(table, row, step, "operations", 0);
        /* A step meets several negotiations, each with its own edges between clocks. */
        for (size_t c = 0; c < G_N_ELEMENTS(columns); c++)
            check(table, row, step, columns[c], job->bound_ns == 1 ? 0 : 8 * job->bound_ns);
    }
}

static void
check_collectives(const Job *job)
{
    static const char *const columns[] = {"wait_max_ns", "wait_max_aligned_ns", "transfer_ns"};
    g_autoptr(LsTable) table = run_analysis("collectives", job->trace, job->activity);
    json_object *buffers = get_member(job->truth, "collectives");
    size_t ties = 0;

    g_assert_cmpuint(ls_table_get_rows(table), ==, json_object_array_length(buffers));
    for (size_t i = 0; i < ls_table_get_rows(table); i++) {
        json_object *buffer = json_object_array_get_idx(buffers, i);

        check(table, i, buffer, "step", 0);
        check(table, i, buffer, "bytes", 0);
        check(table, i, buffer, "tensors", 0);
        for (size_t c = 0; c < G_N_ELEMENTS(columns); c++)
            check(table, i, buffer, columns[c], job->bound_ns);
        if (g_str_equal(get_text(table, i, "verdict"), "ok"))
            check(table, i, buffer, "last_rank", 0);
        else
            ties += g_str_equal(get_text(table, i, "verdict"), "tie");
    }
    if (job->bound_ns == 1)
        g_assert_cmpuint(ties, ==, 0);
}

static void
check_tensors(const Job *job)
{
    static const char *const columns[] = {
        "negotiation_ns", "gate_ns", "slowest_rank_ns", "behind_ns", "sleep_ns", "protocol_ns",
        "queue_ns",       "pack_ns", "operation_ns",    "unpack_ns", "spread_ns"};
    g_autoptr(LsTable) table = run_analysis("tensors", job->trace, job->activity);
    json_object *tensors = get_member(job->truth, "tensors");

    g_assert_cmpuint(ls_table_get_rows(table), ==, json_object_array_length(tensors));
    for (size_t i = 0; i < json_object_array_length(tensors); i++) {
        json_object *tensor = json_object_array_get_idx(tensors, i);
        const char *name = json_object_get_string(get_member(tensor, "tensor"));
        size_t row = 0;

        while (strcmp(get_text(table, row, "tensor"), name) != 0)
            row++;
        check(table, row, tensor, "bytes", 0);
        check(table, row, tensor, "count", 0);
        /* Five rounded means: the protocol takes what the others left. */
        for (size_t c = 0; c < G_N_ELEMENTS(columns); c++)
            check(table, row, tensor, columns[c], job->bound_ns + 4);
        g_assert_cmpstr(get_text(table, row, "group"), ==,
                        get_member(tensor, "group") == NULL
                            ? ""
                            : json_object_get_string(get_member(tensor, "group")));
    }
}

static void
check_job(const LsSynthOptions *options)
{
    Job job;

    job_init(&job, options);
    check_steps(&job);
    check_collectives(&job);
    check_tensors(&job);
    job_clear(&job);
}

static void
test_one_host(void)
{
    LsSynthOptions options = ls_synth_options();

    options.ranks_per_host = options.ranks;
    check_job(&options);
}

static void
test_hosts(void)
{
    LsSynthOptions options = ls_synth_options();

    options.late_rank = 2;
    options.late_ns = 20000000;
    options.late_from = 3;
    check_job(&options);
}

/* Buffers that hold a tensor of the group, in all. */
static int64_t
count_buffers(const LsTrace *trace, const char *group)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    size_t n_uses, n_calls;
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);

    for (size_t i = 0; i < n_uses; i++)
        if (uses[i].group != LS_NONE && uses[i].call < n_calls &&
            strcmp(ls_trace_get_string(trace, uses[i].group), group) == 0)
            g_hash_table_add(seen, GUINT_TO_POINTER(calls[uses[i].call].buffer));
    return g_hash_table_size(seen);
}

/* Counts are totals over the recording (metrics.md). */
static void
test_groups_total(void)
{
    LsSynthOptions options = ls_synth_options();
    Job job;

    options.groups = 3;
    job_init(&job, &options);
    g_autoptr(LsTable) table = run_analysis("groups", job.trace, job.activity);
    g_assert_cmpuint(ls_table_get_rows(table), >, 0);
    for (size_t row = 0; row < ls_table_get_rows(table); row++) {
        g_assert_cmpint(get_int(table, row, "buffers"), ==,
                        count_buffers(job.trace, get_text(table, row, "group")));
        g_assert_cmpint(get_int(table, row, "buffers"), >, 1);
    }
    job_clear(&job);
}

static void
test_groups(void)
{
    LsSynthOptions options = ls_synth_options();

    options.ranks_per_host = options.ranks;
    options.groups = 3;
    options.checkpoint_every = 4;
    check_job(&options);
}

static void
test_late_rank(void)
{
    LsSynthOptions options = ls_synth_options();
    Job job;

    options.ranks_per_host = options.ranks;
    options.late_rank = 2;
    options.late_ns = 20000000;
    job_init(&job, &options);
    g_autoptr(LsTable) table = run_analysis("stragglers", job.trace, job.activity);
    int64_t cost_ns = get_int(table, 2, "cost_ns_per_step");

    g_assert_cmpint(get_int(table, 2, "rank"), ==, 2);
    g_assert_cmpfloat((double)get_int(table, 2, "times_last"), >,
                      3 * get_real(table, 2, "times_last_by_chance"));
    /* 20 ms of input, less or more the jitter of a submission. */
    g_assert_cmpint(ABS(cost_ns - options.late_ns), <, 2 * options.jitter_ns);
    job_clear(&job);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/synth/one-host-exactly", test_one_host);
    g_test_add_func("/analysis/synth/groups-and-checkpoints-exactly", test_groups);
    g_test_add_func("/analysis/synth/groups-count-buffers-in-all", test_groups_total);
    g_test_add_func("/analysis/synth/hosts-within-the-clocks-bound", test_hosts);
    g_test_add_func("/analysis/synth/late-rank-is-named-at-its-cost", test_late_rank);
    return g_test_run();
}
