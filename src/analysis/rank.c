/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/rank.c: table `ranks`: who was recorded, how completely, and on which clock.
 */
#include "analysis/scope.h"
#include "analysis/table-private.h"

enum {
    RANK,
    INCARNATION,
    HOST,
    LOCAL_RANK,
    PID,
    DEVICE,
    FIRST,
    LAST,
    RECORDS,
    LOST,
    DAMAGED,
    CLOCK_METHOD,
    CLOCK_OFFSET,
    CLOCK_UNCERTAINTY,
    RECORD_COST,
    RECORDER_CPU,
    RECORDED,
    GIVEN_UP,
    FORMAT,
    SOURCE,
};

static const LsColumn columns[] = {
    [RANK] = {"rank", LS_COLUMN_INT},
    [INCARNATION] = {"incarnation", LS_COLUMN_INT},
    [HOST] = {"host", LS_COLUMN_TEXT},
    [LOCAL_RANK] = {"local_rank", LS_COLUMN_INT},
    [PID] = {"pid", LS_COLUMN_INT},
    [DEVICE] = {"device", LS_COLUMN_TEXT},
    [FIRST] = {"first_ns", LS_COLUMN_INT},
    [LAST] = {"last_ns", LS_COLUMN_INT},
    [RECORDS] = {"records", LS_COLUMN_INT},
    [LOST] = {"lost", LS_COLUMN_INT},
    [DAMAGED] = {"damaged", LS_COLUMN_INT},
    [CLOCK_METHOD] = {"clock_method", LS_COLUMN_TEXT},
    [CLOCK_OFFSET] = {"clock_offset_ns", LS_COLUMN_INT},
    [CLOCK_UNCERTAINTY] = {"clock_uncertainty_ns", LS_COLUMN_INT},
    [RECORD_COST] = {"record_cost_ns", LS_COLUMN_INT},
    [RECORDER_CPU] = {"recorder_cpu_ns", LS_COLUMN_INT},
    [RECORDED] = {"recorded", LS_COLUMN_BOOL},
    [GIVEN_UP] = {"given_up", LS_COLUMN_INT},
    [FORMAT] = {"format", LS_COLUMN_TEXT},
    [SOURCE] = {"source", LS_COLUMN_TEXT},
};

static const char *const clock_names[] = {
    [LS_CLOCK_REFERENCE] = "reference",   [LS_CLOCK_SAME_BOOT] = "same boot",
    [LS_CLOCK_ROUNDTRIP] = "round trips", [LS_CLOCK_COLLECTIVE] = "collectives",
    [LS_CLOCK_WALL] = "wall clock",       [LS_CLOCK_NONE] = "none",
};

static void
add_row(LsTable *table, const LsRank *rank)
{
    ls_table_add_row(table);
    set_count(table, RANK, rank->rank, 0);
    ls_table_set_int(table, INCARNATION, rank->incarnation);
    ls_table_set_text(table, HOST, rank->host);
    set_count(table, LOCAL_RANK, rank->local_rank, 0);
    set_count(table, PID, rank->pid, 1);
    ls_table_set_text(table, DEVICE, rank->device);
    ls_table_set_bool(table, RECORDED, rank->recorded);
    ls_table_set_text(table, FORMAT, rank->format);
    ls_table_set_text(table, SOURCE, rank->source);
    ls_table_set_text(table, CLOCK_METHOD, clock_names[rank->clock_method]);
    if (rank->recorded) {
        set_ns(table, FIRST, rank->first_ns);
        set_ns(table, LAST, rank->last_ns);
        ls_table_set_int(table, RECORDS, (int64_t)rank->records);
        ls_table_set_int(table, LOST, (int64_t)rank->lost);
        ls_table_set_int(table, GIVEN_UP, (int64_t)rank->given_up);
        ls_table_set_int(table, DAMAGED, (int64_t)rank->damaged);
    }
    set_ns(table, RECORD_COST, rank->record_cost_ns);
    set_ns(table, RECORDER_CPU, rank->recorder_cpu_ns);
    if (rank->clock_method != LS_CLOCK_NONE) {
        ls_table_set_int(table, CLOCK_OFFSET, rank->clock_offset_ns);
        ls_table_set_int(table, CLOCK_UNCERTAINTY, rank->clock_uncertainty_ns);
    }
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("ranks", columns, G_N_ELEMENTS(columns));
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);

    for (size_t r = 0; r < n_ranks; r++)
        if (input->rank_shown == NULL || input->rank_shown[r])
            add_row(table, &ranks[r]);
    return table;
}

const LsAnalysis ls_analysis_ranks = {"ranks",
                                      "who was recorded, how completely, and on which clock", run};
