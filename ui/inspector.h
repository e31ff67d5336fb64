/* SPDX-License-Identifier: Apache-2.0
 * ui/inspector.h: the panel beside the timeline: what is selected, in words and bars, and what can
 * be done with it. Main thread only. */
#pragma once

#include <gtk/gtk.h>

#include "ui/session.h"

#define LS_TYPE_INSPECTOR (ls_inspector_get_type())
G_DECLARE_FINAL_TYPE(LsInspector, ls_inspector, LS, INSPECTOR, GtkWidget)

GtkWidget *ls_inspector_new(LsSession *session);
