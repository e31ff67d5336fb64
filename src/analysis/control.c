/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/control.c: table `control`: what agreeing costs each rank, per step and in all.
 *
 * Per step: what began within a whole step, divided by the number of whole steps (null without
 * steps); the columns that end in _total count the whole recording. wait_ns is time inside the
 * transport's calls, where a rank mostly waits for others; busy_ns the rest of its cycles, parse_ns
 * a part of that.
 */
#include "analysis/scope.h"
#include "base/stats.h"
#include "analysis/table-private.h"

enum {
    RANK,
    CYCLES,
    BUSY,
    WAIT,
    PARSE,
    MESSAGES_IN,
    MESSAGES_OUT,
    BYTES_IN,
    BYTES_OUT,
    STEPS,
    CYCLES_TOTAL,
    MESSAGES_IN_TOTAL,
    MESSAGES_OUT_TOTAL,
    BYTES_IN_TOTAL,
    BYTES_OUT_TOTAL,
};

static const LsColumn columns[] = {
    [RANK] = {"rank", LS_COLUMN_INT},
    [CYCLES] = {"cycles", LS_COLUMN_REAL},
    [BUSY] = {"busy_ns", LS_COLUMN_INT},
    [WAIT] = {"wait_ns", LS_COLUMN_INT},
    [PARSE] = {"parse_ns", LS_COLUMN_INT},
    [MESSAGES_IN] = {"messages_in", LS_COLUMN_REAL},
    [MESSAGES_OUT] = {"messages_out", LS_COLUMN_REAL},
    [BYTES_IN] = {"bytes_in", LS_COLUMN_REAL},
    [BYTES_OUT] = {"bytes_out", LS_COLUMN_REAL},
    [STEPS] = {"steps", LS_COLUMN_INT},
    [CYCLES_TOTAL] = {"cycles_total", LS_COLUMN_INT},
    [MESSAGES_IN_TOTAL] = {"messages_in_total", LS_COLUMN_INT},
    [MESSAGES_OUT_TOTAL] = {"messages_out_total", LS_COLUMN_INT},
    [BYTES_IN_TOTAL] = {"bytes_in_total", LS_COLUMN_INT},
    [BYTES_OUT_TOTAL] = {"bytes_out_total", LS_COLUMN_INT},
};

typedef struct Sum {
    int64_t cycles, cycle_ns, parse_ns, wait_ns;
    int64_t messages_in, messages_out, bytes_in, bytes_out;
    bool with_messages, parse_unknown;
} Sum;

/* One rank: [0] all that the filters let through, [1] what began within whole steps. */
typedef struct Sums {
    Sum part[2];
    int64_t steps;
} Sums;

/* Calls the sums that a thing of this rank and time belongs to; returns how many. */
static size_t
select_sums(const LsTrace *trace, const LsScope *scope, Sums *sums, uint32_t rank, int64_t time_ns,
            Sum *ret_sums[2])
{
    size_t n = 0, n_steps;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    uint32_t step = ls_scope_find_step(scope, rank, time_ns);

    if (!ls_scope_has(scope, rank, time_ns))
        return 0;
    ret_sums[n++] = &sums[rank].part[0];
    if (step != LS_NONE && !steps[step].cut)
        ret_sums[n++] = &sums[rank].part[1];
    return n;
}

static void
add_all(const LsTrace *trace, const LsScope *scope, Sums *sums)
{
    size_t n_cycles, n_messages, n_steps;
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n_cycles);
    const LsMessage *messages = ls_trace_get_messages(trace, &n_messages);
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    Sum *into[2];

    for (size_t i = 0; i < n_steps; i++)
        sums[steps[i].rank].steps += !steps[i].cut && ls_scope_has_step(scope, &steps[i]);
    for (size_t i = 0; i < n_cycles; i++) {
        const LsCycle *row = &cycles[i];

        for (size_t n = select_sums(trace, scope, sums, row->rank, row->start_ns, into); n-- > 0;) {
            into[n]->cycles++;
            into[n]->cycle_ns += row->end_ns - row->start_ns;
            if (row->parse_ns != LS_TIME_NONE)
                into[n]->parse_ns += row->parse_ns;
            else
                into[n]->parse_unknown = true;
        }
    }
    for (size_t i = 0; i < n_messages; i++) {
        const LsMessage *row = &messages[i];

        for (size_t n = select_sums(trace, scope, sums, row->rank, row->start_ns, into); n-- > 0;) {
            into[n]->with_messages = true;
            into[n]->wait_ns += row->end_ns - row->start_ns;
            into[n]->messages_in += row->messages_in;
            into[n]->messages_out += row->messages_out;
            into[n]->bytes_in += row->bytes_in;
            into[n]->bytes_out += row->bytes_out;
        }
    }
}

static void
set_per_step(LsTable *table, const Sum *sum, int64_t steps)
{
    double n = (double)steps;

    ls_table_set_real(table, CYCLES, (double)sum->cycles / n);
    if (!sum->parse_unknown)
        ls_table_set_int(table, PARSE, ls_stats_mean(sum->parse_ns, steps));
    if (!sum->with_messages)
        return;
    ls_table_set_int(table, WAIT, ls_stats_mean(sum->wait_ns, steps));
    ls_table_set_int(table, BUSY, ls_stats_mean(MAX(sum->cycle_ns - sum->wait_ns, 0), steps));
    ls_table_set_real(table, MESSAGES_IN, (double)sum->messages_in / n);
    ls_table_set_real(table, MESSAGES_OUT, (double)sum->messages_out / n);
    ls_table_set_real(table, BYTES_IN, (double)sum->bytes_in / n);
    ls_table_set_real(table, BYTES_OUT, (double)sum->bytes_out / n);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("control", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);
    g_autofree Sums *sums = g_new0(Sums, n_ranks);

    add_all(input->trace, scope, sums);
    for (size_t r = 0; r < n_ranks; r++) {
        const Sum *all = &sums[r].part[0];

        if (all->cycles == 0 && !all->with_messages)
            continue;
        ls_table_add_row(table);
        set_count(table, RANK, ranks[r].rank, 0);
        if (sums[r].steps > 0)
            set_per_step(table, &sums[r].part[1], sums[r].steps);
        ls_table_set_int(table, STEPS, sums[r].steps);
        ls_table_set_int(table, CYCLES_TOTAL, all->cycles);
        if (!all->with_messages)
            continue;
        ls_table_set_int(table, MESSAGES_IN_TOTAL, all->messages_in);
        ls_table_set_int(table, MESSAGES_OUT_TOTAL, all->messages_out);
        ls_table_set_int(table, BYTES_IN_TOTAL, all->bytes_in);
        ls_table_set_int(table, BYTES_OUT_TOTAL, all->bytes_out);
    }
    return table;
}

const LsAnalysis ls_analysis_control = {
    "control", "what agreeing costs each rank: time, messages and bytes per step", run};
