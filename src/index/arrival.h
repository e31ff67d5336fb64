/* SPDX-License-Identifier: Apache-2.0
 * index/arrival.h: arrivals of the ranks at each buffer, for activity.c alone. */
#pragma once

#include "index/activity.h"

typedef struct LsArrivals {
    LsArrival *items; /* one per call reference of the trace, in that order */
    int *last;        /* per buffer: what ls_activity_get_last says */
    bool *aligned;    /* per buffer */
    bool *alike;      /* per buffer: submissions are known of all of its ranks, or of none */
    int64_t *last_ns; /* per buffer, aligned ones: the last arrival; LS_TIME_NONE if not alike */
    int64_t *transfer_ns; /* per buffer: the shortest call; LS_TIME_NONE if all are open */
} LsArrivals;

LsArrivals ls_arrivals_new(const LsTrace *trace);
void       ls_arrivals_clear(LsArrivals *arrivals);
