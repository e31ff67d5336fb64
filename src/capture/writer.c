/* SPDX-License-Identifier: Apache-2.0
 *
 * The file is written at positions, never appended: after a death, whoever recovers writes over
 * what was not committed. mkdir and O_EXCL only, no locks, since run folders lie on NFS and Lustre.
 * Our descriptors are moved out of the way of 0, 1 and 2, and checked before each write: a host may
 * have closed them all.
 */
#include "capture/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/clock.h"

#define NAME_TRIES     1000
#define FD_LOWEST      200 /* above what programs count on, below a usual limit of 1024 */
#define CHECK_EVERY    (8u << 20)
#define CHECK_EVERY_NS INT64_C(1000000000)
#define FREE_PERCENT   5
#define CLEAR_BYTES    65536u
#define SUFFIX         ".lks"

/* fstat and stat of glibc before 2.33 are other symbols than of later ones: ask the kernel. */
static int
stat_fd(int fd, struct stat *ret_stat)
{
    return (int)syscall(SYS_fstat, fd, ret_stat);
}

static int
move_up(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_LOWEST);
    if (moved < 0 && fd >= 0 && fd <= 2)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

static void
set_folder(LsAreaHeader *header, uint64_t ino, uint32_t dev_major, uint32_t dev_minor)
{
    header->folder_ino = ino;
    header->folder_dev = (uint64_t)dev_major << 32 | dev_minor;
    header->folder_birth_ns = 0;
}

/* By statx, which knows when it was made; filters of older containers forbid that one. */
static bool
describe_folder(LsAreaHeader *header)
{
    struct statx found;
    struct stat plain;
    if (statx(AT_FDCWD, header->folder, AT_STATX_SYNC_AS_STAT, STATX_INO | STATX_BTIME, &found) ==
        0) {
        set_folder(header, found.stx_ino, found.stx_dev_major, found.stx_dev_minor);
        if ((found.stx_mask & STATX_BTIME) != 0)
            header->folder_birth_ns = found.stx_btime.tv_sec * 1000000000 + found.stx_btime.tv_nsec;
        return true;
    }
    int fd = errno == EPERM ? open(header->folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool is_found = fd >= 0 && stat_fd(fd, &plain) == 0;
    if (is_found)
        set_folder(header, plain.st_ino, major(plain.st_dev), minor(plain.st_dev));
    if (fd >= 0)
        close(fd);
    return is_found;
}

LsStatus
ls_writer_find_folder(const char *folder, LsAreaHeader *ret_header)
{
    /* Into memory of ours: a library of the address sanitizer that is loaded late calls the
     * realpath of the first glibc, which makes none. */
    char *path = malloc(PATH_MAX);
    if (path == NULL)
        return LS_ERR_NO_MEMORY;
    bool is_there = realpath(folder, path) != NULL;
    bool fits = is_there && strlen(path) < sizeof ret_header->folder;
    if (is_there && !fits)
        errno = ENAMETOOLONG;
    if (fits)
        memcpy(ret_header->folder, path, strlen(path) + 1);
    int error = errno;
    free(path);
    errno = error;
    return fits && describe_folder(ret_header) ? LS_OK : LS_ERR_SYSTEM;
}

LsStatus
ls_writer_make_folder(const char *folder, bool is_shared)
{
    if (mkdir(folder, is_shared ? 0777 : 0700) != 0 && errno != EEXIST)
        return LS_ERR_SYSTEM;
    int fd =
        open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* a file is no folder without rights */
    if (fd < 0)
        return LS_ERR_SYSTEM;
    close(fd);
    return access(folder, W_OK | X_OK) == 0 ? LS_OK : LS_ERR_SYSTEM;
}

/* Lives of this rank that have left a file here. */
static uint32_t
count_lives(int folder_fd, const char *prefix, size_t prefix_length)
{
    uint32_t n = 0;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, prefix, prefix_length) == 0 && length > strlen(SUFFIX) &&
            strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0)
            n++;
    }
    closedir(dir);
    return n;
}

