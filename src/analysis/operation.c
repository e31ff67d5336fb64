/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/operation.c: the collectives and their bus factors (metrics.md, "bus bandwidth").
 * Numbers are the trace's, which are Horovod's; tests/unit/analysis/test-operation.c compares them
 * with capture/format.h, which analysis may not include.
 */
#include "analysis/operation.h"

#include <stddef.h>

static const LsOperationTrait traits[] = {
    {"allreduce", true, 2}, {"allgather", true, 1},     {"broadcast", false, 0},
    {"join", true, 0},      {"adasum", true, 2},        {"alltoall", true, 1},
    {"barrier", true, 0},   {"reducescatter", true, 1}, {"error", false, 0},
    {"reduce", false, 0},   {"send", false, 0},         {"recv", false, 0},
};
static const LsOperationTrait unknown = {"unknown", false, 0};

const LsOperationTrait *
ls_operation_get(uint8_t operation)
{
    return operation < sizeof traits / sizeof *traits ? &traits[operation] : &unknown;
}
