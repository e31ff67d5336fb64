/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/straggler.c: table `stragglers`: for which rank, and which host, the others waited.
 *
 * Cost of a set (metrics.md, "stragglers") = over the buffers in which a member was last, the
 * smallest exposed wait of those outside it: what the job would win at most if the set were on
 * time. Buffers that wait at the same time for the same rank wait once: within a step each waiting
 * rank's intervals are joined before they are measured. A buffer is judged whole: a filter of ranks
 * chooses rows, not members. Shares and means are of the steps in which something could be judged:
 * where records are lost nobody was seen to be late, and nobody to be in time.
 */
#include "analysis/straggler.h"

#include "analysis/collective.h"
#include "base/stats.h"
#include "analysis/table-private.h"

#include <string.h>

/* A buffer whose last rank is known. */
typedef struct Decision {
    uint32_t buffer, set, step; /* set of the last rank; step: row or LS_NONE */
    uint32_t column;            /* of the step, LS_NONE: to sort by */
} Decision;

/* What a set cost in a step. */
typedef struct Cost {
    uint32_t column;
    int64_t ns;
} Cost;

typedef struct Work {
    const LsAnalysisInput *input;
    const LsScope *scope;
    const LsStep *steps;
    const uint32_t *set_of; /* per rank */
    GArray **waits;         /* per rank: intervals in which it waited in the step at hand */
    GArray *waiting;        /* ranks with any */
    GArray *costs;          /* Cost, of the set at hand */
    bool *judged;           /* by column: a whole step with a judged buffer */
    int64_t judged_steady;  /* of them, the steady ones */
} Work;

/* -- Which set is last where -- */

/* The first rank of its set stands for each rank. */
static uint32_t *
make_sets(const LsRank *ranks, size_t n_ranks, bool hosts)
{
    g_autoptr(GHashTable) by_host = g_hash_table_new(g_str_hash, g_str_equal);
    uint32_t *set_of = g_new(uint32_t, n_ranks);

    for (uint32_t r = 0; r < n_ranks; r++) {
        void *found = NULL;

        set_of[r] = r;
        if (!hosts) {
            if (r > 0 && ranks[r].rank >= 0 && ranks[r].rank == ranks[r - 1].rank)
                set_of[r] = set_of[r - 1];
        } else if (ranks[r].host != NULL) {
            if (g_hash_table_lookup_extended(by_host, ranks[r].host, NULL, &found))
                set_of[r] = GPOINTER_TO_UINT(found);
            else
                g_hash_table_insert(by_host, ranks[r].host, GUINT_TO_POINTER(r));
        }
    }
    return set_of;
}

static void
count_times(LsTimesLast *times, size_t n, bool counted)
{
    times->by_chance += 1.0 / (double)n;
    times->buffers += !counted;
}

