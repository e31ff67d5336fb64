/* SPDX-License-Identifier: Apache-2.0
 * ui/appearance.h: light or dark, as chosen or as the desktop asks. Main thread only. */
#pragma once

#include <gtk/gtk.h>

#include "ui/draw/theme.h"

/* Loads the style sheet and begins to follow the desktop; after GTK is up, once. choice: "system",
 * "light", "dark". */
void ls_appearance_start(const char *choice);
void ls_appearance_choose(const char *choice);
const char *ls_appearance_get_choice(void);
/* The theme in force; `changed` is called when it becomes another. */
const LsTheme *ls_appearance_get_theme(void);
void ls_appearance_listen(void (*changed)(const LsTheme *theme, void *user), void *user);
