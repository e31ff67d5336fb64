/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/timeline.h: the timeline as one widget: step bars, ruler, row headers, rows, legend. It draws
 * the session's scene and turns mouse and wheel into changes of the session. Main thread only.
 */
#pragma once

#include <gtk/gtk.h>

#include "ui/session.h"

#define LS_TYPE_TIMELINE (ls_timeline_get_type())
G_DECLARE_FINAL_TYPE(LsTimeline, ls_timeline, LS, TIMELINE, GtkWidget)

GtkWidget *ls_timeline_new(LsSession *session);
/* The pointer's place in the rows, for zooming at it; -1 outside. */
double ls_timeline_get_pointer_x(LsTimeline *timeline);
