/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/loader.c: files loaded by a pool of threads. Each has a progress of its own; the caller's
 * thread adds them up and hands the wish to stop on to them.
 */
#include "merge/loader.h"

#include "format/format.h"
#include "merge/leftovers.h"

#define LOOK_EVERY_US 50000

typedef struct Pool {
    GArray *results;    /* LsLoaded */
    LsProgress **parts; /* of each file */
    GAsyncQueue *done;
    const LsFiles *files;
} Pool;

static void
free_process(void *data)
{
    ls_process_free(data);
}

static void
clear_loaded(void *data)
{
    LsLoaded *loaded = data;

    g_free(loaded->path);
    g_ptr_array_unref(loaded->processes);
    g_clear_error(&loaded->error);
}

static const LsLeftoverRest *
find_rest(const LsFiles *files, const char *path)
{
    for (guint i = 0; i < files->rests->len; i++) {
        const LsLeftoverRest *rest = g_ptr_array_index(files->rests, i);

        if (rest->chunks != NULL && g_str_equal(rest->path, path))
            return rest;
    }
    return NULL;
}

static void
load_with_rest(LsLoaded *loaded, const LsLeftoverRest *rest, LsProgress *progress)
{
    g_autofree char *bytes = NULL;
    size_t length = 0;
    GByteArray *joined;

    if (rest->has_file)
        g_file_get_contents(loaded->path, &bytes, &length, NULL);
    joined = ls_leftovers_join(bytes, length, rest);
    ls_format_load_bytes(joined->data, joined->len, loaded->path, loaded->processes, progress,
                         &loaded->error);
    g_byte_array_unref(joined);
}

static void
load_file(void *data, void *user)
{
    Pool *pool = user;
    size_t i = GPOINTER_TO_SIZE(data) - 1;
    LsLoaded *loaded = &g_array_index(pool->results, LsLoaded, i);
    const LsLeftoverRest *rest = find_rest(pool->files, loaded->path);
    bool cancelled = ls_progress_is_cancelled(pool->parts[i], &loaded->error);

    if (!cancelled && rest != NULL)
        load_with_rest(loaded, rest, pool->parts[i]);
    else if (!cancelled)
        ls_format_load(loaded->path, loaded->processes, pool->parts[i], &loaded->error);
    ls_progress_set(pool->parts[i], "Loading", 1);
    g_async_queue_push(pool->done, data);
}

static void
add_up(const Pool *pool, size_t n, double share, LsProgress *progress)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ls_progress_get(pool->parts[i], NULL);
    ls_progress_set(progress, "Loading", share * sum / (double)n);
}

GArray *
ls_loader_run(const LsFiles *files, double share, LsProgress *progress, GError **error)
{
    size_t n = files->paths->len, left = n;
    Pool pool = {g_array_new(FALSE, TRUE, sizeof(LsLoaded)), g_new(LsProgress *, n),
                 g_async_queue_new(), files};
    GThreadPool *threads =
        g_thread_pool_new(load_file, &pool, (gint)g_get_num_processors(), FALSE, NULL);
    bool cancelled = false;

    g_array_set_clear_func(pool.results, clear_loaded);
    for (size_t i = 0; i < n; i++) {
        LsLoaded loaded = {g_strdup(g_ptr_array_index(files->paths, i)),
                           g_ptr_array_new_with_free_func(free_process), NULL};

        g_array_append_val(pool.results, loaded);
        pool.parts[i] = ls_progress_new();
    }
    for (size_t i = 0; i < n; i++)
        g_thread_pool_push(threads, GSIZE_TO_POINTER(i + 1), NULL);
    while (left > 0) {
        if (g_async_queue_timeout_pop(pool.done, LOOK_EVERY_US) != NULL)
            left--;
        add_up(&pool, n, share, progress);
        if (cancelled || !ls_progress_is_cancelled(progress, error))
            continue;
        cancelled = true;
        for (size_t i = 0; i < n; i++)
            ls_progress_cancel(pool.parts[i]);
    }
    g_thread_pool_free(threads, FALSE, TRUE);
    for (size_t i = 0; i < n; i++)
        ls_progress_free(pool.parts[i]);
    g_free(pool.parts);
    g_async_queue_unref(pool.done);
    if (cancelled)
        g_clear_pointer(&pool.results, g_array_unref);
    return pool.results;
}
