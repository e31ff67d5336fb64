/* SPDX-License-Identifier: Apache-2.0
 * Blocks of every size are whole, and a big one begins with a huge page. */
#include "base/memory.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

#define HUGE_PAGE ((size_t)2 << 20)

static void
test_blocks_are_whole(void)
{
    const size_t sizes[] = {0, 1, 4096, 2 * HUGE_PAGE - 1, 2 * HUGE_PAGE, 3 * HUGE_PAGE + 5};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        char *block = ls_memory_allocate(sizes[i]), *other = ls_memory_allocate(sizes[i]);
        if (sizes[i] > 0) {
            memset(block, 7, sizes[i]);
            memset(other, 9, sizes[i]);
            g_assert_cmpint(block[0], ==, 7);
            g_assert_cmpint(block[sizes[i] - 1], ==, 7);
        }
        if (sizes[i] >= 2 * HUGE_PAGE)
            g_assert_cmphex((uintptr_t)block % HUGE_PAGE, ==, 0);
        ls_memory_free(block, sizes[i]);
        if (sizes[i] > 0)
            g_assert_cmpint(other[sizes[i] - 1], ==, 9);
        ls_memory_free(other, sizes[i]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/memory/blocks-are-whole", test_blocks_are_whole);
    return g_test_run();
}
