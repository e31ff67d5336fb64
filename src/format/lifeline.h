/* SPDX-License-Identifier: Apache-2.0
 * format/lifeline.h: a track per tensor, in Horovod's words, from uses and the calls that carried them. */
#pragma once

#include "trace/process.h"

/* For each use: NEGOTIATE_<OP> from submission to agreement, then <OP> to the end and inside it QUEUE,
 * MEMCPY_IN_FUSION_BUFFER, the call under its own name, MEMCPY_OUT_FUSION_BUFFER, as far as their times are
 * known. Track kind LS_TRACK_TENSOR, category "tensor", ref: the use. */
void ls_lifeline_add_tracks(LsProcess *process);
