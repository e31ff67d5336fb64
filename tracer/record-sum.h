/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sum.h: the line that ends a recording.
 */
#pragma once

#include <stdbool.h>

/* "lockstep: 4 ranks, 12,345 events, none lost, 1.2 MB in RUN" on standard error. */
void ls_record_say_sum(const char *folder, bool is_flight);
