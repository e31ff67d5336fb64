/* SPDX-License-Identifier: Apache-2.0
 * layout/scene-private.h: the makers of a scene's parts; for this folder. */
#pragma once

#include "layout/fold.h"
#include "layout/model-private.h"
#include "layout/scene.h"
#include "layout/tensors.h"

/* What one update works with. */
typedef struct LsMaking {
    LsScene *scene;
    const LsModel *model;
    const LsView *view;
    LsScale scale;
    const LsTensorLanes *lanes; /* by tensor */
    GArray *scratch;            /* LsItem: one lane folded, before what it needs beside */
    bool many_steps;            /* more than one step is in sight */
    uint64_t seen;              /* ls_legend_get_bit of all items */
} LsMaking;

uint32_t ls_scene_add_text(LsScene *scene, const char *text);

/* A bit for each role and form. */
static inline uint64_t
ls_legend_get_bit(unsigned role, unsigned form)
{
    return (uint64_t)1 << (role * LS_N_FORMS + form);
}

/* Items of one row; the row's range of items is set by the caller. */
void ls_making_add_band(LsMaking *making, const LsRow *row);
void ls_making_add_spans(LsMaking *making, const LsRow *row);
void ls_making_add_communication(LsMaking *making, const LsRow *row);
void ls_making_add_rank_steps(LsMaking *making, const LsRow *row);
void ls_making_add_tensor(LsMaking *making, const LsRow *row, uint32_t row_index);
void ls_making_add_ready(LsMaking *making, const LsRow *row, uint32_t row_index);
void ls_making_add_agreed(LsMaking *making);
void ls_making_add_cycles(LsMaking *making, const LsRow *row, uint32_t row_index);
void ls_making_add_counter(LsMaking *making, const LsRow *row, uint32_t row_index);
void ls_making_add_step_lines(LsMaking *making);
void ls_making_add_ruler(LsMaking *making);
void ls_making_add_step_bars(LsMaking *making);
void ls_making_add_legend(LsMaking *making);
void ls_making_add_overview(LsMaking *making);

/* An item whose role is communication, cut where the rank's compute is idle: strong there, plain
 * elsewhere; appended. start_ns, end_ns: its time. */
void ls_making_add_cut(LsMaking *making, uint32_t rank, LsItem item, int64_t start_ns,
                       int64_t end_ns);
/* "1, 2.5, 5" times a power of ten, at least `least`: distances of ticks. */
int64_t ls_ruler_find_step(int64_t least_ns);
