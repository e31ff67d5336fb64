/* SPDX-License-Identifier: Apache-2.0
 *
 * base/memory.c: asks for huge pages (Linux). The advice covers whole pages around the block, that
 * is the whole mapping that malloc made for it: on a part of it, the mapping would fall into pieces
 * that realloc cannot move but must copy. Measured: loading 10 million spans spent half its time in
 * page faults of 4 KB.
 */
#include "base/memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define BIG_BYTES ((size_t)4 << 20) /* two huge pages; below, none may fit */

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
