/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/observers.h: processes that are no ranks: wrappers that measured clocks between hosts. They
 * help to align, and are not part of the trace.
 */
#pragma once

#include "trace/builder.h"

/* Takes them out of `processes`: an array that owns them. */
GPtrArray *ls_observers_part(GPtrArray *processes);
/* What they found goes to the run; frees the array. */
void ls_observers_end(GPtrArray *observers, LsBuilder *builder);
