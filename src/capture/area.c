/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, reserving and leaving the shared memory. Everything here runs on the slow paths: opening,
 * and the first record of a thread.
 */
#include "capture/area.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE          4096u
#define OPEN_TRIES    64
#define SHM_BYTES_MIN (6u << 20)
#define SHARE         32 /* of what bounds the host */

/* MAP_NORESERVE: address space only, until something is stored. */
#define PRIVATE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static uint64_t
clamp(int64_t value, uint64_t low, uint64_t high)
{
    if (value < 0 || (uint64_t)value < low)
        return low;
    return (uint64_t)value > high ? high : (uint64_t)value;
}

/* Of a host whose address space or data is bounded little is taken: the rest of the bound is its
 * own to use. */
static uint64_t
find_share(void)
{
    static const int bounds[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t share = UINT64_MAX;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)bounds[i], &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / SHARE < share)
            share = limit.rlim_cur / SHARE;
    }
    return share;
}

/* Growing a file beyond RLIMIT_FSIZE is SIGXFSZ, which ends the host. */
static bool
is_within_file_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

static int
reserve(int fd, uint64_t offset, uint64_t bytes)
{
    int result;
    do {
        result = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    } while (result == EINTR);
    return result;
}

typedef enum Backing { BACKED_BY_FILE, BACKED_PRIVATELY, NOT_BACKED } Backing;

/* Backs a part of the mapping: by the file, else by private memory. No descriptor is kept open: a
 * host that closes what it did not open, and reuses the number, is then no danger. */
static Backing
back(LsArea *area, uint64_t offset, uint64_t bytes)
{
    char *at = (char *)area->header + offset;
    Backing backing = BACKED_PRIVATELY;
    if (area->is_shared) {
        int fd = open(area->path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && reserve(fd, offset, bytes) == 0)
            backing = BACKED_BY_FILE;
        if (fd >= 0)
            close(fd);
        if (backing != BACKED_BY_FILE &&
            mmap(at, bytes, PROT_READ | PROT_WRITE, PRIVATE_FLAGS | MAP_FIXED, -1, 0) == MAP_FAILED)
            return NOT_BACKED;
    }
    madvise(at, bytes, MADV_DONTFORK);
    /* Now, and not at the first records: a page fault costs a hundred records. */
    for (uint64_t page = 0; page < bytes; page += PAGE)
        *(volatile char *)(at + page) = 0;
    return backing;
}

