/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/pump-private.h: what pump.c (what is written) and pump-stage.c (where, and when it
 * counts) share.
 */
#pragma once

#include "capture/pump.h"

/* Adds records and their times to a sum. */
void ls_block_widen(LsAreaBlock *block, uint64_t records, int64_t first_ns, int64_t last_ns);

/* Opens a chunk; all that was staged goes to the sink first where that is needed. On failure
 * everything since the last commit is undone. */
LsStatus ls_pump_begin(LsPump *pump, uint32_t thread, uint64_t lost);
/* Completes the chunk, if one is open. */
void ls_pump_end(LsPump *pump);
/* Bytes the next chunk may take; 0: the sink failed. */
size_t ls_pump_find_room(LsPump *pump);
/* What is staged goes to the sink, and counts. */
LsStatus ls_pump_commit(LsPump *pump);
/* Makes the `next` state of header and rings the present one. */
void ls_pump_publish(LsPump *pump);
