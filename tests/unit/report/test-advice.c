/* SPDX-License-Identifier: Apache-2.0
 * What is advised, by each row of the table: its figure just there, just not, and what it says and
 * promises at most. The evidence is made by hand, so that one thing at a time is true. */
#include "report/advice.h"

#include "tests/unit/sample-trace.h"

#define MS   INT64_C(1000000)
#define STEP (100 * MS)

/* Nothing stands out in it. */
static LsEvidence
make_evidence(void)
{
    return (LsEvidence){.ledger = {.n = 8, .step_ns = STEP, .wait_known = true}, .bytes = -1};
}

/* action NULL: nothing is advised, else that alone. */
static void
assert_advice(const LsEvidence *evidence, const char *action, int64_t gain_ns)
{
    g_autoptr(GArray) found = ls_advice_find(evidence);
    for (guint i = 0; i < found->len; i++)
        g_test_message("%s", g_array_index(found, LsAdvice, i).action);
    g_assert_cmpuint(found->len, ==, action ? 1 : 0);
    if (!action)
        return;
    g_assert_cmpstr(g_array_index(found, LsAdvice, 0).action, ==, action);
    g_assert_cmpint(g_array_index(found, LsAdvice, 0).gain_ns, ==, gain_ns);
}

/* One class of the ledger: from which time on its row speaks, and what share of it can be won. */
static void
test_ledger(void)
{
    static const struct {
        LsLedgerClass class;
        int64_t least_ns, gain_ns;
        const char *action;
    } cases[] = {
        {LS_LEDGER_EXPOSED_TRANSFER, 6 * MS, 3 * MS, "half the bytes: float16 gradients"},
        {LS_LEDGER_EXPOSED_WAIT, 3 * MS, 3 * MS, "even work over the ranks"},
        {LS_LEDGER_FUSION, 3 * MS, 3 * MS, "large tensors without the fusion buffer"},
        {LS_LEDGER_IO, 5 * MS, 5 * MS, "read input ahead, while the step computes"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        LsEvidence evidence = make_evidence();
        assert_advice(&evidence, NULL, 0);
        evidence.ledger.mean_ns[cases[i].class] = cases[i].least_ns - 2;
        assert_advice(&evidence, NULL, 0);
        evidence.ledger.mean_ns[cases[i].class] = cases[i].least_ns;
        assert_advice(&evidence, cases[i].action, cases[i].gain_ns);
        evidence.ledger.n = 0;
        assert_advice(&evidence, NULL, 0);
    }
}

static void
test_small_buffers(void)
{
    LsEvidence evidence = make_evidence();
    evidence.ledger.mean_ns[LS_LEDGER_EXPOSED_TRANSFER] = 10 * MS;
    evidence.ledger.mean_ns[LS_LEDGER_NEGOTIATION] = 4 * MS;
    evidence.bytes = 4096;
    evidence.buffers_per_step = 9;
    assert_advice(&evidence, "fewer, larger buffers: groups, or a higher fusion threshold",
                  14 * MS);
    evidence.buffers_per_step = 8;
    assert_advice(&evidence, "half the bytes: float16 gradients", 5 * MS);
    evidence.buffers_per_step = 9;
    evidence.bytes = 1 << 20;
    assert_advice(&evidence, "half the bytes: float16 gradients", 5 * MS);
    evidence.bytes = -1;
    assert_advice(&evidence, "half the bytes: float16 gradients", 5 * MS);
}

/* What most of the agreeing is made of; nothing where waiting cannot be told from it. */
static void
test_agreeing(void)
{
    LsEvidence evidence = make_evidence();
    evidence.ledger.mean_ns[LS_LEDGER_NEGOTIATION] = MS;
    assert_advice(&evidence, NULL, 0);
    evidence.negotiation_ns = 10;
    evidence.sleep_ns = 5;
    evidence.protocol_ns = 4;
    assert_advice(&evidence, "a shorter cycle time, or cycles that start by event", MS);
    evidence.sleep_ns = 4;
    evidence.protocol_ns = 5;
    assert_advice(&evidence, "a response cache, or a control with fewer messages", MS);
    evidence.protocol_ns = 4;
    assert_advice(&evidence, NULL, 0);
    evidence.protocol_ns = 5;
    evidence.ledger.wait_known = false;
    assert_advice(&evidence, NULL, 0);
}

static void
test_late_rank(void)
{
    LsProcess *processes[] = {sample_process(0, 2, "gpu01"), sample_process(1, 2, "gpu01")};
    g_autoptr(LsTrace) trace = sample_freeze(processes, 2, 2);
    LsAnalysisInput input = {.trace = trace};
    LsStraggler worst = {.rank = 1, .cost_ns_per_step = MS};
    LsEvidence evidence = make_evidence();
    evidence.input = &input;
    evidence.worst = &worst;
    assert_advice(&evidence, "look at what rank 1 does before its first submission", MS);
    evidence.cause = (LsCause){"compute", 2 * MS, MS};
    assert_advice(&evidence, "faster compute on rank 1", MS);
    evidence.cause.what = "input";
    evidence.ledger.mean_ns[LS_LEDGER_IO] = 50 * MS; /* said once, and of the rank */
    assert_advice(&evidence, "faster input on rank 1", MS);
    worst.cost_ns_per_step = MS - 1;
    assert_advice(&evidence, NULL, 0);
    worst.cost_ns_per_step = LS_TIME_NONE;
    assert_advice(&evidence, NULL, 0);
    worst.cost_ns_per_step = MS;
    worst.is_host = true;
    assert_advice(&evidence, "faster input on host gpu01", MS);
}

static void
test_order(void)
{
    LsEvidence evidence = make_evidence();
    evidence.ledger.mean_ns[LS_LEDGER_EXPOSED_WAIT] = 4 * MS;
    evidence.ledger.mean_ns[LS_LEDGER_IO] = 6 * MS;
    evidence.ledger.mean_ns[LS_LEDGER_FUSION] = 5 * MS;
    g_autoptr(GArray) found = ls_advice_find(&evidence);
    g_assert_cmpuint(found->len, ==, 3);
    for (guint i = 0; i < found->len; i++)
        g_assert_cmpint(g_array_index(found, LsAdvice, i).gain_ns, ==, (6 - (int64_t)i) * MS);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/advice/a-class-of-the-ledger", test_ledger);
    g_test_add_func("/report/advice/many-small-buffers", test_small_buffers);
    g_test_add_func("/report/advice/what-agreeing-is-made-of", test_agreeing);
    g_test_add_func("/report/advice/a-late-rank-is-named", test_late_rank);
    g_test_add_func("/report/advice/best-first", test_order);
    return g_test_run();
}
