/* SPDX-License-Identifier: Apache-2.0
 *
 * report/honesty.c: the honesty ledger of metrics.md: ranks expected and found, losses, damage,
 * clocks, what the recording cost, what was inferred, test double.
 */
#include "report/honesty.h"

#include "analysis/collective.h"
#include "base/units.h"

#include <string.h>

static const char *const clock_names[] = {
    [LS_CLOCK_REFERENCE] = "one clock",
    [LS_CLOCK_SAME_BOOT] = "one clock (same machine)",
    [LS_CLOCK_ROUNDTRIP] = "clocks by round trips",
    [LS_CLOCK_COLLECTIVE] = "clocks by causality of collectives",
    [LS_CLOCK_WALL] = "wall clocks",
    [LS_CLOCK_NONE] = "not all ranks on one clock",
};

typedef struct Sums {
    uint32_t found, expected;
    uint32_t strangers;                         /* processes of no known rank */
    uint64_t lost, given_up, damaged, recorded; /* recorded: rows, lives counted apart */
    LsClockMethod method;                       /* the least trusted */
    int64_t uncertainty_ns;                     /* the largest */
    bool test_double, world_known;
} Sums;

static Sums
add_up(const LsTrace *trace)
{
    Sums sums = {.expected = ls_trace_get_world(trace),
                 .method = LS_CLOCK_REFERENCE,
                 .world_known = ls_collective_knows_world(trace)};
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_direct_hash, g_direct_equal);

    for (size_t r = 0; r < n; r++) {
        if (!ranks[r].recorded)
            continue;
        sums.recorded++;
        if (ranks[r].rank >= 0)
            g_hash_table_add(numbers, GINT_TO_POINTER(ranks[r].rank));
        else
            sums.strangers++;
        sums.lost += ranks[r].lost;
        sums.given_up += ranks[r].given_up;
        sums.damaged += ranks[r].damaged;
        sums.method = MAX(sums.method, ranks[r].clock_method);
        sums.uncertainty_ns = MAX(sums.uncertainty_ns, ranks[r].clock_uncertainty_ns);
        sums.test_double = sums.test_double || ranks[r].test_double;
    }
    if (sums.recorded < 2) /* there is nothing to align */
        sums.method = LS_CLOCK_REFERENCE;
    sums.found = g_hash_table_size(numbers);
    sums.expected = MAX(sums.expected, sums.found);
    return sums;
}

static char *
format_clock(const Sums *sums)
{
    g_autofree char *bound = ls_format_ns(sums->uncertainty_ns);

    if (sums->method <= LS_CLOCK_SAME_BOOT || sums->method == LS_CLOCK_NONE)
        return g_strdup(clock_names[sums->method]);
    return g_strdup_printf("%s, \302\261 %s", clock_names[sums->method], bound);
}

/* ", rank 2 died while it ran": as the survivors noticed it. */
static void
append_dead(GString *line, const LsTrace *trace)
{
    g_autoptr(GHashTable) dead = g_hash_table_new(g_direct_hash, g_direct_equal);
    size_t n;
    const LsInstant *instants = ls_trace_get_instants(trace, &n);

    for (size_t i = 0; i < n; i++)
        if (instants[i].kind == LS_INSTANT_PEER_LOST &&
            g_hash_table_add(dead, GINT_TO_POINTER((int)instants[i].value)))
            g_string_append_printf(line, ", rank %" G_GINT64_FORMAT " died while it ran",
                                   instants[i].value);
}

/* A file that was named and cannot be read, for one. */
static size_t
count_errors(const LsTrace *trace)
{
    size_t n, errors = 0;
    const LsFinding *findings = ls_trace_get_findings(trace, &n);

    for (size_t i = 0; i < n; i++)
        errors += findings[i].severity == LS_FAULT;
    return errors;
}

