/* SPDX-License-Identifier: Apache-2.0
 * Files of several runs in one folder: which belong together, what is a restart, and what is said.
 */
#include "merge/runs.h"

#include "trace/trace.h"

#include <string.h>

typedef struct File {
    int rank, incarnation;
    const char *run;   /* NULL: the file does not say */
    uint32_t expected; /* which run it is found to be of */
} File;

#define RANDOM_A "0123456789abcdef0123456789abcdef"
#define RANDOM_B "fedcba9876543210fedcba9876543210"

static const struct Case {
    const char *name;
    const char *says[4]; /* parts of the one finding; none: there is none */
    File files[6];
    size_t n;
} cases[] = {
    {"one run", {NULL}, {{0, 0, "7", 0}, {1, 0, "7", 0}}, 2},
    {"two runs without a rank in common",
     {"These are files of 2 runs: run 7 (rank 0: 0.lks; rank 2: 1.lks) and run 8 (rank 1: 2.lks; "
      "rank 3: 3.lks)",
      "nothing is compared between two of them"},
     {{0, 0, "7", 0}, {2, 0, "7", 0}, {1, 0, "8", 1}, {3, 0, "8", 1}},
     4},
    {"three runs of a rank each",
     {"files of 3 runs", "run a (rank 0: 0.lks), run b (rank 1: 1.lks) and run c (rank 2: 2.lks)"},
     {{0, 0, "a", 0}, {1, 0, "b", 1}, {2, 0, "c", 2}},
     3},
    {"the same ranks again, not counted by their recorder",
     {"files of 2 runs"},
     {{0, 0, "7", 0}, {1, 0, "7", 0}, {0, 0, "8", 1}, {1, 0, "8", 1}},
     4},
    {"a restart",
     {"The job was started 2 times", "run 7 (", "run 8 ("},
     {{0, 0, "7", 0}, {1, 0, "7", 0}, {0, 1, "8", 1}, {1, 1, "8", 1}},
     4},
    {"a restart with one rank more",
     {"The job was started 2 times"},
     {{0, 0, "7", 0}, {1, 0, "7", 0}, {0, 1, "8", 1}, {1, 1, "8", 1}, {2, 0, "8", 1}},
     5},
    {"ids that recorders made up for themselves",
     {NULL},
     {{0, 0, RANDOM_A, 0}, {1, 0, RANDOM_B, 0}, {2, 0, "1795980022904987147.812", 0}},
     3},
    {"files that do not say", {NULL}, {{0, 0, NULL, 0}, {1, 0, "7", 0}, {2, 0, NULL, 0}}, 3},
};

static LsProcess *
make_process(const File *file, int number)
{
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);

    process->rank.rank = file->rank;
    process->rank.incarnation = file->incarnation;
    process->rank.first_ns = number * 100;
    process->rank.last_ns = number * 100 + 1000;
    process->rank.source = g_strdup_printf("/run/%d.lks", number);
    if (file->run != NULL)
        g_hash_table_insert(process->facts, g_strdup("run.id"), g_strdup(file->run));
    return process;
}

static LsClass
classify(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

static void
check(const struct Case *item)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)ls_process_free);
    LsBuilder *builder = ls_builder_new(classify, NULL);
    size_t n;

    for (size_t i = 0; i < item->n; i++)
        g_ptr_array_add(list, make_process(&item->files[i], (int)i));
    ls_runs_part(list, builder);
    g_autoptr(LsTrace) trace = ls_builder_freeze(builder);
    const LsFinding *findings = ls_trace_get_findings(trace, &n);

    g_test_message("%s: %s", item->name, n > 0 ? findings[0].text : "nothing to say");
    g_assert_cmpuint(n, ==, item->says[0] != NULL);
    for (size_t i = 0; item->says[i] != NULL; i++)
        g_assert_nonnull(strstr(findings[0].text, item->says[i]));
    for (size_t i = 0; i < item->n; i++)
        g_assert_cmpuint(((LsProcess *)list->pdata[i])->rank.run, ==, item->files[i].expected);
}

static void
test_cases(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        check(&cases[i]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/runs/told-apart-by-their-ids", test_cases);
    return g_test_run();
}
