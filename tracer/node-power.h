/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/node-power.h: power of the node, from files of the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/format.h"

#define LS_NODE_SENSORS_MAX 16
#define LS_NODE_POWER       "the node's power" /* in what is said of it, so that it is said once */

typedef struct LsNodeSensor {
    char path[300];
    char name[48];
    int64_t scale; /* the file's number times this is in `unit` */
    int64_t divisor;
    LsSampleUnit unit;
} LsNodeSensor;

typedef struct LsNodePower {
    LsNodeSensor sensors[LS_NODE_SENSORS_MAX];
    int n;
    int forbidden; /* that are there and only root may read */
} LsNodePower;

/* Looks under `root` ("" on a real machine). */
void ls_node_power_find(LsNodePower *ret_power, const char *root);
/* false: it cannot be read now. */
bool ls_node_power_read(const LsNodeSensor *sensor, int64_t *ret_value);
