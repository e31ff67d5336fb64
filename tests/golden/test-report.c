/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a report, as a person reads it: a made-up job of 4 ranks on one host of which rank 2
 * reads its input 20 ms longer. `test-report --write FILE` makes the file anew; look at the
 * difference.
 */
#include "merge/run.h"
#include "report/report.h"
#include "samples/synth-run.h"
#include "tests/folder.h"

#include <stdlib.h>
#include <string.h>

static const char *golden_path;

static LsTrace *
make_trace(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-golden-XXXXXX", NULL);
    const char *paths[] = {folder};
    LsSynthOptions options = ls_synth_options();
    g_autoptr(GError) error = NULL;
    char problem[256];
    LsTrace *trace;

    options.ranks_per_host = options.ranks;
    options.late_rank = 2;
    options.late_ns = 20000000;
    if (!ls_synth_run_write(&options, folder, NULL, problem, sizeof problem))
        g_error("%s", problem);
    trace = ls_run_load(paths, 1, NULL, NULL, &error);
    g_assert_no_error(error);
    folder_remove(folder);
    return trace;
}

/* `ranks` names files of this machine: it is left out. */
static char *
write_report(void)
{
    static const char *const names[] = {"ledger", "stragglers", "collectives", "tensors",
                                        "performance"};
    g_autoptr(LsTrace) trace = make_trace();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    g_autoptr(GError) error = NULL;
    LsTable *tables[G_N_ELEMENTS(names)];
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        tables[i] = ls_analysis_find(names[i])->run(&input);
    ls_report_find_writer("text")->write(out, headline, tables, G_N_ELEMENTS(names), &input,
                                         &error);
    g_assert_no_error(error);
    fclose(out);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        ls_table_free(tables[i]);
    return text;
}

static void
test_late_rank(void)
{
    char *text = write_report();
    g_autofree char *golden = NULL;
    g_auto(GStrv) found = g_strsplit(text, "\n", -1), expected = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_true(g_file_get_contents(golden_path, &golden, NULL, &error));
    expected = g_strsplit(golden, "\n", -1);
    for (size_t i = 0; found[i] != NULL && expected[i] != NULL; i++)
        g_assert_cmpstr(found[i], ==, expected[i]);
    g_assert_cmpuint(g_strv_length(found), ==, g_strv_length(expected));
    free(text);
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        char *text = write_report();
        bool written = g_file_set_contents(argv[2], text, -1, NULL);

        free(text);
        return written ? 0 : 1;
    }
    g_test_init(&argc, &argv, NULL);
    golden_path = argv[1];
    g_test_add_func("/golden/report/late-rank", test_late_rank);
    return g_test_run();
}
