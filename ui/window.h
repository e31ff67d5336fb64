/* SPDX-License-Identifier: Apache-2.0
 * ui/window.h: the window: what stands where, and which page is shown (nothing open, loading, a
 * sentence about what went wrong, the run). Main thread only. */
#pragma once

#include <gtk/gtk.h>

#include "ui/session.h"

#define LS_TYPE_WINDOW (ls_window_get_type())
G_DECLARE_FINAL_TYPE(LsWindow, ls_window, LS, WINDOW, GtkApplicationWindow)

GtkWidget *ls_window_new(GtkApplication *app);
/* Starts loading; the window shows how far it is. */
void ls_window_open(LsWindow *window, const char *const *paths, size_t n_paths);
/* Gives up what is being loaded, and shows what was shown before. */
void ls_window_cancel(LsWindow *window);
/* By dialog: a run's folder, or one file. */
void ls_window_choose(LsWindow *window, bool folder);
void ls_window_toggle_inspector(LsWindow *window);
void ls_window_focus_search(LsWindow *window);
void ls_window_find_next(LsWindow *window, int direction);
/* The view that the next run opens with, where it has that; -1: as design 10 says. */
void ls_window_set_start(LsWindow *window, int mode, int64_t at_ns);

LsSession *ls_window_get_session(LsWindow *window);
double ls_window_get_pointer_x(LsWindow *window);
/* Name of the page shown: "empty", "loading", "error", "run". */
const char *ls_window_get_page(LsWindow *window);
