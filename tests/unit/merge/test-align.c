/* SPDX-License-Identifier: Apache-2.0
 * Clocks shifted and drifting by known amounts come back within the stated bound, by each method.
 */
#include "merge/align.h"

#include "clocks.h"

#include "capture/format.h"

#define SECOND INT64_C(1000000000)

/* Truth of alignment: what the reference's clock showed when the process's did. Checks error <=
 * bound all along the recording; returns the worst bound. */
static int64_t
check_placement(const LsPlacement *placement, const Clock *clock, const Clock *reference,
                int64_t last_ns, int64_t *ret_error)
{
    int64_t worst = 0, worst_error = 0;

    for (int i = 0; i <= 500; i++) {
        int64_t true_ns = last_ns / 500 * i, local_ns = read_clock(clock, true_ns);
        int64_t common_ns =
            placement->map == NULL ? local_ns : ls_clockmap_map(placement->map, local_ns);
        int64_t bound_ns =
            placement->map == NULL ? 0 : ls_clockmap_get_bound_ns(placement->map, local_ns);
        int64_t error_ns = ABS(common_ns - read_clock(reference, true_ns));

        g_assert_cmpint(error_ns, <=, bound_ns);
        worst = MAX(worst, bound_ns);
        worst_error = MAX(worst_error, error_ns);
    }
    if (ret_error != NULL)
        *ret_error = worst_error;
    return worst;
}

static Clock
make_clock(GRand *rand)
{
    return (Clock){(int64_t)(g_rand_double_range(rand, -5, 5) * 1e9),
                   g_rand_double_range(rand, -100, 100), g_rand_double_range(rand, 0, 50),
                   (int64_t)(g_rand_double_range(rand, -4e6, 4e6))};
}

/* One way: a floor, a tail, now and then the scheduler. */
static int64_t
make_delay(GRand *rand, double floor_us)
{
    double us = floor_us + exponential(rand, 20);

    if (g_rand_double(rand) < 0.05)
        us += exponential(rand, 4000);
    return (int64_t)(us * 1000);
}

typedef struct Job {
    Clock clocks[3];
    LsProcess *processes[3];
    int64_t last_ns;
} Job;

static void
free_job(Job *job)
{
    for (int i = 0; i < 3; i++)
        ls_process_free(job->processes[i]);
}

/* Three hosts; parent[i] is whom host i asks. Trips every `every_ns`, four at a time. */
static void
make_job(Job *job, GRand *rand, const int *parent, int64_t last_ns, int64_t every_ns)
{
    job->last_ns = last_ns;
    for (int i = 0; i < 3; i++) {
        g_autofree char *boot = g_strdup_printf("boot-%d", i);

        job->clocks[i] = make_clock(rand);
        job->processes[i] = make_process(i, 3, &job->clocks[i], boot, 0, last_ns);
    }
    for (int i = 0; i < 3; i++) {
        double floor_us = g_rand_double_range(rand, 2, 15);
        double asymmetry = g_rand_double_range(rand, 0.5, 1.5);

        for (int64_t t = every_ns; parent[i] >= 0 && t < last_ns - every_ns / 2; t += every_ns)
            for (int k = 0; k < 4; k++)
                add_roundtrip(job->processes[i], &job->clocks[i], parent[i],
                              &job->clocks[parent[i]], t + k * every_ns / 8,
                              make_delay(rand, floor_us * asymmetry), 1000,
                              make_delay(rand, floor_us));
    }
}

static void
test_skew(void)
{
    static const int star[] = {-1, 0, 0};
    int64_t worst = 0, worst_error = 0;

    for (guint32 seed = 0; seed < 40; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        LsPlacement *placements;
        Job job;

        make_job(&job, rand, star, 10 * SECOND, 20000000);
        placements = ls_align(job.processes, 3);
        g_assert_cmpint(placements[0].method, ==, LS_CLOCK_REFERENCE);
        for (int i = 0; i < 3; i++) {
            int64_t error_ns, bound_ns = check_placement(&placements[i], &job.clocks[i],
                                                         &job.clocks[0], job.last_ns, &error_ns);

            g_assert_cmpint(bound_ns, <, 50000);
            g_assert_cmpint(placements[i].method, ==, i ? LS_CLOCK_ROUNDTRIP : LS_CLOCK_REFERENCE);
            worst = MAX(worst, bound_ns);
            worst_error = MAX(worst_error, error_ns);
        }
        ls_placements_free(placements, 3);
        free_job(&job);
    }
    g_test_message("worst bound %" G_GINT64_FORMAT " ns, worst error %" G_GINT64_FORMAT " ns",
                   worst, worst_error);
}

