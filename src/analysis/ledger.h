/* SPDX-License-Identifier: Apache-2.0
 * analysis/ledger.h: the step's time cut into disjoint classes, means over steady steps and ranks. */
#pragma once

#include "analysis/scope.h"

/* In order of priority: a moment belongs to the first class that holds. */
typedef enum LsLedgerClass {
    LS_LEDGER_COMPUTE,
    LS_LEDGER_EXPOSED_WAIT,
    LS_LEDGER_EXPOSED_TRANSFER,
    LS_LEDGER_NEGOTIATION,
    LS_LEDGER_FUSION,
    LS_LEDGER_IO,
    LS_LEDGER_COPIES,
    LS_LEDGER_REST,
    LS_LEDGER_N,
} LsLedgerClass;

typedef struct LsLedger {
    int64_t n;                 /* steps x ranks that it is made of; 0: nothing can be said */
    int64_t step_ns;           /* mean; the classes add up to it exactly */
    int64_t mean_ns[LS_LEDGER_N], max_ns[LS_LEDGER_N];
    uint32_t max_rank[LS_LEDGER_N];       /* index into ranks */
    /* false: ranks are missing, or no step was judged, so that waiting for a rank and agreeing cannot be
     * told apart; both are in negotiation then, and exposed wait is null. */
    bool wait_known;
    size_t unjudged; /* steady steps of which records are missing: left out if wait_known */
    int64_t waited_for_ns, exposed_ns;    /* mean of the union, and of its part in calls */
    int64_t communication_ns, hidden_ns;  /* means */
    int64_t imbalance_ns, imbalance_max_ns; /* max - mean over the ranks of a step: mean, largest */
} LsLedger;

LsLedger ls_ledger_make(const LsAnalysisInput *input, const LsScope *scope);
