/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/run.c: from paths to a trace: list, load, tell ranks, align clocks, join Horovod's ranks,
 * tell NCCL's part of a library's buffers, part runs, tell lives, match collectives, freeze. Each
 * step is a file of this folder; here is their order.
 */
#include "merge/run.h"

#include "base/error.h"
#include "merge/align.h"
#include "merge/files.h"
#include "merge/horovod.h"
#include "merge/identity.h"
#include "merge/inner.h"
#include "merge/leftovers.h"
#include "merge/loader.h"
#include "merge/match.h"
#include "merge/observers.h"
#include "merge/rules.h"
#include "merge/runs.h"

#define UNKNOWN_LISTED_MAX 16 /* files of no known format with a finding each */

typedef struct Run {
    LsFiles *files;
    GArray *loaded;       /* LsLoaded */
    GPtrArray *processes; /* LsProcess, until the builder takes them */
    GPtrArray *observers; /* LsProcess that are no ranks */
    LsRules *rules;
    GArray *has_gpu; /* bool, by index of the rank */
    LsBuilder *builder;
} Run;

static void
free_process(void *data)
{
    ls_process_free(data);
}

static bool
list_files(Run *run, const char *const *paths, size_t n_paths, GError **error)
{
    g_autoptr(GError) first = NULL;

    run->files = ls_files_new();
    for (size_t i = 0; i < n_paths; i++) {
        g_autoptr(GError) problem = NULL;

        if (ls_files_add(run->files, paths[i], &problem))
            continue;
        ls_builder_add_finding(run->builder, LS_FAULT, paths[i], -1, -1, problem->message);
        if (first == NULL)
            first = g_steal_pointer(&problem);
    }
    if (run->files->paths->len > 0)
        return true;
    if (first != NULL)
        g_propagate_error(error, g_steal_pointer(&first));
    else
        g_set_error_literal(error, LS_ERROR, LS_ERROR_USAGE, "No file or folder was named.");
    return false;
}

/* Processes out of the files; one bad file among good ones is a finding, all bad ones an error. */
static bool
take_loaded(Run *run, GError **error)
{
    guint good = 0;

    for (guint i = 0; i < run->loaded->len; i++) {
        LsLoaded *loaded = &g_array_index(run->loaded, LsLoaded, i);

        if (loaded->error != NULL) {
            ls_builder_add_finding(run->builder, LS_FAULT, loaded->path, -1, -1,
                                   loaded->error->message);
            continue;
        }
        good++;
        if (loaded->processes->len == 0)
            ls_builder_add_finding(run->builder, LS_NOTE, loaded->path, -1, -1,
                                   "No events recorded: the file was begun and holds none.");
        while (loaded->processes->len > 0)
            g_ptr_array_add(run->processes, g_ptr_array_steal_index(loaded->processes, 0));
    }
    if (good > 0)
        return true;
    g_propagate_error(error, g_steal_pointer(&g_array_index(run->loaded, LsLoaded, 0).error));
    return false;
}

static void
add_file_findings(const Run *run)
{
    const GPtrArray *unknown = run->files->unknown;

    for (guint i = 0; i < unknown->len && i < UNKNOWN_LISTED_MAX; i++)
        ls_builder_add_finding(run->builder, LS_NOTE, g_ptr_array_index(unknown, i), -1, -1,
                               "The file is of no known format and was passed over.");
    if (unknown->len > UNKNOWN_LISTED_MAX) {
        g_autofree char *text =
            g_strdup_printf("%u more files are of no known format and were passed over.",
                            unknown->len - UNKNOWN_LISTED_MAX);

        ls_builder_add_finding(run->builder, LS_NOTE, NULL, -1, -1, text);
    }
    for (guint i = 0; i < run->files->rests->len; i++) {
        const LsLeftoverRest *rest = g_ptr_array_index(run->files->rests, i);

        ls_builder_add_finding(run->builder, LS_WARNING, rest->path, -1, rest->rank,
                               rest->sentence);
    }
    for (guint i = 0; i < run->files->problems->len; i++)
        ls_builder_add_finding(run->builder, LS_WARNING, NULL, -1, -1,
                               g_ptr_array_index(run->files->problems, i));
}

/* All processes onto one clock. */
static void
align(const Run *run)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    LsProcess *const *processes;
    size_t n = run->processes->len;
    LsPlacement *placements;
    int64_t begin_ns = 0;

    g_ptr_array_extend(all, run->processes, NULL, NULL);
    g_ptr_array_extend(all, run->observers, NULL, NULL);
    processes = (LsProcess *const *)all->pdata;
    placements = ls_align(processes, all->len);
    for (size_t i = 0; i < n; i++)
        if (placements[i].method == LS_CLOCK_REFERENCE &&
            processes[i]->rank.first_ns != LS_TIME_NONE)
            begin_ns = processes[i]->rank.first_ns;
    for (size_t i = 0; i < n; i++)
        ls_placement_apply(&placements[i], processes[i], begin_ns);
    ls_placements_free(placements, all->len);
}

