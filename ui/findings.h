/* SPDX-License-Identifier: Apache-2.0
 * ui/findings.h: a button with the number of findings of the run, and their list. Main thread only.
 */
#pragma once

#include <gtk/gtk.h>

#include "trace/trace.h"

GtkWidget *ls_findings_new(void);
void ls_findings_set(GtkWidget *button, LsTrace *trace); /* kept by reference */
