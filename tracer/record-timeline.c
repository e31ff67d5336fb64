/* SPDX-License-Identifier: Apache-2.0
 *
 * Horovod flushes its timeline at every event, which on a shared file system can slow a job a
 * hundredfold: so it lies in /dev/shm or /tmp of the node while the job runs. Only rank 0 writes
 * one.
 */
#include "tracer/record-timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

/* statx, since stat asks for a newer libc than clusters have. */
static int64_t
last_written(const char *path)
{
    struct statx about;
    if (statx(AT_FDCWD, path, 0, STATX_MTIME, &about) != 0)
        return -1;
    return about.stx_mtime.tv_sec * INT64_C(1000000000) + about.stx_mtime.tv_nsec;
}

void
ls_record_timeline_open(LsRecordTimeline *ret_timeline, const LsRecordOptions *options,
                        const LsIdentity *identity)
{
    const char *users = getenv("HOROVOD_TIMELINE"), *place = getenv("TMPDIR");
    memset(ret_timeline, 0, sizeof *ret_timeline);
    if (options->horovod == NULL || strcmp(options->horovod, "1") != 0)
        return;
    if (users != NULL && users[0] != '\0') {
        snprintf(ret_timeline->path, sizeof ret_timeline->path, "%s", users);
        ret_timeline->written_ns = last_written(users);
        return;
    }
    if (place == NULL || access(place, W_OK) != 0)
        place = access("/tmp", W_OK) == 0 ? "/tmp" : "/dev/shm";
    snprintf(ret_timeline->path, sizeof ret_timeline->path, "%.900s/lockstep-horovod-%d-%d.json",
             place, identity->rank, (int)getpid());
    ret_timeline->is_ours = true;
    setenv("HOROVOD_TIMELINE", ret_timeline->path, 1);
    setenv("HOROVOD_TIMELINE_MARK_CYCLES", "1", 0);
}

/* Not what an earlier job has left there, nor what another rank copies. */
static bool
is_written_here(const LsRecordTimeline *timeline, int rank)
{
    return timeline->is_ours || (rank <= 0 && last_written(timeline->path) != timeline->written_ns);
}

static bool
copy(int from, int to)
{
    char *room = malloc(COPY_BYTES);
    bool is_whole = room != NULL;
    for (ssize_t n = 1; is_whole && n > 0;) {
        n = read(from, room, COPY_BYTES);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0 || (n > 0 && write(to, room, (size_t)n) != n))
            is_whole = false;
    }
    free(room);
    return is_whole;
}

void
ls_record_timeline_copy(LsRecordTimeline *timeline, const char *folder, int rank)
{
    char path[LS_AREA_PATH_MAX + 64], part[sizeof path + 16];
    int from = timeline->path[0] == '\0' || !is_written_here(timeline, rank)
                   ? -1
                   : open(timeline->path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return;
    snprintf(path, sizeof path, "%s/horovod-%05d.json", folder, rank < 0 ? 0 : rank);
    snprintf(part, sizeof part, "%s.part", path);
    int to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_whole =
        to >= 0 && lseek(from, 0, SEEK_END) > 0 && lseek(from, 0, SEEK_SET) == 0 && copy(from, to);
    close(from);
    if (to >= 0 && close(to) != 0)
        is_whole = false;
    if (is_whole)
        is_whole = rename(part, path) == 0;
    else if (to >= 0)
        unlink(part);
    /* What could not be copied stays where it is. */
    if (timeline->is_ours && is_whole)
        unlink(timeline->path);
}
