/* SPDX-License-Identifier: Apache-2.0
 * ui/window-actions.h: what can be done in the window, with which key: one table, from which
 * actions, keys and the help window are made. Main thread only. */
#pragma once

#include <gtk/gtk.h>

#include "ui/window.h"

void ls_window_actions_add(LsWindow *window);
/* Those that need a run are greyed without one. */
void ls_window_actions_enable(LsWindow *window, bool run);
GMenuModel *ls_window_actions_new_menu(void);
/* Keys that always hold (Ctrl+O, F1, ...); letters act only while the timeline has the focus, so
 * that they can be typed into the search field. */
void ls_window_actions_add_keys(GtkApplication *app);
GtkEventController *ls_window_actions_new_shortcuts(void);
