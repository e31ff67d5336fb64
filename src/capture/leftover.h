/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/leftover.h: the rings of a process that is no more; for recover.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/area.h"
#include "capture/status.h"

typedef enum LsOwner { LS_OWNER_LIVES, LS_OWNER_ENDED, LS_OWNER_ELSEWHERE } LsOwner;

/* A ring file under examination. */
typedef struct LsCandidate {
    char path[LS_AREA_PATH_MAX + 16];
    int fd;             /* -1: not open */
    LsAreaHeader head;  /* as it is in the file */
    LsAreaHeader *copy; /* the whole, in private memory; NULL: not taken */
    uint64_t records;   /* in the copy */
} LsCandidate;

/* Where rings lie: shm_dir, or $LOCKSTEP_SHM_DIR, or /dev/shm. */
const char *ls_leftover_find_dir(const char *shm_dir);
bool ls_leftover_is_name(const char *name);

/* false: no ring file, or a damaged one. To be closed in either case. */
bool ls_leftover_open(LsCandidate *candidate, const char *dir, const char *name, int flags);
void ls_leftover_close(LsCandidate *candidate);

/* is_own_dead: rings of the calling process are of before an exec, not those in use. */
LsOwner ls_leftover_find_owner(const LsAreaHeader *head, bool is_own_dead);
/* Whether it belongs to the run folder that ls_writer_find_folder() described. */
bool ls_leftover_is_of(const LsAreaHeader *head, const LsAreaHeader *folder);
/* Takes the copy, ready to be pumped. */
LsStatus ls_leftover_copy(LsCandidate *candidate);
