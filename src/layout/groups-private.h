/* SPDX-License-Identifier: Apache-2.0
 * layout/groups-private.h: what the two files of the groups' figure share. */
#pragma once

#include "layout/groups-figure.h"

#define LS_GROUPS_AT(array, Type, i) (&g_array_index(array, Type, i))

/* The interval from *first to *last (each may be NULL) comes to hold the value. */
void ls_groups_widen(int64_t *first, int64_t *last, int64_t value);
/* The members and sections are there: when each was ready on every rank, and sent. */
void ls_groups_figure_add_cycles(LsGroupsFigure *figure, const LsTrace *trace);
