/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/clock.h: round trips between hosts, from which the traces' clocks are aligned.
 *
 * Over a binary tree of host leaders: pair p is host p + 1 and its parent, host p / 2. The control
 * announces one pair in a cycle to all ranks, so that both sides take part and the others know why
 * the cycle was longer. Within one host there are none: its ranks share a clock.
 */
#pragma once

#include "reduce/instrument.h"
#include "reduce/world.h"

/* Number of pairs. */
int ls_clock_pairs(const LsWorld *world);

/* This rank's part in the measurement of the pair, if it has one. */
lockstep_status ls_clock_measure(LsWorld *world, LsInstrument *instrument, int pair, int64_t cycle);
