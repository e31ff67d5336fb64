/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/cupti.h: the CUPTI source: kernels, copies, calls and CUPTI's own cost, if it can be had.
 */
#pragma once

#include <stdint.h>

/* From cuInit, once. Steps aside, and says so, where another tool holds CUPTI or there is none. */
void ls_cupti_start(void);
/* The last records; bounded. */
void ls_cupti_stop(void);

/* Calls of this thread until the pop belong to this launch; nothing where CUPTI is not ours. */
void ls_cupti_push(int64_t launch);
void ls_cupti_pop(void);

/* Number of the device that kernels were seen on; -1: none yet. */
int ls_cupti_device(void);