static LsStatus
open_folder(LsWriter *writer, LsAreaHeader *header)
{
    memset(writer, 0, sizeof *writer);
    writer->fd = -1;
    writer->header = header;
    writer->has_space = true;
    writer->folder_fd = move_up(open(header->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (writer->folder_fd >= 0)
        return LS_OK;
    writer->error = errno;
    return LS_ERR_SYSTEM;
}

static LsStatus
adopt(LsWriter *writer, int fd)
{
    struct stat file_stat;
    if (fd < 0) {
        writer->error = errno;
        return LS_ERR_SYSTEM;
    }
    writer->fd = move_up(fd);
    if (stat_fd(writer->fd, &file_stat) != 0) {
        writer->error = errno;
        return LS_ERR_SYSTEM;
    }
    writer->dev = file_stat.st_dev;
    writer->ino = file_stat.st_ino;
    return LS_OK;
}

/* Not kept: the host may close it, and open something else under its number. */
static void
close_folder(LsWriter *writer)
{
    if (writer->folder_fd >= 0)
        close(writer->folder_fd);
    writer->folder_fd = -1;
}

static LsStatus
create(LsWriter *writer)
{
    LsAreaHeader *header = writer->header;
    char prefix[LS_AREA_NAME_MAX];
    uint32_t rank = atomic_load(&header->rank);
    int length = rank == LS_RANK_UNKNOWN ? snprintf(prefix, sizeof prefix, "rank-unknown.")
                                         : snprintf(prefix, sizeof prefix, "rank-%05u.", rank);
    snprintf(prefix + length, sizeof prefix - (size_t)length, "%.180s.%u", header->host,
             header->pid);
    /* Ranks that are not known cannot be told apart but by their process. */
    header->incarnation = count_lives(writer->folder_fd, prefix,
                                      rank == LS_RANK_UNKNOWN ? strlen(prefix) : (size_t)length);
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[LS_AREA_NAME_MAX] = "", counter[16] = "";
        if (i > 0)
            snprintf(counter, sizeof counter, ".%d", i);
        snprintf(name, sizeof name, "%.230s%s" SUFFIX, prefix, counter);
        memcpy(header->file_next, name, sizeof name);
        int fd = openat(writer->folder_fd, name,
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, header->file_mode);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd >= 0)
            memcpy(header->file, name, sizeof name);
        return adopt(writer, fd);
    }
    writer->error = EEXIST;
    return LS_ERR_SYSTEM;
}

