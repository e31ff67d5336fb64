/* SPDX-License-Identifier: Apache-2.0
 * base/memory.h: blocks of many megabytes. */
#pragma once

#include <stddef.h>

/* Says that the whole block will be used: where the system can, it comes in pages of 2 MB, and touching it
 * for the first time costs a tenth. Does nothing for small blocks. */
void ls_memory_expect(void *block, size_t bytes);
