/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/roster.h: items found by name, kept in the order in which they came.
 *
 * POSIX's tsearch() tree over a list. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* First member of what is kept. The roster owns neither item nor name. */
typedef struct LsRosterItem LsRosterItem;
struct LsRosterItem {
    char *name; /* first: the tree's key */
    LsRosterItem *previous, *next;
};

typedef struct LsRoster {
    void *tree;
    LsRosterItem *first, *last;
    size_t n;
} LsRoster; /* all zero: empty */

/* NULL: not there. */
LsRosterItem *ls_roster_find(const LsRoster *roster, const char *name);
/* The name must not be there yet. false: out of memory. */
bool ls_roster_add(LsRoster *roster, LsRosterItem *item);
void ls_roster_remove(LsRoster *roster, LsRosterItem *item);
