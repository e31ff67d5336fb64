/* SPDX-License-Identifier: Apache-2.0
 * tests/ui/sample-run.c: written by samples/synth-run. */
#include "sample-run.h"
#include "tests/folder.h"

SampleRun
sample_run_write(const LsSynthOptions *options, const char *template)
{
    char error[256];
    SampleRun run = {.folder = g_dir_make_tmp(template, NULL)};
    run.path = g_build_filename(run.folder, "run", NULL);
    if (!ls_synth_run_write(options, run.path, NULL, error, sizeof(error)))
        g_error("%s", error);
    return run;
}

void
sample_run_remove(SampleRun *run)
{
    folder_remove(run->folder);
    g_free(run->path);
    g_free(run->folder);
}
