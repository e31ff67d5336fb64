/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/roster.h: items found by name, kept in the order in which they came.
 *
 * A hash table with chains through the items (FNV-1a), over a list; the table goes with the last
 * item. Libc only. POSIX's tsearch() compares names at every level and allocates a node an item: of
 * a burst of 1,000 small tensors that was an eighth of the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of what is kept. The roster owns neither item nor name. */
typedef struct LsRosterItem LsRosterItem;
struct LsRosterItem {
    char *name;
    LsRosterItem *previous, *next;
    LsRosterItem *chain; /* of the same bucket */
    uint32_t hash;
};

typedef struct LsRoster {
    LsRosterItem **buckets; /* owned */
    size_t n_buckets;
    LsRosterItem *first, *last;
    size_t n;
} LsRoster; /* all zero: empty */

/* NULL: not there. */
LsRosterItem *ls_roster_find(const LsRoster *roster, const char *name);
/* The name must not be there yet. false: out of memory. */
bool ls_roster_add(LsRoster *roster, LsRosterItem *item);
void ls_roster_remove(LsRoster *roster, LsRosterItem *item);
