/* SPDX-License-Identifier: Apache-2.0
 * ui/search.h: the field "Find a tensor, kernel, rank ...": Enter goes to the next hit, Shift+Enter
 * to the one before. Main thread only. */
#pragma once

#include <gtk/gtk.h>

#include "ui/session.h"

GtkWidget *ls_search_new(LsSession *session);
void ls_search_focus(GtkWidget *search);
/* To the next (+1) or the previous hit; the first in view if none was shown yet. */
void ls_search_go(GtkWidget *search, int direction);
