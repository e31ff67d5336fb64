/* SPDX-License-Identifier: Apache-2.0
 * analysis/table-private.h: the rows of the table of analyses, and setters that know unknown
 * values. */
#pragma once

#include "analysis/analysis.h"

extern const LsAnalysis ls_analysis_ranks, ls_analysis_overlap, ls_analysis_steps,
    ls_analysis_collectives, ls_analysis_tensors, ls_analysis_groups, ls_analysis_cycles,
    ls_analysis_control, ls_analysis_stragglers, ls_analysis_buffers, ls_analysis_performance,
    ls_analysis_ledger, ls_analysis_findings, ls_analysis_power, ls_analysis_launches;

/* LS_TIME_NONE leaves the cell null. */
static inline void
set_ns(LsTable *table, size_t column, int64_t ns)
{
    if (ns != LS_TIME_NONE)
        ls_table_set_int(table, column, ns);
}

/* A value below `least` means unknown. */
static inline void
set_count(LsTable *table, size_t column, int64_t value, int64_t least)
{
    if (value >= least)
        ls_table_set_int(table, column, value);
}
