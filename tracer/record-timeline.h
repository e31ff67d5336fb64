/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-timeline.h: Horovod's own timeline, written where writing costs nothing and copied
 * into the run when the job has ended.
 */
#pragma once

#include "capture/area.h"
#include "capture/identity.h"
#include "tracer/record-options.h"

#include <stdint.h>

typedef struct LsRecordTimeline {
    char path[LS_AREA_PATH_MAX]; /* "": none */
    bool is_ours;                /* to be removed when it is copied */
    int64_t written_ns;          /* when it last was, at the start; -1: it was not there */
} LsRecordTimeline;

/* Names the file to Horovod (HOROVOD_TIMELINE), unless the user has named one or asked for ranges.
 */
void ls_record_timeline_open(LsRecordTimeline *ret_timeline, const LsRecordOptions *options,
                             const LsIdentity *identity);
/* Into folder/horovod-RANK.json, if Horovod has written it: rank 0 does, and where the user has
 * named one file to all ranks the others leave it to rank 0. */
void ls_record_timeline_copy(LsRecordTimeline *timeline, const char *folder, int rank);
