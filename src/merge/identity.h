/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/identity.h: which process is which rank, and which life of it.
 *
 * The content of a file decides, then its name. Nothing is dropped: what does not fit together
 * stays and is a finding.
 */
#pragma once

#include "trace/builder.h"

/* Joins files of one process, and gives a rank to those whose file says none. `processes`:
 * LsProcess, owned by the array. Before clocks are aligned. */
void ls_identity_find_ranks(GPtrArray *processes);
/* Counts lives where two processes of one rank say the same one, sorts by (rank, life), and finds
 * conflicts; on the common clock. */
void ls_identity_find_lives(GPtrArray *processes);
/* Ranks that the job had and nobody recorded, and what the processes do not agree on. */
void ls_identity_check_world(const GPtrArray *processes, LsBuilder *builder);
