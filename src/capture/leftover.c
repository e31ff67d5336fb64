/* SPDX-License-Identifier: Apache-2.0
 *
 * One leftover: whose it is, and a copy of it in private memory from which all that makes no sense
 * is left out. The file is a dead process's last word, and may hold anything.
 */
#include "capture/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/encode.h"
#include "capture/process.h"
#include "capture/pump.h"

#define SHM_DIR    "/dev/shm"
#define BYTES_MAX  (UINT64_C(1) << 30)
#define UNIT_BYTES ((uint64_t)LS_AREA_UNIT)

static bool
read_at(int fd, void *data, uint64_t offset, uint64_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t n = pread(fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

static bool
is_file_name(const char *name)
{
    return name[0] == '\0' || (strncmp(name, "rank-", 5) == 0 && strchr(name, '/') == NULL);
}

static bool
check_header(LsAreaHeader *head)
{
    uint64_t rings_end = LS_AREA_RINGS + LS_AREA_UNITS_MAX * sizeof(LsRing);
    const LsAreaProgress *progress = &head->progress;
    head->boot_id[sizeof head->boot_id - 1] = '\0';
    head->host[sizeof head->host - 1] = '\0';
    head->folder[sizeof head->folder - 1] = '\0';
    head->file[sizeof head->file - 1] = '\0';
    if (head->magic != LS_AREA_MAGIC || head->version != LS_AREA_VERSION)
        return false;
    head->file_next[sizeof head->file_next - 1] = '\0';
    if (!is_file_name(head->file) || !is_file_name(head->file_next))
        return false;
    if (head->bytes > BYTES_MAX || head->text_offset != rings_end ||
        head->units_offset != rings_end + LS_AREA_TEXT_BYTES || head->bytes < head->units_offset)
        return false;
    if (atomic_load(&head->units_top) > LS_AREA_UNITS_MAX ||
        atomic_load(&head->units_top) * UNIT_BYTES > head->bytes - head->units_offset ||
        atomic_load(&head->text_used) > LS_AREA_TEXT_BYTES)
        return false;
    return head->block_bytes == 0 || (head->block_bytes > LS_CHUNK_ROOM_MIN &&
                                      head->max_bytes == head->block_bytes * LS_AREA_BLOCKS &&
                                      progress->position <= head->max_bytes);
}

/* Leaves out what is no ring; what lay in private memory is lost with its process. */
static void
check_ring(LsAreaHeader *copy, uint32_t unit, uint32_t top)
{
    LsRing *ring = ls_area_ring(copy, unit);
    uint32_t state = atomic_load(&ring->state);
    uint64_t write = atomic_load(&ring->write), read = atomic_load(&ring->read);
    if (state != LS_RING_LIVE && state != LS_RING_ENDED)
        return;
    if (ring->unit != unit || ring->units == 0 || ring->units > top - unit ||
        ring->mask != ring->units * (LS_AREA_UNIT / sizeof(LsRecord)) - 1 ||
        (ring->mask & (ring->mask + 1)) != 0 || write < read || write - read > ring->mask + 1) {
        atomic_store(&ring->state, LS_RING_FREE);
        return;
    }
    ring->read_next = read;
    ring->discarded_next = ring->discarded;
    ring->discarded_told_next = ring->discarded_told;
    ring->dropped_told_next = atomic_load(&ring->dropped_told);
    ring->name_told_next = ring->name_told;
    if (ring->is_private != 0 && write > read) {
        int64_t now = atomic_load(&copy->alive_ns);
        ring->discarded_next = ring->discarded += write - read;
        ring->discarded_first_ns = ring->discarded_last_ns = now;
        ring->read_next = write;
        atomic_store(&ring->read, write);
    }
}

/* Shortens the text log to what is whole and lay in the file. */
static void
check_texts(LsAreaHeader *copy)
{
    const char *log = (const char *)copy + copy->text_offset;
    uint64_t used = atomic_load(&copy->text_used), shared = atomic_load(&copy->text_shared);
    uint64_t at = 0;
    bool is_boundary = copy->progress.text == 0;
    if (used > shared)
        used = shared;
    while (at + sizeof(LsAreaText) <= used) {
        LsAreaText entry;
        memcpy(&entry, log + at, sizeof entry);
        uint64_t next = (at + sizeof entry + entry.length + 3) & ~UINT64_C(3);
        if ((entry.kind != LS_RECORD_NAME && entry.kind != LS_RECORD_INFO) ||
            entry.length > LS_TEXT_MAX || next > used)
            break;
        at = next;
        is_boundary = is_boundary || at == copy->progress.text;
    }
    atomic_store(&copy->text_used, at);
    if (!is_boundary)
        copy->progress.text = 0;
}

LsStatus
ls_leftover_copy(LsCandidate *candidate)
{
    const LsAreaHeader *head = &candidate->head;
    LsAreaHeader *copy = mmap(NULL, head->bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        return LS_ERR_NO_MEMORY;
    candidate->copy = copy;
    uint32_t top = atomic_load(&head->units_top);
    if (!read_at(candidate->fd, copy, 0, head->text_offset) || !check_header(copy) ||
        atomic_load(&copy->units_top) != top ||
        !read_at(candidate->fd, (char *)copy + copy->text_offset, copy->text_offset,
                 atomic_load(&copy->text_used)) ||
        !read_at(candidate->fd, (char *)copy + copy->units_offset, copy->units_offset,
                 top * UNIT_BYTES))
        return LS_ERR_SYSTEM;
    ls_pump_settle(copy);
    check_texts(copy);
    copy->progress_next = copy->progress;
    copy->ringless_told_next = copy->ringless_told;
    copy->overwritten_next = copy->overwritten;
    for (uint32_t i = 0; i < top; i++) {
        check_ring(copy, i, top);
        LsRing *ring = ls_area_ring(copy, i);
        if (atomic_load(&ring->state) == LS_RING_LIVE || atomic_load(&ring->state) == LS_RING_ENDED)
            candidate->records += atomic_load(&ring->write) - atomic_load(&ring->read);
    }
    return LS_OK;
}

/* -- Whose is it -- */

LsOwner
ls_leftover_find_owner(const LsAreaHeader *head, bool is_own_dead)
{
    char boot_id[LS_BOOT_ID_MAX];
    ls_clock_boot_id(boot_id);
    if (strcmp(boot_id, head->boot_id) != 0) {
        char host[LS_AREA_NAME_MAX];
        if (gethostname(host, sizeof host) != 0)
            return LS_OWNER_ELSEWHERE;
        host[sizeof host - 1] = '\0';
        host[strcspn(host, ".")] = '\0';
        return strcmp(host, head->host) == 0 ? LS_OWNER_ENDED : LS_OWNER_ELSEWHERE;
    }
    /* Ours, of before an exec. */
    if (is_own_dead && head->pid == (uint32_t)getpid() &&
        head->start_ticks == ls_process_start_ticks(head->pid))
        return LS_OWNER_ENDED;
    return ls_process_has_ended(head->pid, head->start_ticks, head->pid_namespace) ? LS_OWNER_ENDED
                                                                                   : LS_OWNER_LIVES;
}

bool
ls_leftover_is_of(const LsAreaHeader *head, const LsAreaHeader *folder)
{
    if (head->folder_ino != folder->folder_ino)
        return false;
    /* A folder made anew under the old one's inode number is another. */
    if (head->folder_birth_ns != 0 && folder->folder_birth_ns != 0 &&
        head->folder_birth_ns != folder->folder_birth_ns)
        return false;
    return head->folder_dev == folder->folder_dev || strcmp(head->folder, folder->folder) == 0;
}

bool
ls_leftover_open(LsCandidate *candidate, const char *dir, const char *name, int flags)
{
    memset(candidate, 0, sizeof *candidate);
    int length = snprintf(candidate->path, sizeof candidate->path, "%s/%s", dir, name);
    candidate->fd = -1;
    if (length < 0 || (size_t)length >= sizeof candidate->path)
        return false;
    candidate->fd = open(candidate->path, flags | O_CLOEXEC | O_NOFOLLOW);
    if (candidate->fd < 0)
        return false;
    return read_at(candidate->fd, &candidate->head, 0, sizeof candidate->head) &&
           check_header(&candidate->head);
}

void
ls_leftover_close(LsCandidate *candidate)
{
    if (candidate->copy != NULL)
        munmap(candidate->copy, candidate->head.bytes);
    if (candidate->fd >= 0)
        close(candidate->fd);
}

bool
ls_leftover_is_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(LS_AREA_SUFFIX);
    return strncmp(name, LS_AREA_PREFIX, strlen(LS_AREA_PREFIX)) == 0 && length > suffix &&
           strcmp(name + length - suffix, LS_AREA_SUFFIX) == 0;
}

const char *
ls_leftover_find_dir(const char *shm_dir)
{
    if (shm_dir == NULL || shm_dir[0] == '\0')
        shm_dir = secure_getenv("LOCKSTEP_SHM_DIR");
    return shm_dir == NULL || shm_dir[0] == '\0' ? SHM_DIR : shm_dir;
}
