/* SPDX-License-Identifier: Apache-2.0
 * Whom the report accuses, and whom it clears, where a part of the recording is missing: it judges
 * what is left by itself, says how much it could not judge, and never takes a hole for a straggler
 * or for the absence of one. */
#include "report/report.h"

#include "analysis/ledger.h"
#include "tests/unit/sample-trace.h"

#include <string.h>

#define RANKS 4
#define STEPS 12
#define LATE  2
#define MS    INT64_C(1000000)

typedef enum Hole { NOTHING, SUBMISSIONS, CALLS, COMMUNICATION, MARKS } Hole;

/* Rank 2 is `late_ms` late in every step. Of rank `hole_rank` something is missing in the steps
 * from `from` on, marks in two of them; `before` broadcasts precede the first step, where rank 0 is
 * last. */
typedef struct Run {
    int64_t late_ms;
    Hole hole;
    int hole_rank, from, before;
} Run;

static bool
is_missing(const Run *run, Hole hole, int rank, int step)
{
    return (run->hole == COMMUNICATION && hole != MARKS) ||
           (run->hole == hole && rank == run->hole_rank && step >= run->from &&
            (hole != MARKS || step < run->from + 2));
}

static void
add_broadcasts(LsProcess *process, const Run *run, int rank)
{
    for (int i = 0; i < run->before; i++) {
        int64_t start_ns = (i - run->before) * MS;
        uint32_t call = sample_call(process, i, 64 << 20, start_ns + MS / 2, start_ns + MS * 3 / 4);

        sample_use(process, "weight", (uint32_t)i, call, start_ns + (rank == 0 ? MS / 4 : 0),
                   start_ns + MS * 3 / 8);
    }
}

static void
add_step(LsProcess *process, const Run *run, int rank, int step)
{
    int64_t start_ns = step * 100 * MS, late_ns = rank == LATE ? run->late_ms * MS : 0;
    int64_t submit_ns = start_ns + 60 * MS + late_ns;
    int64_t last_ns = start_ns + (60 + run->late_ms) * MS;

    if (!is_missing(run, MARKS, rank, step)) {
        sample_step(process, step, start_ns, start_ns + 95 * MS);
        sample_phase(process, "forward", start_ns, submit_ns, 100);
    }
    if (is_missing(run, CALLS, rank, step))
        return;
    uint32_t call =
        sample_call(process, run->before + step, 1 << 20, last_ns + MS / 2, last_ns + 2 * MS);

    if (!is_missing(run, SUBMISSIONS, rank, step))
        sample_use(process, "gradient", (uint32_t)step, call, submit_ns, last_ns + MS / 4);
}

typedef struct Said {
    LsTrace *trace;
    LsActivity *activity;
    char *lines[5];
    LsLedger ledger;
} Said;

static void
said_clear(Said *said)
{
    for (size_t i = 0; i < G_N_ELEMENTS(said->lines); i++)
        g_free(said->lines[i]);
    ls_activity_free(said->activity);
    ls_trace_unref(said->trace);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Said, said_clear)

