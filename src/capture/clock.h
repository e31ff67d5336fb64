/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/clock.h: the clock that records are stamped with, and paired readings of it with wall
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The test double of the clock: what `ls_clock_now` adds to CLOCK_MONOTONIC. Set once, before any
 * thread reads the clock. */
typedef struct LsClockDouble {
    bool on;
    int64_t offset_ns, drift_ppb, anchor_ns; /* now + offset + (now - anchor) * drift */
} LsClockDouble;
extern LsClockDouble ls_clock_double;

/* "OFFSET_NS:DRIFT_PPB:ANCHOR_NS", the last two optional; false (and off) if it is not that. */
bool ls_clock_set_double(const char *text);

/* CLOCK_MONOTONIC in ns, with the double's shift. Any thread, async-signal-safe. */
int64_t ls_clock_now(void);

/* One reading of both clocks: the best of five tries; uncertainty is how long it took. */
typedef struct LsClockReading {
    int64_t monotonic_ns, realtime_ns, uncertainty_ns;
} LsClockReading;
void ls_clock_pair(LsClockReading *ret_reading);

/* The kernel's id of this boot, "" if it cannot be read. */
#define LS_BOOT_ID_MAX 40
void ls_clock_boot_id(char ret_boot_id[LS_BOOT_ID_MAX]);
