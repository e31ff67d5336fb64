/* SPDX-License-Identifier: Apache-2.0
 * format/row-index.c: an open hash (linear probing, at most half full): no allocation per key. */
#include "format/row-index.h"

typedef struct Slot {
    uint64_t major, minor;
    uint32_t row; /* UINT32_MAX: empty */
} Slot;

struct LsRowIndex {
    Slot *slots;
    size_t mask, n;
};

static Slot *
new_slots(size_t n)
{
    Slot *slots = g_new(Slot, n);
    for (size_t i = 0; i < n; i++)
        slots[i].row = UINT32_MAX;
    return slots;
}

LsRowIndex *
ls_row_index_new(void)
{
    LsRowIndex *index = g_new0(LsRowIndex, 1);
    index->mask = 63;
    index->slots = new_slots(64);
    return index;
}

void
ls_row_index_free(LsRowIndex *index)
{
    if (!index)
        return;
    g_free(index->slots);
    g_free(index);
}

/* The finaliser of MurmurHash3 over a mix of both: consecutive numbers must spread. */
static size_t
hash_key(uint64_t major, uint64_t minor)
{
    uint64_t hash = major * 0x9e3779b97f4a7c15u ^ (minor + 0x7f4a7c15u);
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return (size_t)(hash ^ hash >> 33);
}

static Slot *
find_slot(const LsRowIndex *index, uint64_t major, uint64_t minor)
{
    size_t at = hash_key(major, minor) & index->mask;
    while (index->slots[at].row != UINT32_MAX &&
           (index->slots[at].major != major || index->slots[at].minor != minor))
        at = (at + 1) & index->mask;
    return &index->slots[at];
}

static void
grow(LsRowIndex *index)
{
    Slot *old = index->slots;
    size_t n = index->mask + 1;
    index->mask = n * 2 - 1;
    index->slots = new_slots(n * 2);
    for (size_t i = 0; i < n; i++)
        if (old[i].row != UINT32_MAX)
            *find_slot(index, old[i].major, old[i].minor) = old[i];
    g_free(old);
}

uint32_t
ls_row_index_add(LsRowIndex *index, uint64_t major, uint64_t minor, uint32_t new_row, bool *ret_new)
{
    Slot *slot = find_slot(index, major, minor);
    *ret_new = slot->row == UINT32_MAX;
    if (!*ret_new)
        return slot->row;
    *slot = (Slot){.major = major, .minor = minor, .row = new_row};
    if (++index->n > index->mask / 2)
        grow(index);
    return new_row;
}

uint32_t
ls_row_index_find(const LsRowIndex *index, uint64_t major, uint64_t minor)
{
    return find_slot(index, major, minor)->row;
}