/* shown: by rank; NULL: all are. */
static Said
ask_of(const Run *run, const bool *shown)
{
    LsProcess *processes[RANKS];
    Said said = {0};

    for (int rank = 0; rank < RANKS; rank++) {
        processes[rank] = sample_process(rank, RANKS, "gpu01");
        add_broadcasts(processes[rank], run, rank);
        for (int step = 0; step < STEPS; step++)
            add_step(processes[rank], run, rank, step);
    }
    said.trace = sample_freeze(processes, RANKS, RANKS);
    said.activity = ls_activity_new(said.trace);
    LsAnalysisInput input = {said.trace, said.activity, shown, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    LsScope *scope = ls_scope_new(&input);
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    g_assert_cmpuint(n, ==, G_N_ELEMENTS(said.lines));
    for (size_t i = 0; i < n; i++) {
        said.lines[i] = g_strconcat(lines[i].label, " | ", lines[i].text, NULL);
        g_test_message("%s", said.lines[i]);
    }
    said.ledger = ls_ledger_make(&input, scope);
    ls_scope_free(scope);
    return said;
}

static Said
ask(const Run *run)
{
    return ask_of(run, NULL);
}

static void
assert_says(const char *line, const char *part)
{
    if (strstr(line, part) == NULL)
        g_error("'%s' does not say '%s'", line, part);
}

/* Holes in more than half of the steps, of a rank that is in time, hide the late one no more; and
 * what they leave is judged by its own steps. */
static void
test_late_beside_holes(void)
{
    for (Hole hole = SUBMISSIONS; hole <= CALLS; hole++) {
        const Run run = {20, hole, 1, 4, 0};
        g_auto(Said) said = ask(&run);

        g_assert_true(g_str_has_prefix(said.lines[1], "Rank 2 "));
        assert_says(said.lines[1], "in 4 of 4 buffers");
        assert_says(said.lines[1], "It costs 20.0 ms a step");
        assert_says(said.lines[1], "In 8 more steps who was last is not known");
        g_assert_true(said.ledger.wait_known);
        g_assert_cmpuint(said.ledger.unjudged, ==, 8);
        /* Three of four ranks wait 20 ms in each step that was judged. */
        g_assert_cmpint(said.ledger.mean_ns[LS_LEDGER_EXPOSED_WAIT], ==, 15 * MS);
    }
}

/* A filter of ranks chooses what is shown, not who is judged: the same is said of the late one
 * whether it, or anybody beside it, is shown. */
static void
test_filter_judges_all(void)
{
    const Run run = {20, NOTHING, 0, 0, 0};
    g_auto(Said) all = ask(&run);

    for (int only = 0; only < RANKS; only++) {
        const bool shown[RANKS] = {only == 0, only == 1, only == 2, only == 3};
        g_auto(Said) said = ask_of(&run, shown);

        g_assert_true(g_str_has_prefix(said.lines[1], "Rank 2 "));
        g_assert_cmpstr(said.lines[1], ==, all.lines[1]);
        g_assert_cmpint(said.ledger.n, ==, STEPS - 1);
        g_assert_cmpuint(said.ledger.unjudged, ==, 0);
    }
}

/* A rank that lacks a step between two others: what it computed then is not known, and the ledger
 * is not made of that step. The first line says which steps it speaks of, and how long those are.
 */
static void
test_step_that_a_rank_lacks(void)
{
    const Run run = {20, MARKS, 1, 4, 0}, whole = {20, NOTHING, 0, 0, 0};
    g_auto(Said) said = ask(&run), all = ask(&whole);

    g_assert_true(said.ledger.wait_known);
    g_assert_cmpuint(said.ledger.unjudged, ==, 2);
    g_assert_cmpint(said.ledger.n, ==, (STEPS - 3) * RANKS); /* the first is warm-up */
    g_assert_cmpint(said.ledger.mean_ns[LS_LEDGER_EXPOSED_WAIT], ==, 15 * MS);
    assert_says(said.lines[0], "In the 9 of 11 steps that can be judged (95.0 ms each) the step "
                               "waits ");
    g_assert_cmpuint(all.ledger.unjudged, ==, 0);
    assert_says(all.lines[0], "| The step waits ");
}

/* The start of a call lies behind the agreement: beside submissions it would look late. */
static void
test_hole_is_no_straggler(void)
{
    for (int late_ms = 0; late_ms <= 20; late_ms += 20) {
        const Run run = {late_ms, SUBMISSIONS, 1, 0, 0};
        g_auto(Said) said = ask(&run);

        g_assert_null(strstr(said.lines[1], "Rank 1 "));
        g_assert_null(strstr(said.lines[1], "No straggler"));
        assert_says(said.lines[1], "Who was last is not in this recording");
        g_assert_false(said.ledger.wait_known);
        assert_says(said.lines[0], "at least");
        assert_says(said.lines[3], "record every rank, and all of it");
    }
}

static void
test_nobody_is_cleared(void)
{
    const Run run = {1, CALLS, 3, 3, 0};
    g_auto(Said) said = ask(&run);

    /* 1 ms of 95: over the threshold where it can be judged. */
    assert_says(said.lines[1], "In 9 more steps who was last is not known");
    const Run none = {0, CALLS, 3, 3, 0};
    g_auto(Said) nobody = ask(&none);

    g_assert_null(strstr(nobody.lines[1], "No straggler"));
}

/* All ranks in time in some steps, beyond what the clock can tell: judged, and nothing is missing.
 */
static void
test_ties_are_judged(void)
{
    const Run run = {20, NOTHING, 0, 0, 0}, even = {0, NOTHING, 0, 0, 0};
    LsProcess *processes[RANKS];

    for (int rank = 0; rank < RANKS; rank++) {
        processes[rank] = sample_process(rank, RANKS, "gpu01");
        for (int step = 0; step < STEPS; step++)
            add_step(processes[rank], step % 3 == 0 ? &even : &run, rank, step);
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, RANKS, RANKS);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    size_t n;
    const LsHeadlineLine *lines = ls_headline_get_lines(headline, &n);

    assert_says(lines[1].text, "in 8 of 8 buffers, in 8 of 11 steps");
    g_assert_null(strstr(lines[1].text, "not known"));
}

static void
test_buffers_of_steps(void)
{
    const Run run = {20, NOTHING, 0, 0, 30};
    g_auto(Said) said = ask(&run);

    /* 64 MB in a quarter of a millisecond, thirty times, and none of it a step's. */
    assert_says(said.lines[1], "was last in 12 of 12 buffers");
    assert_says(said.lines[2], "12 buffers of steps (1.0 a step, 1.05 MB in the mean)");
    assert_says(said.lines[2], "1.50 ms each");
    assert_says(said.lines[2], "30 more outside of steps");
}

static void
test_nothing_recorded(void)
{
    const Run run = {20, COMMUNICATION, 0, 0, 0};
    g_auto(Said) said = ask(&run);

    assert_says(said.lines[0], "No communication was recorded");
    g_assert_null(strstr(said.lines[0], "hides all"));
    assert_says(said.lines[2], "No buffer was recorded");
    assert_says(said.lines[3], "record communication too");
}

/* A tensor's first use in a rank's second life is no late one of the first. */
static void
test_lives_apart(void)
{
    LsProcess *processes[4];

    for (int i = 0; i < 4; i++) {
        int rank = i / 2, life = i % 2;
        int64_t begin_ns = life * 1000 * MS;

        processes[i] = sample_process(rank, 2, "gpu01");
        processes[i]->rank.incarnation = life;
        for (int step = 0; step < 3; step++) {
            int64_t start_ns = begin_ns + step * 10 * MS;
            uint32_t call = sample_call(processes[i], step + 100 * life, 8, start_ns + 3 * MS,
                                        start_ns + 4 * MS);

            sample_use(processes[i], "gradient", (uint32_t)step, call, start_ns + (1 + rank) * MS,
                       start_ns + 3 * MS);
        }
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 4, 2);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsTable) tensors = ls_analysis_find("tensors")->run(&input);
    size_t spread = (size_t)ls_table_find_column(tensors, "spread_ns");
    size_t count = (size_t)ls_table_find_column(tensors, "count");

    g_assert_cmpuint(ls_table_get_rows(tensors), ==, 1);
    g_assert_cmpint(ls_table_get_int(tensors, 0, count), ==, 6);
    g_assert_cmpint(ls_table_get_int(tensors, 0, spread), ==, MS);
}

