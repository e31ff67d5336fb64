/* SPDX-License-Identifier: Apache-2.0
 * analysis/performance.h: why the sustained rate of the job is not known. */
#pragma once

#include "analysis/scope.h"

/* NULL: it is known, or there are no steps; else the rest of a sentence about it. */
const char *ls_performance_explain(const LsAnalysisInput *input, const LsScope *scope);
