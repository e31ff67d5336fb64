/* SPDX-License-Identifier: Apache-2.0
 * Groups of tensors: read from text, found by name, fused alone or together; and what the gate
 * makes of them under both controls that it stands in front of. */
#include "team.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/group.h"
#include "reduce/lockstep.h"

static LsGroups *
parse(const char *text)
{
    char error[256] = "";
    LsGroups *groups = ls_groups_new();
    const char *fault = ls_groups_parse(groups, text, strlen(text), error);
    g_assert_null(fault);
    return groups;
}

static void
check_fault(const char *text, size_t length, const char *expected)
{
    char error[256] = "";
    LsGroups *groups = ls_groups_new();
    g_assert_cmpstr(ls_groups_parse(groups, text, length, error), ==, expected);
    ls_groups_free(groups);
}

static void
test_a_text_is_one_group_a_line(void)
{
    LsGroups *groups = parse("# made by hand\n\na b\tc\r\n  \"with blank\" \"a \"\"b\"\"\" # two\n"
                             "d#e # f\n\"#\"");
    g_assert_cmpint(ls_groups_count(groups), ==, 4);
    g_assert_cmpint(ls_group_size(groups, 0), ==, 3);
    g_assert_cmpstr(ls_group_member(groups, 0, 2), ==, "c");
    g_assert_cmpint(ls_groups_find(groups, "b"), ==, 0);
    g_assert_cmpint(ls_groups_find(groups, "with blank"), ==, 1);
    g_assert_cmpint(ls_groups_find(groups, "a \"b\""), ==, 1);
    g_assert_cmpint(ls_groups_find(groups, "d#e"), ==, 2);
    g_assert_cmpint(ls_groups_find(groups, "#"), ==, 3);
    g_assert_cmpint(ls_groups_find(groups, "f"), ==, LS_GROUP_NONE);
    g_assert_cmpint(ls_groups_find(NULL, "a"), ==, LS_GROUP_NONE);
    g_assert_cmpstr(ls_group_name(groups, 1), ==, "group 1");
    g_assert_cmpstr(ls_group_name(groups, 2), ==, "d#e"); /* alone */
    ls_groups_free(groups);
}

/* What the members have in common, up to where a part ends; no two alike. */
static void
test_groups_are_named_by_their_members(void)
{
    static const char *const expected[] = {
        "layer4.2", "layer4", "layer4 · group 2", "group 3", "a/b", "a/b · group 5", "fc.bias"};
    LsGroups *groups = parse("layer4.2.conv1.weight layer4.2.bn1\nlayer4.2.x layer4.20.x layer4.3\n"
                             "layer4.1 layer4.4\nlayer1 layer2\na/b a/b/c\na/b/d a/b.e\nfc.bias\n");
    g_assert_cmpint(ls_groups_count(groups), ==, G_N_ELEMENTS(expected));
    for (int i = 0; i < ls_groups_count(groups); i++)
        g_assert_cmpstr(ls_group_name(groups, i), ==, expected[i]);
    g_assert_cmpstr(ls_groups_name_of(groups, "a/b.e"), ==, "a/b · group 5");
    g_assert_null(ls_groups_name_of(groups, "a"));
    ls_groups_free(groups);
}

static void
test_faults_name_their_line(void)
{
    check_fault("a b\nc a\n", 8, "line 2: tensor 'a' is in two groups, or twice in one");
    check_fault("a\n\nb b", 6, "line 3: tensor 'b' is in two groups, or twice in one");
    check_fault("a \"b\nc", 6, "line 1: a quote is not closed");
    check_fault("a\0b", 3, "line 1: a byte 0");
}

static void
test_files_are_read_and_named_in_faults(void)
{
    char error[256];
    LsGroups *groups = ls_groups_new();
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("groups-XXXXXX", &path, NULL);
    g_close(file, NULL);
    g_assert_true(g_file_set_contents(path, "a b\nc\n", -1, NULL));
    g_assert_null(ls_groups_read(groups, path, error));
    g_assert_cmpint(ls_groups_count(groups), ==, 2);
    g_assert_true(g_file_set_contents(path, "d\na", -1, NULL));
    g_assert_nonnull(ls_groups_read(groups, path, error));
    g_assert_nonnull(strstr(error, path));
    g_assert_nonnull(strstr(error, "': line 2: tensor 'a'"));
    g_unlink(path);
    g_assert_nonnull(ls_groups_read(groups, path, error));
    g_assert_nonnull(strstr(error, "it cannot be read"));
    ls_groups_free(groups);
}

