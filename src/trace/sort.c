/* SPDX-License-Identifier: Apache-2.0
 *
 * trace/sort.c: rows of one thread come almost in order (a nested span is written before the one
 * around it), so an insertion sort is tried first, and given up when it has moved more than MOVES a
 * row. Then a least-significant-digit radix sort of (key, index), 11 bits a pass and only over the
 * bits in which keys differ. Of times only so many upper bits as tell most rows apart are sorted
 * so, and the rest inserted: 10 million spans take two passes, not four. Where rows crowd so that
 * this moves more than MOVES a row, all bits are sorted. Few rows, where the histograms would cost
 * more than the rows, are always inserted.
 */
#include "trace/sort.h"

#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define BUCKETS    (1u << DIGIT_BITS)
#define FEW        48
#define MOVES      4

typedef struct Item {
    uint64_t key;
    uint32_t index;
} Item;

static bool
is_sorted(const uint32_t *major, const int64_t *minor, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (major && major[i - 1] != major[i]) {
            if (major[i - 1] > major[i])
                return false;
        } else if (minor[i - 1] > minor[i])
            return false;
    }
    return true;
}

/* false: given up after so many moves; equal keys still stand as they stood. */
static bool
insert_items(Item *items, size_t n, size_t moves)
{
    for (size_t i = 1; i < n; i++) {
        Item item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].key > item.key && moves > 0; at--, moves--)
            items[at] = items[at - 1];
        items[at] = item;
        if (moves == 0)
            return false;
    }
    return true;
}

/* Sorts by the bits of the key from `shift` on; returns the one of the two arrays that holds the
 * result. */
static Item *
sort_by_bits(Item *items, Item *spare, size_t n, uint64_t largest, unsigned shift)
{
    g_autofree size_t *starts = g_new(size_t, BUCKETS);
    for (; shift < 64 && largest >> shift != 0; shift += DIGIT_BITS) {
        memset(starts, 0, BUCKETS * sizeof *starts);
        for (size_t i = 0; i < n; i++)
            starts[items[i].key >> shift & (BUCKETS - 1)]++;
        size_t sum = 0;
        for (size_t i = 0; i < BUCKETS; i++) {
            size_t count = starts[i];
            starts[i] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            spare[starts[items[i].key >> shift & (BUCKETS - 1)]++] = items[i];
        Item *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

static unsigned
count_bits(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/* Sorts by key; returns the one of the two arrays that holds the result. */
static Item *
sort_by_key(Item *items, Item *spare, size_t n, uint64_t largest)
{
    if (n <= FEW) {
        insert_items(items, n, SIZE_MAX);
        return items;
    }
    unsigned bits = count_bits(largest), passes = (count_bits(n) - 2 + DIGIT_BITS - 1) / DIGIT_BITS;
    if (bits <= passes * DIGIT_BITS)
        return sort_by_bits(items, spare, n, largest, 0);
    Item *sorted = sort_by_bits(items, spare, n, largest, bits - passes * DIGIT_BITS);
    if (insert_items(sorted, n, MOVES * n))
        return sorted;
    return sort_by_bits(sorted, sorted == items ? spare : items, n, largest, 0);
}

static bool
is_before(const uint32_t *major, const int64_t *minor, uint32_t a, uint32_t b)
{
    return major && major[a] != major[b] ? major[a] < major[b] : minor[a] < minor[b];
}

/* NULL when they are further out of order than pays. */
static uint32_t *
insert_nearly_sorted(const uint32_t *major, const int64_t *minor, size_t n)
{
    g_autofree uint32_t *order = g_new(uint32_t, n);
    size_t left = MOVES * n;
    ls_memory_expect(order, n * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && is_before(major, minor, (uint32_t)i, order[at - 1]); at--) {
            if (left-- == 0)
                return NULL;
            order[at] = order[at - 1];
        }
        order[at] = (uint32_t)i;
    }
    return g_steal_pointer(&order);
}

static uint32_t *
sort_by_radix(const uint32_t *major, const int64_t *minor, size_t n)
{
    g_autofree Item *one = g_new(Item, n), *two = g_new(Item, n);
    ls_memory_expect(one, n * sizeof *one);
    ls_memory_expect(two, n * sizeof *two);
    int64_t smallest = G_MAXINT64;
    uint64_t largest = 0;
    for (size_t i = 0; i < n; i++)
        smallest = MIN(smallest, minor[i]);
    for (size_t i = 0; i < n; i++) {
        one[i] = (Item){.key = (uint64_t)minor[i] - (uint64_t)smallest, .index = (uint32_t)i};
        largest = MAX(largest, one[i].key);
    }
    Item *sorted = sort_by_key(one, two, n, largest);
    if (major) {
        uint64_t last = 0;
        for (size_t i = 0; i < n; i++) {
            sorted[i].key = major[sorted[i].index];
            last = MAX(last, sorted[i].key);
        }
        sorted = sort_by_key(sorted, sorted == one ? two : one, n, last);
    }
    uint32_t *order = g_new(uint32_t, n);
    ls_memory_expect(order, n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = sorted[i].index;
    return order;
}

static bool
is_rising(const uint32_t *major, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (major[i - 1] > major[i])
            return false;
    return true;
}

/* Rows that stand by rank already, as they come from their files: each rank's by itself. */
static uint32_t *
sort_each_rank(const uint32_t *major, const int64_t *minor, size_t n)
{
    uint32_t *order = g_new(uint32_t, n);
    ls_memory_expect(order, n * sizeof *order);
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && major[last] == major[first];)
            last++;
        g_autofree uint32_t *own = ls_sort_order(NULL, minor + first, last - first);
        for (size_t i = first; i < last; i++)
            order[i] = (uint32_t)(first + (own ? own[i - first] : i - first));
    }
    return order;
}

uint32_t *
ls_sort_order(const uint32_t *major, const int64_t *minor, size_t n)
{
    if (is_sorted(major, minor, n))
        return NULL;
    if (major && is_rising(major, n))
        return sort_each_rank(major, minor, n);
    uint32_t *order = insert_nearly_sorted(major, minor, n);
    return order ? order : sort_by_radix(major, minor, n);
}

uint32_t *
ls_sort_inverse(const uint32_t *order, size_t n)
{
    uint32_t *inverse = g_new(uint32_t, n);
    ls_memory_expect(inverse, n * sizeof *inverse);
    for (size_t i = 0; i < n; i++)
        inverse[order[i]] = (uint32_t)i;
    return inverse;
}
