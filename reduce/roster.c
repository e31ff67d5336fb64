/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/roster.c: a hash table for finding, a list for the order.
 */
#include "reduce/roster.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 16

static uint32_t
hash_of(const char *text)
{
    uint32_t hash = 0x811c9dc5u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x01000193u;
    return hash;
}

static LsRosterItem **
bucket_of(const LsRoster *roster, uint32_t hash)
{
    return &roster->buckets[hash & (roster->n_buckets - 1)];
}

static void
chain(LsRoster *roster, LsRosterItem *item)
{
    LsRosterItem **bucket = bucket_of(roster, item->hash);
    item->chain = *bucket;
    *bucket = item;
}

/* Without memory the chains just grow longer, once there are any. */
static bool
grow(LsRoster *roster)
{
    size_t n_buckets = roster->n_buckets > 0 ? roster->n_buckets * 4 : BUCKETS_FIRST;
    LsRosterItem **buckets = calloc(n_buckets, sizeof(LsRosterItem *));
    if (buckets == NULL)
        return roster->n_buckets > 0;
    free(roster->buckets);
    roster->buckets = buckets;
    roster->n_buckets = n_buckets;
    for (LsRosterItem *item = roster->first; item != NULL; item = item->next)
        chain(roster, item);
    return true;
}

LsRosterItem *
ls_roster_find(const LsRoster *roster, const char *name)
{
    if (roster->n == 0)
        return NULL;
    uint32_t hash = hash_of(name);
    LsRosterItem *item = *bucket_of(roster, hash);
    while (item != NULL && (item->hash != hash || strcmp(item->name, name) != 0))
        item = item->chain;
    return item;
}

bool
ls_roster_add(LsRoster *roster, LsRosterItem *item)
{
    if (roster->n >= roster->n_buckets && !grow(roster))
        return false;
    item->hash = hash_of(item->name);
    chain(roster, item);
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
    LsRosterItem **at = bucket_of(roster, item->hash);
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    if (item->previous != NULL)
        item->previous->next = item->next;
    else
        roster->first = item->next;
    if (item->next != NULL)
        item->next->previous = item->previous;
    else
        roster->last = item->previous;
    if (--roster->n > 0)
        return;
    free(roster->buckets);
    roster->buckets = NULL;
    roster->n_buckets = 0;
}
