/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/stall.h: tensors that some rank does not submit.
 *
 * The time that a tensor waits runs from its first submission on any rank (facts B9). After each
 * warning time it is told who is missing, after the limit the tensor fails. Where nothing is due,
 * an inspection costs one comparison. Libc only, without a clock of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reduce/ranks.h"

typedef struct LsStall {
    int64_t warning_ns; /* 0: never */
    int64_t limit_ns;   /* 0: never */
    int64_t next_ns;    /* nothing is due before */
} LsStall;

/* One per waiting tensor. */
typedef struct LsStallClock {
    int64_t first_ns;   /* its first submission */
    int64_t warning_ns; /* its next warning */
} LsStallClock;

typedef enum LsStallVerdict {
    LS_STALL_NOT,
    LS_STALL_WARN,
    LS_STALL_FAIL,
} LsStallVerdict;

void ls_stall_init(LsStall *stall, int64_t warning_ns, int64_t limit_ns);
void ls_stall_start(LsStall *stall, LsStallClock *clock, int64_t now_ns);
/* Whether any tensor may be due; if so, each one that waits must be judged now. */
bool ls_stall_due(LsStall *stall, int64_t now_ns);
LsStallVerdict ls_stall_judge(LsStall *stall, LsStallClock *clock, int64_t now_ns);

/* The clock runs since this earlier time. */
void ls_stall_backdate(LsStall *stall, LsStallClock *clock, int64_t first_ns);
/* Half of what comes first, the warning or the limit: by then it should be known where they are
 * told who has a tensor. INT64_MAX: neither ever comes. */
int64_t ls_stall_half(int64_t warning_ns, int64_t limit_ns);

/* "tensor 'x' of group 'y' waited 61.2 s for ranks 1, 3 to submit it (limit 60.0 s)", or "for the
 * rest of it" where all ranks are present. group: NULL: none. malloc'd; NULL: out of memory. */
char *ls_stall_text(const LsStall *stall, const char *tensor, const char *group,
                    const LsRankSet *present, int64_t waited_ns);