/* More ranks than cores: 19 of 20 trips wait for the scheduler for milliseconds. */
static void
test_busy_machine(void)
{
    int64_t worst = 0;

    for (guint32 seed = 0; seed < 20; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Clock clocks[2] = {make_clock(rand), make_clock(rand)};
        LsProcess *processes[2];
        LsPlacement *placements;

        for (int i = 0; i < 2; i++)
            processes[i] = make_process(i, 2, &clocks[i], i ? "b" : "a", 0, 10 * SECOND);
        for (int64_t t = 0; t < 10 * SECOND; t += 12500000) {
            bool fast = g_rand_double(rand) < 0.05;
            int64_t out_ns = 5000 + (int64_t)exponential(rand, fast ? 5e3 : 3e6);
            int64_t back_ns = 5000 + (int64_t)exponential(rand, fast ? 5e3 : 3e6);

            add_roundtrip(processes[1], &clocks[1], 0, &clocks[0], t, out_ns, 1000, back_ns);
        }
        placements = ls_align(processes, 2);
        worst =
            MAX(worst, check_placement(&placements[1], &clocks[1], &clocks[0], 10 * SECOND, NULL));
        ls_placements_free(placements, 2);
        ls_process_free(processes[0]);
        ls_process_free(processes[1]);
    }
    g_test_message("worst bound %" G_GINT64_FORMAT " ns", worst);
    g_assert_cmpint(worst, <, 100000);
}

/* Any amount of evidence, any tree: the bound holds. */
static void
test_bound_always_holds(void)
{
    static const int trees[][3] = {{-1, 0, 0}, {-1, 0, 1}, {-1, 2, 0}, {1, -1, 1}, {1, 2, -1}};

    for (guint32 seed = 100; seed < 400; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        int64_t last_ns = (int64_t)(g_rand_double_range(rand, 0.05, 12) * 1e9);
        int64_t every_ns = last_ns / g_rand_int_range(rand, 3, 150);
        LsPlacement *placements;
        Job job;

        make_job(&job, rand, trees[seed % G_N_ELEMENTS(trees)], last_ns, every_ns);
        placements = ls_align(job.processes, 3);
        for (int i = 0; i < 3; i++) {
            g_assert_cmpint(placements[i].method, ==, i ? LS_CLOCK_ROUNDTRIP : LS_CLOCK_REFERENCE);
            check_placement(&placements[i], &job.clocks[i], &job.clocks[0], last_ns, NULL);
        }
        ls_placements_free(placements, 3);
        free_job(&job);
    }
}

static void
test_apply_moves_times(void)
{
    static const int star[] = {-1, 0, 0};
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    LsPlacement *placements;
    Job job;

    make_job(&job, rand, star, 4 * SECOND, 20000000);
    for (int i = 0; i < 3; i++) {
        LsStep step = {.number = 1,
                       .start_ns = read_clock(&job.clocks[i], SECOND),
                       .end_ns = read_clock(&job.clocks[i], 2 * SECOND)};

        g_array_append_val(job.processes[i]->steps, step);
    }
    placements = ls_align(job.processes, 3);
    for (int i = 0; i < 3; i++) {
        const LsStep *step = &g_array_index(job.processes[i]->steps, LsStep, 0);
        const LsRank *rank = &job.processes[i]->rank;
        int64_t middle_ns = read_clock(&job.clocks[0], 2 * SECOND);

        ls_placement_apply(&placements[i], job.processes[i], 0);
        g_assert_cmpint(rank->clock_uncertainty_ns, <, 50000);
        g_assert_cmpint(ABS(step->start_ns - read_clock(&job.clocks[0], SECOND)), <=,
                        rank->clock_uncertainty_ns);
        g_assert_cmpint(ABS(step->end_ns - middle_ns), <=, rank->clock_uncertainty_ns);
        g_assert_cmpint(
            ABS(rank->clock_offset_ns - (middle_ns - read_clock(&job.clocks[i], 2 * SECOND))), <=,
            rank->clock_uncertainty_ns + 1);
    }
    ls_placements_free(placements, 3);
    free_job(&job);
}