static char *
get_line(const LsTrace *trace, size_t i)
{
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsHeadline) headline = ls_headline_new(&input);
    size_t n;

    return g_strdup(ls_headline_get_lines(headline, &n)[i].text);
}

/* Submissions alone: rank 1 is last in two of five; in the others both come at once. */
static void
test_ties_are_told(void)
{
    LsProcess *processes[2];

    for (int rank = 0; rank < 2; rank++) {
        processes[rank] = sample_process(rank, 2, "gpu01");
        for (uint32_t use = 0; use < 5; use++)
            sample_use(processes[rank], "gradient", use, LS_NONE,
                       use * 10 * MS + (use < 2 ? rank : 0) * MS, use * 10 * MS + 5 * MS);
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 2, 2);
    g_autofree char *line = get_line(trace, 1);

    assert_says(line, "Rank 1 submitted last most often, in 2 of 5 negotiations (in 3 the last two "
                      "came too close to tell)");
}

/* What no rule knows is named, so that a file of rules can. */
static void
test_unknown_spans(void)
{
    LsProcess *process = sample_process(0, 1, "gpu01");

    for (int i = 0; i < 5; i++)
        sample_phase(process, i < 3 ? "PUSH" : "PULL", i * MS, i * MS + MS / 2, 0);
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    g_autofree char *line = get_line(trace, 0);

    assert_says(line, "No communication was recorded; 5 spans are of no known kind (PUSH, PULL): "
                      "--rules FILE can say which they are. No compute was recorded");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/judgement/late-rank-is-named-beside-holes", test_late_beside_holes);
    g_test_add_func("/report/judgement/filter-judges-all", test_filter_judges_all);
    g_test_add_func("/report/judgement/step-that-a-rank-lacks", test_step_that_a_rank_lacks);
    g_test_add_func("/report/judgement/a-hole-is-no-straggler", test_hole_is_no_straggler);
    g_test_add_func("/report/judgement/a-hole-clears-nobody", test_nobody_is_cleared);
    g_test_add_func("/report/judgement/ties-are-judged", test_ties_are_judged);
    g_test_add_func("/report/judgement/buffers-of-steps-stand-apart", test_buffers_of_steps);
    g_test_add_func("/report/judgement/no-communication-is-not-hidden", test_nothing_recorded);
    g_test_add_func("/report/judgement/lives-are-negotiated-apart", test_lives_apart);
    g_test_add_func("/report/judgement/ties-are-told", test_ties_are_told);
    g_test_add_func("/report/judgement/unknown-spans-are-named", test_unknown_spans);
    return g_test_run();
}
