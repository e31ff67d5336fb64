/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/match.h: the same collective on every rank: calls become buffers (but inner ones,
 * merge/inner.h).
 */
#pragma once

#include "trace/builder.h"

/* Groups the builder's calls (on the common clock) into buffers: by communicator and number where
 * they are recorded, else by operation, name, tensors, bytes and time; never by order alone. A call
 * that finds no partner is a buffer of its own. What was inferred and what does not agree are
 * findings. Call it when all processes are taken. */
void ls_match_calls(LsBuilder *builder);
