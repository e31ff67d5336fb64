/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-environment.h: what the command finds in its environment.
 */
#pragma once

#include <stdbool.h>

#include "capture/area.h"
#include "capture/identity.h"
#include "tracer/record-options.h"

/* What of ours can be used here. */
typedef struct LsRecordPlan {
    char tracer[LS_AREA_PATH_MAX];      /* by injection; "": not */
    char preload[2 * LS_AREA_PATH_MAX]; /* LD_PRELOAD of the command; "": as it is */
    char kit[LS_AREA_PATH_MAX];         /* folder of our programs and libraries */
    char notes[1000];                   /* what is missing, a sentence a line */
    bool takes_cupti;
} LsRecordPlan;

/* Options into variables, for this process and what it starts; false: no memory. */
bool ls_record_set_options(const LsRecordOptions *options);

/* Finds the libraries that the settings ask for and tries each. */
void ls_record_plan_make(LsRecordPlan *ret_plan, const LsRecordOptions *options);

/* Sets what leads the command's libraries to ours and to the folder; notes what is another tool's.
 */
void ls_record_plan_apply(LsRecordPlan *plan, const LsIdentity *identity, const char *folder);
