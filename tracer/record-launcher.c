/* SPDX-License-Identifier: Apache-2.0
 *
 * Launchers start the ranks on other hosts with an environment of their own: record belongs behind
 * them. Where the launcher's own words end is found by its options that take a value, and by the
 * first word that is a program. torchrun starts its ranks as children, which inherit ours: it is no
 * launcher here.
 */
#include "tracer/record-launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/area.h"

static const char *const launchers[] = {"mpirun",  "mpiexec", "mpiexec.hydra", "orterun",
                                        "prterun", "prun",    "horovodrun",    "srun",
                                        "jsrun",   "aprun",   "ibrun"};

/* Options of launchers that take the next word (or two); more are told by what that word is. */
static const char *const one_value[] = {"-np",
                                        "-n",
                                        "-N",
                                        "-c",
                                        "-H",
                                        "-x",
                                        "-host",
                                        "--host",
                                        "-hosts",
                                        "--hosts",
                                        "-hostfile",
                                        "--hostfile",
                                        "-f",
                                        "-machinefile",
                                        "--machinefile",
                                        "--map-by",
                                        "-map-by",
                                        "--bind-to",
                                        "-bind-to",
                                        "--rank-by",
                                        "-wdir",
                                        "--wdir",
                                        "-wd",
                                        "-genv-list",
                                        "-ppn",
                                        "-p",
                                        "-w",
                                        "-A",
                                        "-t",
                                        "-J",
                                        "-o",
                                        "-e",
                                        "-D",
                                        "-G",
                                        "--prefix",
                                        "-prefix",
                                        "--output-filename",
                                        "--num-proc",
                                        "--min-np",
                                        "--max-np"};
static const char *const two_values[] = {"--mca",     "-mca",      "--gmca", "-gmca",
                                         "--prtemca", "--pmixmca", "-genv",  "-env"};

static bool
is_among(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}
#define IS_AMONG(word, words) is_among(word, words, sizeof words / sizeof words[0])

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool
is_program(const char *word)
{
    char path[LS_AREA_PATH_MAX];
    const char *folders = getenv("PATH");
    if (strchr(word, '/') != NULL)
        return access(word, X_OK) == 0;
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, word);
        if (access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* The word of the command at which the launcher's own end. */
static int
find_program(char **command)
{
    int first_plain = 0;
    for (int i = 1; command[i] != NULL; i++) {
        int skip = IS_AMONG(command[i], two_values) ? 2 : IS_AMONG(command[i], one_value) ? 1 : 0;
        while (skip > 0 && command[i + 1] != NULL) {
            i++;
            skip--;
        }
        if (skip > 0 || command[i][0] == '-' || (i > 1 && IS_AMONG(command[i - 1], one_value)) ||
            (i > 2 && IS_AMONG(command[i - 2], two_values)))
            continue;
        if (first_plain == 0 && strspn(command[i], "0123456789") != strlen(command[i]))
            first_plain = i;
        if (is_program(command[i]))
            return i;
    }
    return first_plain;
}

/* As a shell would read it. */
static void
print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+./,:@%{}~^";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        fprintf(stderr, " %s", word);
        return;
    }
    fputs(" '", stderr);
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            fputs("'\\''", stderr);
        else
            fputc(*word, stderr);
    }
    fputc('\'', stderr);
}

bool
ls_record_refuse_launcher(const char *self, char **argv, int n_ours, char **command)
{
    const char *launcher = base_name(command[0]);
    if (!IS_AMONG(launcher, launchers))
        return false;
    int program = find_program(command);
    fprintf(stderr, "lockstep record: %s starts the ranks, so record goes behind it:\n ", launcher);
    for (int i = 0; program == 0 ? i < 1 : i < program; i++)
        print_word(command[i]);
    fprintf(stderr, " %s", self);
    for (int i = 1; i < n_ours; i++) {
        if (strcmp(argv[i], "--") != 0)
            print_word(argv[i]);
    }
    print_word("--");
    for (int i = program == 0 ? 1 : program; command[i] != NULL; i++)
        print_word(command[i]);
    fputc('\n', stderr);
    return true;
}

/* -- Containers -- */

/* Apptainer brings the environment, the home, /tmp and the working folder along, and nothing else.
 */
static bool
is_bound(char **command, const char *folder)
{
    static const char *const variables[] = {"APPTAINER_BIND", "APPTAINER_BINDPATH",
                                            "SINGULARITY_BIND", "SINGULARITY_BINDPATH"};
    char here[LS_AREA_PATH_MAX];
    const char *brought[] = {getenv("HOME"), "/tmp", getcwd(here, sizeof here)};
    for (size_t i = 0; i < sizeof brought / sizeof brought[0]; i++) {
        size_t length = brought[i] == NULL ? 0 : strlen(brought[i]);
        if (length > 1 && strncmp(folder, brought[i], length) == 0 &&
            (folder[length] == '/' || folder[length] == '\0'))
            return true;
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *paths = getenv(variables[i]);
        if (paths != NULL && strstr(paths, folder) != NULL)
            return true;
    }
    for (int i = 1; command[i] != NULL; i++) {
        if (strstr(command[i], folder) != NULL)
            return true;
    }
    return false;
}

void
ls_record_hint_container(char **command, const char *folder, const char *run)
{
    const char *engine = base_name(command[0]);
    if (strcmp(engine, "apptainer") == 0 || strcmp(engine, "singularity") == 0) {
        if (!is_bound(command, folder))
            fprintf(
                stderr,
                "lockstep: %s is not there inside the container, nothing in it is recorded; bind "
                "it: %s exec --bind %s --bind %s ...\n",
                folder, engine, folder, run);
    } else if (strcmp(engine, "docker") == 0 || strcmp(engine, "podman") == 0) {
        fprintf(
            stderr,
            "lockstep: %s hands no environment on, nothing in the container is recorded; record "
            "inside: %s run --volume %s:%s --volume %s:%s IMAGE %s/bin/lockstep-record -o %s -- "
            "COMMAND\n",
            engine, engine, folder, folder, run, run, folder, run);
    }
}