static void
test_digests_tell_groups_apart(void)
{
    const char *const texts[] = {"", "a b c", "a b\nc", "a c b", "ab c", "a\nb\nc", "c\na b"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        for (size_t k = 0; k < G_N_ELEMENTS(texts); k++) {
            LsGroups *a = parse(texts[i]), *b = parse(texts[k]);
            g_assert_true((ls_groups_digest(a) == ls_groups_digest(b)) == (i == k));
            ls_groups_free(a);
            ls_groups_free(b);
        }
}

static void
open_team(Team *team, const void *class, int ranks, const LsGroups *groups)
{
    team->class = class;
    team->config.groups = groups;
    team->config.cache_capacity = 16;
    team_open(team, ranks);
}

static void
submit_text(Team *team, int rank, const char *names)
{
    for (; *names != '\0'; names++) {
        const char name[] = {*names, '\0'};
        if (rank >= 0)
            team_submit(team, rank, name, 4);
        else
            team_submit_all(team, name, 4);
    }
}

/* The whole group or nothing of it, on any rank; and no message more than without groups. */
static void
test_a_withheld_member_holds_its_group(const void *class)
{
    LsGroups *groups = parse("a b c\nd e");
    Team team = {.config = {.fusion_threshold_bytes = 1 << 20}};
    bool cached = class == &ls_control_bitvector;
    open_team(&team, class, 3, groups);
    for (int step = 0; step < 4; step++) {
        submit_text(&team, 0, "cabxde");
        submit_text(&team, 1, "bxaed");
        submit_text(&team, 2, "axbced");
        team_cycle(&team);
        team_check_answers(&team, "x+e+d"); /* as rank 2 made them complete; as bits later */
        if (cached && step > 0)
            team_check_cycle(&team, "A1", "x+e+d", LS_PATH_BYPASS);
        team_cycle(&team);
        team_check_answers(&team, "");
        submit_text(&team, 1, "c");
        team_cycle(&team);
        if (cached && step > 0)
            team_check_cycle(&team, "A1", "b+a+c", LS_PATH_BYPASS);
        for (int rank = 0; rank < 3; rank++) {
            g_assert_cmpint(team.responses[rank].n, ==, 1);
            g_assert_cmpint(team.responses[rank].items[0].n, ==, 3);
            g_assert_cmpint(team.class->pending(team.controls[rank]), ==, 0);
        }
    }
    team_close(&team);
    ls_groups_free(groups);
}

static void
test_the_gate_is_told_for_each_member(const void *class)
{
    LsGroups *groups = parse("a b c");
    Team team = {0};
    open_team(&team, class, 2, groups);
    submit_text(&team, 0, "ab");
    submit_text(&team, 1, "cba");
    team_cycle(&team);
    g_assert_cmpstr(team.gates->str, ==, "1:c:0 1:b:0 1:a:0 ");
    submit_text(&team, 0, "xc");
    team_cycle(&team);
    g_assert_cmpstr(team.gates->str, ==, "1:c:0 1:b:0 1:a:0 0:a:0 0:b:0 0:c:0 ");
    team_close(&team);
    ls_groups_free(groups);
}

/* Only the member that is missing is named, by its own rank and, where it knows, by rank 0. */
static void
test_the_missing_member_is_named(const void *class)
{
    LsGroups *groups = parse("a b c");
    Team team = {.config = {.stall_warning_ns = 100}};
    open_team(&team, class, 3, groups);
    submit_text(&team, 0, "abc");
    submit_text(&team, 1, "ab");
    submit_text(&team, 2, "abc");
    for (team.now_ns = 0; team.now_ns < 100; team.now_ns += 10)
        team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "");
    team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "c:1:100 c:1:100 ");
    submit_text(&team, 1, "c");
    team_cycle(&team);
    g_assert_cmpint(team.responses[2].n, ==, 3);
    team_close(&team);
    ls_groups_free(groups);
}

/* A member that no rank submits: each rank names it; after the limit the others fail everywhere,
 * and the next round of the group is sound. */
