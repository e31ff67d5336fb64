/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/recover.h: what a process had recorded and not yet written when it died.
 *
 * Its rings lie in /dev/shm of its host until someone there takes them: a surviving rank, the next
 * recorder that opens the same run folder, or a reader, in memory. A live owner is never touched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/status.h"

/* The leftover of one dead process. Borrowed for the call. */
typedef struct LsLeftover {
    const char
        *file; /* name in the folder of the trace file that this continues; "" if none was made */
    const char *rings; /* path of the leftover */
    const char *host;
    bool is_elsewhere; /* it belongs to another host (shared ring folder): no bytes, say its name */
    uint32_t rank, pid, incarnation;
    /* Chunks of `file` of this number and later ones were not committed, and are in `chunks`: a
     * reader leaves them out. */
    uint32_t sequence;
    uint64_t records;
    const void *chunks; /* as they would stand in the file */
    size_t n_bytes;
} LsLeftover;

typedef void (*LsLeftoverVisit)(void *user, const LsLeftover *leftover);

/* Visits each leftover that belongs to the run folder. Writes nothing anywhere. shm_dir NULL:
 * $LOCKSTEP_SHM_DIR, or /dev/shm. */
LsStatus ls_recover_read(const char *folder, const char *shm_dir, LsLeftoverVisit visit,
                         void *user);

/* Writes each leftover into its owner's file and removes it. May be done again, by several at once,
 * and after one of them died. `except`: path of rings to leave alone (one's own), or NULL. */
LsStatus ls_recover_folder(const char *folder, const char *except);
