/* SPDX-License-Identifier: Apache-2.0
 * Gates fail when they must, pass when they may, and refuse what they do not understand. */
#include "report/gate.h"

#include "base/error.h"
#include "tests/unit/sample-trace.h"

#include <string.h>

static void
test_judges(void)
{
    /* The pair: step 1000, waited for 220 in the mean, exposed 130, hidden 32 of 162. */
    static const struct {
        const char *text;
        bool fails;
    } cases[] = {
        {"step_ns>999", true},
        {"step_ns > 1000", false},
        {"step_ns>=1000", true},
        {"waited_for_ns<220", false},
        {"waited_for_share>0.21", true},
        {"waited_for_share>0.23", false},
        {"exposed_share<=0.13", true},
        {"exposed_share<0.12", false},
        {"overlap_ratio<0.2", true},
        {"straggler_cost_ns>199", true},
        {"lost>0", false},
    };
    g_autoptr(LsTrace) trace = sample_late_pair();
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsEvidence) evidence = ls_evidence_new(&input);

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(LsGate) gate = ls_gate_parse(cases[i].text, &error);
        g_autofree char *text = NULL;

        g_assert_no_error(error);
        g_test_message("%s", cases[i].text);
        g_assert_cmpint(ls_gate_fails(gate, evidence, &text), ==, cases[i].fails);
        g_assert_cmpint(text != NULL, ==, cases[i].fails);
    }
}

static void
test_unknown_fails(void)
{
    g_autoptr(LsTrace) trace = sample_freeze(NULL, 0, 0);
    g_autoptr(LsActivity) activity = ls_activity_new(trace);
    LsAnalysisInput input = {trace, activity, NULL, INT64_MIN, INT64_MAX};
    g_autoptr(LsEvidence) evidence = ls_evidence_new(&input);
    g_autoptr(LsGate) gate = ls_gate_parse("exposed_share>0.9", NULL);
    g_autofree char *text = NULL;

    g_assert_true(ls_gate_fails(gate, evidence, &text));
    g_assert_nonnull(strstr(text, "cannot be judged"));
}

static void
test_refuses(void)
{
    static const char *const texts[] = {"",        "step_ns",   "step_ns>",   "step_ns>x",
                                        "speed>1", "step_ns=1", "step_ns>>1", "step_ns>1ms",
                                        ">1",      "step_ns<>1"};

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(ls_gate_parse(texts[i], &error));
        g_assert_error(error, LS_ERROR, LS_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, "waited_for_share"));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/gate/judges", test_judges);
    g_test_add_func("/report/gate/unknown-fails", test_unknown_fails);
    g_test_add_func("/report/gate/refuses-with-the-metrics", test_refuses);
    return g_test_run();
}
