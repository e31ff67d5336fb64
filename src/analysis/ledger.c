/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/ledger.c: table `ledger`: where the time of a step goes (metrics.md, "time ledger").
 *
 * Each rank's sets are made disjoint by priority once; then a class of a step is one look-up. Means
 * are over the same steps and ranks, and `rest` takes what rounding leaves, so that the classes add
 * up to the step. Ranks without recorded compute are left out: their time cannot be told apart; and
 * so are steps with a buffer whose last rank is not known, or that a rank lacks, as long as there
 * are others: what was waiting in them would pass for something else.
 */
#include "analysis/ledger.h"

#include "analysis/collective.h"
#include "base/stats.h"
#include "analysis/table-private.h"

static const struct Class {
    const char *name;
    LsActivityKind kind;
} classes[LS_LEDGER_N] = {
    [LS_LEDGER_COMPUTE] = {"compute", LS_ACTIVITY_COMPUTE},
    [LS_LEDGER_EXPOSED_WAIT] = {"exposed wait", LS_ACTIVITY_EXPOSED_WAIT},
    [LS_LEDGER_EXPOSED_TRANSFER] = {"exposed transfer", LS_ACTIVITY_EXPOSED_TRANSFER},
    [LS_LEDGER_NEGOTIATION] = {"negotiation", LS_ACTIVITY_NEGOTIATION_EXPOSURE},
    [LS_LEDGER_FUSION] = {"fusion", LS_ACTIVITY_FUSION},
    [LS_LEDGER_IO] = {"I/O", LS_ACTIVITY_IO},
    [LS_LEDGER_COPIES] = {"copies", LS_ACTIVITY_COPIES},
    [LS_LEDGER_REST] = {"rest", LS_N_ACTIVITIES},
};

/* The rank's sets without what a class of higher priority has taken. */
static void
make_disjoint(const LsActivity *activity, uint32_t rank, LsIntervals sets[LS_LEDGER_REST])
{
    LsIntervals taken = {NULL, 0};

    for (int k = 0; k < LS_LEDGER_REST; k++) {
        const LsIntervals *whole = ls_activity_get(activity, rank, classes[k].kind);
        LsIntervals both = ls_intervals_union(&taken, whole);

        sets[k] = ls_intervals_subtract(whole, &taken);
        ls_intervals_clear(&taken);
        taken = both;
    }
    ls_intervals_clear(&taken);
}

/* Sums of one rank over its steady steps. */
typedef struct Sum {
    int64_t n, step_ns, class_ns[LS_LEDGER_N];
    int64_t waited_for_ns, exposed_ns, communication_ns, hidden_ns;
} Sum;

static int64_t
measure(const LsActivity *activity, LsActivityKind kind, const LsStep *step)
{
    return ls_intervals_length_within(ls_activity_get(activity, step->rank, kind), step->start_ns,
                                      step->end_ns);
}

/* Which steps the ledger is made of. */
typedef struct Choice {
    const LsScope *scope;
    const bool *unjudged; /* by column: steady, but a buffer is incomplete; NULL: all are taken */
} Choice;

static bool
is_chosen(const Choice *choice, const LsStep *step)
{
    return ls_scope_is_steady(choice->scope, step) &&
           (choice->unjudged == NULL || !choice->unjudged[step->column]);
}

static void
note_unjudged(bool *unjudged, uint32_t column, size_t *n)
{
    *n += !unjudged[column];
    unjudged[column] = true;
}

/* A rank that has steps before and after it, and not this one: what it did in it is not there. */
static void
find_holes(const LsAnalysisInput *input, const LsScope *scope, bool *unjudged, size_t *n)
{
    size_t n_steps;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    uint32_t next = 0; /* column */

    for (size_t i = 0; i < n_steps; i++) {
        if (i == 0 || steps[i].rank != steps[i - 1].rank)
            next = steps[i].column;
        for (; next < steps[i].column; next++)
            if (ls_scope_is_steady_column(scope, next))
                note_unjudged(unjudged, next, n);
        next = MAX(next, steps[i].column + 1);
    }
}

