/* SPDX-License-Identifier: Apache-2.0
 * report/honesty.h: how far the figures can be trusted: the foot of every report and picture. */
#pragma once

#include "report/evidence.h"

/* One line: ranks, losses, clocks, test double. Caller frees. */
char *ls_honesty_format_line(const LsEvidence *evidence);
/* The whole ledger, one fact a line (char *), free with g_ptr_array_unref. */
GPtrArray *ls_honesty_list(const LsAnalysisInput *input);
