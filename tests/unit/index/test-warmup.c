/* SPDX-License-Identifier: Apache-2.0
 * Where warm-up ends, by each part of its rule. */
#include "index/warmup.h"

#include "tests/unit/sample-trace.h"

#define STEPS 20

typedef struct Case {
    const char *what;
    int64_t first_ns[4];      /* times of the first steps; the others take 100 to 104 */
    int slow_path_until;      /* steps before it take a path of their own */
    int slow_path_every;      /* and each so manyth; 0: no other */
    int64_t new_communicator; /* step that first uses one; -1: none */
    int cut;                  /* step that is cut; -1: none */
    size_t warmup;
} Case;

static bool
takes_slow_path(const Case *one, int step)
{
    return step < one->slow_path_until ||
           (one->slow_path_every > 0 && step % one->slow_path_every == 0);
}

static LsTrace *
make_trace(const Case *one)
{
    LsProcess *process = sample_process(0, 1, "gpu01");
    int64_t now_ns = 1000;

    sample_call(process, 0, 8, 10, 20); /* the first communicator is made before the steps */
    for (int step = 0; step < STEPS; step++) {
        int64_t step_ns = step < 4 ? one->first_ns[step] : 100 + step % 5;
        LsCycle cycle = {.number = step,
                         .path = takes_slow_path(one, step) ? 2 : 1,
                         .start_ns = now_ns + 1,
                         .end_ns = now_ns + 2};
        uint32_t call = sample_call(process, step + 1, 8, now_ns + 10, now_ns + 20);

        if (step >= one->new_communicator && one->new_communicator >= 0)
            g_array_index(process->calls, LsCall, call).communicator =
                ls_strings_add(process->strings, "second");
        g_array_append_val(process->cycles, cycle);
        sample_step(process, step, now_ns, now_ns + step_ns);
        g_array_index(process->steps, LsStep, step).cut = step == one->cut;
        now_ns += step_ns;
    }
    return sample_freeze(&process, 1, 1);
}

/* Whole steps that are warm-up; they stand before all others. */
static size_t
count_warmup(const LsTrace *trace)
{
    size_t n, warmup = 0;
    g_autofree LsStepState *states = ls_warmup_find(trace, &n);

    g_assert_cmpuint(n, ==, STEPS);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpint(states[i].number, ==, (int64_t)i);
        g_assert_true(i == 0 || states[i - 1].warmup || !states[i].warmup);
        warmup += states[i].warmup && !states[i].cut;
    }
    return warmup;
}

static void
test_rule(void)
{
    static const Case cases[] = {
        {"steady from the start", {102, 101, 103, 100}, 0, 0, -1, -1, 0},
        {"two slow steps", {900, 500, 102, 101}, 0, 0, -1, -1, 2},
        {"a step just within three deviations", {105, 101, 102, 103}, 0, 0, -1, -1, 0},
        {"a path that later steps do not take", {102, 101, 103, 100}, 3, 0, -1, -1, 3},
        {"a path that few later steps take", {102, 101, 103, 100}, 0, 3, -1, -1, 1},
        {"a communicator is made", {102, 101, 103, 100}, 0, 0, 0, -1, 1},
        {"made later, it does not begin again", {102, 101, 103, 100}, 0, 0, 7, -1, 0},
        {"a cut step does not count", {900, 102, 101, 100}, 0, 0, -1, 0, 0},
        {"slow once more, later", {900, 102, 900, 101}, 0, 0, -1, -1, 1},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LsTrace) trace = make_trace(&cases[i]);

        g_test_message("%s", cases[i].what);
        g_assert_cmpuint(count_warmup(trace), ==, cases[i].warmup);
    }
}

/* Each step is slower than all before it: nothing to tell warm-up from. */
static void
test_never_settles(void)
{
    LsProcess *process = sample_process(0, 1, "gpu01");

    for (int step = 0; step < STEPS; step++)
        sample_step(process, step, 100000 * step, 100000 * step + (1 << (STEPS - step)) / 64);
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);

    g_assert_cmpuint(count_warmup(trace), ==, 0);
}

/* The second run begins slowly too, with numbers of its own: each warms up for itself, and a step
 * that one of them cut is whole in the other. */
static void
test_runs_apart(void)
{
    LsProcess *processes[2];

    for (int run = 0; run < 2; run++) {
        processes[run] = sample_process(0, 1, "gpu01");
        processes[run]->rank.run = (uint32_t)run;
        processes[run]->rank.incarnation = run;
        for (int step = 0; step < STEPS; step++) {
            int64_t start_ns = 100000 * run + 1000 * step;

            sample_step(processes[run], step, start_ns,
                        start_ns + (step <= run ? 900 : 100 + step % 5));
        }
        g_array_index(processes[run]->steps, LsStep, 9).cut = run == 0;
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 2, 1);
    size_t n;
    g_autofree LsStepState *states = ls_warmup_find(trace, &n);

    g_assert_cmpuint(n, ==, 2 * STEPS);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpuint(states[i].run, ==, i / STEPS);
        g_assert_cmpint(states[i].number, ==, (int64_t)(i % STEPS));
        g_assert_cmpint(states[i].warmup, ==, i % STEPS <= i / STEPS);
        g_assert_cmpint(states[i].cut, ==, i == 9);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/index/warmup/each-part-of-the-rule", test_rule);
    g_test_add_func("/index/warmup/each-run-warms-up-for-itself", test_runs_apart);
    g_test_add_func("/index/warmup/a-run-that-never-settles-has-none", test_never_settles);
    return g_test_run();
}
