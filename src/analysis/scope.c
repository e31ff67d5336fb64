/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/scope.c: the filters of the input and the steps of each rank, looked up by time. Steps
 * of a rank are sorted and disjoint, so a look-up is one binary search.
 */
#include "analysis/scope.h"

#include "index/warmup.h"

struct LsScope {
    const LsAnalysisInput *input;
    const LsStep *steps;
    size_t n_ranks, n_steps;
    size_t *first_step; /* per rank, n_ranks + 1 */
    size_t warmup, steady, whole;
    LsStepState *states; /* by column */
    bool *is_steady;     /* by column */
};

static void
count_steps(LsScope *scope)
{
    size_t n;
    g_autofree bool *shown = NULL; /* by column: on a rank that is shown */

    scope->states = ls_warmup_find(scope->input->trace, &n);
    shown = g_new0(bool, n);
    scope->is_steady = g_new0(bool, n);
    for (size_t i = 0; i < scope->n_steps; i++)
        shown[scope->steps[i].column] |= ls_scope_has_rank(scope, scope->steps[i].rank);
    for (size_t i = 0; i < n; i++) {
        const LsStepState *state = &scope->states[i];

        if (!shown[i] || state->cut || state->number < scope->input->step_first ||
            state->number > scope->input->step_last)
            continue;
        scope->whole++;
        scope->warmup += state->warmup;
        scope->is_steady[i] = !state->warmup;
        scope->steady += scope->is_steady[i];
    }
}

LsScope *
ls_scope_new(const LsAnalysisInput *input)
{
    LsScope *scope = g_new0(LsScope, 1);
    size_t step = 0;

    scope->input = input;
    ls_trace_get_ranks(input->trace, &scope->n_ranks);
    scope->steps = ls_trace_get_steps(input->trace, &scope->n_steps);
    scope->first_step = g_new(size_t, scope->n_ranks + 1);
    for (size_t r = 0; r <= scope->n_ranks; r++) {
        while (step < scope->n_steps && scope->steps[step].rank < r)
            step++;
        scope->first_step[r] = step;
    }
    count_steps(scope);
    return scope;
}

void
ls_scope_free(LsScope *scope)
{
    if (scope == NULL)
        return;
    g_free(scope->states);
    g_free(scope->is_steady);
    g_free(scope->first_step);
    g_free(scope);
}

bool
ls_scope_has_rank(const LsScope *scope, uint32_t rank)
{
    return scope->input->rank_shown == NULL || scope->input->rank_shown[rank];
}

bool
ls_scope_has_all_steps(const LsScope *scope)
{
    return scope->input->step_first == INT64_MIN && scope->input->step_last == INT64_MAX;
}

uint32_t
ls_scope_find_step(const LsScope *scope, uint32_t rank, int64_t time_ns)
{
    size_t low = scope->first_step[rank], high = scope->first_step[rank + 1];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (scope->steps[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == scope->first_step[rank] || scope->steps[low - 1].end_ns <= time_ns)
        return LS_NONE;
    return (uint32_t)(low - 1);
}

bool
ls_scope_has(const LsScope *scope, uint32_t rank, int64_t time_ns)
{
    uint32_t step;

    if (!ls_scope_has_rank(scope, rank))
        return false;
    if (ls_scope_has_all_steps(scope))
        return true;
    step = time_ns == LS_TIME_NONE ? LS_NONE : ls_scope_find_step(scope, rank, time_ns);
    return step != LS_NONE && ls_scope_has_step(scope, &scope->steps[step]);
}

bool
ls_scope_has_step(const LsScope *scope, const LsStep *step)
{
    return ls_scope_has_rank(scope, step->rank) && step->number >= scope->input->step_first &&
           step->number <= scope->input->step_last;
}

bool
ls_scope_is_steady(const LsScope *scope, const LsStep *step)
{
    const LsStepState *state = &scope->states[step->column];

    return ls_scope_has_step(scope, step) && !state->warmup && !state->cut;
}

bool
ls_scope_is_warmup(const LsScope *scope, const LsStep *step)
{
    return scope->states[step->column].warmup;
}

bool
ls_scope_is_steady_column(const LsScope *scope, uint32_t column)
{
    return scope->is_steady[column];
}

size_t
ls_scope_get_warmup(const LsScope *scope)
{
    return scope->warmup;
}

size_t
ls_scope_get_steady(const LsScope *scope)
{
    return scope->steady;
}

size_t
ls_scope_get_whole(const LsScope *scope)
{
    return scope->whole;
}
