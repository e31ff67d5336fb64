/* SPDX-License-Identifier: Apache-2.0
 *
 * A leftover is copied into private memory, what makes no sense in it is left out, and the copy is
 * pumped: into memory for a reader, into the owner's file at the position of its last commit for
 * whoever recovers. The rings themselves are not changed, so that a second attempt after a death in
 * mid-recovery writes the same bytes to the same place. A lock on the rings (an open file
 * description's, gone with its holder) keeps two from writing at once; removing the rings ends it.
 */
#include "capture/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/clock.h"
#include "capture/leftover.h"
#include "capture/process.h"
#include "capture/pump.h"
#include "capture/settings.h"
#include "capture/writer.h"

/* -- For readers -- */

typedef struct Memory {
    uint8_t *data;
    size_t used, size;
} Memory;

static LsStatus
memory_write(void *user, uint64_t position_unused, const void *data, size_t bytes)
{
    Memory *memory = user;
    if (memory->size - memory->used < bytes) {
        size_t size = memory->size * 2 + bytes;
        uint8_t *grown = realloc(memory->data, size);
        if (grown == NULL)
            return LS_ERR_NO_MEMORY;
        memory->data = grown;
        memory->size = size;
    }
    memcpy(memory->data + memory->used, data, bytes);
    memory->used += bytes;
    return LS_OK;
}

static void
add_text(LsAreaHeader *copy, LsRecordKind kind, uint32_t id, const char *text)
{
    LsAreaText entry = {(uint16_t)kind, (uint16_t)strlen(text), id};
    uint64_t used = atomic_load(&copy->text_used);
    uint64_t after = (used + sizeof entry + entry.length + 3) & ~UINT64_C(3);
    if (after > LS_AREA_TEXT_BYTES)
        return;
    char *at = (char *)copy + copy->text_offset + used;
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, text, entry.length);
    atomic_store(&copy->text_used, after);
}

/* Everything, and the words that say how it came here; who only reads is told how by the visit. */
static LsStatus
pump_copy(LsAreaHeader *copy, const LsSink *sink, bool is_final)
{
    uint8_t *staging = malloc(LS_PUMP_STAGING);
    LsPump *pump = malloc(sizeof *pump);
    LsStatus status = LS_ERR_NO_MEMORY;
    int64_t now = atomic_load(&copy->alive_ns);
    uint32_t id = atomic_load(&copy->names) + 1;
    if (staging != NULL && pump != NULL) {
        add_text(copy, LS_RECORD_NAME, id, "recorder.end");
        add_text(copy, LS_RECORD_INFO, id, "recovered");
        add_text(
            copy, LS_RECORD_NAME, id + 1,
            "The process ended without closing its trace; what its rings still held was written "
            "by another.");
        LsRecord notice = {
            .kind = LS_RECORD_NOTICE, .name = id + 1, .start_ns = now, .end_ns = now, .args = {1}};
        ls_pump_open(pump, copy, NULL, sink, staging);
        status = ls_pump_pass(pump);
        if (status == LS_OK && is_final)
            status = ls_pump_word(pump, &notice);
        if (status == LS_OK && is_final)
            status = ls_pump_repeat(pump);
    }
    free(pump);
    free(staging);
    return status;
}

static void
visit_candidate(LsCandidate *candidate, LsOwner owner, LsLeftoverVisit visit, void *user)
{
    Memory memory = {NULL, 0, 0};
    const LsAreaHeader *head = &candidate->head;
    LsLeftover leftover = {.file = head->file,
                           .rings = candidate->path,
                           .host = head->host,
                           .is_elsewhere = owner == LS_OWNER_ELSEWHERE,
                           .rank = atomic_load(&head->rank),
                           .pid = head->pid,
                           .incarnation = head->incarnation};
    if (owner == LS_OWNER_ENDED) {
        LsSink sink = {memory_write, NULL, &memory};
        if (ls_leftover_copy(candidate) != LS_OK)
            return;
        leftover.sequence = candidate->copy->progress.sequence;
        leftover.records = candidate->records;
        candidate->copy->max_bytes = candidate->copy->block_bytes = 0;
        pump_copy(candidate->copy, &sink, false);
        leftover.chunks = memory.data;
        leftover.n_bytes = memory.used;
    }
    visit(user, &leftover);
    free(memory.data);
}

LsStatus
ls_recover_read(const char *folder, const char *shm_dir, LsLeftoverVisit visit, void *user)
{
    LsAreaHeader identity;
    memset(&identity, 0, sizeof identity);
    if (ls_writer_find_folder(folder, &identity) != LS_OK)
        return LS_ERR_SYSTEM;
    const char *dir_path = ls_leftover_find_dir(shm_dir);
    DIR *dir = opendir(dir_path);
    if (dir == NULL)
        return errno == ENOENT ? LS_OK : LS_ERR_SYSTEM;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        LsCandidate candidate;
        if (!ls_leftover_is_name(entry->d_name))
            continue;
        if (ls_leftover_open(&candidate, dir_path, entry->d_name, O_RDONLY) &&
            ls_leftover_is_of(&candidate.head, &identity)) {
            LsOwner owner = ls_leftover_find_owner(&candidate.head, false);
            if (owner != LS_OWNER_LIVES)
                visit_candidate(&candidate, owner, visit, user);
        }
        ls_leftover_close(&candidate);
    }
    closedir(dir);
    return LS_OK;
}

