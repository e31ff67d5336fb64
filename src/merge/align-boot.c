/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/align-boot.c: processes of the same boot of the same machine read the same clock: offset 0,
 * and nothing moves. So does a process that is only known through another's file (the ranks whose
 * ticks stand in rank 0's timeline): its times were taken by the clock of the one who wrote.
 */
#include "merge/align-private.h"

static char *
get_boot_key(const LsRank *rank)
{
    if (rank->boot_id == NULL || rank->boot_id[0] == '\0')
        return NULL;
    return g_strconcat("boot ", rank->boot_id, NULL);
}

static char *
get_file_key(const LsRank *rank)
{
    return rank->source == NULL ? NULL : g_strconcat("file ", rank->source, NULL);
}

static void
add_key(GHashTable *placed, char *key, size_t process)
{
    if (key != NULL)
        g_hash_table_insert(placed, key, GSIZE_TO_POINTER(process + 1));
}

static bool
place(LsAlign *align)
{
    g_autoptr(GHashTable) placed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool any = false;

    for (size_t i = 0; i < align->n; i++)
        if (ls_align_is_placed(align, i)) {
            add_key(placed, get_boot_key(&align->processes[i]->rank), i);
            add_key(placed, get_file_key(&align->processes[i]->rank), i);
        }
    for (size_t i = 0; i < align->n; i++) {
        const LsRank *rank = &align->processes[i]->rank;
        g_autofree char *key = NULL;
        size_t through;

        if (ls_align_is_placed(align, i))
            continue;
        key = rank->recorded ? get_boot_key(rank) : get_file_key(rank);
        through = key != NULL ? GPOINTER_TO_SIZE(g_hash_table_lookup(placed, key)) : 0;
        if (through == 0)
            continue;
        ls_align_set(align, i, through - 1, LS_CLOCK_SAME_BOOT, NULL);
        any = true;
    }
    return any;
}

const LsAlignMethod ls_align_boot = {LS_CLOCK_SAME_BOOT, place};
