/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/cycle.c: table `cycles`: rounds of the background loop by the path that they took.
 *
 * A round is counted once, however many ranks recorded it; its messages and bytes are what all
 * recorded ranks sent in it, so a message is not counted at both ends. time_ns is the mean over
 * rounds and ranks. Hits, misses and invalid are requests of all ranks as a response cache knew
 * them when they were first looked up; evicted, which is the same on every rank, counts once a
 * round; null where the control has no cache. Tree has no paths: it gives no rows.
 */
#include "analysis/scope.h"
#include "base/stats.h"
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
    int64_t rounds, rows, time_ns, messages, bytes, hits, misses, invalid, evicted;
    bool with_messages;
} Sum;

static bool
counts(const LsAnalysisInput *input, const LsScope *scope, const LsCycle *cycle)
{
    return cycle->path < N_PATHS && ls_scope_has(scope, cycle->rank, cycle->start_ns) &&
           strcmp(ls_trace_get_string(input->trace, cycle->control), "tree") != 0;
}

/* Number of the round -> its path + 1. A rank with nothing to say in a round may call it idle: the
 * round's path is the largest of its ranks'. */
static GHashTable *
find_paths(const LsAnalysisInput *input, const LsScope *scope)
{
    GHashTable *paths = g_hash_table_new(g_int64_hash, g_int64_equal);
    size_t n_cycles;
    const LsCycle *cycles = ls_trace_get_cycles(input->trace, &n_cycles);

    for (size_t i = 0; i < n_cycles; i++) {
        void *key = (void *)(uintptr_t)&cycles[i].number;
        size_t before = GPOINTER_TO_SIZE(g_hash_table_lookup(paths, key));

        if (counts(input, scope, &cycles[i]) && cycles[i].path + 1u > before)
            g_hash_table_insert(paths, key, GSIZE_TO_POINTER(cycles[i].path + 1u));
    }
    return paths;
}

/* The sum that the round of this number belongs to; NULL if it is not shown. */
static Sum *
find_sum(GHashTable *paths, const int64_t *number, Sum sums[N_PATHS])
{
    size_t path = GPOINTER_TO_SIZE(g_hash_table_lookup(paths, number));

    return path == 0 ? NULL : &sums[path - 1];
}

/* What the cache was asked. Returns whether there is one. */
static bool
add_cache(const LsAnalysisInput *input, const LsScope *scope, GHashTable *paths, Sum sums[N_PATHS])
{
    g_autoptr(GHashTable) evicted = g_hash_table_new(g_int64_hash, g_int64_equal);
    size_t n_cycles;
    const LsCycle *cycles = ls_trace_get_cycles(input->trace, &n_cycles);
    bool known = false;

    for (size_t i = 0; i < n_cycles; i++) {
        Sum *sum = find_sum(paths, &cycles[i].number, sums);

        if (sum == NULL || !cycles[i].cache_known || !counts(input, scope, &cycles[i]))
            continue;
        known = true;
        sum->hits += cycles[i].hits;
        sum->misses += cycles[i].misses;
        sum->invalid += cycles[i].invalid;
        if (g_hash_table_add(evicted, (void *)(uintptr_t)&cycles[i].number))
            sum->evicted += cycles[i].evicted;
    }
    return known;
}

/* Returns whether a response cache was in use. */
static bool
add_all(const LsAnalysisInput *input, const LsScope *scope, Sum sums[N_PATHS])
{
    g_autoptr(GHashTable) paths = find_paths(input, scope);
    size_t n_cycles, n_messages;
    const LsCycle *cycles = ls_trace_get_cycles(input->trace, &n_cycles);
    const LsMessage *messages = ls_trace_get_messages(input->trace, &n_messages);
    GHashTableIter iter;
    void *value;

    g_hash_table_iter_init(&iter, paths);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        sums[GPOINTER_TO_SIZE(value) - 1].rounds++;
    for (size_t i = 0; i < n_cycles; i++) {
        Sum *sum = find_sum(paths, &cycles[i].number, sums);

        if (sum == NULL || !counts(input, scope, &cycles[i]))
            continue;
        sum->rows++;
        sum->time_ns += cycles[i].end_ns - cycles[i].start_ns;
    }
    for (size_t i = 0; i < n_messages; i++) {
        Sum *sum = find_sum(paths, &messages[i].cycle, sums);

        if (sum == NULL || !ls_scope_has(scope, messages[i].rank, messages[i].start_ns))
            continue;
        sum->messages += messages[i].messages_out;
        sum->bytes += messages[i].bytes_out;
        sum->with_messages = true;
    }
    return add_cache(input, scope, paths, sums);
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("cycles", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    Sum sums[N_PATHS] = {0};

    bool cached = add_all(input, scope, sums);
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
        if (cached) {
            ls_table_set_int(table, HITS, sums[path].hits);
            ls_table_set_int(table, MISSES, sums[path].misses);
            ls_table_set_int(table, INVALID, sums[path].invalid);
            ls_table_set_int(table, EVICTED, sums[path].evicted);
        }
        ls_table_set_int(table, TIME, ls_stats_mean(sums[path].time_ns, sums[path].rows));
    }
    return table;
}

const LsAnalysis ls_analysis_cycles = {
    "cycles", "rounds of the background loop by path, with the messages of all ranks", run};
