/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/train-exchange.h: how this program uses `reduce`, and its own word on it: a log of what
 * was handed in when, by the program's own reading of the clock, for others to compare with.
 *
 * The log is CSV: event,rank,step,tensor,bytes,time_ns with the events submit (taken just before
 * the call), wait_begin and wait_end (of a step's handles; tensor and bytes empty). Times are
 * CLOCK_MONOTONIC. Step -1 is the broadcast of the first weights.
 */
#pragma once

#include "reduce/lockstep.h"
#include "samples/train-net.h"
#include "samples/train-options.h"

typedef struct Exchange Exchange;

/* NULL: said on standard error. */
Exchange *exchange_open(const TrainOptions *options);
/* Frees; collective unless a rank was lost. */
void exchange_close(Exchange *exchange);
int exchange_get_rank(const Exchange *exchange);
int exchange_get_ranks(const Exchange *exchange);
/* Rank 0's weights to all; waits. */
lockstep_status exchange_share_weights(Exchange *exchange, Net *net);
/* Hands in one gradient, to be averaged in place. */
lockstep_status exchange_submit(Exchange *exchange, int step, const Parameter *parameter);
/* Waits for all that was handed in. */
lockstep_status exchange_wait(Exchange *exchange, int step);
