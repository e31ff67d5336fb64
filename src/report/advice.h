/* SPDX-License-Identifier: Apache-2.0
 * report/advice.h: what to try, and what it can win at most. */
#pragma once

#include "report/evidence.h"

typedef struct LsAdvice {
    char *action;    /* owned: "faster input on rank 2" */
    char *evidence;  /* owned: the figures that say so */
    int64_t gain_ns; /* at most, per step */
} LsAdvice;

/* Best first; empty where nothing stands out. Free with g_array_unref. */
GArray *ls_advice_find(const LsEvidence *evidence); /* LsAdvice */
