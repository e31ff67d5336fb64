/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/model.h: what drawing needs of a trace and does not depend on the view: colour roles of
 * all spans, busy pyramids, the number shown beside each rank, the steps as columns. Made once, on
 * a loader thread; immutable then, read from any thread.
 */
#pragma once

#include "index/activity.h"
#include "layout/role.h"
#include "trace/trace.h"

typedef struct LsModel LsModel;

/* One training step over all its ranks. */
typedef struct LsStepColumn {
    int64_t number;
    uint32_t column;          /* LsStep.column of its rows */
    int64_t start_ns, end_ns; /* first start and last end over ranks */
    int64_t step_ns;          /* longest of the ranks */
    int64_t waited_for_ns;    /* mean over ranks; LS_TIME_NONE: no compute recorded, no arrivals */
    bool warmup, cut;         /* left out when the slowest step is looked for */
} LsStepColumn;

/* One cell of the overview: some ranks over some steps. */
typedef struct LsCell {
    float share; /* 0..1 of the step that was waited for (wait alone where no compute was recorded);
                    < 0: unknown */
    float cause; /* 0..1: share of the buffers in which these ranks were last, beyond chance */
} LsCell;

/* The one number that matters for a rank within a range. */
typedef struct LsRankNote {
    int64_t wait_ns;  /* exposed wait (all wait where no compute was recorded) */
    uint32_t buffers; /* it took part in, and in how many of them it was last */
    uint32_t last;
    bool placed; /* its clock could be placed */
} LsRankNote;

/* Keeps references; activity must outlive the model. */
LsModel *ls_model_new(LsTrace *trace, const LsActivity *activity);
void ls_model_free(LsModel *model);

const LsTrace *ls_model_get_trace(const LsModel *model);
/* By run and number, ascending; NULL without steps. */
const LsStepColumn *ls_model_get_steps(const LsModel *model, size_t *ret_n);
/* Index into the steps of the slowest steady one (no warm-up, not cut; of all if there is none
 * else), -1 without steps. */
int ls_model_find_slowest_step(const LsModel *model);
/* Index of the step that holds the time, else the one before it, -1 without steps. */
int ls_model_find_step_at(const LsModel *model, int64_t time_ns);
/* By its number, in the first run that has it; by LsStep.column; -1: there is none. */
int ls_model_find_step(const LsModel *model, int64_t number);
int ls_model_find_column(const LsModel *model, uint32_t column);
LsRankNote ls_model_get_note(const LsModel *model, uint32_t rank, int64_t start_ns, int64_t end_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsModel, ls_model_free)
