/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule of fusion on lists small enough to work out by hand. A list is written as words
 * "name:dtype:count", dtype f (float32), d (float64), b (a broadcast of float32), s (a
 * reduce-scatter); the result as buffers "a+c b".
 */
#include <glib.h>

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/fusion.h"
#include "reduce/lockstep.h"

static void
add_word(LsResponseList *list, const char *word)
{
    g_auto(GStrv) parts = g_strsplit(word, ":", 3);
    LsResponse response = {.operation = LS_OPERATION_ALLREDUCE, .n = 1};
    if (parts[1][0] == 'd')
        response.dtype = LOCKSTEP_FLOAT64;
    if (parts[1][0] == 'b')
        response.operation = LS_OPERATION_BROADCAST;
    if (parts[1][0] == 's')
        response.operation = LS_OPERATION_REDUCESCATTER;
    response.names = malloc(sizeof *response.names);
    response.counts = malloc(sizeof *response.counts);
    response.names[0] = strdup(parts[0]);
    response.counts[0] = g_ascii_strtoll(parts[2], NULL, 10);
    g_assert_true(ls_response_list_take(list, &response));
}

static void
check(const char *tensors, int64_t threshold, int64_t padding, const char *buffers)
{
    const LsFusionRule rule = {threshold, padding};
    LsResponseList list = LS_RESPONSE_LIST_INIT;
    g_auto(GStrv) words = g_strsplit(tensors, " ", -1);
    g_autoptr(GString) found = g_string_new(NULL);
    for (char **word = words; *word != NULL; word++)
        add_word(&list, *word);
    g_assert_true(ls_fuse(&list, &rule));
    for (size_t i = 0; i < list.n; i++)
        for (size_t k = 0; k < list.items[i].n; k++)
            g_string_append_printf(found, "%s%s",
                                   k > 0   ? "+"
                                   : i > 0 ? " "
                                           : "",
                                   list.items[i].names[k]);
    g_assert_cmpstr(found->str, ==, buffers);
    ls_response_list_clear(&list);
}

static void
test_the_threshold_is_included(void)
{
    check("a:f:10 b:f:10 c:f:10", 80, 1, "a+b c");
    check("a:f:10 b:f:10 c:f:10", 79, 1, "a b c");
    check("a:f:10 b:f:10 c:f:10", 120, 1, "a+b+c");
}

static void
test_zero_switches_it_off(void)
{
    check("a:f:0 b:f:0", 0, 1, "a b");
    check("a:f:0 b:f:0", 1, 1, "a+b");
}

static void
test_a_large_tensor_goes_alone(void)
{
    check("a:f:1 big:f:1000 b:f:1", 100, 1, "a big b"); /* skipping it exceeds the threshold */
    check("big:f:1000 none:f:0 a:f:1", 100, 1, "big none+a");
}

static void
test_it_looks_ahead_over_other_types(void)
{
    check("a:f:2 x:d:2 b:f:2 y:d:2", 100, 1, "a+b x+y");
    /* 8 in the buffer, 16 + 16 skipped: the third type is beyond 32, the search ends before c. */
    check("a:f:2 x:d:2 y:d:2 c:f:2", 32, 1, "a x+y c");
    check("a:f:2 x:d:2 y:d:2 c:f:2", 40, 1, "a+c x+y");
    /* What joins makes the room for skipping smaller. */
    check("a:f:2 b:f:2 x:d:3 c:f:1", 40, 1, "a+b+c x");
    check("a:f:2 b:f:2 x:d:3 c:f:1", 39, 1, "a+b x c");
}

static void
test_one_that_does_not_fit_ends_the_search(void)
{
    check("a:f:4 b:f:5 c:f:1", 36, 1, "a+b c");
    check("a:f:4 b:f:4 c:f:1", 31, 1, "a b+c"); /* skipping b is over the threshold too */
    check("a:f:1 b:f:3 c:f:1", 15, 1, "a b c");
}

static void
test_broadcasts_go_alone_and_weigh_nothing(void)
{
    check("a:f:2 x:b:100000 b:f:2", 16, 1, "a+b x");
    check("x:b:1 y:b:1", 1000, 1, "x y");
}

