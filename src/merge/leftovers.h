/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/leftovers.h: what dead processes of a run had recorded and nobody has written to their
 * files yet. It is read from their rings, in memory: a reader writes nothing.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/process.h"

/* The rest of one process. */
typedef struct LsLeftoverRest {
    char *path; /* the trace file that it continues, or the rings where there is none */
    bool has_file;
    int32_t rank;      /* -1: unknown */
    uint32_t sequence; /* chunks of the file from this number on are in `chunks` */
    uint64_t records;
    GByteArray *chunks; /* NULL: the rings lie on another host */
    char *sentence;     /* for a finding */
} LsLeftoverRest;

/* Adds the rests that belong to the folder: LsLeftoverRest, with a free function to be set by
 * ls_leftovers_new. */
GPtrArray *ls_leftovers_new(void);
void ls_leftovers_read(const char *folder, GPtrArray *rests);

/* The file's bytes up to where the rest begins, and the rest. */
GByteArray *ls_leftovers_join(const char *bytes, size_t length, const LsLeftoverRest *rest);

/* A finding if its recorder did not close the process's trace and nothing was read from its rings
 * either. */
void ls_leftovers_check_closed(LsProcess *process);
