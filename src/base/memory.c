/* SPDX-License-Identifier: Apache-2.0
 *
 * base/memory.c: asks for huge pages (Linux). The advice covers whole pages around the block, that
 * is the whole mapping that malloc made for it: on a part of it, the mapping would fall into pieces
 * that realloc cannot move but must copy. Measured: loading 10 million spans spent half its time in
 * page faults of 4 KB.
 *
 * Big blocks are mappings of their own: malloc, once it has freed a block of up to 32 MB, takes the
 * next ones from its heap, which it cannot give back: three loads of 250 MB held 820.
 */
#include "base/memory.h"

#include <glib.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define BIG_BYTES (2 * HUGE_PAGE) /* below, none may fit */

void
ls_memory_expect(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)block & ~(page - 1);
    uintptr_t end = ((uintptr_t)block + bytes + page - 1) & ~(page - 1);
    if (bytes >= BIG_BYTES)
        madvise((void *)start, end - start, MADV_HUGEPAGE); /* advice: a failure changes nothing */
#endif
}

static size_t
round_up(size_t bytes)
{
    return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

/* A mapping that begins at a huge page: what stands over at both ends goes back. */
static void *
map(size_t bytes)
{
    size_t with_margin = bytes + HUGE_PAGE;
    char *mapped =
        mmap(NULL, with_margin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        g_error("No memory: %zu bytes could not be had.", with_margin);
    size_t before = -(uintptr_t)mapped & (HUGE_PAGE - 1);
    if (before > 0)
        munmap(mapped, before);
    munmap(mapped + before + bytes, HUGE_PAGE - before);
    return mapped + before;
}

void *
ls_memory_allocate(size_t bytes)
{
    if (bytes < BIG_BYTES)
        return g_malloc(bytes);
    g_assert(bytes <= SIZE_MAX / 2);
    void *block = map(round_up(bytes));
    ls_memory_expect(block, round_up(bytes));
    return block;
}

void
ls_memory_free(void *block, size_t bytes)
{
    if (bytes < BIG_BYTES)
        g_free(block);
    else
        munmap(block, round_up(bytes));
}
