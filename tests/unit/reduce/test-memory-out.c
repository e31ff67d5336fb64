/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation of five cycles of three ranks is made to fail in turn, under each control (the
 * linker puts the functions below in the place of libc's). Nothing may crash, leak (under a
 * sanitizer) or leave a rank waiting: what one rank finds before the broadcast all learn in it;
 * after it a rank fails alone.
 */
#include "team.h"

#include "reduce/transport-memory.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"

static long to_come = -1; /* allocations until the one that fails; -1: none does */

static bool
fails(void)
{
    if (to_come < 0)
        return false;
    return to_come-- == 0;
}

#define WRAP(type, name, parameters, arguments)                                                    \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails() ? NULL : __real_##name arguments;                                           \
    }

WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size))
WRAP(char *, strdup, (const char *text), (text))

int __wrap_asprintf(char **text, const char *format, ...) G_GNUC_PRINTF(2, 3);

int
__wrap_asprintf(char **text, const char *format, ...)
{
    va_list args;
    if (fails())
        return -1;
    va_start(args, format);
    int length = vasprintf(text, format, args);
    va_end(args);
    return length;
}

/* Agreement in one buffer, in two, a mismatch; a tensor that will stall. */
static void
submit_first(Team *team)
{
    team_submit_all(team, "a", 4);
    team_submit_all(team, "b", 4);
    for (int rank = 0; rank < team->ranks; rank++)
        team_submit(team, rank, "c", rank);
    team_submit_all(team, "d", 400);
    team_submit(team, 0, "late", 1);
    team_submit(team, 1, "late", 1);
}

/* What the ranks submit in each cycle: under bitvector a round, a stall, a bypass with what is
 * owed, an invalidation, a bypass. */
static void
submit_for(Team *team, int cycle)
{
    long left = to_come;
    to_come = -1;
    if (cycle == 0)
        submit_first(team);
    if (cycle == 2)
        team_submit(team, 2, "late", 1);
    if (cycle >= 2) {
        team_submit_all(team, "a", cycle >= 3 ? 5 : 4);
        team_submit_all(team, "b", 4);
    }
    to_come = left;
    team->now_ns = cycle * 10;
}

/* Runs with the n-th allocation failing; returns how many ranks failed, -1 if all n came and went.
 */
static int
run_with_failure(const LsControlClass *class, long n)
{
    Team team = {
        .class = class,
        .config = {.fusion_threshold_bytes = 64, .stall_limit_ns = 10, .cache_capacity = 2}};
    int failed = 0;
    team_open(&team, 3);
    to_come = n;
    for (int cycle = 0; cycle < 5 && failed == 0; cycle++) {
        submit_for(&team, cycle);
        team_cycle(&team);
        for (int rank = 0; rank < 3; rank++) {
            failed += !team.done[rank];
            if (!team.done[rank])
                g_assert_nonnull(strstr(class->error(team.controls[rank]), "out of memory"));
        }
        g_autofree char *late = failed == 0 && cycle == 2 ? team_text(&team, 2) : NULL;
        if (late != NULL) /* d has taken a's place in the cache */
            g_assert_cmpstr(late, ==, class == &ls_control_bitvector ? "b+a !late" : "a+b !late");
    }
    bool fired = to_come < 0;
    to_come = -1;
    team_close(&team);
    return fired ? failed : -1;
}

static void
test_no_allocation_is_taken_for_granted(const void *data)
{
    int alone = 0, together = 0, failed = 0;
    long n = 0;
    for (; (failed = run_with_failure(data, n)) >= 0; n++) {
        g_assert_true(failed == 1 || failed == 3);
        alone += failed == 1;
        together += failed == 3;
    }
    g_test_message("%ld allocations: %d failures of one rank, %d of all", n, alone, together);
    g_assert_cmpint(alone, >, 20);
    g_assert_cmpint(together, >, 50);
}

/* The tree: three ranks, one below the other. */
typedef struct Chain {
    Team team;
    size_t answers[3];
} Chain;

static void
submit_tree(void *user, int rank, int64_t now_ns, LsRequestList *requests, bool *ret_shut_down)
{
    Team *team = &((Chain *)user)->team;
    long left = to_come;
    to_come = -1;
    if (team->path[rank] == 0) {
        team_submit(team, rank, "a", 4);
        team_submit(team, rank, "b", rank);
        if (rank < 2)
            team_submit(team, rank, "late", 1);
    }
    team->path[rank]++;
    *requests = team->requests[rank];
    team->requests[rank] = (LsRequestList){0};
    *ret_shut_down = now_ns > 400;
    to_come = left;
}

static int64_t
execute_tree(void *user, int rank, int64_t now_ns, const LsResponseList *responses, bool shut_down,
             int path)
{
    Chain *chain = user;
    chain->team.left[rank] = shut_down;
    for (size_t i = 0; i < responses->n; i++)
        chain->answers[rank] += responses->items[i].n;
    return 10;
}

/* false: all n allocations came and went. A rank that fails when all have agreed to leave, and has
 * its answers, just leaves. */
static bool
run_tree_with_failure(long n)
{
    Chain chain = {
        .team = {.class = &ls_control_tree,
                 .config = {.fusion_threshold_bytes = 64, .stall_limit_ns = 100, .tree_radix = 1}}};
    Team *team = &chain.team;
    const LsMemoryCost cost = {.alpha_ns = 3};
    const LsMemoryProgram program = {submit_tree, execute_tree, NULL, &chain};
    team_open(team, 3);
    LsMemory *memory = ls_memory_new(3, &cost);
    to_come = n;
    const char *fault = ls_memory_run(memory, team->class, team->controls, &program, 300);
    bool fired = to_come < 0;
    to_come = -1;
    if (fault == NULL)
        for (int rank = 0; rank < 3; rank++) {
            g_assert_true(team->left[rank]);
            g_assert_cmpint(chain.answers[rank], ==, rank < 2 ? 3 : 2);
        }
    else
        g_assert_true(fired && strstr(fault, "out of memory") != NULL);
    ls_memory_free(memory);
    team_close(team);
    return fired;
}

static void
test_tree_takes_no_allocation_for_granted(void)
{
    long n = 0;
    while (run_tree_with_failure(n))
        n++;
    g_test_message("%ld allocations", n);
    g_assert_cmpint(n, >, 100);
}

static void
test_opening_fails_cleanly(const void *data)
{
    const LsControlClass *class = data;
    const LsControlConfig config = {.ranks = 3, .cache_capacity = 3};
    LsControl *control = NULL;
    int n = 0;
    for (; control == NULL; n++) {
        to_come = n;
        control = class->open(&config, NULL);
    }
    to_come = -1;
    g_assert_cmpint(n, >, 2);
    class->close(control);
}

int
main(int argc, char **argv)
{
    static const LsControlClass *const classes[] = {&ls_control_coordinator, &ls_control_bitvector};
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
        const char *name = classes[i]->name;
        g_autofree char *all =
            g_strdup_printf("/reduce/%s/no-allocation-is-taken-for-granted", name);
        g_autofree char *opening = g_strdup_printf("/reduce/%s/opening-fails-cleanly", name);
        g_test_add_data_func(all, classes[i], test_no_allocation_is_taken_for_granted);
        g_test_add_data_func(opening, classes[i], test_opening_fails_cleanly);
    }
    g_test_add_func("/reduce/tree/no-allocation-is-taken-for-granted",
                    test_tree_takes_no_allocation_for_granted);
    g_test_add_data_func("/reduce/tree/opening-fails-cleanly", &ls_control_tree,
                         test_opening_fails_cleanly);
    return g_test_run();
}
