/* SPDX-License-Identifier: Apache-2.0
 *
 * uses RUN: every use of every tensor of a run, one a line, for a script to hold against a
 * schedule: rank, tensor, occurrence, group, bytes, then the moments of submission, agreement and
 * end and those of its buffer's call on that rank, in ns; what is not known is "-", as is an empty
 * field.
 */
#include "capture/format.h"
#include "merge/run.h"

#include <stdio.h>

static void
print_time(int64_t time_ns)
{
    if (time_ns == LS_TIME_NONE)
        printf("\t-");
    else
        printf("\t%" G_GINT64_FORMAT, time_ns);
}

static void
print_use(const LsTrace *trace, const LsUse *use)
{
    size_t n_ranks, n_calls;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    const LsCall *call = use->call < n_calls ? &calls[use->call] : NULL;

    printf("%d\t%s\t%u\t%s", ranks[use->rank].rank, ls_trace_get_string(trace, use->tensor),
           use->occurrence, use->group == LS_NONE ? "-" : ls_trace_get_string(trace, use->group));
    if (use->bytes < 0)
        printf("\t-");
    else
        printf("\t%" G_GINT64_FORMAT, use->bytes);
    print_time(use->submit_ns);
    print_time(use->agreed_ns);
    print_time(use->done_ns);
    print_time(call != NULL ? call->start_ns : LS_TIME_NONE);
    print_time(call != NULL ? call->end_ns : LS_TIME_NONE);
    printf("\n");
}

int
main(int argc, char **argv)
{
    g_autoptr(LsTrace) trace = NULL;
    g_autoptr(GError) error = NULL;
    const LsUse *uses;
    size_t n;

    if (argc != 2) {
        fprintf(stderr, "usage: uses RUN\n");
        return 2;
    }
    trace = ls_run_load((const char *const *)argv + 1, 1, NULL, NULL, &error);
    if (trace == NULL) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    uses = ls_trace_get_uses(trace, &n);
    for (size_t i = 0; i < n; i++)
        print_use(trace, &uses[i]);
    return 0;
}
