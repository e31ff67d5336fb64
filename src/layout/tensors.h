/* SPDX-License-Identifier: Apache-2.0
 * layout/tensors.h: the lanes of the view by tensor: order of readiness, groups; for this folder.
 */
#pragma once

#include "layout/view.h"

/* A tensor and its first use within the range that orders the lanes. */
typedef struct LsTensorLane {
    uint32_t tensor; /* name */
    uint32_t track;  /* of its phases, LS_NONE: they come from its uses */
    uint32_t use;    /* LS_NONE: not recorded as a use */
    uint32_t group;  /* index of its group, LS_NONE */
    int64_t ready_ns;
} LsTensorLane;

typedef struct LsTensorGroup {
    uint32_t name; /* of the group, or LS_NONE: a buffer */
    uint32_t call; /* of its first member, LS_NONE */
    uint32_t first_lane, n_lanes;
    int64_t bytes, agreed_ns;
} LsTensorGroup;

typedef struct LsTensorLanes {
    GArray *lanes;  /* LsTensorLane, in order, groups together */
    GArray *groups; /* LsTensorGroup; empty where lanes are not grouped */
    bool ready;     /* submissions of more than one rank are known */
} LsTensorLanes;

LsTensorLanes *ls_tensor_lanes_new(const LsModel *model, const LsView *view);
void ls_tensor_lanes_free(LsTensorLanes *lanes);

/* The uses on all ranks of its run that are this one there (tensor and occurrence); by rank. */
const uint32_t *ls_model_get_occurrence(const LsModel *model, const LsUse *use, size_t *ret_n);
/* Where no steps were marked: the slowest steady round of the tensors on that rank; false: they do
 * not come round often enough. */
bool ls_model_find_round(const LsModel *model, uint32_t rank, int64_t *ret_start_ns,
                         int64_t *ret_end_ns);
/* From the first to the last of the rank's uses; false without any. */
bool ls_model_find_extent(const LsModel *model, uint32_t rank, int64_t *ret_start_ns,
                          int64_t *ret_end_ns);
/* When a use is first heard of: submitted, agreed, executed or done; LS_TIME_NONE. */
int64_t ls_use_get_first_ns(const LsModel *model, const LsUse *use);
int64_t ls_use_get_last_ns(const LsModel *model, const LsUse *use);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsTensorLanes, ls_tensor_lanes_free)
