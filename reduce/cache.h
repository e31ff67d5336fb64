/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/cache.h: answers that all ranks have had and will have again (facts B5; seeds 1.3).
 *
 * A tensor that was reduced once gets a bit; from then on a rank says "I have it" by that bit. The
 * bits agree on all ranks, because entries come, move and go only in the order of the one list of
 * responses, never in that of local submissions. Over the capacity the least recently used entry
 * goes and hands its bit on; after an erasure the bits are given out anew, the least recently used
 * first. Nothing is allocated but new entries. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/message.h"
#include "reduce/roster.h"

/* An answer; its items are borrowed by nobody for longer than a call. */
typedef struct LsCached LsCached;
struct LsCached {
    LsRosterItem item; /* its name is the request's */
    LsRequest request; /* what every rank asked; owned */
    int64_t count;
    size_t bit;
    LsCached *older, *newer; /* by last use */
};

typedef struct LsCache {
    size_t capacity;
    LsRoster roster;
    LsCached **bits; /* owned; by bit, NULL where one was erased */
    size_t n_bits;
    LsCached *oldest, *newest;
    uint64_t generation; /* another whenever a look-up may find something else */
    bool erased;         /* since the last renumbering */
    uint64_t evicted;    /* so far */
} LsCache;

typedef enum LsCacheVerdict {
    LS_CACHE_MISS,
    LS_CACHE_HIT,
    LS_CACHE_INVALID, /* the name is there with other parameters */
} LsCacheVerdict;

/* false: out of memory; clear it nevertheless. */
bool ls_cache_open(LsCache *cache, size_t capacity);
void ls_cache_clear(LsCache *cache);
/* Whether answers to this operation may be kept. */
bool ls_cache_keeps(uint8_t operation);
LsCacheVerdict ls_cache_find(const LsCache *cache, const LsRequest *request, LsCached **ret_cached);
/* The newest from now on. */
void ls_cache_touch(LsCache *cache, LsCached *cached);
/* Keeps the request, which was answered; a known one is touched. false: out of memory. */
bool ls_cache_put(LsCache *cache, const LsRequest *request);
void ls_cache_erase(LsCache *cache, LsCached *cached);
/* Ends a cycle: after an erasure the bits are given out anew. */
void ls_cache_renumber(LsCache *cache);