static int
compare_decision(const void *a, const void *b)
{
    const Decision *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* A tie is a judgement: nobody was late. */
static void
note_judged(Work *work, const LsCollective *collective)
{
    const LsStep *step;

    if (collective->ranks == 0 || collective->verdict == LS_VERDICT_INCOMPLETE ||
        collective->step == LS_NONE)
        return;
    step = &work->steps[collective->step];
    if (step->cut || work->judged[step->column])
        return;
    work->judged[step->column] = true;
    work->judged_steady += ls_scope_is_steady_column(work->scope, step->column);
}

/* Counts members and chances of every set as it goes. */
static GArray *
decide(Work *work, LsStraggler *stragglers)
{
    GArray *decisions = g_array_new(false, false, sizeof(Decision));
    size_t n_buffers;

    ls_trace_get_buffers(work->input->trace, &n_buffers);
    for (uint32_t b = 0; b < n_buffers; b++) {
        LsCollective collective = ls_collective_measure(work->input, work->scope, b);
        size_t n;
        const LsArrival *items = ls_activity_get_arrivals(work->input->activity, b, &n);

        if (!ls_collective_is_shown(work->input, work->scope, b, &collective))
            continue;
        note_judged(work, &collective);
        if (collective.last < 0 || collective.verdict == LS_VERDICT_INCOMPLETE)
            continue;
        Decision decision = {b, work->set_of[items[collective.last].rank], collective.step,
                             LS_NONE};

        if (decision.step != LS_NONE)
            decision.column = work->steps[decision.step].column;
        g_array_append_val(decisions, decision);
        for (size_t i = 0; i < n; i++) {
            LsStraggler *straggler = &stragglers[work->set_of[items[i].rank]];
            bool counted = false;

            for (size_t j = 0; j < i && !counted && straggler->is_host; j++)
                counted = work->set_of[items[j].rank] == work->set_of[items[i].rank];
            count_times(&straggler->times, n, counted);
            if (decision.step != LS_NONE)
                count_times(&straggler->in_steps, n, counted);
        }
        stragglers[decision.set].times.last++;
        stragglers[decision.set].in_steps.last += decision.step != LS_NONE;
    }
    g_array_sort(decisions, compare_decision);
    return decisions;
}

/* -- What it cost -- */

static void
collect_waits(Work *work, LsStraggler *straggler, const Decision *decision)
{
    int64_t longest_ns = 0;
    size_t n;
    const LsArrival *items = ls_activity_get_arrivals(work->input->activity, decision->buffer, &n);

    for (size_t i = 0; i < n; i++) {
        LsInterval wait = {items[i].arrival_ns, items[i].arrival_ns + items[i].wait_ns};

        if (items[i].wait_ns == LS_TIME_NONE || work->set_of[items[i].rank] == decision->set)
            continue;
        longest_ns = MAX(longest_ns, items[i].wait_ns);
        if (work->waits[items[i].rank] == NULL)
            work->waits[items[i].rank] = g_array_new(false, false, sizeof(LsInterval));
        if (work->waits[items[i].rank]->len == 0)
            g_array_append_val(work->waiting, items[i].rank);
        g_array_append_val(work->waits[items[i].rank], wait);
    }
    straggler->delay_ns += longest_ns;
}

/* Adds what each rank waited in the step, and forgets it. Returns the smallest exposed wait,
 * LS_TIME_NONE if nobody's compute is known; *ret_longest_ns: the longest wait. */
static int64_t
settle_step(Work *work, LsStraggler *straggler, int64_t *ret_longest_ns)
{
    int64_t least_ns = LS_TIME_NONE;

    *ret_longest_ns = 0;
    for (size_t w = 0; w < work->waiting->len; w++) {
        uint32_t rank = g_array_index(work->waiting, uint32_t, w);
        GArray *items = work->waits[rank];
        LsIntervals set =
            ls_intervals_union_of((const LsInterval *)(void *)items->data, items->len);
        int64_t wait_ns = ls_intervals_length(&set), exposed_ns = wait_ns;
        const LsIntervals *compute =
            ls_activity_get(work->input->activity, rank, LS_ACTIVITY_COMPUTE);

        straggler->waited_for_ns += wait_ns;
        *ret_longest_ns = MAX(*ret_longest_ns, wait_ns);
        for (size_t i = 0; i < set.n; i++)
            exposed_ns -=
                ls_intervals_length_within(compute, set.items[i].start_ns, set.items[i].end_ns);
        if (ls_activity_has_compute(work->input->activity, rank) &&
            (least_ns == LS_TIME_NONE || exposed_ns < least_ns))
            least_ns = exposed_ns;
        ls_intervals_clear(&set);
        g_array_set_size(items, 0);
    }
    g_array_set_size(work->waiting, 0);
    return least_ns;
}

/* Judged steps from this one on. */
static size_t
count_judged_from(const Work *work, uint32_t column)
{
    size_t n = ls_trace_count_steps(work->input->trace), judged = 0;

    for (size_t i = column; i < n; i++)
        judged += work->judged[i];
    return judged;
}

static void
find_since(const Work *work, LsStraggler *straggler, int64_t mean_ns)
{
    for (guint i = 0; i < work->costs->len; i++) {
        const Cost *cost = &g_array_index(work->costs, Cost, i);

        if (2 * cost->ns < mean_ns)
            continue;
        straggler->since = cost->column;
        straggler->share_since =
            (double)(work->costs->len - i) / (double)count_judged_from(work, straggler->since);
        return;
    }
}

/* Decisions of one set, in order of step. */
static void
settle_set(Work *work, LsStraggler *straggler, const Decision *decisions, size_t n)
{
    int64_t cost_ns = 0, longest_ns = 0;
    bool known = false;
    size_t i = 0;

    g_array_set_size(work->costs, 0);
    while (i < n) {
        const Decision *first = &decisions[i];
        int64_t step_longest_ns, least_ns;

        for (; i < n && decisions[i].column == first->column; i++)
            collect_waits(work, straggler, &decisions[i]);
        least_ns = settle_step(work, straggler, &step_longest_ns);
        if (first->step == LS_NONE || work->steps[first->step].cut)
            continue;
        Cost cost = {first->column, least_ns != LS_TIME_NONE ? least_ns : step_longest_ns};
        g_array_append_val(work->costs, cost);
        if (!ls_scope_is_steady_column(work->scope, first->column))
            continue;
        straggler->steps_last++;
        longest_ns += step_longest_ns;
        if (least_ns != LS_TIME_NONE) {
            known = true;
            cost_ns += least_ns;
        }
    }
    straggler->delay_ns = ls_stats_mean(straggler->delay_ns, (int64_t)n);
    if (straggler->steps_last > 0)
        find_since(work, straggler, (known ? cost_ns : longest_ns) / straggler->steps_last);
    if (known)
        straggler->cost_ns_per_step = ls_stats_mean(cost_ns, work->judged_steady);
}

/* A set that was never last in a steady step costs nothing, where cost can be known at all. */
static void
set_nothing(const Work *work, LsStraggler *straggler)
{
    size_t n_ranks;
    bool outside = false;

    ls_trace_get_ranks(work->input->trace, &n_ranks);
    for (uint32_t r = 0; r < n_ranks && !outside; r++)
        outside =
            work->set_of[r] != straggler->rank && ls_activity_has_compute(work->input->activity, r);
    if (straggler->times.buffers > 0 && straggler->steps_last == 0 && outside &&
        work->judged_steady > 0)
        straggler->cost_ns_per_step = 0;
}

static void
find_level(const LsAnalysisInput *input, const LsScope *scope, bool hosts, GArray *found)
{
    size_t n_ranks, n_steps, i = 0;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);
    g_autofree uint32_t *set_of = make_sets(ranks, n_ranks, hosts);
    g_autofree LsStraggler *stragglers = g_new0(LsStraggler, n_ranks);
    g_autoptr(GArray) waiting = g_array_new(false, false, sizeof(uint32_t));
    g_autoptr(GArray) costs = g_array_new(false, false, sizeof(Cost));
    g_autofree bool *judged = g_new0(bool, ls_trace_count_steps(input->trace));
    Work work = {input,
                 scope,
                 ls_trace_get_steps(input->trace, &n_steps),
                 set_of,
                 g_new0(GArray *, n_ranks),
                 waiting,
                 costs,
                 judged,
                 0};
    g_autoptr(GArray) decisions = NULL;

    for (uint32_t r = 0; r < n_ranks; r++)
        stragglers[r] =
            (LsStraggler){.is_host = hosts, .rank = r, .cost_ns_per_step = LS_TIME_NONE};
    decisions = decide(&work, stragglers);
    while (i < decisions->len) {
        const Decision *first = &g_array_index(decisions, Decision, i);
        size_t n = 0;

        while (i + n < decisions->len && first[n].set == first->set)
            n++;
        settle_set(&work, &stragglers[first->set], first, n);
        i += n;
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        set_nothing(&work, &stragglers[r]);
        stragglers[r].steps_judged = work.judged_steady;
        if (set_of[r] == r && stragglers[r].times.buffers > 0 && (!hosts || ranks[r].host != NULL))
            g_array_append_val(found, stragglers[r]);
        if (work.waits[r] != NULL)
            g_array_unref(work.waits[r]);
    }
    g_free(work.waits);
}