static bool
has_gpu(const LsProcess *process)
{
    for (guint i = 0; i < process->tracks->len; i++) {
        LsTrackKind kind = ls_track_builder_get_kind(g_ptr_array_index(process->tracks, i));

        if (kind == LS_TRACK_STREAM || kind == LS_TRACK_COPIES)
            return true;
    }
    return false;
}

static LsClass
classify(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    static const char *const kinds[] = {
        [LS_TRACK_STEPS] = "steps",     [LS_TRACK_PHASES] = "phases",
        [LS_TRACK_STREAM] = "stream",   [LS_TRACK_COMMUNICATION] = "communication",
        [LS_TRACK_COPIES] = "copies",   [LS_TRACK_CYCLES] = "cycles",
        [LS_TRACK_TENSOR] = "tensor",   [LS_TRACK_THREAD] = "thread",
        [LS_TRACK_COUNTER] = "counter",
    };
    const Run *run = user;
    bool gpu = g_array_index(run->has_gpu, bool, ls_track_builder_get_rank(track));

    if (category[0] == '\0')
        category = kinds[ls_track_builder_get_kind(track)];
    return ls_rules_classify(run->rules, source, gpu, category, name);
}

/* What rank 0 says is a fact of the run; where another rank says otherwise, that is a fact of its
 * own. */
static void
add_facts(const Run *run)
{
    const LsProcess *first = run->processes->len > 0 ? run->processes->pdata[0] : NULL;
    GHashTableIter iter;
    void *key, *value;

    for (guint i = 1; i < run->processes->len; i++) {
        const LsProcess *process = run->processes->pdata[i];

        g_hash_table_iter_init(&iter, process->facts);
        while (g_hash_table_iter_next(&iter, &key, &value)) {
            g_autofree char *own = g_strdup_printf("rank.%d.%s", process->rank.rank, (char *)key);

            if (g_strcmp0(g_hash_table_lookup(first->facts, key), value) != 0)
                ls_builder_set_fact(run->builder, own, value);
        }
        g_hash_table_remove_all(process->facts);
    }
    g_hash_table_iter_init(&iter, run->files->facts);
    while (g_hash_table_iter_next(&iter, &key, &value))
        ls_builder_set_fact(run->builder, key, value);
}

/* In the order of (rank, life), which is that of the trace: has_gpu keeps its indices. */
static void
take_processes(Run *run)
{
    while (run->processes->len > 0) {
        LsProcess *process = g_ptr_array_steal_index(run->processes, 0);
        bool gpu = has_gpu(process);

        g_array_append_val(run->has_gpu, gpu);
        ls_builder_take(run->builder, process);
    }
}

static LsTrace *
make_trace(Run *run, const char *const *paths, size_t n_paths, LsProgress *progress, GError **error)
{
    if (!list_files(run, paths, n_paths, error))
        return NULL;
    run->loaded = ls_loader_run(run->files, 0.7, progress, error);
    if (run->loaded == NULL || !take_loaded(run, error))
        return NULL;
    add_file_findings(run);
    ls_progress_set(progress, "Aligning clocks", 0.7);
    run->observers = ls_observers_part(run->processes);
    ls_identity_find_ranks(run->processes);
    for (guint i = 0; i < run->processes->len; i++)
        ls_leftovers_check_closed(g_ptr_array_index(run->processes, i));
    ls_horovod_take_timeline(run->processes);
    align(run);
    ls_observers_end(g_steal_pointer(&run->observers), run->builder);
    ls_horovod_join(run->processes);
    ls_inner_mark(run->processes, run->builder);
    ls_runs_part(run->processes, run->builder);
    ls_identity_find_lives(run->processes);
    ls_identity_check_world(run->processes, run->builder);
    if (ls_progress_is_cancelled(progress, error))
        return NULL;
    ls_progress_set(progress, "Matching collectives", 0.8);
    add_facts(run);
    take_processes(run);
    ls_match_calls(run->builder);
    if (ls_progress_is_cancelled(progress, error))
        return NULL;
    ls_progress_set(progress, "Sorting", 0.85);
    return ls_builder_freeze(g_steal_pointer(&run->builder));
}

LsTrace *
ls_run_load(const char *const *paths, size_t n_paths, const char *rules_path, LsProgress *progress,
            GError **error)
{
    Run run = {.rules = ls_rules_load(rules_path, error)};
    LsTrace *trace;

    if (run.rules == NULL)
        return NULL;
    run.has_gpu = g_array_new(FALSE, FALSE, sizeof(bool));
    run.processes = g_ptr_array_new_with_free_func(free_process);
    run.builder = ls_builder_new(classify, &run);
    trace = make_trace(&run, paths, n_paths, progress, error);
    if (trace != NULL)
        ls_progress_set(progress, "Done", 1);
    ls_builder_free(run.builder);
    g_ptr_array_unref(run.processes);
    g_clear_pointer(&run.observers, g_ptr_array_unref);
    g_array_unref(run.has_gpu);
    g_clear_pointer(&run.loaded, g_array_unref);
    ls_files_free(run.files);
    ls_rules_free(run.rules);
    return trace;
}
