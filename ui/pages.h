/* SPDX-License-Identifier: Apache-2.0
 * ui/pages.h: what the window shows while it shows no run. Main thread only. */
#pragma once

#include <gtk/gtk.h>

typedef struct LsPages {
    GtkWidget *loading_title, *loading_stage, *loading_bar;
    GtkWidget *error_title, *error_text;
} LsPages;

/* Adds the pages "empty", "loading" and "error". */
void ls_pages_add(LsPages *pages, GtkStack *stack);
void ls_pages_set_loading(LsPages *pages, const char *name);
void ls_pages_set_progress(LsPages *pages, const char *stage, double fraction);
void ls_pages_set_error(LsPages *pages, const char *title, const char *text);
