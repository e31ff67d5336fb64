/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/figure.h: figures: pictures of one question, beside the timeline.
 */
#pragma once

#include "layout/groups-figure.h"
#include "ui/draw/draw.h"

/* What stands around a figure. */
typedef struct LsFigureFrame {
    const char *title, *subtitle;
    const char *foot; /* a sentence or two under it */
    double width;     /* logical pixels; the height follows from what is shown */
    int scale;        /* device pixels of each, in PNG */
} LsFigureFrame;

/* Groups: on the left the graph of the tensors, in the colours of their groups; on the right, in
 * the same lines, when each was submitted, when its group was ready on every rank, and in which
 * cycle it was sent. Many tensors are folded to a line a group. */
bool ls_figure_groups_write(LsPainter *painter, const LsGroupsFigure *figure,
                            const LsFigureFrame *frame, const char *path, GError **error);
