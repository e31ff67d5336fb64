/* SPDX-License-Identifier: Apache-2.0
 * Ranks, lives and conflicts of processes made by hand. */
#include "merge/identity.h"

#include "clocks.h"

#include <string.h>

static const Clock even = {0, 0, 0, 0};

static GPtrArray *
new_list(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)ls_process_free);
}

static LsProcess *
add(GPtrArray *list, int rank, int64_t pid, const char *source, int64_t first_ns, int64_t last_ns)
{
    LsProcess *process = make_process(rank, 4, &even, "boot", first_ns, last_ns);

    process->rank.pid = pid;
    process->rank.clock_method = LS_CLOCK_SAME_BOOT;
    g_free(process->rank.source);
    process->rank.source = g_strdup(source);
    g_ptr_array_add(list, process);
    return process;
}

static const LsRank *
get_rank(const GPtrArray *list, guint i)
{
    return &((const LsProcess *)g_ptr_array_index(list, i))->rank;
}

static void
test_names(void)
{
    static const struct {
        const char *source;
        int rank;
    } names[] = {{"/a/rank-00003.gpu05.812.lks", 3},
                 {"rank_12.trace.json", 12},
                 {"/runs/rank7/x.r5.json", 5},
                 {"cpu_only__rank-34.Jul_15.json", 34},
                 {"r2.json", 2},
                 {"worker.json", -1},
                 {"/rank3/timeline.json", -1},
                 {"par1.json", -1},
                 {"Rank0.json", 0}};

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GPtrArray) list = new_list();
        LsProcess *process = add(list, -1, 1, names[i].source, 0, 10);

        ls_identity_find_ranks(list);
        g_assert_cmpint(process->rank.rank, ==, names[i].rank);
        g_assert_true(has_finding(process->findings, "name"));
    }
}

static void
test_content_before_name(void)
{
    g_autoptr(GPtrArray) list = new_list();
    LsProcess *process = add(list, 2, 1, "rank-00003.x.1.lks", 0, 10);

    ls_identity_find_ranks(list);
    g_assert_cmpint(process->rank.rank, ==, 2);
    g_assert_cmpuint(process->findings->len, ==, 0);
}

static void
test_lone(void)
{
    g_autoptr(GPtrArray) list = new_list();
    LsProcess *process = add(list, -1, 1, "trace.json", 0, 10);

    process->rank.world = -1;
    ls_identity_find_ranks(list);
    g_assert_cmpint(process->rank.rank, ==, 0);
    g_assert_true(has_finding(process->findings, "alone"));
}

/* Two files of one process, a third of another one. */
static void
test_siblings(void)
{
    g_autoptr(GPtrArray) list = new_list();
    LsProcess *a = add(list, 1, 77, "a.lks", 0, 10), *b, *joined;
    uint32_t name;

    add(list, 0, 76, "c.lks", 0, 10);
    b = add(list, 1, 77, "b.lks", 10, 25);
    for (int i = 0; i < 2; i++) {
        LsProcess *process = i ? b : a;
        LsCall call = {.sequence = i};
        LsUse use = {.call = 0, .group = LS_NONE};

        g_free(process->rank.host);
        process->rank.host = g_strdup("h");
        process->rank.records = 5;
        process->rank.lost = i ? 3 : 2;
        ls_strings_add(process->strings, i ? "other" : "filler");
        name = ls_strings_add(process->strings, "MPI_ALLREDUCE");
        call.name = use.tensor = name;
        g_array_append_val(process->calls, call);
        g_array_append_val(process->uses, use);
        ls_track_builder_add(ls_process_get_track(process, LS_TRACK_COMMUNICATION, "data", "", 1),
                             i * 10, i * 10 + 5, name, 0);
        g_hash_table_insert(process->facts, g_strdup(i ? "late" : "early"), g_strdup("yes"));
    }
    ls_identity_find_ranks(list);
    g_assert_cmpuint(list->len, ==, 2);
    joined = g_ptr_array_index(list, 0);
    g_assert_cmpuint(joined->calls->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const LsUse *use = &g_array_index(joined->uses, LsUse, i);

        g_assert_cmpstr(ls_strings_get(joined->strings, use->tensor), ==, "MPI_ALLREDUCE");
        g_assert_cmpuint(use->call, ==, i);
        g_assert_cmpint(g_array_index(joined->calls, LsCall, i).sequence, ==, i);
    }
    g_assert_cmpuint(joined->tracks->len, ==, 1);
    g_assert_cmpuint(ls_track_builder_get_n(g_ptr_array_index(joined->tracks, 0)), ==, 2);
    g_assert_cmpint(joined->rank.first_ns, ==, 0);
    g_assert_cmpint(joined->rank.last_ns, ==, 25);
    g_assert_cmpuint(joined->rank.records, ==, 10);
    g_assert_cmpuint(joined->rank.lost, ==, 3);
    g_assert_cmpstr(joined->rank.source, ==, "a.lks, b.lks");
    g_assert_nonnull(g_hash_table_lookup(joined->facts, "early"));
    g_assert_nonnull(g_hash_table_lookup(joined->facts, "late"));
}

