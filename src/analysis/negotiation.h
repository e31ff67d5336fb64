/* SPDX-License-Identifier: Apache-2.0
 * analysis/negotiation.h: a tensor's time from submission to agreement, cut into its causes. */
#pragma once

#include "analysis/analysis.h"

/* Parts of one negotiation; they add up to it exactly. */
typedef struct LsNegotiation {
    int64_t gate_ns, slowest_rank_ns, behind_ns, sleep_ns, protocol_ns;
} LsNegotiation;

/* The same tensor's uses on all ranks, in no order: one (tensor, occurrence) of one life. */
typedef struct LsOccurrence {
    uint32_t tensor, occurrence;
    const uint32_t *uses; /* rows of uses */
    size_t n;
    int64_t first_submit_ns, last_submit_ns; /* LS_TIME_NONE: unknown, or no common clock */
    int64_t last_ready_ns;                   /* the last rank's submission of it or of its group */
    int last;      /* index into uses of the last to submit; -1 unknown or a tie */
    bool complete; /* every rank that submits or executes anything submitted it, on one clock */
} LsOccurrence;

typedef struct LsNegotiations LsNegotiations;

LsNegotiations *ls_negotiations_new(const LsAnalysisInput *input);
void            ls_negotiations_free(LsNegotiations *negotiations);
/* In order of tensor's name id, then occurrence. */
const LsOccurrence *ls_negotiations_get(const LsNegotiations *negotiations, size_t *ret_n);
/* false: submission or agreement of this use was not recorded. */
bool ls_negotiations_split(const LsNegotiations *negotiations, const LsOccurrence *occurrence,
                           const LsUse *use, LsNegotiation *ret_parts);
/* Whether all ranks are here and share a clock, so that slowest_rank_ns is known and not merely 0. */
bool ls_negotiations_is_aligned(const LsNegotiations *negotiations);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsNegotiations, ls_negotiations_free)