static void
test_a_group_that_cannot_be_complete_fails(const void *class)
{
    LsGroups *groups = parse("a b c");
    Team team = {.config = {.stall_warning_ns = 100, .stall_limit_ns = 200}};
    open_team(&team, class, 2, groups);
    submit_text(&team, -1, "ab");
    for (; team.now_ns < 200; team.now_ns += 50)
        team_cycle(&team);
    g_assert_cmpstr(team.stalls->str, ==, "c:0:100 c:1:100 ");
    team_cycle(&team);
    team_check_answers(&team, "!a !b");
    team_check_error(&team, 0, LOCKSTEP_ERR_STALLED,
                     "tensor 'a' of group 'group 0' waited 0.0 s for the rest of it (limit 0.0 s)");
    submit_text(&team, -1, "cab");
    team_cycle(&team);
    g_assert_cmpint(team.responses[0].n, ==, 3);
    g_assert_cmpint(team.responses[1].items[2].status, ==, LOCKSTEP_OK);
    team_close(&team);
    ls_groups_free(groups);
}

/* Held on one rank, asked for by others: the failure reaches all that have it. */
static void
test_a_limit_ends_a_group_that_is_held_somewhere(const void *class)
{
    LsGroups *groups = parse("a b");
    Team team = {.config = {.stall_limit_ns = 100}};
    open_team(&team, class, 2, groups);
    submit_text(&team, 0, "ab");
    submit_text(&team, 1, "a");
    for (; team.now_ns < 100; team.now_ns += 50)
        team_cycle(&team);
    team_cycle(&team);
    g_autofree char *first = team_text(&team, 0), *second = team_text(&team, 1);
    g_assert_cmpstr(first, ==, "!a !b");
    g_assert_cmpstr(second, ==, "!a");
    submit_text(&team, 1, "b"); /* meets the failure that rank 0 had */
    team_cycle(&team);
    g_autofree char *late = team_text(&team, 1);
    g_assert_cmpstr(late, ==, "!b");
    submit_text(&team, -1, "ba");
    team_cycle(&team);
    g_assert_cmpint(team.responses[1].n, ==, 2);
    g_assert_cmpint(team.responses[1].items[0].status, ==, LOCKSTEP_OK);
    team_close(&team);
    ls_groups_free(groups);
}

static void
test_groups_are_fused_alone_or_together(const void *class)
{
    static const struct {
        bool alone;
        int64_t threshold;
        const char *text;
    } rows[] = {
        {false, 1 << 20, "x+a+b+y+c+d"}, {true, 1 << 20, "a+b c+d x+y"}, {true, 16, "a b c d x y"},
        {true, 0, "a b c d x y"},        {false, 48, "x+a+b y+c+d"},
    };
    LsGroups *groups = parse("a b\nc d");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Team team = {
            .config = {.fusion_threshold_bytes = rows[i].threshold, .groups_alone = rows[i].alone}};
        open_team(&team, class, 2, groups);
        for (int step = 0; step < 3; step++) {
            submit_text(&team, -1, "xacbyd"); /* b lets a go, d lets c go */
            team_cycle(&team);
            team_check_answers(&team, rows[i].text);
        }
        team_close(&team);
    }
    ls_groups_free(groups);
}

int
main(int argc, char **argv)
{
    static const LsControlClass *const classes[] = {&ls_control_coordinator, &ls_control_bitvector};
    static const struct {
        const char *name;
        void (*test)(const void *class);
    } rows[] = {
        {"a-withheld-member-holds-its-group", test_a_withheld_member_holds_its_group},
        {"the-gate-is-told-for-each-member", test_the_gate_is_told_for_each_member},
        {"the-missing-member-is-named", test_the_missing_member_is_named},
        {"a-group-that-cannot-be-complete-fails", test_a_group_that_cannot_be_complete_fails},
        {"a-limit-ends-a-group-that-is-held-somewhere",
         test_a_limit_ends_a_group_that_is_held_somewhere},
        {"groups-are-fused-alone-or-together", test_groups_are_fused_alone_or_together},
    };
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/group/a-text-is-one-group-a-line", test_a_text_is_one_group_a_line);
    g_test_add_func("/reduce/group/is-named-by-its-members",
                    test_groups_are_named_by_their_members);
    g_test_add_func("/reduce/group/faults-name-their-line", test_faults_name_their_line);
    g_test_add_func("/reduce/group/files-are-read-and-named-in-faults",
                    test_files_are_read_and_named_in_faults);
    g_test_add_func("/reduce/group/digests-tell-groups-apart", test_digests_tell_groups_apart);
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
        for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
            g_autofree char *path =
                g_strdup_printf("/reduce/gate/%s/%s", classes[i]->name, rows[k].name);
            g_test_add_data_func(path, classes[i], rows[k].test);
        }
    return g_test_run();
}