/* A host's processes come with the one that asked; unrecorded ranks with who told of them. */
static void
test_same_boot(void)
{
    const Clock here = {0, 0, 0, 0}, there = {123456789, 40, 0, 0};
    LsProcess *processes[] = {
        make_process(0, 5, &here, "a", 0, SECOND),  make_process(1, 5, &here, "a", 0, SECOND),
        make_process(2, 5, &there, "b", 0, SECOND), make_process(3, 5, &there, "b", 0, SECOND),
        make_process(4, 5, &here, NULL, 0, SECOND),
    };
    LsPlacement *placements;

    processes[4]->rank.recorded = false;
    g_free(processes[4]->rank.source);
    processes[4]->rank.source = g_strdup(processes[0]->rank.source);
    for (int i = 0; i < 20; i++)
        add_roundtrip(processes[3], &there, 0, &here, i * 50000000, 10000, 1000, 10000);
    placements = ls_align(processes, 5);
    g_assert_cmpint(placements[0].method, ==, LS_CLOCK_REFERENCE);
    g_assert_cmpint(placements[1].method, ==, LS_CLOCK_SAME_BOOT);
    g_assert_null(placements[1].map);
    g_assert_cmpint(placements[2].method, ==, LS_CLOCK_ROUNDTRIP);
    g_assert_cmpint(placements[3].method, ==, LS_CLOCK_ROUNDTRIP);
    g_assert_cmpint(placements[4].method, ==, LS_CLOCK_SAME_BOOT);
    g_assert_null(placements[4].map);
    check_placement(&placements[2], &there, &here, SECOND, NULL);
    for (int i = 0; i < 2; i++) {
        int64_t first_ns = processes[i]->rank.first_ns;

        ls_placement_apply(&placements[i], processes[i], 77);
        g_assert_cmpint(processes[i]->rank.first_ns, ==, first_ns);
        g_assert_cmpint(processes[i]->rank.clock_uncertainty_ns, ==, 0);
    }
    ls_placements_free(placements, 5);
    for (int i = 0; i < 5; i++)
        ls_process_free(processes[i]);
}

/* Trips with whichever life of the peer was alive: rank 0 died and came back on another host. */
static void
test_lives(void)
{
    const Clock a = {0, 0, 0, 0}, b = {3 * SECOND, 30, 0, 0}, c = {-2 * SECOND, -20, 0, 0};
    LsProcess *processes[] = {make_process(0, 2, &a, "a", 0, 2 * SECOND),
                              make_process(0, 2, &b, "b", 4 * SECOND, 6 * SECOND),
                              make_process(1, 2, &c, "c", 0, 6 * SECOND)};
    LsPlacement *placements;

    processes[1]->rank.incarnation = 1;
    for (int i = 0; i < 20; i++) {
        add_roundtrip(processes[2], &c, 0, &a, i * 100000000, 10000, 1000, 10000);
        add_roundtrip(processes[2], &c, 0, &b, 4 * SECOND + i * 100000000, 10000, 1000, 10000);
    }
    placements = ls_align(processes, 3);
    g_assert_cmpint(placements[0].method, ==, LS_CLOCK_REFERENCE);
    g_assert_cmpint(placements[1].method, ==, LS_CLOCK_ROUNDTRIP);
    g_assert_cmpint(placements[1].through, ==, 2);
    check_placement(&placements[1], &b, &a, 6 * SECOND, NULL);
    check_placement(&placements[2], &c, &a, 6 * SECOND, NULL);
    ls_placements_free(placements, 3);
    for (int i = 0; i < 3; i++)
        ls_process_free(processes[i]);
}

/* A wrapper that is no rank measures for all ranks of its boot, over the time that they lived,
 * which is longer than its own; it names its peer by boot. */
