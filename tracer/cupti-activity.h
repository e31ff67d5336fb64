/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/cupti-activity.h: CUPTI's records to ours; needs no device (tests give it buffers).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/cupti.h"

/* Converts all records of a buffer; offset_ns is added to their times. What has no time of its own
 * was after since_ns. */
void ls_cupti_activity_read(const LsCupti *api, uint8_t *buffer, size_t valid, int64_t offset_ns,
                            int64_t since_ns);
/* Of the last kernel that was read; -1: none. */
int ls_cupti_activity_device(void);
/* Calls that the calling thread makes are ours, not the program's: they are left out. */
void ls_cupti_activity_is_own_thread(void);
