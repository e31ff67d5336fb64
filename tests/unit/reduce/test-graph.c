/* SPDX-License-Identifier: Apache-2.0
 * Colours of a graph, method by method, against groups worked out by hand. */
#include <glib.h>

#include <string.h>

#include "reduce/graph.h"

/* "a b|c d": members by group. */
static char *
colour_text(const LsGraph *graph, const LsColourRule *rule)
{
    char error[256] = "";
    LsGroups *groups = ls_groups_new();
    const char *fault = ls_colour(graph, rule, groups, error);
    GString *text = g_string_new(fault != NULL ? "!" : NULL);
    if (fault != NULL)
        g_string_append(text, fault);
    for (int i = 0; i < ls_groups_count(groups); i++)
        for (size_t k = 0; k < ls_group_size(groups, i); k++)
            g_string_append_printf(text, "%s%s", k > 0 ? " " : (i > 0 ? "|" : ""),
                                   ls_group_member(groups, i, k));
    ls_groups_free(groups);
    return g_string_free(text, FALSE);
}

static void
check(const LsGraph *graph, LsColourRule rule, const char *expected)
{
    if (rule.file == NULL)
        rule.file = "";
    g_autofree char *text = colour_text(graph, &rule);
    g_assert_cmpstr(text, ==, expected);
}

/* A name per word, 10, 20, 30 ... bytes. */
static LsGraph *
make_graph(const char *names)
{
    char error[256];
    LsGraph *graph = lockstep_graph_new();
    g_auto(GStrv) words = g_strsplit(names, " ", 0);
    for (int i = 0; words[i] != NULL; i++)
        g_assert_null(ls_graph_add(graph, words[i], 10 * (i + 1), error));
    return graph;
}

static void
need(LsGraph *graph, const char *name, const char *needed)
{
    char error[256];
    g_assert_null(ls_graph_need(graph, name, needed, error));
}

static void
test_slices_are_cut_in_order(void)
{
    LsGraph *graph = make_graph("a b c d e f g");
    check(graph, (LsColourRule){.by = LS_COLOURING_SLICES, .slices = 3}, "a b c|d e f|g");
    check(graph, (LsColourRule){.by = LS_COLOURING_SLICES, .slices = 1}, "a b c d e f g");
    check(graph, (LsColourRule){.by = LS_COLOURING_SLICES, .slices = 99}, "a|b|c|d|e|f|g");
    check(graph, (LsColourRule){.by = LS_COLOURING_SLICES}, "!into 0 slices nothing can be cut");
    lockstep_graph_free(graph);
}

static void
test_bytes_end_a_group(void)
{
    LsGraph *graph = make_graph("a b c d e f"); /* 10 20 30 40 50 60 */
    check(graph, (LsColourRule){.by = LS_COLOURING_BYTES, .bytes = 60}, "a b c|d e|f");
    check(graph, (LsColourRule){.by = LS_COLOURING_BYTES, .bytes = 61}, "a b c d|e f");
    check(graph, (LsColourRule){.by = LS_COLOURING_BYTES, .bytes = 0}, "a|b|c|d|e|f");
    check(graph, (LsColourRule){.by = LS_COLOURING_BYTES, .bytes = INT64_MAX}, "a b c d e f");
    lockstep_graph_free(graph);
}

static void
test_layers_come_from_the_names(void)
{
    LsGraph *graph =
        make_graph("net/b2/conv/w net/b2/conv/b loss net/b1/conv/w net.b2.x net/b2/bn/g");
    check(graph, (LsColourRule){.by = LS_COLOURING_LAYER},
          "net/b2/conv/w net/b2/conv/b|net/b1/conv/w|net.b2.x|net/b2/bn/g");
    check(graph, (LsColourRule){.by = LS_COLOURING_LAYER, .parts = 2},
          "net/b2/conv/w net/b2/conv/b net/b2/bn/g|net/b1/conv/w|net.b2.x");
    check(graph, (LsColourRule){.by = LS_COLOURING_LAYER, .parts = 1},
          "net/b2/conv/w net/b2/conv/b net/b1/conv/w net.b2.x net/b2/bn/g");
    lockstep_graph_free(graph);
}

/* A net with two branches: c needs nothing of d, and both have depth 2. */
static LsGraph *
make_branches(void)
{
    LsGraph *graph = make_graph("e d c b a"); /* 10 20 30 40 50 bytes */
    need(graph, "b", "a");
    need(graph, "c", "b");
    need(graph, "d", "b");
    need(graph, "e", "c");
    need(graph, "e", "d");
    need(graph, "e", "a"); /* the longest way counts */
    return graph;
}

