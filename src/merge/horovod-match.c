/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-match.c: which range of a rank is which deed.
 *
 * Horovod executes its list of responses in the same order on all ranks, so the order of completion
 * is common (facts: Horovod G) and the n-th range to end is the n-th deed: as long as operation and
 * size agree, and the times can be, since nobody is done before the call has begun on rank 0, nor
 * submits after it is done there. Where something does not agree, the one that is missing on the
 * other side is passed over. A wrong name is worse than none: within a stretch of ranges between
 * two moments at which nothing was under way on the rank, all are named or none.
 */
#include "merge/horovod-private.h"

#define SLACK_NS INT64_C(1000000) /* from rank 0's bar to its range, beside the clocks' bounds */

typedef struct Stretch {
    size_t first, n; /* ranges */
    size_t missing;  /* ranges and deeds passed over in it */
} Stretch;

typedef struct Matcher {
    const LsDeeds *deeds;
    const LsProcess *process;
    LsRangeMatch *match;
    int64_t slack_ns; /* LS_TIME_NONE: the clock is not placed, times say nothing */
    GArray *stretches;
    GArray *stretch_of; /* uint32_t by range */
    size_t passed;      /* deeds, from the first on: told before this rank's first range */
} Matcher;

static const LsRange *
get_range(const Matcher *matcher, size_t i)
{
    return i < matcher->match->ranges->len ? &g_array_index(matcher->match->ranges, LsRange, i)
                                           : NULL;
}

static const LsRange *
get_sure_range(const Matcher *matcher, size_t i)
{
    return &g_array_index(matcher->match->ranges, LsRange, i);
}

static const LsDeed *
get_deed(const Matcher *matcher, size_t i)
{
    return i < matcher->deeds->deeds->len ? &g_array_index(matcher->deeds->deeds, LsDeed, i) : NULL;
}

static bool
operations_agree(uint8_t range, uint8_t deed)
{
    return range == deed || range == LS_OPERATION_UNKNOWN || deed == LS_OPERATION_UNKNOWN ||
           deed == LS_OPERATION_ERROR ||
           (range == LS_OPERATION_ALLREDUCE && deed == LS_OPERATION_ADASUM);
}

/* A timeline tells the size of the result, a range that of what was put in. */
static bool
sizes_agree(const LsRange *range, const LsDeed *deed)
{
    if (range->payload < 0 || deed->bytes < 0)
        return true;
    switch (deed->operation) {
    case LS_OPERATION_ALLREDUCE:
    case LS_OPERATION_ADASUM:
    case LS_OPERATION_BROADCAST:
        return range->payload == deed->bytes;
    case LS_OPERATION_ALLGATHER:
        return range->payload <= deed->bytes;
    case LS_OPERATION_REDUCESCATTER:
        return range->payload >= deed->bytes;
    default:
        return true;
    }
}

static bool
is_before(const Matcher *matcher, const LsRange *range, const LsDeed *deed)
{
    return matcher->slack_ns != LS_TIME_NONE && range->end_ns + matcher->slack_ns < deed->begin_ns;
}

static bool
is_after(const Matcher *matcher, const LsRange *range, const LsDeed *deed)
{
    return matcher->slack_ns != LS_TIME_NONE && range->start_ns > deed->done_ns + matcher->slack_ns;
}

static bool
agree(const Matcher *matcher, const LsRange *range, const LsDeed *deed)
{
    bool grouped;
    uint8_t operation;

    if (range == NULL || deed == NULL)
        return range == NULL && deed == NULL;
    operation = ls_horovod_range_operation(ls_strings_get(matcher->process->strings, range->name),
                                           &grouped);
    return grouped == deed->grouped && operations_agree(operation, deed->operation) &&
           sizes_agree(range, deed) && !is_before(matcher, range, deed) &&
           !is_after(matcher, range, deed);
}

/* Stretches of ranges: each begins when all before it have ended. */
static void
cut_stretches(Matcher *matcher)
{
    size_t n = matcher->match->ranges->len;
    g_autofree int64_t *starts = g_new(int64_t, n + 1); /* the first start of it and all after it */

    starts[n] = INT64_MAX;
    for (size_t i = n; i-- > 0;)
        starts[i] = MIN(starts[i + 1], get_sure_range(matcher, i)->start_ns);
    for (size_t i = 0; i < n; i++) {
        uint32_t row;

        if (i == 0 || starts[i] >= get_sure_range(matcher, i - 1)->end_ns) {
            Stretch stretch = {.first = i};

            g_array_append_val(matcher->stretches, stretch);
        }
        row = matcher->stretches->len - 1;
        g_array_index(matcher->stretches, Stretch, row).n++;
        g_array_append_val(matcher->stretch_of, row);
    }
}