static bool *
find_unjudged(const LsAnalysisInput *input, const LsScope *scope, size_t *ret_n)
{
    size_t n_steps, n_buffers;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);
    bool *unjudged = g_new0(bool, ls_trace_count_steps(input->trace));

    *ret_n = 0;
    find_holes(input, scope, unjudged, ret_n);
    ls_trace_get_buffers(input->trace, &n_buffers);
    for (uint32_t b = 0; b < n_buffers; b++) {
        LsCollective collective = ls_collective_measure(input, scope, b);

        if (collective.ranks == 0 || collective.verdict != LS_VERDICT_INCOMPLETE ||
            collective.step == LS_NONE ||
            !ls_scope_is_steady_column(scope, steps[collective.step].column))
            continue;
        note_unjudged(unjudged, steps[collective.step].column, ret_n);
    }
    return unjudged;
}

static void
add_step(Sum *sum, const LsActivity *activity, const LsIntervals sets[LS_LEDGER_REST],
         const LsStep *step, LsLedgerClass wait_class)
{
    int64_t rest_ns = step->end_ns - step->start_ns;

    sum->n++;
    sum->step_ns += rest_ns;
    for (int k = 0; k < LS_LEDGER_REST; k++) {
        int64_t class_ns = ls_intervals_length_within(&sets[k], step->start_ns, step->end_ns);

        sum->class_ns[k == LS_LEDGER_EXPOSED_WAIT ? (int)wait_class : k] += class_ns;
        rest_ns -= class_ns;
    }
    sum->class_ns[LS_LEDGER_REST] += rest_ns;
    sum->waited_for_ns += measure(activity, LS_ACTIVITY_WAITED_FOR, step);
    sum->exposed_ns += measure(activity, LS_ACTIVITY_EXPOSED, step);
    sum->communication_ns += measure(activity, LS_ACTIVITY_COMMUNICATION, step);
    sum->hidden_ns += measure(activity, LS_ACTIVITY_HIDDEN, step);
}

static Sum
add_rank(const LsAnalysisInput *input, const Choice *choice, const LsStep *steps, size_t n,
         bool wait_known)
{
    LsLedgerClass wait_class = wait_known ? LS_LEDGER_EXPOSED_WAIT : LS_LEDGER_NEGOTIATION;
    Sum sum = {0};
    LsIntervals sets[LS_LEDGER_REST];

    make_disjoint(input->activity, steps[0].rank, sets);
    for (size_t i = 0; i < n; i++)
        if (is_chosen(choice, &steps[i]))
            add_step(&sum, input->activity, sets, &steps[i], wait_class);
    for (int k = 0; k < LS_LEDGER_REST; k++)
        ls_intervals_clear(&sets[k]);
    return sum;
}

static void
add_to_ledger(LsLedger *ledger, const Sum *sum, uint32_t rank)
{
    if (sum->n == 0)
        return;
    ledger->n += sum->n;
    ledger->step_ns += sum->step_ns;
    ledger->waited_for_ns += sum->waited_for_ns;
    ledger->exposed_ns += sum->exposed_ns;
    ledger->communication_ns += sum->communication_ns;
    ledger->hidden_ns += sum->hidden_ns;
    for (int k = 0; k < LS_LEDGER_N; k++) {
        int64_t mean_ns = ls_stats_mean(sum->class_ns[k], sum->n);

        ledger->mean_ns[k] += sum->class_ns[k];
        if (mean_ns > ledger->max_ns[k] || ledger->max_rank[k] == LS_NONE) {
            ledger->max_ns[k] = mean_ns;
            ledger->max_rank[k] = rank;
        }
    }
}

static void
divide(LsLedger *ledger)
{
    int64_t rest_ns;

    rest_ns = ledger->step_ns = ls_stats_mean(ledger->step_ns, ledger->n);
    ledger->waited_for_ns = ls_stats_mean(ledger->waited_for_ns, ledger->n);
    ledger->exposed_ns = ls_stats_mean(ledger->exposed_ns, ledger->n);
    ledger->communication_ns = ls_stats_mean(ledger->communication_ns, ledger->n);
    ledger->hidden_ns = ls_stats_mean(ledger->hidden_ns, ledger->n);
    for (int k = 0; k < LS_LEDGER_REST; k++) {
        ledger->mean_ns[k] = ls_stats_mean(ledger->mean_ns[k], ledger->n);
        rest_ns -= ledger->mean_ns[k];
    }
    ledger->mean_ns[LS_LEDGER_REST] = rest_ns;
}

/* Times of one step over the ranks. */
typedef struct Spread {
    int64_t sum_ns, max_ns, n;
} Spread;