static void
test_depth_makes_bands(void)
{
    LsGraph *graph = make_branches();
    check(graph, (LsColourRule){.by = LS_COLOURING_DEPTH}, "a|b|d c|e");
    check(graph, (LsColourRule){.by = LS_COLOURING_DEPTH, .bytes = 50}, "a|e d c b");
    check(graph, (LsColourRule){.by = LS_COLOURING_DEPTH, .bytes = 90}, "e d c b a");
    check(graph, (LsColourRule){.by = LS_COLOURING_DEPTH, .bytes = 40}, "a|b|e d c");
    check(graph, (LsColourRule){.by = LS_COLOURING_DEPTH, .bytes = INT64_MAX}, "e d c b a");
    need(graph, "a", "e");
    check(graph, (LsColourRule){.by = LS_COLOURING_DEPTH},
          "!tensor 'e' needs itself, over others or at once");
    lockstep_graph_free(graph);
}

static void
test_auto_takes_what_there_is(void)
{
    const char *lists[] = {"c", "x"};
    const LsColourRule rule = {.by = LS_COLOURING_AUTO};
    LsGraph *plain = make_graph("a b"), *graph = make_branches();
    check(NULL, rule, "");
    check(plain, rule, "");
    check(plain, (LsColourRule){.by = LS_COLOURING_DEPTH},
          "!by depth: no tensor of the graph needs another, so that all have the same depth; "
          "slices, bytes or "
          "layer need no edges");
    check(graph, rule, "a|b|d c|e");
    g_assert_cmpint(lockstep_graph_group(graph, lists, 2), ==, LOCKSTEP_OK);
    check(graph, rule, "c x");
    check(graph, (LsColourRule){.by = LS_COLOURING_NONE}, "");
    check(NULL, (LsColourRule){.by = LS_COLOURING_SLICES, .slices = 2},
          "!there are no tensors to group: lockstep_options.graph is NULL");
    check(graph, (LsColourRule){.by = LS_COLOURING_AUTO, .file = "/nowhere/groups"},
          "!groups of '/nowhere/groups': it cannot be read");
    lockstep_graph_free(plain);
    lockstep_graph_free(graph);
}

static void
test_faults_are_told(void)
{
    const char *lists[] = {"c", "c"}, *empty[] = {"a", ""};
    LsGraph *graph = lockstep_graph_new();
    g_assert_cmpint(lockstep_graph_tensor(graph, "a", 4), ==, LOCKSTEP_OK);
    g_assert_cmpint(lockstep_graph_tensor(graph, "a", 4), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpstr(lockstep_last_error(), ==,
                    "lockstep_graph_tensor: tensor 'a' is in the graph already");
    g_assert_cmpint(lockstep_graph_tensor(graph, "", 4), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_graph_tensor(graph, "b", -1), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_graph_tensor(NULL, "b", 1), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_graph_needs(graph, "a", "z"), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpstr(lockstep_last_error(), ==,
                    "lockstep_graph_needs: tensor 'z' is not in the graph");
    g_assert_cmpint(lockstep_graph_needs(graph, "a", "a"), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpstr(lockstep_last_error(), ==,
                    "lockstep_graph_needs: tensor 'a' cannot need itself");
    g_assert_cmpint(lockstep_graph_group(graph, lists, 2), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpstr(lockstep_last_error(), ==,
                    "lockstep_graph_group: tensor 'c' is in two groups, or twice in one");
    g_assert_cmpint(lockstep_graph_group(graph, lists, 1), ==, LOCKSTEP_OK); /* nothing was left */
    g_assert_cmpint(lockstep_graph_group(graph, empty, 2), ==, LOCKSTEP_ERR_ARGUMENT);
    g_assert_cmpint(lockstep_graph_group(graph, lists, 0), ==, LOCKSTEP_ERR_ARGUMENT);
    lockstep_graph_free(graph);
    lockstep_graph_free(NULL);
}

/* The size of the published case: 33 tensors, and one of thousands. */
static void
test_large_graphs_are_coloured_at_once(void)
{
    char error[256];
    LsGraph *graph = lockstep_graph_new();
    const LsColourRule rule = {.by = LS_COLOURING_DEPTH, .bytes = 1000, .file = ""};
    for (int i = 0; i < 5000; i++) {
        g_autofree char *name = g_strdup_printf("t%d", i), *before = g_strdup_printf("t%d", i - 1);
        g_assert_null(ls_graph_add(graph, name, 10, error));
        if (i > 0)
            need(graph, name, before);
    }
    LsGroups *groups = ls_groups_new();
    g_assert_null(ls_colour(graph, &rule, groups, error));
    g_assert_cmpint(ls_groups_count(groups), ==, 50);
    g_assert_cmpint(ls_group_size(groups, 49), ==, 100);
    ls_groups_free(groups);
    lockstep_graph_free(graph);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add_func("/reduce/graph/" path, function)
    ADD("slices-are-cut-in-order", test_slices_are_cut_in_order);
    ADD("bytes-end-a-group", test_bytes_end_a_group);
    ADD("layers-come-from-the-names", test_layers_come_from_the_names);
    ADD("depth-makes-bands", test_depth_makes_bands);
    ADD("auto-takes-what-there-is", test_auto_takes_what_there_is);
    ADD("faults-are-told", test_faults_are_told);
    ADD("large-graphs-are-coloured-at-once", test_large_graphs_are_coloured_at_once);
#undef ADD
    return g_test_run();
}
