/* SPDX-License-Identifier: Apache-2.0
 * When waiting is worth a word, and how ranks are named. */
#include <glib.h>

#include <stdlib.h>
#include <string.h>

#include "reduce/stall.h"

static void
test_warnings_come_once_per_period(void)
{
    LsStall stall;
    LsStallClock clock;
    ls_stall_init(&stall, 10, 0);
    g_assert_false(ls_stall_due(&stall, 1000));
    ls_stall_start(&stall, &clock, 100);
    g_assert_false(ls_stall_due(&stall, 109));
    g_assert_true(ls_stall_due(&stall, 110));
    g_assert_cmpint(ls_stall_judge(&stall, &clock, 110), ==, LS_STALL_WARN);
    g_assert_false(ls_stall_due(&stall, 119));
    g_assert_true(ls_stall_due(&stall, 145)); /* late: two periods were missed, one warning */
    g_assert_cmpint(ls_stall_judge(&stall, &clock, 145), ==, LS_STALL_WARN);
    g_assert_cmpint(ls_stall_judge(&stall, &clock, 149), ==, LS_STALL_NOT);
    g_assert_true(ls_stall_due(&stall, 150));
}

static void
test_the_limit_is_final(void)
{
    LsStall stall;
    LsStallClock early, late;
    ls_stall_init(&stall, 10, 25);
    ls_stall_start(&stall, &early, 0);
    ls_stall_start(&stall, &late, 20);
    g_assert_true(ls_stall_due(&stall, 24));
    g_assert_cmpint(ls_stall_judge(&stall, &early, 24), ==, LS_STALL_WARN);
    g_assert_cmpint(ls_stall_judge(&stall, &late, 24), ==, LS_STALL_NOT);
    g_assert_true(ls_stall_due(&stall, 25));
    g_assert_cmpint(ls_stall_judge(&stall, &early, 25), ==, LS_STALL_FAIL);
    g_assert_cmpint(ls_stall_judge(&stall, &late, 25), ==, LS_STALL_NOT);
    g_assert_false(ls_stall_due(&stall, 29)); /* the late one's warning is the next */
    g_assert_true(ls_stall_due(&stall, 30));
}

static void
test_zero_never_comes(void)
{
    LsStall stall;
    LsStallClock clock;
    ls_stall_init(&stall, 0, 0);
    ls_stall_start(&stall, &clock, 0);
    g_assert_false(ls_stall_due(&stall, INT64_MAX - 1));
    ls_stall_init(&stall, INT64_MAX, INT64_MAX);
    ls_stall_start(&stall, &clock, 100);
    g_assert_false(ls_stall_due(&stall, INT64_MAX - 1));
    g_assert_cmpint(ls_stall_judge(&stall, &clock, INT64_MAX - 1), ==, LS_STALL_NOT);
}

static void
check_ranks(int ranks, const char *members, bool missing, const char *expected)
{
    LsRankSet set;
    char text[LS_RANK_TEXT_BYTES];
    g_auto(GStrv) words = g_strsplit(members, " ", -1);
    g_assert_true(ls_rank_set_init(&set, ranks));
    for (char **word = words; *word != NULL && **word != '\0'; word++)
        ls_rank_set_add(&set, atoi(*word));
    ls_rank_set_text(&set, missing, text);
    g_assert_cmpstr(text, ==, expected);
    ls_rank_set_clear(&set);
}

static void
test_ranks_are_named_by_ranges(void)
{
    check_ranks(4, "3", false, "rank 3");
    check_ranks(4, "3", true, "ranks 0-2");
    check_ranks(8, "0 2 3 5 6 7", false, "ranks 0, 2-3, 5-7");
    check_ranks(8, "0 2 3 5 6 7", true, "ranks 1, 4");
    check_ranks(130, "63 64 65 128 129", false, "ranks 63-65, 128-129");
    check_ranks(1, "0", false, "rank 0");
}

static void
test_many_ranks_are_counted(void)
{
    LsRankSet set;
    char text[LS_RANK_TEXT_BYTES];
    g_assert_true(ls_rank_set_init(&set, 27600));
    for (int rank = 0; rank < 27600; rank += 2)
        ls_rank_set_add(&set, rank);
    ls_rank_set_text(&set, true, text);
    g_assert_true(g_str_has_prefix(text, "ranks 1, 3, 5, 7, "));
    const char *rest = strstr(text, " and ");
    g_assert_nonnull(rest);
    int commas = 0;
    for (const char *c = text; c < rest; c++)
        commas += *c == ',';
    g_assert_cmpint(atoi(rest + 5) + commas + 1, ==, 13800);
    ls_rank_set_clear(&set);
}

static void
test_the_sentence_says_who_and_how_long(void)
{
    LsStall stall;
    LsRankSet submitted;
    ls_stall_init(&stall, 0, INT64_C(60000000000));
    g_assert_true(ls_rank_set_init(&submitted, 4));
    ls_rank_set_add(&submitted, 0);
    ls_rank_set_add(&submitted, 2);
    char *text = ls_stall_text(&stall, "conv1/w", NULL, &submitted, INT64_C(61250000000));
    g_assert_cmpstr(text, ==,
                    "tensor 'conv1/w' waited 61.2 s for ranks 1, 3 to submit it (limit 60.0 s)");
    free(text);
    text = ls_stall_text(&stall, "conv1/w", "conv1", &submitted, INT64_C(61250000000));
    g_assert_cmpstr(text, ==,
                    "tensor 'conv1/w' of group 'conv1' waited 61.2 s for ranks 1, 3 to submit it "
                    "(limit 60.0 s)");
    free(text);
    for (int rank = 0; rank < 4; rank++)
        ls_rank_set_add(&submitted, rank);
    text = ls_stall_text(&stall, "conv1/w", "conv1", &submitted, INT64_C(61250000000));
    g_assert_cmpstr(
        text, ==,
        "tensor 'conv1/w' of group 'conv1' waited 61.2 s for the rest of it (limit 60.0 s)");
    free(text);
    ls_rank_set_clear(&submitted);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/stall/warnings-come-once-per-period",
                    test_warnings_come_once_per_period);
    g_test_add_func("/reduce/stall/the-limit-is-final", test_the_limit_is_final);
    g_test_add_func("/reduce/stall/zero-never-comes", test_zero_never_comes);
    g_test_add_func("/reduce/ranks/ranks-are-named-by-ranges", test_ranks_are_named_by_ranges);
    g_test_add_func("/reduce/ranks/many-ranks-are-counted", test_many_ranks_are_counted);
    g_test_add_func("/reduce/stall/the-sentence-says-who-and-how-long",
                    test_the_sentence_says_who_and_how_long);
    return g_test_run();
}
