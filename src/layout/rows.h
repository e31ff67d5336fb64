/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/rows.h: from tracks to rows and their heights; everything vertical is decided here.
 */
#pragma once

#include "layout/view.h"

struct LsTensorLanes;

typedef enum LsRowKind {
    LS_ROW_RANK,  /* header of a rank: label, the number that matters; step bands lie here */
    LS_ROW_BAND,  /* overlap band */
    LS_ROW_SPANS, /* one lane of a track */
    LS_ROW_COMMUNICATION, /* calls with their form, waits before them, pack and unpack */
    LS_ROW_CYCLES,        /* ticks */
    LS_ROW_COUNTER,       /* a line */
    LS_ROW_GROUP,         /* by tensor: header of a group or buffer */
    LS_ROW_TENSOR,        /* by tensor: the phases of one tensor */
    LS_ROW_READY,         /* by tensor: pills with the ranks that were ready */
} LsRowKind;

typedef struct LsRow {
    LsRowKind kind;
    double y, height;           /* in the content, before scrolling */
    uint32_t rank;              /* LS_NONE for groups */
    uint32_t track, lane;       /* LS_NONE; a counter without a track: of the run, by lane */
    uint32_t tensor;            /* name */
    uint32_t lane_of;           /* by tensor: index into the lanes of layout/tensors.h */
    char *label;                /* owned by the row */
    char *note;                 /* right of the label: "waits 16 ms", of a counter its scale; NULL */
    bool alarm;                 /* the note is in red: "last in 4 of 4" */
    bool greyed;                /* its clock could not be placed, or nothing was recorded on it */
    bool first;                 /* a line is drawn over it: a rank or group begins */
    size_t first_item, n_items; /* its items in the scene; 0 for rows out of sight */
    bool even;                  /* all its bars are filled and as high as the row */
    bool edged;                 /* one of its bars may have an edge or a label */
    bool selected;              /* one is selected */
} LsRow;

/* Rows from top to bottom; a GArray of LsRow whose elements free themselves. Notes are not set:
 * they depend on the range (ls_row_set_note). lanes: of the view by tensor, NULL in other modes. */
GArray *ls_rows_new(const LsModel *model, const LsView *view, const struct LsTensorLanes *lanes);
/* The number beside a rank's or a group's label, for the visible range. */
void ls_row_set_note(LsRow *row, const LsModel *model, const LsView *view);
/* From one end of the content to the other. */
double ls_rows_get_height(const GArray *rows);
/* The row at y in the content, -1: none. */
int ls_rows_find(const GArray *rows, double y);
