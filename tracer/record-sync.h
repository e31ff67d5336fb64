/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sync.h: clocks of a run without MPI. The wrappers of one job find each other and
 * exchange round trips while the command runs; src/merge aligns the hosts by them.
 *
 * One wrapper of each host (boot) takes part. One of all is the hub, which the others ask: the
 * first that publishes itself in the run folder; the one on HOST of --sync HOST:PORT; or, under
 * Slurm with
 * --sync-key, the one on the job's first node. Trips go to a trace file in `.clocks` of the run
 * folder, beside the key and the places of the hubs.
 */
#pragma once

#include <stdbool.h>

#include "capture/identity.h"
#include "tracer/record-options.h"

#define LS_SYNC_FOLDER ".clocks"

typedef struct LsRecordSync LsRecordSync;

/* Starts the thread, where there may be a wrapper on another host. NULL: there is nothing to do.
 * The command runs already, and nothing is waited for. Sets up the environment for a recorder of
 * its own until it is stopped. */
LsRecordSync *ls_record_sync_start(const LsRecordOptions *options, const LsIdentity *identity,
                                   const char *folder);
/* Measures once more, and ends within LS_SYNC_STOP_MS; at once where nobody was met. */
void ls_record_sync_stop(LsRecordSync *sync);
#define LS_SYNC_STOP_MS 400
