/* SPDX-License-Identifier: Apache-2.0
 *
 * index/spans.h: what overlaps a piece of time on a lane. No index is built: a lane is sorted and
 * free of overlap, so that the question is a binary search. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/track.h"

/* The spans [*ret_first, *ret_last) of the lane overlap [start_ns, end_ns); one without length
 * counts where it stands. */
void ls_spans_find_range(const LsSpans *lane, int64_t start_ns, int64_t end_ns, size_t *ret_first,
                         size_t *ret_last);
