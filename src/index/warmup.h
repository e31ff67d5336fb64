/* SPDX-License-Identifier: Apache-2.0
 * index/warmup.h: how many steps at the start are not like the later ones. */
#pragma once

#include "trace/trace.h"

/* Numbers of the steps in rising order, each once, without those that were cut anywhere. */
GArray *ls_warmup_list_steps(const LsTrace *trace); /* int64_t */
/* How many of them are warm-up. */
size_t ls_warmup_find(const LsTrace *trace, const GArray *numbers);