static void
pass_range(Matcher *matcher, size_t i)
{
    uint32_t row = g_array_index(matcher->stretch_of, uint32_t, i);

    g_array_index(matcher->stretches, Stretch, row).missing++;
}

/* A deed that no range is, before range i: also the stretch before may lack it. */
static void
pass_deed(Matcher *matcher, size_t i)
{
    uint32_t row = g_array_index(matcher->stretch_of, uint32_t, i);

    if (i == 0) {
        matcher->passed++;
        return;
    }
    g_array_index(matcher->stretches, Stretch, row).missing++;
    if (g_array_index(matcher->stretches, Stretch, row).first == i && row > 0)
        g_array_index(matcher->stretches, Stretch, row - 1).missing++;
}

/* Both are under way at the time and yet do not agree: pass over the one whose next one does, else
 * both. */
static void
pass_unlike(Matcher *matcher, size_t *i, size_t *k)
{
    bool range = agree(matcher, get_range(matcher, *i + 1), get_deed(matcher, *k)) &&
                 agree(matcher, get_range(matcher, *i + 2), get_deed(matcher, *k + 1));
    bool deed = !range && agree(matcher, get_range(matcher, *i), get_deed(matcher, *k + 1)) &&
                agree(matcher, get_range(matcher, *i + 1), get_deed(matcher, *k + 2));

    matcher->match->unlike++;
    if (!deed)
        pass_range(matcher, (*i)++);
    else
        pass_deed(matcher, *i);
    if (!range)
        (*k)++;
}

static void
walk(Matcher *matcher)
{
    size_t i = 0, k = 0, n = matcher->match->ranges->len, n_deeds = matcher->deeds->deeds->len;

    while (i < n && k < n_deeds) {
        const LsRange *range = get_range(matcher, i);
        const LsDeed *deed = get_deed(matcher, k);

        if (agree(matcher, range, deed)) {
            g_array_index(matcher->match->deeds, uint32_t, i++) = (uint32_t)k++;
        } else if (is_before(matcher, range, deed)) {
            matcher->match->outside++;
            pass_range(matcher, i++);
        } else if (is_after(matcher, range, deed)) {
            pass_deed(matcher, i);
            k++;
        } else {
            pass_unlike(matcher, &i, &k);
        }
    }
    /* What was told ends before this rank does: nothing lacks between, unless records were lost. */
    for (; i < n; i++) {
        matcher->match->outside++;
        if (matcher->process->rank.lost + matcher->process->rank.given_up > 0 || n_deeds == 0)
            pass_range(matcher, i);
    }
}

static void
withdraw(Matcher *matcher)
{
    for (guint s = 0; s < matcher->stretches->len; s++) {
        const Stretch *stretch = &g_array_index(matcher->stretches, Stretch, s);

        for (size_t i = stretch->first; stretch->missing > 0 && i < stretch->first + stretch->n;
             i++) {
            uint32_t *deed = &g_array_index(matcher->match->deeds, uint32_t, i);

            matcher->match->withdrawn += *deed != LS_NONE;
            *deed = LS_NONE;
        }
    }
}

LsRangeMatch *
ls_range_match_new(const LsDeeds *deeds, const LsProcess *process)
{
    LsRangeMatch *match = g_new0(LsRangeMatch, 1);
    const LsRank *rank = &process->rank, *teller = &deeds->teller->rank;
    Matcher matcher = {.deeds = deeds,
                       .process = process,
                       .match = match,
                       .slack_ns = LS_TIME_NONE,
                       .stretches = g_array_new(FALSE, TRUE, sizeof(Stretch)),
                       .stretch_of = g_array_new(FALSE, FALSE, sizeof(uint32_t))};
    const uint32_t none = LS_NONE;

    if (process == deeds->teller ||
        (rank->clock_method != LS_CLOCK_NONE && teller->clock_method != LS_CLOCK_NONE))
        matcher.slack_ns = SLACK_NS + (process == deeds->teller ? 0
                                                                : rank->clock_uncertainty_ns +
                                                                      teller->clock_uncertainty_ns);
    match->ranges = ls_horovod_get_ranges(process, LS_HOROVOD_OPERATIONS);
    match->deeds = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (guint i = 0; i < match->ranges->len; i++)
        g_array_append_val(match->deeds, none);
    cut_stretches(&matcher);
    walk(&matcher);
    withdraw(&matcher);
    g_array_unref(matcher.stretches);
    g_array_unref(matcher.stretch_of);
    return match;
}

void
ls_range_match_free(LsRangeMatch *match)
{
    if (match == NULL)
        return;
    g_array_unref(match->ranges);
    g_array_unref(match->deeds);
    g_free(match);
}
