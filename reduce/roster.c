/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/roster.c: a tree for finding, a list for the order.
 */
#include "reduce/roster.h"

#include <search.h>
#include <stdint.h>
#include <string.h>

static int
compare(const void *a, const void *b)
{
    return strcmp(((const LsRosterItem *)a)->name, ((const LsRosterItem *)b)->name);
}

LsRosterItem *
ls_roster_find(const LsRoster *roster, const char *name)
{
    /* Only the name of the key is read. */
    const LsRosterItem key = {.name = (char *)(uintptr_t)name};
    void *node = tfind(&key, &roster->tree, compare);
    return node == NULL ? NULL : *(LsRosterItem **)node;
}

bool
ls_roster_add(LsRoster *roster, LsRosterItem *item)
{
    if (tsearch(item, &roster->tree, compare) == NULL)
        return false;
    item->previous = roster->last;
    item->next = NULL;
    if (roster->last != NULL)
        roster->last->next = item;
    else
        roster->first = item;
    roster->last = item;
    roster->n++;
    return true;
}

void
ls_roster_remove(LsRoster *roster, LsRosterItem *item)
{
    tdelete(item, &roster->tree, compare);
    if (item->previous != NULL)
        item->previous->next = item->next;
    else
        roster->first = item->next;
    if (item->next != NULL)
        item->next->previous = item->previous;
    else
        roster->last = item->previous;
    roster->n--;
}
