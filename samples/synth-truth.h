/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-truth.h: what is true of a made-up job, by the words and formulas of the metrics,
 * computed from the construction and never from a trace file.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "samples/synth-job.h"

typedef struct LsSynthTruth LsSynthTruth;

/* NULL when out of memory. */
LsSynthTruth *ls_synth_truth_new(const LsSynthJob *job);
void ls_synth_truth_free(LsSynthTruth *truth);
/* After each ls_synth_job_advance(). */
void ls_synth_truth_add_step(LsSynthTruth *truth, const LsSynthJob *job);
/* The members "steps", "collectives" and "tensors" of a JSON object. */
bool ls_synth_truth_print(LsSynthTruth *truth, const LsSynthJob *job, FILE *out);
