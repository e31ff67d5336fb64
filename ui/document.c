/* SPDX-License-Identifier: Apache-2.0
 *
 * The chain from files to what the window shows, in the order of the flow: load and merge,
 * activity, model, headline; with a look at the cancel flag between the links.
 */
#include "ui/document.h"

#include "merge/run.h"

static uint32_t
count_hosts(const LsRank *ranks, size_t n)
{
    g_autoptr(GHashTable) hosts = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < n; i++)
        if (ranks[i].host)
            g_hash_table_add(hosts, ranks[i].host);
    return g_hash_table_size(hosts);
}

static char *
format_subtitle(const LsDocument *document)
{
    size_t n_ranks, n_steps;
    const LsRank *ranks = ls_trace_get_ranks(document->trace, &n_ranks);
    ls_model_get_steps(document->model, &n_steps);
    uint32_t hosts = count_hosts(ranks, n_ranks);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%zu rank%s", n_ranks, n_ranks == 1 ? "" : "s");
    if (hosts > 0)
        g_string_append_printf(text, " on %u host%s", hosts, hosts == 1 ? "" : "s");
    if (n_steps > 0)
        g_string_append_printf(text, ", %zu step%s", n_steps, n_steps == 1 ? "" : "s");
    for (size_t i = 0; i < n_ranks; i++) {
        if (ranks[i].test_double) {
            g_string_append(text, " · CPU test double");
            break;
        }
    }
    return g_string_free(text, FALSE);
}

static char *
format_title(const char *const *paths, size_t n_paths)
{
    g_autofree char *absolute = g_canonicalize_filename(paths[0], NULL);
    g_autofree char *name = g_path_get_basename(absolute);
    if (n_paths == 1)
        return g_filename_display_name(name);
    g_autofree char *shown = g_filename_display_name(name);
    return g_strdup_printf("%s and %zu more", shown, n_paths - 1);
}

LsDocument *
ls_document_load(const char *const *paths, size_t n_paths, LsProgress *progress, GError **error)
{
    g_return_val_if_fail(n_paths > 0, NULL);

    g_autoptr(LsDocument) document = g_new0(LsDocument, 1);
    document->trace = ls_run_load(paths, n_paths, NULL, progress, error);
    if (!document->trace)
        return NULL;
    ls_progress_set(progress, "What each rank did", 0.8);
    document->activity = ls_activity_new(document->trace);
    if (ls_progress_is_cancelled(progress, error))
        return NULL;
    ls_progress_set(progress, "Indexing", 0.9);
    document->model = ls_model_new(document->trace, document->activity);
    if (ls_progress_is_cancelled(progress, error))
        return NULL;
    ls_progress_set(progress, "Summing up", 0.95);
    LsAnalysisInput input = {
        .trace = document->trace,
        .activity = document->activity,
        .step_first = INT64_MIN,
        .step_last = INT64_MAX,
    };
    document->headline = ls_headline_new(&input);
    ls_headline_say_whole_run(document->headline); /* the window shows a step of it */
    document->title = format_title(paths, n_paths);
    document->subtitle = format_subtitle(document);
    return g_steal_pointer(&document);
}

void
ls_document_free(LsDocument *document)
{
    if (!document)
        return;
    g_clear_pointer(&document->headline, ls_headline_free);
    g_clear_pointer(&document->model, ls_model_free);
    g_clear_pointer(&document->activity, ls_activity_free);
    g_clear_pointer(&document->trace, ls_trace_unref);
    g_free(document->title);
    g_free(document->subtitle);
    g_free(document);
}

bool
ls_document_is_empty(const LsDocument *document)
{
    return ls_trace_get_last_ns(document->trace) <= ls_trace_get_first_ns(document->trace);
}