/* "2 of 4 ranks", "1 rank, of how many is not recorded", "3 processes of no known rank" */
static void
append_ranks(GString *line, const Sums *sums)
{
    if (sums->world_known)
        g_string_append_printf(line, "%u of %u ranks", sums->found, sums->expected);
    else if (sums->found > 0 || sums->strangers == 0)
        g_string_append_printf(line, "%u rank%s, of how many is not recorded", sums->found,
                               sums->found == 1 ? "" : "s");
    if (sums->strangers > 0)
        g_string_append_printf(line, "%s%u process%s of no known rank", line->len > 0 ? ", " : "",
                               sums->strangers, sums->strangers == 1 ? "" : "es");
}

char *
ls_honesty_format_line(const LsEvidence *evidence)
{
    Sums sums = add_up(evidence->input->trace);
    g_autofree char *clock = format_clock(&sums);
    GString *line = g_string_new(NULL);
    g_autoptr(GString) who = g_string_new(NULL);
    size_t warmup = ls_scope_get_warmup(evidence->scope);

    if (sums.test_double)
        g_string_append(line, "CPU test double: its timings are no result. ");
    append_ranks(who, &sums);
    g_string_append(line, who->str);
    g_string_append_printf(line, ", %" G_GUINT64_FORMAT " records lost, ", sums.lost);
    if (sums.given_up > 0)
        g_string_append_printf(line, "%" G_GUINT64_FORMAT " older ones given up as asked, ",
                               sums.given_up);
    g_string_append(line, clock);
    append_dead(line, evidence->input->trace);
    if (sums.damaged > 0)
        g_string_append_printf(line, ", %" G_GUINT64_FORMAT " fault%s in the files", sums.damaged,
                               sums.damaged == 1 ? "" : "s");
    else if (count_errors(evidence->input->trace) > 0)
        g_string_append_printf(line, ", %zu error%s among the findings",
                               count_errors(evidence->input->trace),
                               count_errors(evidence->input->trace) == 1 ? "" : "s");
    if (warmup > 0)
        g_string_append_printf(line, ", %zu warm-up step%s left out", warmup,
                               warmup == 1 ? "" : "s");
    g_string_append_c(line, '.');
    return g_string_free(line, false);
}

static void add(GPtrArray *lines, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
add(GPtrArray *lines, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(lines, g_strdup_vprintf(format, args));
    va_end(args);
}

static void
add_losses(GPtrArray *lines, const LsTrace *trace, const Sums *sums)
{
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);

    add(lines, "records lost: %" G_GUINT64_FORMAT "%s", sums->lost,
        sums->lost > 0 ? ", by rank:" : "");
    for (size_t r = 0; r < n; r++)
        if (ranks[r].lost > 0)
            add(lines, "  %s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT,
                ls_trace_get_rank_name(trace, (uint32_t)r), ranks[r].lost,
                ranks[r].records + ranks[r].lost);
    if (sums->given_up > 0)
        add(lines, "older records that flight recorders gave up, as asked: %" G_GUINT64_FORMAT,
            sums->given_up);
    add(lines, "faults found in files: %" G_GUINT64_FORMAT, sums->damaged);
}

/* The largest over the ranks, and of which. */
typedef struct Cost {
    int64_t record_min_ns, record_max_ns;
    double made, own; /* shares of a rank's recorded time: making records, the recorder's thread */
    uint32_t made_rank, own_rank;            /* LS_NONE: of none */
    uint32_t measured, unclosed, unmeasured; /* ranks */
} Cost;

static void
add_cost_of(Cost *cost, const LsRank *rank, uint32_t index)
{
    double window_ns = (double)(rank->last_ns - rank->first_ns);

    if (rank->record_cost_ns == LS_TIME_NONE) {
        cost->unmeasured++;
        return;
    }
    cost->record_min_ns =
        cost->measured == 0 ? rank->record_cost_ns : MIN(cost->record_min_ns, rank->record_cost_ns);
    cost->record_max_ns = MAX(cost->record_max_ns, rank->record_cost_ns);
    cost->measured++;
    cost->unclosed += rank->recorder_cpu_ns == LS_TIME_NONE;
    if (rank->first_ns == LS_TIME_NONE || window_ns <= 0)
        return;
    double made = (double)(rank->records + rank->lost + rank->given_up) *
                  (double)rank->record_cost_ns / window_ns;
    double own = (double)MAX(rank->recorder_cpu_ns, 0) / window_ns;

    if (made > cost->made) {
        cost->made = made;
        cost->made_rank = index;
    }
    if (own > cost->own) {
        cost->own = own;
        cost->own_rank = index;
    }
}

