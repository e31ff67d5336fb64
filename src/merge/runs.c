/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/runs.c: which processes ran together.
 *
 * A recorder that finds a job (MPI's name space, Slurm's job and step, `lockstep record`) writes
 * its id; where it finds none it makes one up for its process alone, and such ids say nothing of
 * who belongs together. A later run in which the recorder counted a rank's next life is a restart;
 * one that has no rank in common with the earlier, or claims the same life again, is another run
 * whose files were put beside them.
 */
#include "merge/runs.h"

#include <string.h>

#define FILES_LISTED 4

typedef struct LsRunFiles {
    const char *id;
    GPtrArray *processes; /* LsProcess */
    int64_t first_ns;
} LsRunFiles;

/* capture/identity.c: 128 random bits, or a time and a pid. */
static bool
is_made_up(const char *id)
{
    size_t digits = strspn(id, "0123456789"), hex = strspn(id, "0123456789abcdef");

    return (hex == 32 && id[32] == '\0') || (digits >= 12 && id[digits] == '.');
}

static void
free_run(void *data)
{
    LsRunFiles *run = data;

    g_ptr_array_unref(run->processes);
    g_free(run);
}

static int
compare_first(const void *a, const void *b)
{
    const LsRunFiles *x = *(LsRunFiles *const *)a, *y = *(LsRunFiles *const *)b;

    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* In the order in which they began. */
static GPtrArray *
find_runs(const GPtrArray *processes)
{
    GPtrArray *runs = g_ptr_array_new_with_free_func(free_run);
    g_autoptr(GHashTable) by_id = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = processes->pdata[i];
        const char *id = g_hash_table_lookup(process->facts, "run.id");
        LsRunFiles *run;

        if (id == NULL || is_made_up(id) || !process->rank.recorded)
            continue;
        run = g_hash_table_lookup(by_id, id);
        if (run == NULL) {
            run = g_new0(LsRunFiles, 1);
            run->id = id;
            run->processes = g_ptr_array_new();
            run->first_ns = INT64_MAX;
            g_hash_table_insert(by_id, (void *)(uintptr_t)id, run);
            g_ptr_array_add(runs, run);
        }
        g_ptr_array_add(run->processes, process);
        if (process->rank.first_ns != LS_TIME_NONE)
            run->first_ns = MIN(run->first_ns, process->rank.first_ns);
    }
    g_ptr_array_sort(runs, compare_first);
    return runs;
}

/* Whether the recorder of any rank counted it as the next life of one that `before` has, and none
 * claims a life that is there already. */
static bool
is_restart_of(const LsRunFiles *run, const LsRunFiles *before)
{
    bool counted = false;

    for (guint i = 0; i < run->processes->len; i++) {
        const LsRank *rank = &((const LsProcess *)run->processes->pdata[i])->rank;

        for (guint k = 0; k < before->processes->len; k++) {
            const LsRank *other = &((const LsProcess *)before->processes->pdata[k])->rank;

            if (rank->rank < 0 || rank->rank != other->rank)
                continue;
            if (rank->incarnation <= other->incarnation)
                return false;
            counted = true;
        }
    }
    return counted;
}

/* "run 8847361 (rank 0: rank-00000.gpu01.812.lks; rank 2: ... and 5 more)" */
static void
append_run(GString *text, const LsRunFiles *run)
{
    g_string_append_printf(text, "run %s (", run->id);
    for (guint i = 0; i < run->processes->len && i < FILES_LISTED; i++) {
        const LsRank *rank = &((const LsProcess *)run->processes->pdata[i])->rank;
        g_autofree char *name = g_path_get_basename(rank->source != NULL ? rank->source : "?");

        g_string_append_printf(text, "%srank %d: %s", i > 0 ? "; " : "", rank->rank, name);
    }
    if (run->processes->len > FILES_LISTED)
        g_string_append_printf(text, " and %u more", run->processes->len - FILES_LISTED);
    g_string_append_c(text, ')');
}

static void
add_finding(LsBuilder *builder, const GPtrArray *runs, bool restarts)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_append_printf(text,
                           restarts ? "The job was started %u times into this folder: "
                                    : "These are files of %u runs: ",
                           runs->len);
    for (guint i = 0; i < runs->len; i++) {
        g_string_append(text, i == 0 ? "" : i + 1 < runs->len ? ", " : " and ");
        append_run(text, runs->pdata[i]);
    }
    g_string_append(text,
                    ". All are shown, and nothing is compared between two of them; name the files "
                    "of one run to measure it.");
    ls_builder_add_finding(builder, restarts ? LS_NOTE : LS_WARNING, NULL, -1, -1, text->str);
}

void
ls_runs_part(const GPtrArray *processes, LsBuilder *builder)
{
    g_autoptr(GPtrArray) runs = find_runs(processes);
    bool restarts = true;

    for (guint i = 0; i < runs->len; i++) {
        const LsRunFiles *run = runs->pdata[i];

        for (guint k = 0; k < run->processes->len; k++)
            ((LsProcess *)run->processes->pdata[k])->rank.run = i;
        restarts = restarts && (i == 0 || is_restart_of(run, runs->pdata[i - 1]));
    }
    if (runs->len > 1)
        add_finding(builder, runs, restarts);
}
