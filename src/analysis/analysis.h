/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/analysis.h: the table of analyses: run one by name, get a table (metrics.md).
 */
#pragma once

#include "base/table.h"
#include "index/activity.h"
#include "trace/trace.h"

/* What all analyses see. Filters are applied by each: a rank or step outside is left out of the rows
 * and of the figures over ranks. */
typedef struct LsAnalysisInput {
    const LsTrace *trace;
    const LsActivity *activity;
    const bool *rank_shown;           /* per index into ranks; NULL: all */
    int64_t step_first, step_last;    /* numbers, inclusive; INT64_MIN, INT64_MAX: all */
} LsAnalysisInput;

typedef struct LsAnalysis {
    const char *name;        /* of the table: an interface */
    const char *description; /* one line */
    LsTable *(*run)(const LsAnalysisInput *input); /* never NULL; zero rows where nothing is known */
} LsAnalysis;

/* In the order of the report; NULL-terminated. */
const LsAnalysis *const *ls_analysis_get_all(void);
const LsAnalysis *ls_analysis_find(const char *name);
