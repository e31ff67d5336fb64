/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod.h: what an unmodified Horovod job tells on every rank, put together (facts: Horovod
 * G). Each rank's NVTX ranges say when it submitted a tensor and when that was done, rank 0's
 * timeline says the names, the negotiation and the fusion, and each rank's calls of MPI say how its
 * control went. Processes without such ranges are left alone.
 */
#pragma once

#include <glib.h>

/* Rank 0's timeline becomes part of rank 0's own process, on that process's clock. `processes`:
 * LsProcess, owned by the array. Before clocks are aligned, when the ranks are known. */
void ls_horovod_take_timeline(GPtrArray *processes);

/* Ranges become uses with names, calls and spans on every rank; calls of MPI become cycles,
 * messages and spans. What cannot be named for certain stays without a name and is a finding. On
 * the common clock. */
void ls_horovod_join(GPtrArray *processes);
