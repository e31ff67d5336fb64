/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/gate.h: holds a tensor back until its whole group is submitted on this rank.
 *
 * The gate is local: as every rank reports all of a group or nothing, all of it becomes ready in
 * one cycle, without a message (facts: seeds 1.4). A group that stays incomplete is told by name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reduce/control.h"
#include "reduce/group.h"
#include "reduce/stall.h"

struct LsWaiting;

typedef struct LsGateGroup {
    struct LsWaiting **held; /* owned; in order of submission */
    size_t n;
    LsStallClock clock; /* since the first of them */
    bool reported;      /* the others were told which are held here */
} LsGateGroup;

typedef struct LsGate {
    const LsGroups *groups; /* borrowed; NULL: no gate */
    LsGateGroup *items;     /* owned, one per group */
    LsStall stall;
    int64_t report_after_ns; /* INT64_MAX: never */
    int64_t report_ns;       /* no group is to be reported before */
} LsGate;

/* false: out of memory. */
bool ls_gate_open(LsGate *gate, const LsControlConfig *config);
void ls_gate_clear(LsGate *gate);
/* A member of a group was submitted. NULL, or its group if that is complete now: the caller lets
 * its members go and then empties it. */
LsGateGroup *ls_gate_hold(LsGate *gate, struct LsWaiting *waiting, int64_t now_ns);
/* A member that is held has failed. */
void ls_gate_withdraw(LsGate *gate, struct LsWaiting *waiting);
/* Tells stalls of members that are missing here, of groups that have waited for them. */
void ls_gate_inspect(LsGate *gate, const LsControlConfig *config, const LsControlEvents *events,
                     int64_t now_ns);
/* The next group whose held members the others should hear of now, once per wait; NULL: none. */
LsGateGroup *ls_gate_overdue(LsGate *gate, int64_t now_ns);
