/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/gate.c: counts, per group, the members that wait. A group that is complete is emptied, and
 * the count of its next round begins, though its tensors may not be answered yet.
 */
#include "reduce/gate.h"

#include <stdlib.h>
#include <string.h>

#include "reduce/pending.h"

bool
ls_gate_open(LsGate *gate, const LsControlConfig *config)
{
    int n = ls_groups_count(config->groups);
    *gate = (LsGate){.groups = config->groups, .report_ns = INT64_MAX};
    ls_stall_init(&gate->stall, config->stall_warning_ns, 0);
    gate->report_after_ns = ls_stall_half(config->stall_warning_ns, config->stall_limit_ns);
    if (n == 0)
        return true;
    gate->items = calloc((size_t)n, sizeof *gate->items);
    for (int group = 0; gate->items != NULL && group < n; group++) {
        size_t size = ls_group_size(gate->groups, group);
        gate->items[group].held = calloc(size, sizeof *gate->items[group].held);
        if (gate->items[group].held == NULL)
            return false;
    }
    return gate->items != NULL;
}

void
ls_gate_clear(LsGate *gate)
{
    for (int group = 0; gate->items != NULL && group < ls_groups_count(gate->groups); group++)
        free(gate->items[group].held);
    free(gate->items);
    *gate = (LsGate){0};
}

LsGateGroup *
ls_gate_hold(LsGate *gate, struct LsWaiting *waiting, int64_t now_ns)
{
    LsGateGroup *group = &gate->items[waiting->group];
    if (group->n == 0) {
        int64_t report_ns;
        group->reported = false;
        ls_stall_start(&gate->stall, &group->clock, now_ns);
        if (__builtin_add_overflow(now_ns, gate->report_after_ns, &report_ns))
            report_ns = INT64_MAX;
        if (report_ns < gate->report_ns)
            gate->report_ns = report_ns;
    }
    group->held[group->n++] = waiting;
    return group->n == ls_group_size(gate->groups, waiting->group) ? group : NULL;
}

void
ls_gate_withdraw(LsGate *gate, struct LsWaiting *waiting)
{
    LsGateGroup *group = &gate->items[waiting->group];
    size_t kept = 0;
    for (size_t i = 0; i < group->n; i++)
        if (group->held[i] != waiting)
            group->held[kept++] = group->held[i];
    group->n = kept;
}

static bool
is_held(const LsGateGroup *group, const char *name)
{
    for (size_t i = 0; i < group->n; i++)
        if (strcmp(group->held[i]->item.name, name) == 0)
            return true;
    return false;
}

void
ls_gate_inspect(LsGate *gate, const LsControlConfig *config, const LsControlEvents *events,
                int64_t now_ns)
{
    if (gate->items == NULL || !ls_stall_due(&gate->stall, now_ns))
        return;
    for (int i = 0; i < ls_groups_count(gate->groups); i++) {
        LsGateGroup *group = &gate->items[i];
        if (group->n == 0 || ls_stall_judge(&gate->stall, &group->clock, now_ns) == LS_STALL_NOT ||
            events->stall == NULL)
            continue;
        for (size_t member = 0; member < ls_group_size(gate->groups, i); member++) {
            const char *name = ls_group_member(gate->groups, i, member);
            if (!is_held(group, name))
                events->stall(events->user, name, config->rank, now_ns - group->clock.first_ns);
        }
    }
}

LsGateGroup *
ls_gate_overdue(LsGate *gate, int64_t now_ns)
{
    if (gate->items == NULL || now_ns < gate->report_ns)
        return NULL;
    gate->report_ns = INT64_MAX;
    for (int i = 0; i < ls_groups_count(gate->groups); i++) {
        LsGateGroup *group = &gate->items[i];
        if (group->n == 0 || group->reported)
            continue;
        if (now_ns - group->clock.first_ns >= gate->report_after_ns) {
            group->reported = true;
            gate->report_ns = now_ns; /* there may be another */
            return group;
        }
        if (group->clock.first_ns + gate->report_after_ns < gate->report_ns)
            gate->report_ns = group->clock.first_ns + gate->report_after_ns;
    }
    return NULL;
}
