/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-run.c: the trace file, of any bytes, all the way: ranks, clocks, matched collectives, every
 * table of the report, the headline. The input is that of fuzz-native. Checks: it loads; the trace
 * holds together; the report is written.
 */
#include <unistd.h>

#include "check-trace.h"
#include "merge/run.h"
#include "repair.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

/* A file of its own for the process, taken away when it ends. */
static char path[64];

static void
remove_file(void)
{
    unlink(path);
}

static void
write_file(const uint8_t *data, size_t length)
{
    if (path[0] == '\0') {
        g_snprintf(path, sizeof path, "%s/fuzz-run-%d.lks", g_get_tmp_dir(), (int)getpid());
        atexit(remove_file);
    }
    FILE *file = fopen(path, "wb");
    check(file != NULL && fwrite(data, 1, length, file) == length, "the input can be written");
    check(fclose(file) == 0, "the input can be written");
}

static void
report(const LsTrace *trace)
{
    const LsAnalysis *const *all = ls_analysis_get_all();
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)ls_table_free);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    const LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    static const char *const formats[] = {"text", "json", "csv"};
    FILE *out = fopen("/dev/null", "w");
    for (size_t i = 0; all[i] != NULL; i++)
        g_ptr_array_add(tables, all[i]->run(&input));
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        const LsReportWriter *writer = ls_report_find_writer(formats[i]);
        check(writer->write(out, headline, (LsTable *const *)tables->pdata, tables->len, &input,
                            NULL),
              "a report is written");
    }
    fclose(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    const char *const paths[] = {path};
    g_autoptr(GError) error = NULL;
    if (length == 0)
        return 0;
    g_autofree uint8_t *copy = g_memdup2(data, length);
    if (copy[0] & 1)
        repair_chunks(copy + 1, length - 1);
    write_file(copy + 1, length - 1);
    g_autoptr(LsTrace) trace = ls_run_load(paths, 1, NULL, NULL, &error);
    check((trace != NULL) == (error == NULL), "a run loads or says why not");
    if (trace == NULL)
        return 0;
    check_trace(trace);
    report(trace);
    return 0;
}