/* -- For recorders -- */

/* Mine alone, and still there? */
static bool
claim(const LsCandidate *candidate)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat rings;
    int result = fcntl(candidate->fd, F_OFD_SETLK, &lock);
    if (result != 0 && errno == EINVAL) /* before Linux 3.15 */
        result = fcntl(candidate->fd, F_SETLK, &lock);
    return result == 0 && syscall(SYS_fstat, candidate->fd, &rings) == 0 && rings.st_nlink > 0;
}

static LsStatus
write_candidate(LsCandidate *candidate, const LsAreaHeader *folder)
{
    LsWriter writer;
    LsStatus status = ls_leftover_copy(candidate);
    if (status != LS_OK)
        return status;
    LsAreaHeader *copy = candidate->copy;
    snprintf(copy->folder, sizeof copy->folder, "%s", folder->folder);
    status = ls_writer_resume(&writer, copy);
    if (status != LS_OK)
        return status;
    LsSink sink = ls_writer_sink(&writer);
    status = pump_copy(copy, &sink, true);
    if (status == LS_OK)
        ls_writer_cut(&writer);
    ls_writer_close(&writer);
    if (status == LS_OK)
        unlink(candidate->path);
    return status;
}

/* Rings of a dead process whose run folder is gone serve nobody, and take memory that others need.
 */
static void
sweep(const LsCandidate *candidate)
{
    struct statx folder;
    if (ls_leftover_find_owner(&candidate->head, false) == LS_OWNER_ENDED &&
        statx(AT_FDCWD, candidate->head.folder, AT_STATX_SYNC_AS_STAT, STATX_INO, &folder) != 0 &&
        errno == ENOENT && claim(candidate))
        unlink(candidate->path);
}

/* "lockstep-INODE-PID.START-N.rings" */
static bool
parse_name(const char *name, int64_t *ret_pid, int64_t *ret_start_ticks)
{
    char text[LS_AREA_NAME_MAX];
    snprintf(text, sizeof text, "%.200s", name + strlen(LS_AREA_PREFIX));
    char *pid = strchr(text, '-');
    char *start = pid == NULL ? NULL : strchr(pid, '.');
    char *end = start == NULL ? NULL : strchr(start, '-');
    if (end == NULL)
        return false;
    *start = *end = '\0';
    return ls_parse_number(pid + 1, ret_pid) && ls_parse_number(start + 1, ret_start_ticks);
}

/* Killed between making the file and writing its header: there is nothing in it, and nobody else
 * would ever take it away. Its name says whose it was; in another pid namespace one may be at it
 * this moment, so it has to be a second old. */
static void
sweep_unborn(const LsCandidate *candidate, const char *name)
{
    struct statx file;
    LsClockReading now;
    int64_t pid, start_ticks;
    ls_clock_pair(&now);
    if (candidate->fd < 0 || candidate->head.magic != 0 || !parse_name(name, &pid, &start_ticks) ||
        !ls_process_has_ended((uint32_t)pid, (uint64_t)start_ticks, ls_process_namespace()) ||
        statx(candidate->fd, "", AT_EMPTY_PATH, STATX_MTIME, &file) != 0 ||
        now.realtime_ns - file.stx_mtime.tv_sec * INT64_C(1000000000) < 2 * INT64_C(1000000000))
        return;
    if (claim(candidate))
        unlink(candidate->path);
}

LsStatus
ls_recover_folder(const char *folder, const char *except)
{
    LsAreaHeader identity;
    LsStatus status = LS_OK;
    memset(&identity, 0, sizeof identity);
    if (ls_writer_find_folder(folder, &identity) != LS_OK)
        return LS_ERR_SYSTEM;
    const char *dir_path = ls_leftover_find_dir(NULL);
    DIR *dir = opendir(dir_path);
    if (dir == NULL)
        return errno == ENOENT ? LS_OK : LS_ERR_SYSTEM;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        LsCandidate candidate;
        if (!ls_leftover_is_name(entry->d_name))
            continue;
        if (!ls_leftover_open(&candidate, dir_path, entry->d_name, O_RDWR)) {
            sweep_unborn(&candidate, entry->d_name);
        } else if (except == NULL || strcmp(candidate.path, except) != 0) {
            if (!ls_leftover_is_of(&candidate.head, &identity)) {
                sweep(&candidate);
            } else if (ls_leftover_find_owner(&candidate.head, except != NULL) == LS_OWNER_ENDED &&
                       claim(&candidate)) {
                LsStatus one = write_candidate(&candidate, &identity);
                status = one != LS_OK ? one : status;
            }
        }
        ls_leftover_close(&candidate);
    }
    closedir(dir);
    return status;
}
