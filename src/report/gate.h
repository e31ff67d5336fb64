/* SPDX-License-Identifier: Apache-2.0
 * report/gate.h: a condition under which a run counts as failed: "exposed_share>0.2". */
#pragma once

#include "report/evidence.h"

typedef struct LsGate LsGate;

/* METRIC OPERATOR NUMBER; operators < <= > >=. LS_ERROR_USAGE with the metrics that there are. */
LsGate *ls_gate_parse(const char *text, GError **error);
void ls_gate_free(LsGate *gate);
/* Whether the run fails; *ret_text says why, with the value (caller frees; NULL when it passes). A
 * value that is not known fails: a gate that cannot be judged was not passed. */
bool ls_gate_fails(const LsGate *gate, const LsEvidence *evidence, char **ret_text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsGate, ls_gate_free)
