/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/names.h: every tensor name that this rank has submitted, with what is kept of it.
 *
 * A training program has few names and uses each in every step, so a name once seen stays: its
 * count of submissions, its id in the trace, and the entry that is on its way, if one is. No lock:
 * the queue's holds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reduce/roster.h"

struct LsEntry;

typedef struct LsName {
    LsRosterItem item;
    struct LsEntry *on_way;
    int64_t submissions;
    uint32_t record_name;
    uint32_t record_group; /* id of its group's name; 0: none, or nothing was recorded yet */
    /* What compression left out of the last time (reduce/compress.h): of what this rank gave, and
     * of the part that it sums. Owned; the communication thread's. */
    float *residuals[2];
    int64_t residual_counts[2];
    char text[];
} LsName;

typedef struct LsNames {
    LsRoster roster; /* of LsName, owned */
} LsNames;           /* all zero: empty */

/* NULL: never seen. */
LsName *ls_names_find(const LsNames *names, const char *text);
/* Found or added; NULL: out of memory. */
LsName *ls_names_add(LsNames *names, const char *text);
void ls_names_clear(LsNames *names);
