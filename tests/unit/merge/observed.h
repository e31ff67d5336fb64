/* SPDX-License-Identifier: Apache-2.0
 *
 * observed.h: the text logs of shared/horovod-observed (real Horovod, seen from outside) as the
 * trace files that our own tracer would have written. Only a test reads such text.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Lines of a log that a test changes on their way; false: left out. */
typedef bool (*ObservedChange)(int rank, unsigned line, char **text);

typedef struct ObservedOptions {
    bool with_timeline, with_calls, with_mirror;
    ObservedChange change; /* of NVTX's lines; NULL: none */
    unsigned lost_records; /* at the end of the timeline */
    bool with_wall;        /* rank 0 has read its wall clock as the timeline says */
} ObservedOptions;

/* A folder with the four ranks of a run, and its timeline; NULL where the logs are not there. */
char *observed_make_run(const char *name, const ObservedOptions *options);
void observed_remove_run(char *folder);
/* Path of a file of the logs; NULL where it is not there. */
char *observed_find(const char *name, const char *suffix);
