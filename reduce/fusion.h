/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/fusion.h: which tensors go into one buffer.
 *
 * Horovod's greedy rule with look-ahead (facts B7). Free of MPI and I/O: the control uses it in a
 * job, src/model to predict another strategy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reduce/message.h"

typedef struct LsFusionRule {
    int64_t threshold_bytes; /* of one buffer; 0: no fusion. A larger tensor goes alone. */
    int64_t
        padding_bytes; /* each tensor is rounded up to it (not in a reduce-scatter); <= 1: not */
} LsFusionRule;

/* Joins the list's responses in place. They may hold one tensor each, or several. false: out of
 * memory, the list is as it was. */
bool ls_fuse(LsResponseList *list, const LsFusionRule *rule);

/* The buffer at the end of a list that is being filled; starts as {0}. */
typedef struct LsFilling {
    size_t capacity; /* tensors that its response has room for */
    int64_t bytes;
} LsFilling;

/* Appends one tensor (a response of one, which is copied): to the last buffer where it fits, or as
 * the next. For tensors all of one kind this is what ls_fuse() would make of them. false: out of
 * memory. */
bool ls_fuse_next(LsResponseList *list, LsFilling *filling, const LsFusionRule *rule,
                  const LsResponse *one);
