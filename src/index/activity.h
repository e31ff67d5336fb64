/* SPDX-License-Identifier: Apache-2.0
 *
 * index/activity.h: what each rank was doing, as sets of time; and each buffer's arrivals.
 *
 * The sets that metrics.md defines (compute, communication, hidden, exposed, exposed wait, exposed
 * transfer, negotiation exposure, fusion, I/O, copies), made once per trace, read by analysis (for
 * figures) and layout (for form: plain, outlined, hatched), so that picture and report cannot differ.
 */
#pragma once

#include "index/intervals.h"
#include "trace/trace.h"

typedef struct LsActivity LsActivity;

typedef enum LsActivityKind {
    LS_ACTIVITY_COMPUTE,       /* C */
    LS_ACTIVITY_COMMUNICATION, /* K */
    LS_ACTIVITY_HIDDEN,        /* K and C */
    LS_ACTIVITY_EXPOSED,       /* K without C */
    LS_ACTIVITY_WAIT,          /* this rank has arrived at a buffer, the last rank has not */
    LS_ACTIVITY_EXPOSED_WAIT,  /* that, and compute idle */
    LS_ACTIVITY_EXPOSED_TRANSFER,
    LS_ACTIVITY_NEGOTIATION_EXPOSURE,
    LS_ACTIVITY_WAITED_FOR,    /* exposed, exposed wait, negotiation exposure: their union */
    LS_ACTIVITY_FUSION,
    LS_ACTIVITY_IO,
    LS_ACTIVITY_COPIES,
    LS_N_ACTIVITIES,
} LsActivityKind;

/* Arrival of one rank at one buffer. */
typedef struct LsArrival {
    uint32_t rank;     /* index into ranks */
    uint32_t call;     /* index into calls */
    int64_t arrival_ns; /* submission of the buffer's last tensor, else start of the call */
    int64_t start_ns, end_ns; /* of the call */
    /* Until the last rank's arrival: on one clock the difference of arrivals, else D - min D over the
     * ranks, D = end - arrival (metrics.md); LS_TIME_NONE: open call without one clock, or arrivals
     * of the buffer's ranks that are not alike. */
    int64_t wait_ns;
    bool from_submission;
    bool open; /* the recording ended before the call did: end_ns is no end */
} LsArrival;

LsActivity *ls_activity_new(const LsTrace *trace); /* keeps a reference */
void        ls_activity_free(LsActivity *activity);

/* Whether any span of the rank is of class compute; where not, the sets that need it are empty and figures
 * made of them are null ("no compute recorded"). */
bool ls_activity_has_compute(const LsActivity *activity, uint32_t rank);
const LsIntervals *ls_activity_get(const LsActivity *activity, uint32_t rank, LsActivityKind kind);
/* The arrivals at a buffer, in order of rank. */
const LsArrival *ls_activity_get_arrivals(const LsActivity *activity, uint32_t buffer, size_t *ret_n);
/* Whether submissions are known of all of the buffer's ranks, or of none: else nobody can be compared. */
bool ls_activity_is_alike(const LsActivity *activity, uint32_t buffer);
/* Whether all ranks that took part have been brought onto one clock. */
bool ls_activity_is_aligned(const LsActivity *activity, uint32_t buffer);
/* Whether every rank's submissions are known, on one clock: what negotiation exposure needs. While ranks
 * are missing its set holds what is waiting for them, too. */
bool ls_activity_has_submissions(const LsActivity *activity);
/* The last arrival's index in that array, -1: within the clock uncertainty of the second (a tie), not
 * all ranks on one clock, or arrivals that are not alike. */
int ls_activity_get_last(const LsActivity *activity, uint32_t buffer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsActivity, ls_activity_free)
