/* SPDX-License-Identifier: Apache-2.0
 *
 * A GTask around ls_document_load. The job outlives the loader when the window gives it up: the
 * thread sees the cancel flag at its next look and its result is dropped.
 */
#include "ui/loader.h"

typedef struct LsJob {
    gatomicrefcount references;
    LsProgress *progress;
    char **paths;
    LsLoaded loaded; /* NULL: nobody waits any more; main thread only */
    void *user;
} LsJob;

struct LsLoader {
    LsJob *job;
};

static void
job_unref(void *data)
{
    LsJob *job = data;
    if (!g_atomic_ref_count_dec(&job->references))
        return;
    ls_progress_free(job->progress);
    g_strfreev(job->paths);
    g_free(job);
}

static void
load_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    LsJob *job = data;
    GError *error = NULL;
    LsDocument *document = ls_document_load((const char *const *)job->paths,
                                            g_strv_length(job->paths), job->progress, &error);
    if (document)
        g_task_return_pointer(task, document, (GDestroyNotify)ls_document_free);
    else
        g_task_return_error(task, error);
}

static void
finish(GObject *source, GAsyncResult *result, void *user)
{
    LsJob *job = g_task_get_task_data(G_TASK(result));
    g_autoptr(GError) error = NULL;
    LsDocument *document = g_task_propagate_pointer(G_TASK(result), &error);
    if (job->loaded)
        job->loaded(document, error, job->user);
    else
        ls_document_free(document);
}

LsLoader *
ls_loader_start(const char *const *paths, size_t n_paths, LsLoaded loaded, void *user)
{
    LsJob *job = g_new0(LsJob, 1);
    g_atomic_ref_count_init(&job->references);
    job->progress = ls_progress_new();
    job->paths = g_new0(char *, n_paths + 1);
    for (size_t i = 0; i < n_paths; i++)
        job->paths[i] = g_strdup(paths[i]);
    job->loaded = loaded;
    job->user = user;

    LsLoader *loader = g_new0(LsLoader, 1);
    loader->job = job;
    g_atomic_ref_count_inc(&job->references);

    GTask *task = g_task_new(NULL, NULL, finish, NULL);
    g_task_set_task_data(task, job, job_unref);
    g_task_run_in_thread(task, load_in_thread);
    g_object_unref(task);
    return loader;
}

void
ls_loader_free(LsLoader *loader)
{
    if (!loader)
        return;
    loader->job->loaded = NULL;
    ls_progress_cancel(loader->job->progress);
    job_unref(loader->job);
    g_free(loader);
}

double
ls_loader_get_progress(const LsLoader *loader, const char **ret_stage)
{
    return ls_progress_get(loader->job->progress, ret_stage);
}