static void
test_observers(void)
{
    for (guint32 seed = 0; seed < 40; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        const Clock a = make_clock(rand), b = make_clock(rand);
        LsProcess *processes[] = {make_process(1, 4, &a, "a", 0, 10 * SECOND),
                                  make_process(2, 4, &b, "b", 0, 5 * SECOND),
                                  make_process(3, 4, &b, "b", 5 * SECOND, 10 * SECOND),
                                  make_process(0, 4, &b, "b", SECOND, 9 * SECOND)};
        LsProcess *observer = processes[3];
        LsPlacement *placements;

        observer->observer = true;
        for (int64_t t = SECOND; t < 9 * SECOND; t += SECOND / 20) {
            add_roundtrip(observer, &b, -1, &a, t, make_delay(rand, 10), 1000,
                          make_delay(rand, 10));
            g_array_index(observer->roundtrips, LsRoundtrip, observer->roundtrips->len - 1).boot =
                ls_strings_add(observer->strings, seed % 8 == 7 ? "nobody" : "a");
        }
        placements = ls_align(processes, 4);
        g_assert_cmpint(placements[0].method, ==, LS_CLOCK_REFERENCE);
        for (int i = 1; i < 4; i++) {
            if (seed % 8 == 7) {
                g_assert_cmpint(placements[i].method, ==, LS_CLOCK_NONE);
                continue;
            }
            g_assert_cmpint(placements[i].method, ==, LS_CLOCK_ROUNDTRIP);
            g_assert_cmpint(check_placement(&placements[i], &b, &a, 10 * SECOND, NULL), <, 100000);
        }
        g_assert_cmpuint(observer->findings->len, ==, 0);
        ls_placements_free(placements, 4);
        for (int i = 0; i < 4; i++)
            ls_process_free(processes[i]);
    }
}

/* Allreduces: ranks enter when they are ready, transfer begins with the last, ends within a few us.
 */
static void
add_collectives(LsProcess **processes, const Clock *clocks, size_t n, GRand *rand, int64_t last_ns,
                bool numbered)
{
    int64_t sequence = 0;

    for (int64_t t = SECOND / 10; t < last_ns - SECOND / 10; t += SECOND / 50, sequence++) {
        int64_t starts[8], last_start = 0;

        for (size_t i = 0; i < n; i++) {
            starts[i] = t + (int64_t)exponential(rand, 2e6);
            last_start = MAX(last_start, starts[i]);
        }
        for (size_t i = 0; i < n; i++) {
            LsCall call = {.operation = LS_OPERATION_ALLREDUCE,
                           .communicator = 1,
                           .sequence = numbered ? sequence : -1,
                           .device_timed = true,
                           .bytes = 4096,
                           .start_ns = read_clock(&clocks[i], starts[i]),
                           .end_ns = read_clock(&clocks[i], last_start + 150000 +
                                                                (int64_t)exponential(rand, 5000))};

            g_array_append_val(processes[i]->calls, call);
        }
    }
}

static void
test_collectives(void)
{
    int64_t worst = 0, worst_error = 0;

    for (guint32 seed = 0; seed < 60; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Clock clocks[3];
        LsProcess *processes[3];
        LsPlacement *placements;

        for (int i = 0; i < 3; i++) {
            clocks[i] = make_clock(rand);
            processes[i] = make_process(i, 3, &clocks[i], NULL, 0, 8 * SECOND);
        }
        add_collectives(processes, clocks, 3, rand, 8 * SECOND, true);
        placements = ls_align(processes, 3);
        for (int i = 1; i < 3; i++) {
            int64_t error_ns, bound_ns;

            g_assert_cmpint(placements[i].method, ==, LS_CLOCK_COLLECTIVE);
            bound_ns =
                check_placement(&placements[i], &clocks[i], &clocks[0], 8 * SECOND, &error_ns);
            g_assert_cmpint(bound_ns, <, 1000000);
            g_assert_true(has_finding(processes[i]->findings, "inferred from collectives"));
            worst = MAX(worst, bound_ns);
            worst_error = MAX(worst_error, error_ns);
        }
        ls_placements_free(placements, 3);
        for (int i = 0; i < 3; i++)
            ls_process_free(processes[i]);
    }
    g_test_message("worst bound %" G_GINT64_FORMAT " ns, worst error %" G_GINT64_FORMAT " ns",
                   worst, worst_error);
    g_assert_cmpint(worst_error, <, 60000);
}

/* A host-side bar of an asynchronous call ends before the collective does: no evidence. */
static void
test_untimed_collectives_are_no_evidence(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    const Clock clocks[2] = {{0, 0, 0, 0}, {SECOND, 0, 0, 0}};
    LsProcess *processes[2] = {make_process(0, 2, &clocks[0], NULL, 0, SECOND),
                               make_process(1, 2, &clocks[1], NULL, 0, SECOND)};
    LsPlacement *placements;

    add_collectives(processes, clocks, 2, rand, SECOND, true);
    for (guint i = 0; i < processes[1]->calls->len; i++)
        g_array_index(processes[1]->calls, LsCall, i).device_timed = false;
    placements = ls_align(processes, 2);
    g_assert_cmpint(placements[1].method, ==, LS_CLOCK_NONE);
    ls_placements_free(placements, 2);
    ls_process_free(processes[0]);
    ls_process_free(processes[1]);
}

