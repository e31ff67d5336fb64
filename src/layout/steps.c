/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of all ranks as columns, which of them are warm-up (as in the report: index/warmup.h),
 * and which is the slowest steady one: the start view.
 */
#include "index/warmup.h"
#include "layout/model-private.h"

#include <stdlib.h>

static int
compare_columns(const void *a, const void *b)
{
    const LsStepColumn *x = a, *y = b;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* What one rank waited for within its step, -1: cannot be known. */
static int64_t
get_waited_for(const LsModel *model, const LsStep *step)
{
    const LsRankModel *rank = &model->rank[step->rank];
    if (rank->has_compute)
        return ls_busy_get_within(rank->sets[LS_SET_WAITED_FOR], step->start_ns, step->end_ns);
    if (rank->calls.n == 0)
        return -1;
    return ls_busy_get_within(rank->sets[LS_SET_WAIT], step->start_ns, step->end_ns);
}

/* Joins those of one step, sorted; returns how many are left. waited_for_ns is summed, and the
 * number of ranks that know it kept in `known`. */
static size_t
join_columns(LsStepColumn *columns, size_t n, uint32_t *known)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        LsStepColumn *to = &columns[kept];
        bool is_new = kept == 0 || columns[kept - 1].column != columns[i].column;
        if (is_new) {
            *to = columns[i];
            known[kept++] = to->waited_for_ns >= 0;
            to->waited_for_ns = MAX(to->waited_for_ns, 0);
            continue;
        }
        to = &columns[kept - 1];
        to->start_ns = MIN(to->start_ns, columns[i].start_ns);
        to->end_ns = MAX(to->end_ns, columns[i].end_ns);
        to->step_ns = MAX(to->step_ns, columns[i].step_ns);
        to->cut |= columns[i].cut;
        if (columns[i].waited_for_ns >= 0) {
            to->waited_for_ns += columns[i].waited_for_ns;
            known[kept - 1]++;
        }
    }
    return kept;
}

static void
mark_warmup(const LsTrace *trace, LsStepColumn *steps, size_t n)
{
    size_t n_states;
    g_autofree LsStepState *states = ls_warmup_find(trace, &n_states);
    for (size_t i = 0; i < n; i++)
        steps[i].warmup = states[steps[i].column].warmup;
}

void
ls_model_find_steps(LsModel *model)
{
    size_t n = 0;
    if (model->n_rank_steps == 0)
        return;
    LsStepColumn *columns = g_new(LsStepColumn, model->n_rank_steps);
    for (size_t i = 0; i < model->n_rank_steps; i++) {
        const LsStep *step = &model->rank_steps[i];
        if (step->start_ns == LS_TIME_NONE || step->end_ns == LS_TIME_NONE ||
            step->end_ns <= step->start_ns || model->rank[step->rank].greyed)
            continue;
        columns[n++] = (LsStepColumn){
            .number = step->number,
            .column = step->column,
            .start_ns = step->start_ns,
            .end_ns = step->end_ns,
            .step_ns = step->end_ns - step->start_ns,
            .waited_for_ns = get_waited_for(model, step),
            .cut = step->cut,
        };
    }
    qsort(columns, n, sizeof *columns, compare_columns);
    g_autofree uint32_t *known = g_new(uint32_t, MAX(n, 1));
    n = join_columns(columns, n, known);
    for (size_t i = 0; i < n; i++)
        columns[i].waited_for_ns = known[i] ? columns[i].waited_for_ns / known[i] : LS_TIME_NONE;
    mark_warmup(model->trace, columns, n);
    model->steps = columns;
    model->n_steps = n;
}

const LsStepColumn *
ls_model_get_steps(const LsModel *model, size_t *ret_n)
{
    *ret_n = model->n_steps;
    return model->n_steps ? model->steps : NULL;
}

int
ls_model_find_slowest_step(const LsModel *model)
{
    int best = -1;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (size_t i = 0; i < model->n_steps; i++) {
            const LsStepColumn *step = &model->steps[i];
            if (pass == 0 && (step->warmup || step->cut))
                continue;
            if (best < 0 || step->step_ns > model->steps[best].step_ns)
                best = (int)i;
        }
    return best;
}

int
ls_model_find_step_at(const LsModel *model, int64_t time_ns)
{
    int found = -1;
    for (size_t i = 0; i < model->n_steps && model->steps[i].start_ns <= time_ns; i++)
        found = (int)i;
    return found;
}

int
ls_model_find_step(const LsModel *model, int64_t number)
{
    for (size_t i = 0; i < model->n_steps; i++)
        if (model->steps[i].number == number)
            return (int)i;
    return -1;
}

int
ls_model_find_column(const LsModel *model, uint32_t column)
{
    for (size_t i = 0; i < model->n_steps; i++)
        if (model->steps[i].column == column)
            return (int)i;
    return -1;
}
