/* SPDX-License-Identifier: Apache-2.0
 * report/evidence.h: the few figures that headline, advice and gates are made of, gathered once. */
#pragma once

#include "analysis/ledger.h"
#include "analysis/straggler.h"

/* Why a rank is late: what takes it longer than the others, in each step. */
typedef struct LsCause {
    const char *what; /* "input", "compute"; NULL: neither explains half of the delay */
    int64_t own_ns, others_ns;
} LsCause;

typedef struct LsEvidence {
    const LsAnalysisInput *input;
    LsScope *scope;
    bool has_events;
    bool world_known; /* some file says how many ranks the job had */
    bool alone;       /* and it was one */
    LsLedger ledger;  /* n = 0: no whole step with compute */
    int64_t step_ns;  /* mean of the steady steps, compute or not; 0: none */
    /* Whole recording, where no step was marked: means over ranks with compute. */
    int64_t window_ns, compute_ranks, communication_ns, hidden_ns, exposed_ns;
    int64_t any_communication_ns; /* of all ranks together, compute or not */

    GArray *stragglers;       /* LsStraggler */
    const LsStraggler *worst; /* whom the others wait for; NULL: nobody more than by chance */
    const LsStraggler *most;  /* the rank that was last most often; NULL: never known */
    size_t worst_ranks;       /* ranks of the set */
    int64_t steps_judged;     /* steady steps with a buffer that could be judged */
    LsCause cause;

    /* Per use of a tensor: from the last rank's submission to agreement, mean. */
    int64_t negotiated; /* uses that it is made of */
    int64_t negotiation_ns, behind_ns, sleep_ns, protocol_ns,
        whole_ns; /* whole: since submission */
    /* Per occurrence of a tensor, where its submission is known of every rank. */
    int64_t occurrences, ordered, spread_ns;
    int64_t decided;    /* of these, with one rank that was last: the others are ties */
    int64_t most_late;  /* times the rank was last to submit */
    uint32_t late_rank; /* LS_NONE */

    /* Buffers of steps; of the whole recording where no step holds one. */
    int64_t buffers, judged; /* executed; of these with a known wait */
    int64_t buffers_outside; /* of no step, beside those of steps: broadcasts before the first */
    int64_t wait_ns, transfer_ns; /* means: of the judged, of all that ended (or LS_TIME_NONE) */
    int64_t bytes;                /* mean of the buffers whose bytes are known; -1: none */
    double bus_bytes_per_s;       /* median; negative: unknown */
    double buffers_per_step;      /* 0: no steps */
} LsEvidence;

/* How often a set was last: in buffers of steps, where there are any. */
const LsTimesLast *ls_evidence_get_times(const LsStraggler *straggler);

LsEvidence *ls_evidence_new(const LsAnalysisInput *input);
void ls_evidence_free(LsEvidence *evidence);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsEvidence, ls_evidence_free)