/* metrics.md: the tracer's own cost per event, and its share of the time in which steps ran. */
static void
add_cost(GPtrArray *lines, const LsTrace *trace)
{
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);
    Cost cost = {.made_rank = LS_NONE, .own_rank = LS_NONE};

    for (size_t r = 0; r < n; r++)
        if (ranks[r].recorded)
            add_cost_of(&cost, &ranks[r], (uint32_t)r);
    if (cost.measured == 0) {
        add(lines, "cost of recording: not measured by what wrote these files");
        return;
    }
    g_autofree char *least = ls_format_ns(cost.record_min_ns);
    g_autofree char *most = ls_format_ns(cost.record_max_ns);
    bool same = cost.record_min_ns == cost.record_max_ns;

    add(lines, "cost of recording: %s%s%s a record, measured at the start", least,
        same ? "" : " to ", same ? "" : most);
    if (cost.made_rank != LS_NONE)
        add(lines, "  of a rank's time: at most %.3f %% (%s)", 100 * cost.made,
            ls_trace_get_rank_name(trace, cost.made_rank));
    if (cost.own_rank != LS_NONE)
        add(lines, "  of a processor, by the recorder's own thread: at most %.2f %% (%s)",
            100 * cost.own, ls_trace_get_rank_name(trace, cost.own_rank));
    if (cost.unclosed > 0)
        add(lines, "  not known of the recorder's own thread: %u rank%s, which did not end it",
            cost.unclosed, cost.unclosed == 1 ? "" : "s");
    if (cost.unmeasured > 0)
        add(lines, "  not measured by what wrote the files of %u rank%s", cost.unmeasured,
            cost.unmeasured == 1 ? "" : "s");
}

static void
add_inferred(GPtrArray *lines, const LsTrace *trace)
{
    size_t n, inferred = 0, loose = 0;
    const LsStep *steps = ls_trace_get_steps(trace, &n);
    const LsBuffer *buffers;

    for (size_t i = 0; i < n; i++)
        inferred += steps[i].inferred;
    if (inferred > 0)
        add(lines, "inferred, not recorded: %zu steps", inferred);
    buffers = ls_trace_get_buffers(trace, &n);
    for (size_t i = 0; i < n; i++)
        loose += !buffers[i].pairing_exact && buffers[i].n_calls > 1;
    if (loose > 0)
        add(lines, "inferred, not recorded: which calls of %zu buffers belong together", loose);
}

GPtrArray *
ls_honesty_list(const LsAnalysisInput *input)
{
    Sums sums = add_up(input->trace);
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *clock = format_clock(&sums);

    if (sums.world_known)
        add(lines, "ranks: %u found, %u expected", sums.found, sums.expected);
    else
        add(lines, "ranks: %u found, how many were expected is not recorded", sums.found);
    if (ls_trace_get_fact(input->trace, "packed.steps") != NULL)
        add(lines, "packed: steps %s; the others were left out (lockstep-record pack)",
            ls_trace_get_fact(input->trace, "packed.steps"));
    if (sums.strangers > 0)
        add(lines, "processes of no known rank: %u", sums.strangers);
    add_losses(lines, input->trace, &sums);
    add(lines, "clocks: %s", clock);
    add_cost(lines, input->trace);
    add_inferred(lines, input->trace);
    if (sums.test_double)
        add(lines, "CPU test double in use: its timings are no result");
    return lines;
}
