/* SPDX-License-Identifier: Apache-2.0
 * The cache by itself: what hits, what goes, who gets which bit (facts B5). */
#include <glib.h>

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/cache.h"
#include "reduce/lockstep.h"

static LsRequest
make_request(const char *name, int64_t extent)
{
    LsRequest request = {.operation = LS_OPERATION_ALLREDUCE, .ndim = 2};
    request.name = strdup(name);
    request.shape = calloc(2, sizeof *request.shape);
    request.shape[0] = extent;
    request.shape[1] = 3;
    return request;
}

static void
put(LsCache *cache, const char *name)
{
    LsRequest request = make_request(name, 5);
    g_assert_true(ls_cache_put(cache, &request));
    ls_request_clear(&request);
}

static LsCached *
find(LsCache *cache, const char *name)
{
    LsRequest request = make_request(name, 5);
    LsCached *cached;
    ls_cache_find(cache, &request, &cached);
    ls_request_clear(&request);
    return cached;
}

/* "a b - c": names by bit. */
static char *
bits(const LsCache *cache)
{
    GString *text = g_string_new(NULL);
    for (size_t bit = 0; bit < cache->n_bits; bit++)
        g_string_append_printf(text, "%s%s", bit > 0 ? " " : "",
                               cache->bits[bit] == NULL ? "-" : cache->bits[bit]->item.name);
    return g_string_free(text, FALSE);
}

static void
check_bits(const LsCache *cache, const char *expected)
{
    g_autofree char *text = bits(cache);
    g_assert_cmpstr(text, ==, expected);
    for (size_t bit = 0; bit < cache->n_bits; bit++)
        g_assert_true(cache->bits[bit] == NULL || cache->bits[bit]->bit == bit);
}

static void
spoil_nothing(LsRequest *request)
{
}

static void
spoil_operation(LsRequest *request)
{
    request->operation = LS_OPERATION_BROADCAST;
}

static void
spoil_dtype(LsRequest *request)
{
    request->dtype = LOCKSTEP_INT8;
}

static void
spoil_reduction(LsRequest *request)
{
    request->reduction = LOCKSTEP_MAX;
}

static void
spoil_extent(LsRequest *request)
{
    request->shape[1] = 4;
}

static void
spoil_dimensions(LsRequest *request)
{
    request->ndim = 1;
}

/* The same count in another shape is another request. */
static void
spoil_shape(LsRequest *request)
{
    request->shape[0] = 3;
    request->shape[1] = 5;
}

static void
test_a_hit_is_the_same_request(void)
{
    void (*const spoilers[])(LsRequest *) = {spoil_nothing,   spoil_operation, spoil_dtype,
                                             spoil_reduction, spoil_extent,    spoil_dimensions,
                                             spoil_shape};
    LsCache cache;
    LsCached *cached;
    g_assert_true(ls_cache_open(&cache, 4));
    put(&cache, "a");
    for (size_t i = 0; i < G_N_ELEMENTS(spoilers); i++) {
        LsRequest request = make_request("a", 5);
        spoilers[i](&request);
        g_assert_cmpint(ls_cache_find(&cache, &request, &cached), ==,
                        i == 0 ? LS_CACHE_HIT : LS_CACHE_INVALID);
        g_assert_cmpint(cached->count, ==, 15);
        ls_request_clear(&request);
    }
    LsRequest other = make_request("b", 5);
    g_assert_cmpint(ls_cache_find(&cache, &other, &cached), ==, LS_CACHE_MISS);
    g_assert_null(cached);
    ls_request_clear(&other);
    ls_cache_clear(&cache);
}

static void
test_the_oldest_goes_and_hands_its_bit_on(void)
{
    LsCache cache;
    g_assert_true(ls_cache_open(&cache, 3));
    put(&cache, "a");
    put(&cache, "b");
    put(&cache, "c");
    check_bits(&cache, "a b c");
    g_assert_cmpuint(cache.evicted, ==, 0);
    put(&cache, "a"); /* used: b is the oldest now */
    put(&cache, "d");
    check_bits(&cache, "a d c");
    g_assert_cmpuint(cache.evicted, ==, 1);
    ls_cache_touch(&cache, find(&cache, "c"));
    put(&cache, "e");
    check_bits(&cache, "e d c");
    ls_cache_renumber(&cache); /* nothing was erased: the bits stay */
    check_bits(&cache, "e d c");
    ls_cache_clear(&cache);
}

static void
test_bits_are_given_anew_after_an_erasure(void)
{
    LsCache cache;
    g_assert_true(ls_cache_open(&cache, 4));
    put(&cache, "a");
    put(&cache, "b");
    put(&cache, "c");
    put(&cache, "d");
    ls_cache_touch(&cache, find(&cache, "a"));
    ls_cache_erase(&cache, find(&cache, "c"));
    check_bits(&cache, "a b - d");
    put(&cache, "e");
    check_bits(&cache, "a b - d e");
    ls_cache_renumber(&cache);
    check_bits(&cache, "b d a e"); /* by last use */
    ls_cache_renumber(&cache);
    check_bits(&cache, "b d a e");
    ls_cache_clear(&cache);
}

static void
test_a_cache_without_room_keeps_nothing(void)
{
    LsCache cache;
    g_assert_true(ls_cache_open(&cache, 0));
    put(&cache, "a");
    g_assert_cmpint(cache.n_bits, ==, 0);
    g_assert_null(find(&cache, "a"));
    g_assert_cmpuint(cache.evicted, ==, 0);
    ls_cache_clear(&cache);
}

static void
test_all_can_change_in_one_cycle(void)
{
    LsCache cache;
    g_assert_true(ls_cache_open(&cache, 100));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100; i++) {
            g_autofree char *name = g_strdup_printf("%d", i * (round + 1) % 101);
            LsCached *cached = find(&cache, name);
            if (cached != NULL)
                ls_cache_erase(&cache, cached);
        }
        for (int i = 0; i < 100; i++) {
            g_autofree char *name = g_strdup_printf("%d", i * (round + 2) % 101);
            put(&cache, name);
        }
        ls_cache_renumber(&cache);
        g_assert_cmpint(cache.n_bits, ==, 100);
        g_assert_cmpint(cache.roster.n, ==, 100);
    }
    ls_cache_clear(&cache);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add_func("/reduce/cache/" path, function)
    ADD("a-hit-is-the-same-request", test_a_hit_is_the_same_request);
    ADD("the-oldest-goes-and-hands-its-bit-on", test_the_oldest_goes_and_hands_its_bit_on);
    ADD("bits-are-given-anew-after-an-erasure", test_bits_are_given_anew_after_an_erasure);
    ADD("a-cache-without-room-keeps-nothing", test_a_cache_without_room_keeps_nothing);
    ADD("all-can-change-in-one-cycle", test_all_can_change_in_one_cycle);
#undef ADD
    return g_test_run();
}
