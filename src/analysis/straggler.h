/* SPDX-License-Identifier: Apache-2.0
 * analysis/straggler.h: for whom the others waited: ranks, and hosts. */
#pragma once

#include "analysis/scope.h"

/* A set of ranks: one rank with all its lives, or those of one host. */
typedef struct LsStraggler {
    bool is_host;
    uint32_t rank;             /* index into ranks of its first member */
    int64_t times_last;        /* buffers in which a member was last */
    int64_t buffers;           /* decided buffers in which a member took part */
    double times_last_by_chance;
    int64_t waited_for_ns;     /* all others together */
    int64_t cost_ns_per_step;  /* LS_TIME_NONE: no compute recorded outside, or no steady step */
    int64_t steps_last;        /* steady steps in which it was last at least once */
    int64_t delay_ns;          /* mean over the buffers in which it was last of the longest wait */
    int64_t since;             /* first whole step in which it cost half the mean; INT64_MIN: none */
    double share_since;        /* of the whole steps from then on: in how many it was last */
} LsStraggler;

/* Ranks in order, then hosts in order of their first rank. */
GArray *ls_stragglers_find(const LsAnalysisInput *input, const LsScope *scope); /* LsStraggler */
