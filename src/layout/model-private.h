/* SPDX-License-Identifier: Apache-2.0
 * layout/model-private.h: the inside of the model, for the files of this folder alone. */
#pragma once

#include "index/busy.h"
#include "index/series.h"
#include "layout/model.h"

/* A set of a rank's time, ready to be folded. */
typedef enum LsSet {
    LS_SET_COMPUTE,
    LS_SET_HIDDEN,
    LS_SET_EXPOSED,
    LS_SET_TRANSFER, /* exposed transfer */
    LS_SET_WAIT,
    LS_SET_EXPOSED_WAIT,
    LS_SET_NEGOTIATION,
    LS_SET_COMMUNICATION,
    LS_SET_WAITED_FOR,
    LS_N_SETS,
} LsSet;

typedef struct LsLaneModel {
    uint8_t *roles;   /* LsRole of each span */
    LsBusy *busy;     /* categories are roles */
    bool fusion_only; /* nothing but pack and unpack: lies on the lane above */
} LsLaneModel;

/* Pyramids keep time by role. */
_Static_assert((int)LS_N_ROLES <= (int)LS_BUSY_CATEGORIES, "a role is a category");

/* Rows of a sorted table that belong to one rank. */
typedef struct LsSlice {
    size_t first, n;
} LsSlice;

/* Where a cycle began: a row of the cycles, or an instant of a format that has markers alone. */
typedef struct LsCycleMark {
    int64_t time_ns;
    uint32_t cycle;         /* LS_NONE: an instant */
    uint32_t agreed_before; /* marks before this one that agreed on something */
    bool agreed;
} LsCycleMark;

typedef struct LsRankModel {
    LsBusy *sets[LS_N_SETS];
    LsCycleMark *marks;
    size_t n_marks;
    bool has_spans; /* any span, call or use of its own */
    LsSlice tracks, calls, uses, cycles, steps;
    bool has_compute;
    bool greyed;
} LsRankModel;

/* What drawing needs to know of a call. */
typedef struct LsCallModel {
    int64_t arrival_ns;  /* LS_TIME_NONE: unknown */
    int64_t wait_end_ns; /* when the last rank arrived; arrival_ns where it did not wait */
    uint32_t lasts;      /* calls of this rank before this one in which it was last */
    uint32_t judged;     /* calls of this rank before this one whose last rank is known */
    bool last;           /* this rank was last */
    bool known;          /* some one rank was last */
} LsCallModel;

/* Power of the whole run, by one kind of sensor. */
typedef struct LsPowerModel {
    uint32_t name;   /* "gpu power" */
    GArray *samples; /* LsSample */
    LsSeries *series;
} LsPowerModel;

/* Cells of the overview: rows are ranks, columns steps or equal times. */
typedef struct LsGrid {
    LsCell *cells;
    size_t n_columns;
    bool by_step;
} LsGrid;

struct LsModel {
    LsTrace *trace;
    const LsActivity *activity;
    size_t n_ranks, n_tracks, n_calls, n_uses, n_cycles, n_rank_steps, n_steps, n_buffers;
    const LsRank *ranks;
    const LsTrack *tracks;
    const LsCall *calls;
    const LsUse *uses;
    const LsCycle *cycles;
    const LsStep *rank_steps;
    const LsBuffer *buffers;
    const uint32_t *call_refs;
    LsRankModel *rank;
    LsLaneModel **lanes;         /* per track, NULL without lanes */
    LsSeries **series;           /* per track, NULL without samples */
    LsCallModel *call;           /* per call */
    uint32_t *call_uses;         /* uses in the order of their calls */
    uint32_t *first_use;         /* per call, n_calls + 1: into call_uses */
    uint32_t *uses_by_name;      /* all uses by (tensor, run, occurrence, rank) */
    uint32_t *uses_by_rank_name; /* within each rank's slice by (tensor, occurrence) */
    LsStepColumn *steps;
    LsGrid grid;
    GArray *power;        /* LsPowerModel, of several devices */
    bool has_compute;     /* of any rank */
    bool has_submissions; /* any use says when it was submitted */
};

/* By (tensor, run, occurrence): 0 where both are one use, if on several ranks. */
static inline int
ls_model_compare_uses(const LsModel *model, const LsUse *a, const LsUse *b)
{
    uint32_t run_a = model->ranks[a->rank].run, run_b = model->ranks[b->rank].run;
    if (a->tensor != b->tensor)
        return a->tensor < b->tensor ? -1 : 1;
    if (run_a != run_b)
        return run_a < run_b ? -1 : 1;
    return (a->occurrence > b->occurrence) - (a->occurrence < b->occurrence);
}

/* The uses that a call carried. */
static inline const uint32_t *
ls_model_get_call_uses(const LsModel *model, size_t call, size_t *ret_n)
{
    *ret_n = model->first_use[call + 1] - model->first_use[call];
    return model->call_uses + model->first_use[call];
}

/* What is drawn as a line. */
typedef struct LsCounter {
    const char *name, *unit;
    const LsSample *samples;
    size_t n;
    const LsSeries *series;
} LsCounter;

/* Of a track, or, where it is LS_NONE, of the run: an index into its power. */
LsCounter ls_model_get_counter(const LsModel *model, uint32_t track, uint32_t power);
/* The values at the bottom and at the top of its row; false: no sample is valid. */
bool ls_counter_get_bounds(const LsCounter *counter, double *ret_low, double *ret_high);
char *ls_counter_format(const LsCounter *counter, double value); /* "312 W" */

LsRole ls_model_role_of_span(const LsTrack *track, const LsSpans *lane, size_t span,
                             const uint8_t *role_of_name);
/* role_of_name: LsRole per string of the trace, LS_N_ROLES where the name says nothing. */
uint8_t *ls_model_new_roles_of_names(const LsTrace *trace);
void ls_model_find_steps(LsModel *model);
bool ls_model_is_power(const LsModel *model, size_t track); /* a counter of watts */
void ls_model_make_power(LsModel *model);
void ls_model_make_grid(LsModel *model); /* after all else */
