/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/analysis.c: the table of analyses, in the order of the report. A new question is a file
 * and a row here.
 */
#include "analysis/analysis.h"

#include "analysis/table-private.h"

#include <string.h>

static const LsAnalysis *const analyses[] = {
    &ls_analysis_ledger,      &ls_analysis_stragglers,
    &ls_analysis_steps,       &ls_analysis_overlap,
    &ls_analysis_collectives, &ls_analysis_tensors,
    &ls_analysis_groups,      &ls_analysis_buffers,
    &ls_analysis_cycles,      &ls_analysis_control,
    &ls_analysis_performance, &ls_analysis_power,
    &ls_analysis_launches,    &ls_analysis_ranks,
    &ls_analysis_findings,    NULL,
};

const LsAnalysis *const *
ls_analysis_get_all(void)
{
    return analyses;
}

const LsAnalysis *
ls_analysis_find(const char *name)
{
    for (size_t i = 0; analyses[i] != NULL; i++)
        if (strcmp(analyses[i]->name, name) == 0)
            return analyses[i];
    return NULL;
}
