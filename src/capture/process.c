/* SPDX-License-Identifier: Apache-2.0
 *
 * A process is known by its number and its start time (field 22 of /proc/PID/stat), since numbers
 * come again. A zombie has ended only if no thread beside its main one runs: main may have called
 * pthread_exit.
 */
#include "capture/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/settings.h"

#define STAT_MAX         1024
#define START_TIME_FIELD 22

typedef struct Stat {
    char state;
    uint64_t start_ticks;
} Stat;

static bool
read_text(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, ret_text, size - 1);
    close(fd);
    ret_text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool
read_stat(const char *path, Stat *ret_stat)
{
    char text[STAT_MAX];
    if (!read_text(path, text, sizeof text))
        return false;
    /* The second field is the name in brackets, which may hold blanks and brackets itself. */
    char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ')
        return false;
    at += 2;
    ret_stat->state = *at;
    for (int field = 3; field < START_TIME_FIELD; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return false;
        at++;
    }
    at[strcspn(at, " \n")] = '\0';
    int64_t ticks;
    if (!ls_parse_number(at, &ticks))
        return false;
    ret_stat->start_ticks = (uint64_t)ticks;
    return true;
}

static bool
read_process_stat(uint32_t pid, Stat *ret_stat)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    return read_stat(path, ret_stat);
}

uint64_t
ls_process_start_ticks(uint32_t pid)
{
    Stat stat;
    return read_process_stat(pid, &stat) ? stat.start_ticks : 0;
}

uint64_t
ls_process_namespace(void)
{
    char text[64];
    ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    char *at = strchr(text, '[');
    int64_t number;
    if (at == NULL)
        return 0;
    at[strcspn(at, "]")] = '\0';
    return ls_parse_number(at + 1, &number) ? (uint64_t)number : 0;
}

static bool
is_gone(char state)
{
    return state == 'Z' || state == 'X' || state == 'x';
}

/* Threads of the process that have not ended; -1: cannot be read. */
static int
count_threads(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return -1;
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char file[128];
        Stat stat;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(file, sizeof file, "/proc/%u/task/%.20s/stat", pid, entry->d_name);
        if (read_stat(file, &stat) && !is_gone(stat.state))
            n++;
    }
    closedir(dir);
    return n;
}

bool
ls_process_has_ended(uint32_t pid, uint64_t start_ticks, uint64_t pid_namespace)
{
    Stat stat;
    if (pid_namespace == 0 || start_ticks == 0 || pid_namespace != ls_process_namespace())
        return false;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    if (!read_process_stat(pid, &stat))
        return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
    if (stat.start_ticks != start_ticks)
        return true;
    return is_gone(stat.state) && count_threads(pid) == 0;
}

bool
ls_process_has_left_main(void)
{
    char path[64], target[8];
    Stat stat;
    uint32_t pid = (uint32_t)getpid();
    /* A main thread that has ended has no program any more: asked without opening a file. */
    snprintf(path, sizeof path, "/proc/%u/task/%u/exe", pid, pid);
    if (readlink(path, target, sizeof target) >= 0 || errno != ENOENT)
        return false;
    return read_process_stat(pid, &stat) && is_gone(stat.state);
}

bool
ls_process_is_abandoned(int ours)
{
    int n = ls_process_has_left_main() ? count_threads((uint32_t)getpid()) : -1;
    return n >= 0 && n <= ours;
}
