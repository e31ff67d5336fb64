/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/identity.h: who this process is: rank, host, run, command.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/area.h"
#include "capture/settings.h"

typedef struct LsIdentity {
    int rank, world, local_rank; /* -1: unknown */
    const char *rank_source;     /* the variable that said so, or "" */
    char host[LS_AREA_NAME_MAX];
    char run_id[LS_AREA_NAME_MAX];
    bool has_job; /* run_id is the user's or a launcher's, the same for all ranks of the job */
    char cpu[128];
    int cpus;
} LsIdentity;

/* From the settings and the launcher's environment (LOCKSTEP_RANK, HOROVOD_RANK, RANK with
 * LOCAL_RANK, DMLC_*, Open MPI, PMIx, PMI, Slurm, in this order). Never fails: what is not known is
 * -1 or "". */
void ls_identity_load(LsIdentity *ret_identity, const LsSettings *settings);

/* The command this process was started with: arguments, each ended by '\0', of which those that
 * look like secrets are masked. Returns the bytes used. */
size_t ls_identity_command(char *ret_command, size_t size);
/* Masks one argument in place where it looks secret by itself ("--token=abc"); returns whether the
 * next one is to be masked ("--token", "abc"). */
bool ls_identity_mask(char *argument);
