/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/cmd-program.c: `lockstep record` and `lockstep view`: programs of their own, since the one
 * runs where nothing but a C library is, and the other needs GTK. Each is executed in this one's
 * place.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Beside this program where it is installed; in its own folder where it was built; else in PATH. */
static char *
find_program(const char *name, const char *build_folder)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = self ? g_path_get_dirname(self) : NULL;
    if (folder) {
        g_autofree char *installed = g_build_filename(folder, name, NULL);
        g_autofree char *built = g_build_filename(folder, "..", "..", build_folder, name, NULL);
        if (g_file_test(installed, G_FILE_TEST_IS_EXECUTABLE))
            return g_steal_pointer(&installed);
        if (g_file_test(built, G_FILE_TEST_IS_EXECUTABLE))
            return g_steal_pointer(&built);
    }
    return g_find_program_in_path(name);
}

static int
execute(const char *command, const char *program, const char *build_folder, const char *needs,
        char **argv)
{
    g_autofree char *path = find_program(program, build_folder);
    if (!path) {
        fprintf(stderr,
                "lockstep %s: %s is neither beside lockstep nor in PATH; it is built where %s.\n",
                command, program, needs);
        return LS_EXIT_USAGE;
    }
    argv[0] = path;
    execv(path, argv);
    fprintf(stderr, "lockstep %s: %s cannot be executed: %s.\n", command, path, strerror(errno));
    return LS_EXIT_USAGE;
}

static bool
has_record(void)
{
    g_autofree char *path = find_program("lockstep-record", "tracer");
    return path != NULL;
}

static bool
has_view(void)
{
    g_autofree char *path = find_program("lockstep-view", "ui");
    return path != NULL;
}

static int
run_record(int argc, char **argv)
{
    return execute("record", "lockstep-record", "tracer", "the tracer is", argv);
}

static int
run_view(int argc, char **argv)
{
    return execute("view", "lockstep-view", "ui", "GTK 4.8 or later is installed", argv);
}

const LsCmd ls_cmd_record = {"record", "run a program and record it", run_record, has_record};
const LsCmd ls_cmd_view = {"view", "look at a run in a window", run_view, has_view};