static void
test_conflict(void)
{
    g_autoptr(GPtrArray) list = new_list();

    add(list, 1, 10, "a.lks", 0, 100);
    add(list, 0, 11, "b.lks", 0, 100);
    add(list, 1, 12, "c.lks", 50, 150);
    ls_identity_find_ranks(list);
    ls_identity_find_lives(list);
    g_assert_cmpuint(list->len, ==, 3);
    g_assert_cmpint(get_rank(list, 0)->rank, ==, 0);
    g_assert_cmpint(get_rank(list, 2)->incarnation, ==, 0);
    g_assert_true(
        has_finding(((LsProcess *)g_ptr_array_index(list, 2))->findings,
                    "This file (process 12 on host1) and a.lks (process 10 on host1) both say "
                    "that they are rank 1"));
}

/* A life that its recorder did not count, under another run's id: somebody mixed two runs. */
static void
test_mixed_runs(void)
{
    for (int mixed = 0; mixed < 2; mixed++) {
        g_autoptr(GPtrArray) list = new_list();
        LsProcess *later = add(list, 1, 12, "c.lks", 150, 200);
        LsProcess *earlier = add(list, 1, 10, "a.lks", 0, 100);
        const LsFinding *finding;

        g_hash_table_insert(earlier->facts, g_strdup("run.id"), g_strdup("7"));
        g_hash_table_insert(later->facts, g_strdup("run.id"), g_strdup(mixed ? "8" : "7"));
        ls_identity_find_lives(list);
        g_assert_cmpuint(later->findings->len, ==, 1);
        finding = &g_array_index(later->findings, LsFinding, 0);
        g_assert_cmpint(finding->severity, ==, mixed ? LS_WARNING : LS_NOTE);
        g_assert_cmpint(strstr(finding->text, "two runs are mixed") != NULL, ==, mixed);
        g_assert_nonnull(strstr(finding->text, "its life 2"));
    }
}

static void
test_lives(void)
{
    g_autoptr(GPtrArray) list = new_list();

    add(list, 1, 12, "c.lks", 150, 200);
    add(list, 1, 10, "a.lks", 0, 100);
    add(list, 1, 13, "d.lks", 250, 300)->rank.incarnation = 5;
    ls_identity_find_ranks(list);
    ls_identity_find_lives(list);
    for (guint i = 0; i < 3; i++) {
        static const int lives[] = {0, 1, 5};
        static const int pids[] = {10, 12, 13};

        g_assert_cmpint(get_rank(list, i)->incarnation, ==, lives[i]);
        g_assert_cmpint(get_rank(list, i)->pid, ==, pids[i]);
    }
}