static void
test_wall(void)
{
    for (guint32 seed = 0; seed < 100; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Clock clocks[2] = {make_clock(rand), make_clock(rand)};
        LsProcess *processes[2];
        LsPlacement *placements;

        for (int i = 0; i < 2; i++) {
            processes[i] = make_process(i, 2, &clocks[i], NULL, 0, 10 * SECOND);
            for (int k = 0; k < (seed % 5 ? 10 : 1); k++)
                add_clock_pair(processes[i], &clocks[i], k * SECOND, 500);
        }
        placements = ls_align(processes, 2);
        g_assert_cmpint(placements[1].method, ==, LS_CLOCK_WALL);
        check_placement(&placements[1], &clocks[1], &clocks[0], 10 * SECOND, NULL);
        g_assert_true(has_finding(processes[1]->findings, "wall clock"));
        ls_placements_free(placements, 2);
        ls_process_free(processes[0]);
        ls_process_free(processes[1]);
    }
}

/* NTP sets the wall clock by 2 s in mid-run: most readings agree, the bound says that some do not.
 */
static void
test_wall_step(void)
{
    Clock clocks[2] = {{0, 0, 0, 0}, {SECOND, 10, 0, 0}};
    LsProcess *processes[2];
    LsPlacement *placements;

    for (int i = 0; i < 2; i++) {
        processes[i] = make_process(i, 2, &clocks[i], NULL, 0, 20 * SECOND);
        for (int k = 0; k < 20; k++) {
            clocks[1].wall_error_ns = k < 2 ? 2 * SECOND : 0;
            add_clock_pair(processes[i], &clocks[i], k * SECOND, 500);
        }
    }
    placements = ls_align(processes, 2);
    g_assert_cmpint(placements[1].method, ==, LS_CLOCK_WALL);
    check_placement(&placements[1], &clocks[1], &clocks[0], 20 * SECOND, NULL);
    ls_placements_free(placements, 2);
    ls_process_free(processes[0]);
    ls_process_free(processes[1]);
}

static void
test_none(void)
{
    const Clock here = {0, 0, 0, 0}, there = {900 * SECOND, 0, 0, 0};
    LsProcess *processes[2] = {make_process(0, 2, &here, "a", SECOND, 2 * SECOND),
                               make_process(1, 2, &there, "b", SECOND, 2 * SECOND)};
    LsPlacement *placements = ls_align(processes, 2);

    g_assert_cmpint(placements[1].method, ==, LS_CLOCK_NONE);
    g_assert_true(has_finding(processes[1]->findings, "cannot be brought"));
    ls_placement_apply(&placements[1], processes[1], processes[0]->rank.first_ns);
    g_assert_cmpint(processes[1]->rank.first_ns, ==, SECOND);
    g_assert_cmpint(processes[1]->rank.clock_uncertainty_ns, ==, LS_TIME_NONE);
    ls_placements_free(placements, 2);
    ls_process_free(processes[0]);
    ls_process_free(processes[1]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/align/skewed-clocks-come-back-within-50-us", test_skew);
    g_test_add_func("/merge/align/few-fast-trips-suffice", test_busy_machine);
    g_test_add_func("/merge/align/bound-holds-for-any-evidence-and-tree", test_bound_always_holds);
    g_test_add_func("/merge/align/applied-to-every-time", test_apply_moves_times);
    g_test_add_func("/merge/align/same-boot-moves-nothing", test_same_boot);
    g_test_add_func("/merge/align/trips-belong-to-the-life-that-answered", test_lives);
    g_test_add_func("/merge/align/observers-measure-for-their-boot", test_observers);
    g_test_add_func("/merge/align/collectives", test_collectives);
    g_test_add_func("/merge/align/untimed-collectives-are-no-evidence",
                    test_untimed_collectives_are_no_evidence);
    g_test_add_func("/merge/align/wall-clock", test_wall);
    g_test_add_func("/merge/align/wall-clock-was-set", test_wall_step);
    g_test_add_func("/merge/align/no-evidence-is-said", test_none);
    return g_test_run();
}
