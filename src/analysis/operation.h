/* SPDX-License-Identifier: Apache-2.0
 * analysis/operation.h: what is known of each kind of collective, by the number in LsCall. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct LsOperationTrait {
    const char *name; /* "allreduce"; "unknown" where the number is */
    bool mutual;      /* every rank waits for every other: a wait is a measure, not a bound */
    int factor;       /* bytes over the bus per byte of result: factor (n - 1) / n; 0: as they are */
} LsOperationTrait;

const LsOperationTrait *ls_operation_get(uint8_t operation);