GArray *
ls_stragglers_find(const LsAnalysisInput *input, const LsScope *scope)
{
    GArray *found = g_array_new(false, false, sizeof(LsStraggler));

    find_level(input, scope, false, found);
    find_level(input, scope, true, found);
    return found;
}

/* -- The table -- */

enum { LEVEL, RANK, HOST, TIMES_LAST, BY_CHANCE, WAITED_FOR, COST, BUFFERS };

static const LsColumn columns[] = {
    [LEVEL] = {"level", LS_COLUMN_TEXT},
    [RANK] = {"rank", LS_COLUMN_INT},
    [HOST] = {"host", LS_COLUMN_TEXT},
    [TIMES_LAST] = {"times_last", LS_COLUMN_INT},
    [BY_CHANCE] = {"times_last_by_chance", LS_COLUMN_REAL},
    [WAITED_FOR] = {"waited_for_ns", LS_COLUMN_INT},
    [COST] = {"cost_ns_per_step", LS_COLUMN_INT},
    [BUFFERS] = {"buffers", LS_COLUMN_INT},
};

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("stragglers", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    g_autoptr(GArray) found = ls_stragglers_find(input, scope);
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);

    for (size_t i = 0; i < found->len; i++) {
        const LsStraggler *row = &g_array_index(found, LsStraggler, i);

        if (!row->is_host && !ls_scope_has_rank(scope, row->rank))
            continue;
        ls_table_add_row(table);
        ls_table_set_text(table, LEVEL, row->is_host ? "host" : "rank");
        if (!row->is_host)
            set_count(table, RANK, ranks[row->rank].rank, 0);
        ls_table_set_text(table, HOST, ranks[row->rank].host);
        ls_table_set_int(table, TIMES_LAST, row->times.last);
        ls_table_set_real(table, BY_CHANCE, row->times.by_chance);
        ls_table_set_int(table, WAITED_FOR, row->waited_for_ns);
        set_ns(table, COST, row->cost_ns_per_step);
        ls_table_set_int(table, BUFFERS, row->times.buffers);
    }
    return table;
}

const LsAnalysis ls_analysis_stragglers = {
    "stragglers", "for which rank and host the others waited, and what it costs", run};