/* max - mean of the step time over ranks: the mean of it over steps, and the largest. */
static void
set_imbalance(LsLedger *ledger, const LsTrace *trace, const Choice *choice)
{
    size_t n_steps, n = ls_trace_count_steps(trace);
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    g_autofree Spread *spreads = g_new0(Spread, n);
    int64_t total_ns = 0, chosen = 0;

    for (size_t i = 0; i < n_steps; i++) {
        Spread *spread = &spreads[steps[i].column];
        int64_t step_ns = steps[i].end_ns - steps[i].start_ns;

        if (!is_chosen(choice, &steps[i]))
            continue;
        spread->sum_ns += step_ns;
        spread->max_ns = MAX(spread->max_ns, step_ns);
        spread->n++;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t over_ns = spreads[i].max_ns - ls_stats_mean(spreads[i].sum_ns, spreads[i].n);

        total_ns += over_ns;
        chosen += spreads[i].n > 0;
        ledger->imbalance_max_ns = MAX(ledger->imbalance_max_ns, over_ns);
    }
    ledger->imbalance_ns = ls_stats_mean(total_ns, chosen);
}

/* Steps rank by rank. */
static void
add_ranks(LsLedger *ledger, const LsAnalysisInput *input, const Choice *choice)
{
    size_t n_steps, first = 0;
    const LsStep *steps = ls_trace_get_steps(input->trace, &n_steps);

    while (first < n_steps) {
        size_t next = first + 1;

        while (next < n_steps && steps[next].rank == steps[first].rank)
            next++;
        if (ls_activity_has_compute(input->activity, steps[first].rank) &&
            ls_scope_has_rank(choice->scope, steps[first].rank)) {
            Sum sum = add_rank(input, choice, &steps[first], next - first, ledger->wait_known);

            add_to_ledger(ledger, &sum, steps[first].rank);
        }
        first = next;
    }
    divide(ledger);
    set_imbalance(ledger, input->trace, choice);
}

LsLedger
ls_ledger_make(const LsAnalysisInput *input, const LsScope *scope)
{
    LsLedger ledger = {0};
    g_autofree bool *unjudged = find_unjudged(input, scope, &ledger.unjudged);
    Choice choice = {scope, unjudged};

    for (int k = 0; k < LS_LEDGER_N; k++)
        ledger.max_rank[k] = LS_NONE;
    if (ls_trace_count_missing(input->trace) == 0 && ledger.unjudged < ls_scope_get_steady(scope))
        ledger.wait_known = true;
    else
        choice.unjudged = NULL;
    add_ranks(&ledger, input, &choice);
    return ledger;
}

enum { CLASS, MEAN, MAX_NS, MAX_RANK, SHARE };

static const LsColumn columns[] = {
    [CLASS] = {"class", LS_COLUMN_TEXT},  [MEAN] = {"mean_ns", LS_COLUMN_INT},
    [MAX_NS] = {"max_ns", LS_COLUMN_INT}, [MAX_RANK] = {"max_rank", LS_COLUMN_INT},
    [SHARE] = {"share", LS_COLUMN_REAL},
};

static void
add_row(LsTable *table, const char *name, int64_t mean_ns, int64_t max_ns, int64_t step_ns)
{
    ls_table_add_row(table);
    ls_table_set_text(table, CLASS, name);
    ls_table_set_int(table, MEAN, mean_ns);
    ls_table_set_int(table, MAX_NS, max_ns);
    if (step_ns > 0)
        ls_table_set_real(table, SHARE, (double)mean_ns / (double)step_ns);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("ledger", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    LsLedger ledger = ls_ledger_make(input, scope);
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);

    if (ledger.n == 0)
        return table;
    for (int k = 0; k < LS_LEDGER_N; k++) {
        if (k == LS_LEDGER_EXPOSED_WAIT && !ledger.wait_known) {
            ls_table_add_row(table);
            ls_table_set_text(table, CLASS, classes[k].name);
            continue;
        }
        add_row(table, classes[k].name, ledger.mean_ns[k], ledger.max_ns[k], ledger.step_ns);
        set_count(table, MAX_RANK, ranks[ledger.max_rank[k]].rank, 0);
    }
    add_row(table, "imbalance", ledger.imbalance_ns, ledger.imbalance_max_ns, ledger.step_ns);
    return table;
}

const LsAnalysis ls_analysis_ledger = {
    "ledger", "where the time of a step goes: classes add up to it, imbalance beside them", run};
