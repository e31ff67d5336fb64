/* SPDX-License-Identifier: Apache-2.0
 * analysis/straggler.h: for whom the others waited: ranks, and hosts. */
#pragma once

#include "analysis/scope.h"

/* How often a set was last. */
typedef struct LsTimesLast {
    int64_t last;    /* buffers in which a member was last */
    int64_t buffers; /* decided buffers in which a member took part */
    double by_chance;
} LsTimesLast;

/* A set of ranks: one rank with all its lives, or those of one host. */
typedef struct LsStraggler {
    bool is_host;
    uint32_t rank;             /* index into ranks of its first member */
    LsTimesLast times;         /* of the whole recording */
    LsTimesLast in_steps;      /* of steps: broadcasts before the first say nothing of a straggler */
    int64_t waited_for_ns;     /* all others together */
    int64_t cost_ns_per_step;  /* of the judged steps; LS_TIME_NONE: no compute recorded outside, or no
                                * such step */
    int64_t steps_last;        /* steady steps in which it was last at least once */
    int64_t steps_judged;      /* steady steps with a buffer that could be judged, if as a tie */
    int64_t delay_ns;          /* mean over the buffers in which it was last of the longest wait */
    uint32_t since;            /* column of the first whole step in which it cost half the mean; 0 where
                                * none is known */
    double share_since;        /* of the judged steps from then on: in how many it was last */
} LsStraggler;

/* Ranks in order, then hosts in order of their first rank. */
GArray *ls_stragglers_find(const LsAnalysisInput *input, const LsScope *scope); /* LsStraggler */