static LsClass
no_class(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

/* All findings of check_world, one a line. */
static char *
check_world(const GPtrArray *list)
{
    LsBuilder *builder = ls_builder_new(no_class, NULL);
    g_autoptr(LsTrace) trace = NULL;
    GString *text = g_string_new(NULL);
    size_t n;
    const LsFinding *findings;

    ls_identity_check_world(list, builder);
    trace = ls_builder_freeze(builder);
    findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++)
        g_string_append_printf(text, "%d: %s\n", findings[i].rank, findings[i].text);
    return g_string_free(text, FALSE);
}

static void
test_absent(void)
{
    g_autoptr(GPtrArray) list = new_list();
    g_autofree char *one = NULL, *many = NULL;

    for (int i = 0; i < 3; i++)
        add(list, i, 10 + i, "x", 0, 10);
    one = check_world(list);
    g_assert_cmpstr(one, ==, "3: Rank 3 of 4 has no file.\n");
    for (guint i = 0; i < 3; i++)
        ((LsProcess *)g_ptr_array_index(list, i))->rank.world = 100;
    ((LsProcess *)g_ptr_array_index(list, 2))->rank.rank = 50;
    many = check_world(list);
    g_assert_cmpstr(many, ==, "-1: 97 of 100 ranks have no file: 2-49, 51-99.\n");
}

static void
test_worlds_differ(void)
{
    g_autoptr(GPtrArray) list = new_list();
    g_autofree char *text = NULL;

    add(list, 0, 10, "x", 0, 10)->rank.world = 2;
    add(list, 1, 11, "y", 0, 10)->rank.world = 3;
    text = check_world(list);
    g_assert_nonnull(strstr(text, "0: Rank 0 knows of 2 ranks, rank 1 of 3"));
    g_assert_nonnull(strstr(text, "2: Rank 2 of 3 has no file."));
}

static void
test_indirect(void)
{
    g_autoptr(GPtrArray) list = new_list();
    g_autofree char *text = NULL;

    for (int i = 0; i < 4; i++)
        add(list, i, i ? -1 : 5, "timeline.json", 0, 10)->rank.recorded = i == 0;
    text = check_world(list);
    g_assert_true(g_str_has_prefix(text, "-1: Of rank 1-3 only ticks"));
    g_assert_null(strstr(text, "no file"));
}

/* Only rank 0 writes a timeline, and a missing tick is not a missing rank. */
static void
test_timeline(void)
{
    g_autoptr(GPtrArray) list = new_list();
    g_autofree char *text = NULL;

    for (int i = 0; i < 2; i++) {
        LsProcess *process = add(list, i, i ? -1 : 5, "timeline.json", 0, 10);

        process->source = LS_SOURCE_HOROVOD;
        process->rank.recorded = i == 0;
    }
    text = check_world(list);
    g_assert_nonnull(strstr(text, "of rank 2-3 of 4 it holds no tick, which is no sign"));
    g_assert_null(strstr(text, "no file"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/identity/rank-from-name", test_names);
    g_test_add_func("/merge/identity/content-before-name", test_content_before_name);
    g_test_add_func("/merge/identity/lone-file-is-rank-0", test_lone);
    g_test_add_func("/merge/identity/files-of-one-process-join", test_siblings);
    g_test_add_func("/merge/identity/two-at-once-are-a-conflict", test_conflict);
    g_test_add_func("/merge/identity/one-after-another-are-lives", test_lives);
    g_test_add_func("/merge/identity/mixed-runs", test_mixed_runs);
    g_test_add_func("/merge/identity/absent-ranks", test_absent);
    g_test_add_func("/merge/identity/worlds-differ", test_worlds_differ);
    g_test_add_func("/merge/identity/ticks-are-not-files", test_indirect);
    g_test_add_func("/merge/identity/missing-ticks-are-not-missing-ranks", test_timeline);
    return g_test_run();
}
