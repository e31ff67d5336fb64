/* SPDX-License-Identifier: Apache-2.0
 *
 * Empty files, counted by their names: creating and listing is all that is asked of NFS and Lustre.
 * The pauses between two looks grow, since the folder of a large job is slow to list.
 */
#include "tracer/record-ends.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/clock.h"

#define ENDS_FOLDER ".ended"
#define MS          INT64_C(1000000)
#define QUIET_NS    (500 * MS)
#define LONGEST_NS  (2000 * MS)
#define PAUSE_MS    5
#define PAUSE_MAX   80

static bool
has_others(const LsIdentity *identity)
{
    return identity->rank >= 0 && identity->world > 1;
}

static void
name_mark(const char *folder, const LsIdentity *identity, char ret_path[LS_AREA_PATH_MAX + 32])
{
    snprintf(ret_path, LS_AREA_PATH_MAX + 32, "%s/" ENDS_FOLDER "/%d", folder, identity->rank);
}

void
ls_record_ends_begin(const char *folder, const LsIdentity *identity)
{
    char path[LS_AREA_PATH_MAX + 32];
    name_mark(folder, identity, path);
    if (has_others(identity))
        unlink(path);
}

void
ls_record_ends_mark(const char *folder, const LsIdentity *identity)
{
    char path[LS_AREA_PATH_MAX + 32];
    if (!has_others(identity))
        return;
    snprintf(path, sizeof path, "%s/" ENDS_FOLDER, folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return;
    name_mark(folder, identity, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static int
count_marks(const char *folder)
{
    char path[LS_AREA_PATH_MAX + 32];
    int n = 0;
    snprintf(path, sizeof path, "%s/" ENDS_FOLDER, folder);
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    if (dir != NULL)
        closedir(dir);
    return n;
}

void
ls_record_ends_wait(const char *folder, const LsIdentity *identity)
{
    int64_t begin_ns = ls_clock_now(), latest_ns = begin_ns;
    int64_t pause_ms = PAUSE_MS;
    int before = 0;
    while (has_others(identity)) {
        int n = count_marks(folder);
        int64_t now = ls_clock_now();
        if (n > before)
            latest_ns = now;
        before = n;
        if (n >= identity->world || now - latest_ns >= QUIET_NS || now - begin_ns >= LONGEST_NS)
            return;
        nanosleep(&(struct timespec){0, pause_ms * MS}, NULL);
        pause_ms = pause_ms * 2 > PAUSE_MAX ? PAUSE_MAX : pause_ms * 2;
    }
}
