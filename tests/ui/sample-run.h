/* SPDX-License-Identifier: Apache-2.0
 * tests/ui/sample-run.h: a run whose truth is known, in a folder of its own, for the window to
 * open. */
#pragma once

#include "samples/synth-run.h"

typedef struct SampleRun {
    char *folder; /* owned; the run lies in it */
    char *path;   /* owned; of the run */
} SampleRun;

/* template: of the folder's name, as g_dir_make_tmp() takes it. Ends the test where that fails. */
SampleRun sample_run_write(const LsSynthOptions *options, const char *template);
/* The folder must hold nothing else any more. */
void sample_run_remove(SampleRun *run);
