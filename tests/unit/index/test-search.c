/* SPDX-License-Identifier: Apache-2.0
 *
 * Search against a naive scan of a trace whose names are known.
 */
#include "index/search.h"

#include "trace/builder.h"

static LsClass
classify(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_NONE;
}

/* Two tracks of 100 spans each: "gemm_3" and so on, ten distinct names. */
static LsTrace *
make_trace(void)
{
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);
    process->rank.rank = 0;
    process->rank.recorded = true;
    for (int t = 0; t < 2; t++) {
        LsTrackBuilder *track = ls_process_get_track(process, LS_TRACK_STREAM,
                                                     t ? "Stream Blue" : "stream red", "kernel", t);
        for (int i = 0; i < 100; i++) {
            g_autofree char *name = g_strdup_printf("Gemm_%d", i % 10);
            ls_track_builder_add(track, i * 100 + t, i * 100 + 50,
                                 ls_strings_add(process->strings, name), LS_NONE);
        }
    }
    g_autoptr(LsBuilder) builder = ls_builder_new(classify, NULL);
    ls_builder_take(builder, process);
    return ls_builder_freeze(g_steal_pointer(&builder));
}

static void
test_finds_names(void)
{
    g_autoptr(LsTrace) trace = make_trace();
    LsHits hits = ls_search_find(trace, "gemm_3", 1000);
    g_assert_cmpuint(hits.n, ==, 20);
    g_assert_cmpuint(hits.found, ==, 20);
    for (size_t i = 1; i < hits.n; i++)
        g_assert_cmpint(hits.items[i - 1].start_ns, <=, hits.items[i].start_ns);
    g_assert_cmpint(hits.items[0].start_ns, ==, 300);
    g_assert_cmpint(hits.items[1].start_ns, ==, 301);
    g_assert_cmpuint(ls_hits_find_at(&hits, 302), ==, 2);
    g_assert_cmpuint(ls_hits_find_at(&hits, 1000000), ==, 20);
    ls_hits_clear(&hits);
}

static void
test_finds_tracks(void)
{
    g_autoptr(LsTrace) trace = make_trace();
    LsHits hits = ls_search_find(trace, "BLUE", 1000);
    g_assert_cmpuint(hits.n, ==, 100);
    ls_hits_clear(&hits);
}

static void
test_keeps_the_earliest(void)
{
    g_autoptr(LsTrace) trace = make_trace();
    LsHits all = ls_search_find(trace, "gemm", 1000);
    LsHits few = ls_search_find(trace, "gemm", 7);
    g_assert_cmpuint(all.n, ==, 200);
    g_assert_cmpuint(few.n, ==, 7);
    g_assert_cmpuint(few.found, ==, 200);
    for (size_t i = 0; i < few.n; i++)
        g_assert_cmpint(few.items[i].start_ns, ==, all.items[i].start_ns);
    ls_hits_clear(&all);
    ls_hits_clear(&few);
}

static void
test_finds_nothing(void)
{
    g_autoptr(LsTrace) trace = make_trace();
    LsHits hits = ls_search_find(trace, "", 10);
    g_assert_cmpuint(hits.n, ==, 0);
    ls_hits_clear(&hits);
    hits = ls_search_find(trace, "conv", 10);
    g_assert_cmpuint(hits.n, ==, 0);
    g_assert_cmpuint(ls_hits_find_at(&hits, 0), ==, 0);
    ls_hits_clear(&hits);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/search/finds-names", test_finds_names);
    g_test_add_func("/index/search/finds-tracks", test_finds_tracks);
    g_test_add_func("/index/search/keeps-the-earliest", test_keeps_the_earliest);
    g_test_add_func("/index/search/finds-nothing", test_finds_nothing);
    return g_test_run();
}
