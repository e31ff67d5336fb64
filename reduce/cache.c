/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/cache.c: entries by name, by bit, and in a list by last use.
 */
#include "reduce/cache.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"

/* Erased bits stay empty to the end of the cycle, in which as many may come as went. */
static size_t
bits_max(const LsCache *cache)
{
    return 2 * cache->capacity;
}

bool
ls_cache_open(LsCache *cache, size_t capacity)
{
    *cache = (LsCache){.capacity = capacity, .generation = 1};
    if (capacity > SIZE_MAX / 4 / sizeof(LsCached *))
        return false;
    cache->bits = calloc(bits_max(cache) + 1, sizeof(LsCached *));
    return cache->bits != NULL;
}

static void
unlink_age(LsCache *cache, LsCached *cached)
{
    if (cached->older != NULL)
        cached->older->newer = cached->newer;
    else
        cache->oldest = cached->newer;
    if (cached->newer != NULL)
        cached->newer->older = cached->older;
    else
        cache->newest = cached->older;
}

static void
link_newest(LsCache *cache, LsCached *cached)
{
    cached->older = cache->newest;
    cached->newer = NULL;
    if (cache->newest != NULL)
        cache->newest->newer = cached;
    else
        cache->oldest = cached;
    cache->newest = cached;
}

static void
drop(LsCache *cache, LsCached *cached)
{
    unlink_age(cache, cached);
    ls_roster_remove(&cache->roster, &cached->item);
    ls_request_clear(&cached->request);
    free(cached);
    cache->generation++;
}

void
ls_cache_clear(LsCache *cache)
{
    while (cache->oldest != NULL)
        drop(cache, cache->oldest);
    free(cache->bits);
    *cache = (LsCache){0};
}

bool
ls_cache_keeps(uint8_t operation)
{
    return operation == LS_OPERATION_ALLREDUCE;
}

LsCacheVerdict
ls_cache_find(const LsCache *cache, const LsRequest *request, LsCached **ret_cached)
{
    LsCached *cached = (LsCached *)ls_roster_find(&cache->roster, request->name);
    *ret_cached = cached;
    if (cached == NULL)
        return LS_CACHE_MISS;
    const LsRequest *known = &cached->request;
    bool same = known->operation == request->operation && known->dtype == request->dtype &&
                known->reduction == request->reduction && known->ndim == request->ndim;
    for (int32_t i = 0; same && i < known->ndim; i++)
        same = known->shape[i] == request->shape[i];
    return same ? LS_CACHE_HIT : LS_CACHE_INVALID;
}

void
ls_cache_touch(LsCache *cache, LsCached *cached)
{
    if (cached == cache->newest)
        return;
    unlink_age(cache, cached);
    link_newest(cache, cached);
}

/* The bit of the next entry: that of one which goes, if there is no room. */
static size_t
make_room(LsCache *cache)
{
    if (cache->roster.n < cache->capacity)
        return cache->n_bits++;
    size_t bit = cache->oldest->bit;
    cache->bits[bit] = NULL;
    drop(cache, cache->oldest);
    cache->evicted++;
    return bit;
}

bool
ls_cache_put(LsCache *cache, const LsRequest *request)
{
    LsCached *known;
    if (cache->capacity == 0)
        return true;
    LsCacheVerdict verdict = ls_cache_find(cache, request, &known);
    if (verdict == LS_CACHE_HIT) {
        ls_cache_touch(cache, known);
        return true;
    }
    if (verdict == LS_CACHE_INVALID) /* on all ranks alike */
        ls_cache_erase(cache, known);
    LsCached *cached = calloc(1, sizeof *cached);
    if (cached == NULL || !ls_request_copy(request, &cached->request)) {
        free(cached);
        return false;
    }
    cached->item.name = cached->request.name;
    cached->bit = make_room(cache);
    if (!ls_roster_add(&cache->roster, &cached->item)) {
        ls_request_clear(&cached->request);
        free(cached);
        return false;
    }
    ls_shape_count(cached->request.shape, cached->request.ndim, &cached->count);
    cache->bits[cached->bit] = cached;
    link_newest(cache, cached);
    cache->generation++;
    return true;
}

void
ls_cache_erase(LsCache *cache, LsCached *cached)
{
    cache->bits[cached->bit] = NULL;
    cache->erased = true;
    drop(cache, cached);
}

void
ls_cache_renumber(LsCache *cache)
{
    if (!cache->erased)
        return;
    size_t bit = 0;
    for (LsCached *cached = cache->oldest; cached != NULL; cached = cached->newer) {
        cached->bit = bit;
        cache->bits[bit++] = cached;
    }
    for (size_t i = bit; i < cache->n_bits; i++)
        cache->bits[i] = NULL;
    cache->n_bits = bit;
    cache->erased = false;
    cache->generation++;
}
