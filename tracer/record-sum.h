/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sum.h: the line that ends a recording.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "lockstep: 4 ranks, 12,345 events, none lost, 1.2 MB in RUN" on standard error. world: the
 * ranks of the job, below 1 where that is not known. flight: SIZE of a flight recorder, or NULL. */
void ls_record_say_sum(const char *folder, int32_t world, const char *flight);
