/* SPDX-License-Identifier: Apache-2.0
 * ui/timeline-private.h: shared by timeline.c (draws) and timeline-input.c (listens). */
#pragma once

#include "ui/timeline.h"

struct _LsTimeline {
    GtkWidget parent;
    LsSession *session;
    GtkWidget *grid;
    GtkWidget *steps_label, *ruler_label;
    GtkWidget *steps, *ruler, *headers, *rows, *legend;
    GtkWidget *overlay;          /* over the rows: marked range, pointer's time */
    double pointer_x, pointer_y; /* in the rows; -1: outside */
    double drag_x, drag_y;       /* where the drag was last seen */
    bool panning;                /* this drag pans; else it marks a range */
    bool dragged;                /* it went further than a click does */
};

/* Adds mouse, wheel and tooltip to the parts. */
void ls_timeline_add_input(LsTimeline *timeline);
