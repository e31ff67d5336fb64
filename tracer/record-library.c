/* SPDX-License-Identifier: Apache-2.0
 *
 * A preloaded library with an absent symbol version keeps every program from starting, and a path
 * that is not there makes the loader print an error in every child. So each library is tried first,
 * in a child that does nothing else.
 */
#include "tracer/record-library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/compat.h"

LS_BIND_OLD(dlopen);

/* This program's own path; a root tree without /proc tells it by the word it was started with. */
static bool
find_self(char ret_path[LS_AREA_PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", ret_path, LS_AREA_PATH_MAX - 1);
    if (length > 0) {
        ret_path[length] = '\0';
        return true;
    }
    char *real = realpath((const char *)(uintptr_t)getauxval(AT_EXECFN), NULL);
    bool fits = real != NULL && strlen(real) < LS_AREA_PATH_MAX;
    if (fits)
        memcpy(ret_path, real, strlen(real) + 1);
    free(real);
    return fits;
}

bool
ls_record_find_own_folder(char ret_folder[LS_AREA_PATH_MAX])
{
    char *slash = find_self(ret_folder) ? strrchr(ret_folder, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return slash != NULL;
}

bool
ls_record_find_library(char ret_path[LS_AREA_PATH_MAX], const char *name)
{
    /* Built, in the kit, installed. */
    static const char *const places[] = {".", "../src/capture", "../lib",
                                         LS_LIBRARIES_FROM_PROGRAMS};
    char folder[LS_AREA_PATH_MAX], path[2 * LS_AREA_PATH_MAX];
    if (!ls_record_find_own_folder(folder))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s/lib%s.so", folder, places[i], name);
        char *real = realpath(path, NULL);
        bool fits = real != NULL && strlen(real) < LS_AREA_PATH_MAX;
        if (fits)
            memcpy(ret_path, real, strlen(real) + 1);
        free(real);
        if (fits)
            return true;
    }
    return false;
}

/* In the child: standard error into the pipe, and this program with the library. */
static void
start_with(const char *library, int out)
{
    char self[LS_AREA_PATH_MAX];
    dup2(out, STDERR_FILENO); /* first: it may be one of the others, where they were closed */
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    unsetenv("LOCKSTEP_RUN");
    if (find_self(self) && setenv("LD_PRELOAD", library, 1) == 0)
        execl(self, "lockstep-record", LS_RECORD_LOADS, (char *)NULL);
    _exit(127);
}

static void
read_line(int fd, char *ret_text, int size)
{
    int used = 0;
    for (ssize_t n; used < size - 1; used += (int)n) {
        n = read(fd, ret_text + used, (size_t)(size - 1 - used));
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            break;
    }
    ret_text[used] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
}

static int
wait_for(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

bool
ls_record_try_library(const char *path, char *ret_why, int size)
{
    int ends[2];
    snprintf(ret_why, (size_t)size, "%s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        start_with(path, ends[1]);
    close(ends[1]);
    if (pid > 0)
        read_line(ends[0], ret_why, size);
    close(ends[0]);
    int status = pid > 0 ? wait_for(pid) : -1;
    if (pid > 0 && ret_why[0] == '\0' && status != 0)
        snprintf(ret_why, (size_t)size, "a program that has it does not start (status %d)", status);
    return status == 0 && ret_why[0] == '\0';
}

bool
ls_record_can_load(const char *name)
{
    pid_t pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        _exit(dlopen(name, RTLD_LAZY | RTLD_LOCAL) == NULL);
    }
    return pid > 0 && wait_for(pid) == 0;
}
