/* SPDX-License-Identifier: Apache-2.0
 * merge/runs.h: files of several runs that lie side by side. */
#pragma once

#include "trace/builder.h"

/* Tells the runs by the ids that the recorders wrote, which the processes of one job share, and
 * numbers them (LsRank.run), so that nothing is compared between two. Where they are no restarts, a
 * finding says which files are of which. Before lives are told (identity.h), after clocks are
 * aligned. */
void ls_runs_part(const GPtrArray *processes, LsBuilder *builder);
