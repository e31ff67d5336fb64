/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/fit.h: a clock map from what causality says of two clocks.
 */
#pragma once

#include "merge/clockmap.h"

#define LS_GATE_OPEN_LOW  (INT64_MIN / 4)
#define LS_GATE_OPEN_HIGH (INT64_MAX / 4)
#define LS_GATE_NO_GUESS  INT64_MIN

/* One thing known of offset = common - local: when the local clock showed `at_ns` it was at least
 * low_ns and at most high_ns (either may be open). `guess_ns`: where in between it probably lies,
 * if that is more than the middle. */
typedef struct LsGate {
    int64_t at_ns;
    int64_t low_ns, high_ns;
    int64_t guess_ns;
} LsGate;

/* The map of [first_ns, last_ns] that passes the gates; sorts them. *ret_contradictions: gates that
 * no even clock could pass together with the tighter ones, which were left out. LS_ERROR_UNALIGNED
 * where the gates do not bound the offset from both sides. */
LsClockmap *ls_fit_gates(LsGate *gates, size_t n_gates, int64_t first_ns, int64_t last_ns,
                         size_t *ret_contradictions, GError **error);
