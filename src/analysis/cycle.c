/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/cycle.c: table `cycles`: rounds of the background loop by the path that they took.
 *
 * A round is counted once, however many ranks recorded it; its messages and bytes are what all
 * recorded ranks sent in it, so a message is not counted at both ends. time_ns is the mean over
 * rounds and ranks. Hits, misses, invalid and evicted are of a response cache: null where the
 * control has none. Tree has no paths: it gives no rows.
 */
#include "analysis/scope.h"
#include "analysis/stats.h"
#include "analysis/table-private.h"

#include <string.h>

enum { PATH, CYCLES, HITS, MISSES, INVALID, EVICTED, MESSAGES, BYTES, TIME };

static const LsColumn columns[] = {
    [PATH] = {"path", LS_COLUMN_TEXT},        [CYCLES] = {"cycles", LS_COLUMN_INT},
    [HITS] = {"hits", LS_COLUMN_INT},         [MISSES] = {"misses", LS_COLUMN_INT},
    [INVALID] = {"invalid", LS_COLUMN_INT},   [EVICTED] = {"evicted", LS_COLUMN_INT},
    [MESSAGES] = {"messages", LS_COLUMN_INT}, [BYTES] = {"bytes", LS_COLUMN_INT},
    [TIME] = {"time_ns", LS_COLUMN_INT},
};

#define N_PATHS 4
static const char *const path_names[N_PATHS] = {"idle", "bypass", "slow", "mixed"};

typedef struct Sum {
    int64_t rounds, rows, time_ns, messages, bytes;
    bool with_messages;
} Sum;

static bool
counts(const LsAnalysisInput *input, const LsScope *scope, const LsCycle *cycle)
{
    return cycle->path < N_PATHS && ls_scope_has(scope, cycle->rank, cycle->start_ns) &&
           strcmp(ls_trace_get_string(input->trace, cycle->control), "tree") != 0;
}

static void
add_cycles(const LsAnalysisInput *input, const LsScope *scope, Sum sums[N_PATHS])
{
    size_t n_cycles;
    const LsCycle *cycles = ls_trace_get_cycles(input->trace, &n_cycles);
    GHashTable *rounds[N_PATHS];

    for (int path = 0; path < N_PATHS; path++)
        rounds[path] = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (size_t i = 0; i < n_cycles; i++) {
        Sum *sum = &sums[MIN(cycles[i].path, N_PATHS - 1)];

        if (!counts(input, scope, &cycles[i]))
            continue;
        sum->rows++;
        sum->time_ns += cycles[i].end_ns - cycles[i].start_ns;
        sum->rounds +=
            g_hash_table_add(rounds[cycles[i].path], (void *)(uintptr_t)&cycles[i].number);
    }
    for (int path = 0; path < N_PATHS; path++)
        g_hash_table_unref(rounds[path]);
}

/* Both tables are sorted by rank and start, and a message lies in its cycle: one pass. */
static void
add_messages(const LsAnalysisInput *input, const LsScope *scope, Sum sums[N_PATHS])
{
    size_t n_cycles, n_messages, c = 0;
    const LsCycle *cycles = ls_trace_get_cycles(input->trace, &n_cycles);
    const LsMessage *messages = ls_trace_get_messages(input->trace, &n_messages);

    for (size_t i = 0; i < n_messages; i++) {
        while (c < n_cycles &&
               (cycles[c].rank < messages[i].rank ||
                (cycles[c].rank == messages[i].rank && cycles[c].end_ns <= messages[i].start_ns &&
                 cycles[c].number != messages[i].cycle)))
            c++;
        if (c == n_cycles || cycles[c].rank != messages[i].rank ||
            cycles[c].number != messages[i].cycle || !counts(input, scope, &cycles[c]))
            continue;
        sums[cycles[c].path].messages += messages[i].messages_out;
        sums[cycles[c].path].bytes += messages[i].bytes_out;
        sums[cycles[c].path].with_messages = true;
    }
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("cycles", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    Sum sums[N_PATHS] = {0};

    add_cycles(input, scope, sums);
    add_messages(input, scope, sums);
    for (int path = 0; path < N_PATHS; path++) {
        if (sums[path].rows == 0)
            continue;
        ls_table_add_row(table);
        ls_table_set_text(table, PATH, path_names[path]);
        ls_table_set_int(table, CYCLES, sums[path].rounds);
        if (sums[path].with_messages) {
            ls_table_set_int(table, MESSAGES, sums[path].messages);
            ls_table_set_int(table, BYTES, sums[path].bytes);
        }
        ls_table_set_int(table, TIME, ls_stats_mean(sums[path].time_ns, sums[path].rows));
    }
    return table;
}

const LsAnalysis ls_analysis_cycles = {
    "cycles", "rounds of the background loop by path, with the messages of all ranks", run};
