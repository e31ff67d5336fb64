/* SPDX-License-Identifier: Apache-2.0
 * base/memory.h: blocks of many megabytes. */
#pragma once

#include <stddef.h>

/* Says that the whole block will be used: where the system can, it comes in pages of 2 MB, and
 * touching it for the first time costs a tenth. Does nothing for small blocks. */
void ls_memory_expect(void *block, size_t bytes);

/* As g_malloc and g_free, which they are for small blocks; a big one begins and ends with a page of
 * 2 MB and goes back to the system at once. What is never touched costs nothing. */
void *ls_memory_allocate(size_t bytes);
void ls_memory_free(void *block, size_t bytes);
