/* SPDX-License-Identifier: Apache-2.0
 *
 * report/gate.c: the metrics of `--fail-if`, one row each, all from the evidence of the headline.
 */
#include "report/gate.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

typedef struct Metric {
    const char *name;
    double (*get)(const LsEvidence *evidence); /* NAN: not known */
} Metric;

struct LsGate {
    const Metric *metric;
    char operator[3];
    double bound;
};

static double
get_share(const LsEvidence *evidence, int64_t part_ns)
{
    return evidence->ledger.n > 0 ? (double)part_ns / (double)evidence->ledger.step_ns : NAN;
}

static double
get_step(const LsEvidence *evidence)
{
    return evidence->step_ns > 0 ? (double)evidence->step_ns : NAN;
}

static double
get_waited_for(const LsEvidence *evidence)
{
    return evidence->ledger.n > 0 ? (double)evidence->ledger.waited_for_ns : NAN;
}

static double
get_waited_for_share(const LsEvidence *evidence)
{
    return get_share(evidence, evidence->ledger.waited_for_ns);
}

static double
get_exposed_share(const LsEvidence *evidence)
{
    return get_share(evidence, evidence->ledger.exposed_ns);
}

static double
get_overlap_ratio(const LsEvidence *evidence)
{
    if (evidence->ledger.n > 0 && evidence->ledger.communication_ns > 0)
        return (double)evidence->ledger.hidden_ns / (double)evidence->ledger.communication_ns;
    if (evidence->ledger.n == 0 && evidence->communication_ns > 0)
        return (double)evidence->hidden_ns / (double)evidence->communication_ns;
    return NAN;
}

static double
get_straggler_cost(const LsEvidence *evidence)
{
    if (evidence->ledger.n == 0)
        return NAN;
    if (evidence->worst == NULL && !evidence->ledger.wait_known)
        return NAN; /* it may be one of the missing */
    if (evidence->worst == NULL || evidence->worst->cost_ns_per_step == LS_TIME_NONE)
        return 0;
    return (double)evidence->worst->cost_ns_per_step;
}

static double
get_lost(const LsEvidence *evidence)
{
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(evidence->input->trace, &n);
    uint64_t lost = 0;

    for (size_t r = 0; r < n; r++)
        lost += ranks[r].lost;
    return (double)lost;
}

static const Metric metrics[] = {
    {"step_ns", get_step},
    {"waited_for_ns", get_waited_for},
    {"waited_for_share", get_waited_for_share},
    {"exposed_share", get_exposed_share},
    {"overlap_ratio", get_overlap_ratio},
    {"straggler_cost_ns", get_straggler_cost},
    {"lost", get_lost},
};

static char *
list_metrics(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", metrics[i].name);
    return g_string_free(text, false);
}

LsGate *
ls_gate_parse(const char *text, GError **error)
{
    g_autoptr(LsGate) gate = g_new0(LsGate, 1);
    g_autofree char *names = list_metrics(), *compact = g_strdup(text);
    size_t name_length, operator_length;
    const char *number;
    char *end;

    for (char *from = compact, *to = compact; (*to = *from) != '\0'; from++)
        to += *from != ' ';
    name_length = strcspn(compact, "<>");
    operator_length = strspn(compact + name_length, "<>=");
    for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++)
        if (strlen(metrics[i].name) == name_length &&
            strncmp(metrics[i].name, compact, name_length) == 0)
            gate->metric = &metrics[i];
    memcpy(gate->operator, compact + name_length, MIN(operator_length, 2));
    number = compact + name_length + operator_length;
    gate->bound = g_ascii_strtod(number, &end);
    if (gate->metric != NULL && (operator_length == 1 || gate->operator[1] == '=') &&
        operator_length <= 2 && end != number && *end == '\0')
        return g_steal_pointer(&gate);
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "The gate '%s' is not METRIC, one of < <= > >=, NUMBER; metrics are %s.", text,
                names);
    return NULL;
}

void
ls_gate_free(LsGate *gate)
{
    g_free(gate);
}

bool
ls_gate_fails(const LsGate *gate, const LsEvidence *evidence, char **ret_text)
{
    double value = gate->metric->get(evidence);
    bool equal = gate->operator[1] == '=' && value >= gate->bound && value <= gate->bound;
    char text[G_ASCII_DTOSTR_BUF_SIZE], bound[G_ASCII_DTOSTR_BUF_SIZE];

    *ret_text = NULL;
    g_ascii_formatd(bound, sizeof bound, "%.15g", gate->bound);
    if (isnan(value)) {
        *ret_text =
            g_strdup_printf("%s is not known from this recording, so %s%s%s cannot be judged",
                            gate->metric->name, gate->metric->name, gate->operator, bound);
        return true;
    }
    if (!equal && !(gate->operator[0] == '<' ? value < gate->bound : value> gate->bound))
        return false;
    g_ascii_formatd(text, sizeof text, "%.6g", value);
    *ret_text = g_strdup_printf("%s is %s, and %s%s%s fails the run", gate->metric->name, text,
                                gate->metric->name, gate->operator, bound);
    return true;
}
