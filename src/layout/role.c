/* SPDX-License-Identifier: Apache-2.0
 *
 * Which role a span has: by its class, and within compute by the name of its phase. Names are
 * looked at once each, not once a span.
 */
#include "layout/model-private.h"

#include <string.h>

static const struct {
    const char *prefix; /* lower case */
    LsRole role;
} PHASES[] = {
    {"forward", LS_ROLE_FORWARD},
    {"fwd", LS_ROLE_FORWARD},
    {"backward", LS_ROLE_BACKWARD},
    {"bwd", LS_ROLE_BACKWARD},
    {"autograd::", LS_ROLE_BACKWARD},
    {"gradient compt", LS_ROLE_BACKWARD},
    {"optimizer", LS_ROLE_OPTIMIZER},
    {"input", LS_ROLE_INPUT},
    {"enumerate(dataloader", LS_ROLE_INPUT},
    {"checkpoint", LS_ROLE_INPUT},
};

/* Horovod's words for a tensor that was agreed on and does not move yet. */
static const char *const QUEUES[] = {"QUEUE", "WAIT_FOR_DATA", "WAIT_FOR_OTHER_TENSOR_DATA"};

static LsRole
role_of_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(PHASES); i++)
        if (g_ascii_strncasecmp(name, PHASES[i].prefix, strlen(PHASES[i].prefix)) == 0)
            return PHASES[i].role;
    for (size_t i = 0; i < G_N_ELEMENTS(QUEUES); i++)
        if (g_str_equal(name, QUEUES[i]))
            return LS_ROLE_NEGOTIATION;
    return LS_N_ROLES;
}

uint8_t *
ls_model_new_roles_of_names(const LsTrace *trace)
{
    uint32_t n = ls_strings_get_n(ls_trace_get_strings(trace));
    uint8_t *roles = g_new(uint8_t, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++)
        roles[i] = (uint8_t)role_of_name(ls_trace_get_string(trace, i));
    return roles;
}

LsRole
ls_model_role_of_span(const LsTrack *track, const LsSpans *lane, size_t span,
                      const uint8_t *roles_of_names)
{
    LsRole named = (LsRole)roles_of_names[lane->name[span]];
    if (track->kind == LS_TRACK_STEPS)
        return LS_ROLE_STEP;
    switch ((LsClass)lane->klass[span]) {
    case LS_CLASS_COMPUTE:
        return named < LS_N_ROLES ? named : LS_ROLE_KERNEL;
    case LS_CLASS_COMMUNICATION:
        return LS_ROLE_COMMUNICATION;
    case LS_CLASS_COPY:
    case LS_CLASS_FUSION:
        return LS_ROLE_COPY;
    case LS_CLASS_IO:
        return LS_ROLE_INPUT;
    case LS_CLASS_NEGOTIATION:
        return LS_ROLE_NEGOTIATION;
    case LS_CLASS_CONTROL:
        return LS_ROLE_CONTROL;
    case LS_CLASS_NONE:
    case LS_N_CLASSES:
        break;
    }
    return named < LS_N_ROLES ? named : LS_ROLE_OTHER;
}
