/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/files.c: a folder becomes a list of files.
 *
 * A folder is ours when it holds a run.json or a *.lks; what else lies there (logs, checkpoints) is
 * then nobody's business. In any other folder a file that no format knows is named, since somebody
 * may have thought it a trace.
 */
#include "merge/files.h"

#include "base/error.h"
#include "format/format.h"
#include "merge/leftovers.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <json-c/json.h>
#include <string.h>

LsFiles *
ls_files_new(void)
{
    LsFiles *files = g_new0(LsFiles, 1);

    files->paths = g_ptr_array_new_with_free_func(g_free);
    files->rests = ls_leftovers_new();
    files->unknown = g_ptr_array_new_with_free_func(g_free);
    files->problems = g_ptr_array_new_with_free_func(g_free);
    files->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return files;
}

void
ls_files_free(LsFiles *files)
{
    if (files == NULL)
        return;
    g_ptr_array_unref(files->paths);
    g_ptr_array_unref(files->rests);
    g_ptr_array_unref(files->unknown);
    g_ptr_array_unref(files->problems);
    g_hash_table_unref(files->facts);
    g_free(files);
}

/* "id" -> "run.id": of the run itself; what lies deeper keeps the name of its object. */
static char *
make_key(const char *prefix, const char *key)
{
    if (prefix != NULL)
        return g_strconcat(prefix, ".", key, NULL);
    if (g_str_equal(key, "id") || g_str_equal(key, "run_id"))
        return g_strdup("run.id");
    return g_strdup(key);
}

static char *
join_array(json_object *array)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < json_object_array_length(array); i++)
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
                               json_object_get_string(json_object_array_get_idx(array, i)));
    return g_string_free(text, FALSE);
}

static void
add_facts(LsFiles *files, const char *prefix, json_object *object)
{
    json_object_object_foreach(object, name, value)
    {
        g_autofree char *key = make_key(prefix, name);

        if (json_object_is_type(value, json_type_object))
            add_facts(files, key, value);
        else if (json_object_is_type(value, json_type_array))
            g_hash_table_insert(files->facts, g_steal_pointer(&key), join_array(value));
        else if (value != NULL)
            g_hash_table_insert(files->facts, g_steal_pointer(&key),
                                g_strdup(json_object_get_string(value)));
    }
}

static void
load_run_json(LsFiles *files, const char *path)
{
    g_autofree char *text = NULL;
    size_t length;
    json_object *root = NULL;

    if (g_file_get_contents(path, &text, &length, NULL))
        root = json_tokener_parse(text);
    if (root != NULL && json_object_is_type(root, json_type_object))
        add_facts(files, NULL, root);
    else
        g_ptr_array_add(
            files->problems,
            g_strdup_printf("%s is not a whole JSON object; the run's command, tags and "
                            "settings are not known.",
                            path));
    if (root != NULL)
        json_object_put(root);
}

static int
compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The visible names in a folder, sorted. */
static GPtrArray *
list_folder(const char *folder, GError **error)
{
    g_autoptr(GDir) dir = NULL;
    g_autoptr(GError) problem = NULL;
    GPtrArray *names;
    const char *name;

    dir = g_dir_open(folder, 0, &problem);
    if (dir == NULL) {
        g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "The folder cannot be read: %s.",
                    problem->message);
        return NULL;
    }
    names = g_ptr_array_new_with_free_func(g_free);
    while ((name = g_dir_read_name(dir)) != NULL)
        if (name[0] != '.')
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_paths);
    return names;
}

/* An empty file may be a trace that was begun; in a folder nothing says so. */
static bool
is_trace(const char *path)
{
    g_autoptr(GError) problem = NULL;
    GStatBuf status;

    return g_stat(path, &status) == 0 && status.st_size > 0 && ls_format_probe(path, &problem);
}

/* Rings of processes that never made a file are files themselves. */
static void
add_rests(LsFiles *files, const char *folder)
{
    guint before = files->rests->len;

    ls_leftovers_read(folder, files->rests);
    for (guint i = before; i < files->rests->len; i++) {
        const LsLeftoverRest *rest = g_ptr_array_index(files->rests, i);

        if (!rest->has_file && rest->chunks != NULL)
            g_ptr_array_add(files->paths, g_strdup(rest->path));
    }
}

/* What the wrappers of `lockstep record` measured between hosts. */
static void
add_clocks(LsFiles *files, const char *run)
{
    g_autofree char *folder = g_build_filename(run, ".clocks", NULL);
    g_autoptr(GPtrArray) names =
        g_file_test(folder, G_FILE_TEST_IS_DIR) ? list_folder(folder, NULL) : NULL;

    for (guint i = 0; names != NULL && i < names->len; i++) {
        g_autofree char *path = g_build_filename(folder, g_ptr_array_index(names, i), NULL);

        if (g_str_has_suffix(path, ".lks") && is_trace(path))
            g_ptr_array_add(files->paths, g_steal_pointer(&path));
    }
}

static bool
add_folder(LsFiles *files, const char *folder, GError **error)
{
    g_autoptr(GPtrArray) names = list_folder(folder, error);
    g_autoptr(GPtrArray) unknown = g_ptr_array_new_with_free_func(g_free);
    guint before = files->paths->len;
    bool ours = false;

    if (names == NULL)
        return false;
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        bool native = g_str_has_suffix(name, ".lks");

        if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
            if (native)
                g_ptr_array_add(
                    files->problems,
                    g_strdup_printf("%s is no regular file and was passed over.", path));
            continue;
        }
        if (g_str_equal(name, "run.json")) {
            load_run_json(files, path);
            ours = true;
        } else if (native || is_trace(path)) {
            g_ptr_array_add(files->paths, g_steal_pointer(&path));
            ours |= native;
        } else {
            g_ptr_array_add(unknown, g_steal_pointer(&path));
        }
    }
    add_rests(files, folder);
    if (files->paths->len == before) {
        g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE,
                    "The folder %s holds no trace file: expected *.lks, or a file that `lockstep "
                    "info` knows.",
                    folder);
        return false;
    }
    add_clocks(files, folder);
    for (guint i = 0; !ours && i < unknown->len; i++)
        g_ptr_array_add(files->unknown, g_strdup(g_ptr_array_index(unknown, i)));
    return true;
}

bool
ls_files_add(LsFiles *files, const char *path, GError **error)
{
    GStatBuf status;

    if (g_stat(path, &status) != 0) {
        int code = errno;

        if (path[0] == '\0')
            g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE,
                        "The name of the file or folder is empty.");
        else if (code == ENOENT)
            g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "There is no file or folder %s.", path);
        else
            g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "%s cannot be read: %s.", path,
                        g_strerror(code));
        return false;
    }
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return add_folder(files, path, error);
    g_ptr_array_add(files->paths, g_strdup(path));
    return true;
}