/* The owner died between making the file and saying so. */
static LsStatus
adopt_empty(LsWriter *writer)
{
    LsAreaHeader *header = writer->header;
    struct stat file_stat;
    if (header->file_next[0] == '\0')
        return LS_ERR_OFF;
    int fd = openat(writer->folder_fd, header->file_next, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return LS_ERR_SYSTEM;
    if (stat_fd(fd, &file_stat) != 0 || file_stat.st_size != 0) {
        close(fd);
        return LS_ERR_OFF;
    }
    memcpy(header->file, header->file_next, sizeof header->file);
    return adopt(writer, fd);
}

LsStatus
ls_writer_create(LsWriter *writer, LsAreaHeader *header, int64_t keep_free)
{
    LsStatus status = open_folder(writer, header);
    if (status == LS_OK)
        status = create(writer);
    close_folder(writer);
    writer->keep_free = keep_free;
    if (status != LS_OK)
        ls_writer_close(writer);
    return status;
}

LsStatus
ls_writer_resume(LsWriter *writer, LsAreaHeader *header)
{
    LsStatus status = open_folder(writer, header);
    if (status != LS_OK)
        return status;
    if (header->file[0] == '\0')
        status = adopt_empty(writer) == LS_OK ? LS_OK : create(writer);
    else
        status = adopt(writer,
                       openat(writer->folder_fd, header->file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    close_folder(writer);
    if (status != LS_OK)
        ls_writer_close(writer);
    return status;
}

void
ls_writer_close(LsWriter *writer)
{
    struct stat file_stat;
    /* Not ours any more: leave it alone. */
    if (writer->fd >= 0 && stat_fd(writer->fd, &file_stat) == 0 &&
        file_stat.st_ino == writer->ino && file_stat.st_dev == writer->dev)
        close(writer->fd);
    writer->fd = -1;
    close_folder(writer);
}

static uint64_t
find_free_needed(const LsWriter *writer, const struct statvfs *disk)
{
    uint64_t share = (uint64_t)disk->f_blocks * disk->f_frsize / 100 * FREE_PERCENT;
    uint64_t bound = writer->keep_free < 0 ? 0 : (uint64_t)writer->keep_free;
    return share < bound ? share : bound;
}

/* The descriptor, opened anew if the host has closed or replaced it. */
static LsStatus
check_descriptor(LsWriter *writer)
{
    struct stat file_stat;
    char path[LS_AREA_PATH_MAX + LS_AREA_NAME_MAX + 2];
    if (writer->fd >= 0 && stat_fd(writer->fd, &file_stat) == 0 &&
        file_stat.st_ino == writer->ino && file_stat.st_dev == writer->dev)
        return LS_OK;
    writer->fd = -1;
    snprintf(path, sizeof path, "%s/%s", writer->header->folder, writer->header->file);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || stat_fd(fd, &file_stat) != 0 || file_stat.st_ino != writer->ino) {
        writer->error = fd < 0 ? errno : ESTALE;
        if (fd >= 0)
            close(fd);
        return LS_ERR_SYSTEM;
    }
    writer->fd = move_up(fd);
    return LS_OK;
}

bool
ls_writer_has_space(LsWriter *writer)
{
    struct statvfs disk;
    uint64_t position = writer->header->progress.position;
    int64_t now = ls_clock_now();
    if (position - writer->checked_at < CHECK_EVERY && now - writer->checked_ns < CHECK_EVERY_NS)
        return writer->has_space;
    writer->checked_at = position;
    writer->checked_ns = now;
    writer->has_space = true;
    if (check_descriptor(writer) == LS_OK && fstatvfs(writer->fd, &disk) == 0)
        writer->has_space =
            (uint64_t)disk.f_bavail * disk.f_frsize >= find_free_needed(writer, &disk);
    return writer->has_space;
}

static LsStatus
write_at(void *user, uint64_t position, const void *data, size_t bytes)
{
    LsWriter *writer = user;
    const char *at = data;
    LsStatus status = check_descriptor(writer);
    while (status == LS_OK && bytes > 0) {
        ssize_t n = pwrite(writer->fd, at, bytes, (off_t)position);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            writer->error = n == 0 ? ENOSPC : errno;
            status =
                writer->error == ENOSPC || writer->error == EDQUOT ? LS_ERR_FULL : LS_ERR_SYSTEM;
            writer->has_space = false;
            ls_writer_cut(writer);
            break;
        }
        at += n;
        bytes -= (size_t)n;
        position += (uint64_t)n;
    }
    return status;
}

static LsStatus
clear_at(void *user, uint64_t position, uint64_t bytes)
{
    static const char zeros[CLEAR_BYTES];
    LsStatus status = LS_OK;
    while (status == LS_OK && bytes > 0) {
        size_t part = bytes < sizeof zeros ? (size_t)bytes : sizeof zeros;
        status = write_at(user, position, zeros, part);
        position += part;
        bytes -= part;
    }
    return status;
}

void
ls_writer_cut(LsWriter *writer)
{
    const LsAreaProgress *progress = &writer->header->progress;
    if (progress->wrapped == 0 && check_descriptor(writer) == LS_OK &&
        ftruncate(writer->fd, (off_t)progress->position) != 0)
        writer->error = errno;
}

LsSink
ls_writer_sink(LsWriter *writer)
{
    return (LsSink){write_at, clear_at, writer};
}
