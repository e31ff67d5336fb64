/* SPDX-License-Identifier: Apache-2.0
 * analysis/collective.h: one executed buffer measured over the ranks that took part. */
#pragma once

#include "analysis/scope.h"

typedef enum LsVerdict {
    LS_VERDICT_OK,
    LS_VERDICT_TIE,          /* the last rank cannot be told from another within the clocks */
    LS_VERDICT_INCONCLUSIVE, /* waits with and without clocks disagree */
    LS_VERDICT_INCOMPLETE,   /* ranks, or submissions of some, are missing: who was last is not known */
    LS_VERDICT_BOUND,        /* not every rank waits for every other */
} LsVerdict;

typedef struct LsCollective {
    uint32_t step;  /* row of steps in which the buffer's last tensor was submitted, LS_NONE */
    uint32_t ranks, ranks_expected; /* expected 0: how many took part is not known */
    int64_t start_ns, end_ns;
    int64_t transfer_ns, wait_max_ns;                 /* without clocks; LS_TIME_NONE unknown */
    int64_t transfer_aligned_ns, wait_max_aligned_ns; /* on one clock; LS_TIME_NONE without */
    int last;           /* index into the buffer's arrivals, -1 unknown or a tie */
    int64_t early_ns;   /* how far an end lies before the last arrival, beyond the uncertainty */
    double bus_bytes_per_s; /* negative: unknown, and then */
    const char *bus_reason; /* why */
    LsVerdict verdict;
} LsCollective;

/* Whether any file says how many ranks the job had. */
bool ls_collective_knows_world(const LsTrace *trace);
LsCollective ls_collective_measure(const LsAnalysisInput *input, const LsScope *scope,
                                   uint32_t buffer);
/* Whether a shown rank took part, in a shown step. */
bool ls_collective_is_shown(const LsAnalysisInput *input, const LsScope *scope, uint32_t buffer,
                            const LsCollective *collective);
