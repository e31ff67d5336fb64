/* SPDX-License-Identifier: Apache-2.0
 * index/warmup.h: how many steps at the start are not like the later ones. */
#pragma once

#include "trace/trace.h"

/* A step over all ranks. */
typedef struct LsStepState {
    int64_t number;
    uint32_t run;
    bool cut;    /* on some rank */
    bool warmup; /* of its run; never of a run's later steps */
} LsStepState;

/* By column (LsStep.column); *ret_n is ls_trace_count_steps. */
LsStepState *ls_warmup_find(const LsTrace *trace, size_t *ret_n);