static int
create_file(LsArea *area, const LsAreaHeader *owner, const char *shm_dir)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        int length = snprintf(area->path, sizeof area->path,
                              "%s/" LS_AREA_PREFIX "%llx-%u.%llu-%d" LS_AREA_SUFFIX, shm_dir,
                              (unsigned long long)owner->folder_ino, owner->pid,
                              (unsigned long long)owner->start_ticks, i);
        if (length < 0 || (size_t)length >= sizeof area->path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(area->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int
map_file(LsArea *area, const LsAreaHeader *owner, const char *shm_dir, uint64_t first_bytes)
{
    int error = EFBIG;
    if (!is_within_file_limit(area->bytes))
        return error;
    int fd = create_file(area, owner, shm_dir);
    if (fd < 0)
        return errno;
    if (ftruncate(fd, (off_t)area->bytes) != 0) {
        error = errno;
        goto err_remove_file;
    }
    error = reserve(fd, 0, first_bytes);
    if (error != 0)
        goto err_remove_file;
    if (mmap(area->header, area->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
        error = errno;
        goto err_remove_file;
    }
    close(fd);
    return 0;

err_remove_file:
    close(fd);
    unlink(area->path);
    return error;
}

LsStatus
ls_area_open(LsArea *area, const LsAreaHeader *owner, const char *shm_dir, int64_t shm_bytes,
             int64_t ring_bytes, int *ret_shared_error)
{
    uint64_t units_offset = LS_AREA_RINGS + LS_AREA_UNITS_MAX * sizeof(LsRing) + LS_AREA_TEXT_BYTES;
    uint64_t bytes_max = units_offset + (uint64_t)LS_AREA_UNITS_MAX * LS_AREA_UNIT;
    if (area->header == NULL) {
        uint64_t share = find_share();
        if (shm_bytes > 0 && (uint64_t)shm_bytes > share)
            shm_bytes = (int64_t)share;
        area->bytes = clamp(shm_bytes, SHM_BYTES_MIN, bytes_max) & ~UINT64_C(4095);
        void *memory = mmap(NULL, area->bytes, PROT_READ | PROT_WRITE, PRIVATE_FLAGS, -1, 0);
        if (memory == MAP_FAILED)
            return LS_ERR_NO_MEMORY;
        area->header = memory;
    }
    area->units = (uint32_t)((area->bytes - units_offset) / LS_AREA_UNIT);
    area->ring_units = 1;
    while (area->ring_units * LS_AREA_UNIT < clamp(ring_bytes, LS_AREA_UNIT, 16 * LS_AREA_UNIT))
        area->ring_units *= 2;
    area->text_backed = 0;
    atomic_store(&area->free_units, 0);
    *ret_shared_error =
        map_file(area, owner, shm_dir, LS_AREA_RINGS + LS_AREA_UNITS_MAX * sizeof(LsRing));
    area->is_shared = *ret_shared_error == 0;
    madvise(area->header, area->bytes, MADV_DONTFORK);
    madvise(area->header, area->bytes, MADV_DONTDUMP);

    LsAreaHeader *header = area->header;
    memcpy(header, owner, sizeof *owner);
    header->text_offset = LS_AREA_RINGS + LS_AREA_UNITS_MAX * sizeof(LsRing);
    header->units_offset = units_offset;
    header->bytes = area->bytes;
    header->version = LS_AREA_VERSION;
    /* Last: a file without the magic is one whose owner died while making it. */
    atomic_thread_fence(memory_order_release);
    header->magic = LS_AREA_MAGIC;
    return LS_OK;
}

void
ls_area_close(LsArea *area)
{
    if (area->header == NULL)
        return;
    mmap(area->header, area->bytes, PROT_READ | PROT_WRITE, PRIVATE_FLAGS | MAP_FIXED, -1, 0);
    if (area->is_shared)
        unlink(area->path);
    area->is_shared = false;
}

/* Field by field, the state last: who drains looks at nothing else of a free ring. */
static void
set_up_ring(LsArea *area, LsRing *ring, uint32_t unit, uint32_t units, uint32_t thread)
{
    uint32_t n_records = units * (LS_AREA_UNIT / (uint32_t)sizeof(LsRecord));
    uint32_t is_private = 0;
    for (uint32_t i = 0; i < units; i++)
        is_private |= ls_area_ring(area->header, unit + i)->is_private;
    atomic_store_explicit(&ring->write, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->read, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->dropped, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->name, 0, memory_order_relaxed);
    ring->look_at = n_records / 2;
    atomic_store_explicit(&ring->dropped_told, 0, memory_order_relaxed);
    ring->read_next = ring->dropped_told_next = 0;
    ring->discarded = ring->discarded_next = 0;
    ring->discarded_told = ring->discarded_told_next = 0;
    ring->name_told = ring->name_told_next = 0;
    ring->thread = thread;
    ring->unit = unit;
    ring->units = units;
    ring->mask = n_records - 1;
    ring->is_private = is_private;
    for (uint32_t i = 1; i < units; i++)
        atomic_store(&ls_area_ring(area->header, unit + i)->state, LS_RING_PART);
    atomic_store_explicit(&ring->state, LS_RING_LIVE, memory_order_release);
}

/* The first row of `units` free ones below the top. */
static bool
find_free(LsArea *area, uint32_t top, uint32_t units, uint32_t *ret_unit)
{
    uint32_t row = 0;
    for (uint32_t i = 0; i < top; i++) {
        uint32_t state =
            atomic_load_explicit(&ls_area_ring(area->header, i)->state, memory_order_acquire);
        row = state == LS_RING_FREE ? row + 1 : 0;
        if (row == units) {
            *ret_unit = i + 1 - units;
            return true;
        }
    }
    return false;
}

LsRing *
ls_area_take_ring(LsArea *area, uint32_t units, uint32_t thread)
{
    LsAreaHeader *header = area->header;
    uint32_t top = atomic_load_explicit(&header->units_top, memory_order_relaxed);
    uint32_t unit;
    bool is_used = atomic_load(&area->free_units) >= units && find_free(area, top, units, &unit);
    if (is_used) {
        atomic_fetch_sub(&area->free_units, units);
    } else {
        if (top + units > area->units)
            return NULL;
        unit = top;
        uint64_t offset = header->units_offset + (uint64_t)unit * LS_AREA_UNIT;
        Backing backing = back(area, offset, (uint64_t)units * LS_AREA_UNIT);
        if (backing == NOT_BACKED)
            return NULL;
        for (uint32_t i = 0; i < units; i++)
            ls_area_ring(header, unit + i)->is_private = backing == BACKED_PRIVATELY;
    }
    LsRing *ring = ls_area_ring(header, unit);
    set_up_ring(area, ring, unit, units, thread);
    if (!is_used)
        atomic_store_explicit(&header->units_top, top + units, memory_order_release);
    return ring;
}

void
ls_area_free_ring(LsArea *area, LsRing *ring)
{
    uint32_t units = ring->units;
    for (uint32_t i = units; i-- > 0;)
        atomic_store_explicit(&ls_area_ring(area->header, ring->unit + i)->state, LS_RING_FREE,
                              memory_order_release);
    atomic_fetch_add(&area->free_units, units);
}

bool
ls_area_add_text(LsArea *area, LsRecordKind kind, uint32_t id, const char *text, size_t length)
{
    LsAreaHeader *header = area->header;
    uint64_t used = atomic_load_explicit(&header->text_used, memory_order_relaxed);
    uint64_t after = (used + sizeof(LsAreaText) + length + 3) & ~UINT64_C(3);
    if (after > LS_AREA_TEXT_BYTES)
        return false;
    while (area->text_backed < after) {
        Backing backing = back(area, header->text_offset + area->text_backed, LS_AREA_TEXT_STEP);
        if (backing == NOT_BACKED)
            return false;
        if (backing == BACKED_BY_FILE && atomic_load(&header->text_shared) == area->text_backed)
            atomic_fetch_add(&header->text_shared, LS_AREA_TEXT_STEP);
        area->text_backed += LS_AREA_TEXT_STEP;
    }
    LsAreaText entry = {(uint16_t)kind, (uint16_t)length, id};
    char *at = (char *)header + header->text_offset + used;
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, text, length);
    atomic_store_explicit(&header->text_used, after, memory_order_release);
    return true;
}
