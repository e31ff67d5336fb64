/* SPDX-License-Identifier: Apache-2.0
 * ui/foot.h: the headline at the foot of the window, as high as its lines need. */
#pragma once

#include <gtk/gtk.h>

#include "ui/session.h"

GtkWidget *ls_foot_new(LsSession *session);
