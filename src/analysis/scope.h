/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/scope.h: which ranks and steps count, and in which step something happened.
 */
#pragma once

#include "analysis/analysis.h"

typedef struct LsScope LsScope;

LsScope *ls_scope_new(const LsAnalysisInput *input);
void ls_scope_free(LsScope *scope);

bool ls_scope_has_rank(const LsScope *scope, uint32_t rank);
/* false if the filter names steps at all: what lies outside every step is then left out too. */
bool ls_scope_has_all_steps(const LsScope *scope);
/* Row of the step that the rank was in at this time, LS_NONE if in none. */
uint32_t ls_scope_find_step(const LsScope *scope, uint32_t rank, int64_t time_ns);
/* Whether a thing that happened on the rank at this time passes both filters. */
bool ls_scope_has(const LsScope *scope, uint32_t rank, int64_t time_ns);
/* Whether the row of steps passes the filters; and is neither cut nor warm-up besides. */
bool ls_scope_has_step(const LsScope *scope, const LsStep *step);
bool ls_scope_is_steady(const LsScope *scope, const LsStep *step);
/* Of a step over all ranks (LsStep.column): for what is judged whole, such as a buffer, whichever of its
 * ranks are shown. */
bool ls_scope_is_steady_column(const LsScope *scope, uint32_t column);
bool ls_scope_is_warmup(const LsScope *scope, const LsStep *step);
/* Steps over all ranks that pass the filters and the warm-up took (metrics.md, "warm-up ends"). */
size_t ls_scope_get_warmup(const LsScope *scope);
/* Steps over all ranks (LsStep.column) that are steady. */
size_t ls_scope_get_steady(const LsScope *scope);
/* And those that pass the filters and are not cut. */
size_t ls_scope_get_whole(const LsScope *scope);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsScope, ls_scope_free)