static void
test_padding_rounds_each_tensor_up(void)
{
    check("a:f:1 b:f:1 c:f:1", 32, 16, "a+b c");
    check("a:f:1 b:f:1 c:f:1", 32, 1, "a+b+c");
    check("a:f:0 b:f:4 c:f:4", 32, 16, "a+b+c");
    check("a:s:1 b:s:1 c:s:1", 12, 16, "a+b+c"); /* not in a reduce-scatter */
}

static void
test_sizes_do_not_wrap_around(void)
{
    check("a:d:1152921504606846975 b:d:1152921504606846975 c:d:1", INT64_MAX, 16, "a b c");
    check("a:d:1000 b:d:1152921504606846975", INT64_MAX - 8, 1, "a b");
}

static void
test_fused_lists_can_be_fused_again(void)
{
    const LsFusionRule small = {8, 1}, large = {1000, 1};
    LsResponseList list = LS_RESPONSE_LIST_INIT;
    const char *words[] = {"a:f:1", "b:f:1", "c:f:1", "d:f:1", "e:f:1"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        add_word(&list, words[i]);
    g_assert_true(ls_fuse(&list, &small));
    g_assert_cmpint(list.n, ==, 3);
    g_assert_true(ls_fuse(&list, &large));
    g_assert_cmpint(list.n, ==, 1);
    g_assert_cmpint(list.items[0].n, ==, 5);
    g_assert_cmpstr(list.items[0].names[3], ==, "d");
    ls_response_list_clear(&list);
}

/* Tensors of one kind, filled in one after another: the buffers that the rule makes of the list. */
static void
test_filling_is_fusing(void)
{
    for (int round = 0; round < 300; round++) {
        const LsFusionRule rule = {g_test_rand_int_range(0, 2000), g_test_rand_int_range(1, 9)};
        LsResponseList fused = LS_RESPONSE_LIST_INIT, filled = LS_RESPONSE_LIST_INIT;
        LsFilling filling = {0};
        for (int t = g_test_rand_int_range(0, 60); t > 0; t--) {
            g_autofree char *word =
                g_strdup_printf("t%d:f:%d", t, g_test_rand_int_range(0, t % 9 == 0 ? 700 : 60));
            add_word(&fused, word);
            g_assert_true(ls_fuse_next(&filled, &filling, &rule, &fused.items[fused.n - 1]));
        }
        g_assert_true(ls_fuse(&fused, &rule));
        g_assert_cmpuint(filled.n, ==, fused.n);
        for (size_t i = 0; i < fused.n; i++) {
            const LsResponse *a = &fused.items[i], *b = &filled.items[i];
            g_assert_cmpuint(a->n, ==, b->n);
            for (size_t k = 0; k < a->n; k++) {
                g_assert_cmpstr(a->names[k], ==, b->names[k]);
                g_assert_cmpint(a->counts[k], ==, b->counts[k]);
            }
        }
        ls_response_list_clear(&fused);
        ls_response_list_clear(&filled);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/fusion/the-threshold-is-included", test_the_threshold_is_included);
    g_test_add_func("/reduce/fusion/zero-switches-it-off", test_zero_switches_it_off);
    g_test_add_func("/reduce/fusion/a-large-tensor-goes-alone", test_a_large_tensor_goes_alone);
    g_test_add_func("/reduce/fusion/it-looks-ahead-over-other-types",
                    test_it_looks_ahead_over_other_types);
    g_test_add_func("/reduce/fusion/one-that-does-not-fit-ends-the-search",
                    test_one_that_does_not_fit_ends_the_search);
    g_test_add_func("/reduce/fusion/broadcasts-go-alone-and-weigh-nothing",
                    test_broadcasts_go_alone_and_weigh_nothing);
    g_test_add_func("/reduce/fusion/padding-rounds-each-tensor-up",
                    test_padding_rounds_each_tensor_up);
    g_test_add_func("/reduce/fusion/sizes-do-not-wrap-around", test_sizes_do_not_wrap_around);
    g_test_add_func("/reduce/fusion/fused-lists-can-be-fused-again",
                    test_fused_lists_can_be_fused_again);
    g_test_add_func("/reduce/fusion/filling-is-fusing", test_filling_is_fusing);
    return g_test_run();
}
