/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/stall.c: when a tensor's waiting is worth a word, and when it is over.
 */
#include "reduce/stall.h"

#include <inttypes.h>
#include <stdio.h>

/* A time that far ahead never comes. */
static int64_t
later(int64_t now_ns, int64_t ns)
{
    int64_t sum;
    return ns <= 0 || __builtin_add_overflow(now_ns, ns, &sum) ? INT64_MAX : sum;
}

static void
note_due(LsStall *stall, const LsStallClock *clock)
{
    int64_t failure_ns = later(clock->first_ns, stall->limit_ns);
    if (clock->warning_ns < stall->next_ns)
        stall->next_ns = clock->warning_ns;
    if (failure_ns < stall->next_ns)
        stall->next_ns = failure_ns;
}

void
ls_stall_init(LsStall *stall, int64_t warning_ns, int64_t limit_ns)
{
    *stall = (LsStall){warning_ns, limit_ns, INT64_MAX};
}

void
ls_stall_start(LsStall *stall, LsStallClock *clock, int64_t now_ns)
{
    *clock = (LsStallClock){now_ns, later(now_ns, stall->warning_ns)};
    note_due(stall, clock);
}

void
ls_stall_backdate(LsStall *stall, LsStallClock *clock, int64_t first_ns)
{
    if (first_ns >= clock->first_ns)
        return;
    if (clock->warning_ns == later(clock->first_ns, stall->warning_ns)) /* no warning yet */
        clock->warning_ns = later(first_ns, stall->warning_ns);
    clock->first_ns = first_ns;
    note_due(stall, clock);
}

int64_t
ls_stall_half(int64_t warning_ns, int64_t limit_ns)
{
    int64_t first = INT64_MAX;
    if (warning_ns > 0)
        first = warning_ns;
    if (limit_ns > 0 && limit_ns < first)
        first = limit_ns;
    return first == INT64_MAX ? first : first / 2;
}

bool
ls_stall_due(LsStall *stall, int64_t now_ns)
{
    if (now_ns < stall->next_ns)
        return false;
    stall->next_ns = INT64_MAX; /* judging finds the next */
    return true;
}

LsStallVerdict
ls_stall_judge(LsStall *stall, LsStallClock *clock, int64_t now_ns)
{
    LsStallVerdict verdict = LS_STALL_NOT;
    if (now_ns >= later(clock->first_ns, stall->limit_ns))
        return LS_STALL_FAIL;
    if (now_ns >= clock->warning_ns) {
        int64_t periods = (now_ns - clock->first_ns) / stall->warning_ns;
        clock->warning_ns = later(clock->first_ns, (periods + 1) * stall->warning_ns);
        verdict = LS_STALL_WARN;
    }
    note_due(stall, clock);
    return verdict;
}

char *
ls_stall_text(const LsStall *stall, const char *tensor, const char *group, const LsRankSet *present,
              int64_t waited_ns)
{
    const int64_t tenth_ns = 100000000, tenths = waited_ns / tenth_ns;
    const int64_t limit = stall->limit_ns / tenth_ns;
    char missing[LS_RANK_TEXT_BYTES], *text;
    bool all = present->n == present->ranks;
    if (!all)
        ls_rank_set_text(present, true, missing);
    int length = asprintf(&text,
                          "tensor '%.200s'%s%.100s%s waited %" PRId64 ".%" PRId64
                          " s for %s%s (limit %" PRId64 ".%" PRId64 " s)",
                          tensor, group != NULL ? " of group '" : "", group != NULL ? group : "",
                          group != NULL ? "'" : "", tenths / 10, tenths % 10,
                          all ? "the rest of it" : missing, all ? "" : " to submit it", limit / 10,
                          limit % 10);
    return length < 0 ? NULL : text;
}
