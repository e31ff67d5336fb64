/* SPDX-License-Identifier: Apache-2.0
 * cli/inventory.h: what is in a trace, counted. */
#pragma once

#include <glib.h>

#include "trace/trace.h"

/* Counts over the ranks shown; -1: the recording cannot say. */
typedef struct LsInventory {
    char *format;     /* "horovod"; several joined by a comma */
    char *clock;      /* how times became common */
    char *packed;     /* which part of the recording was carried away; NULL: all */
    GPtrArray *hosts; /* char *, sorted */
    int64_t ranks, ranks_expected, ranks_by_tick;
    int64_t strangers; /* processes of no known rank */
    int64_t lives;     /* of ranks: one that was started again has several */
    int64_t first_ns, last_ns;
    int64_t records;
    int64_t tensors;      /* names */
    int64_t negotiations; /* begun, on recorded ranks */
    int64_t ticks;        /* Horovod's readiness marks */
    int64_t submissions;  /* known times of submission, over all ranks */
    int64_t batches;      /* executed buffers, one a rank */
    int64_t cycles;       /* recorded cycles and cycle marks */
    int64_t steps;        /* one a rank */
    int64_t spans;
    int64_t findings[3]; /* by LsSeverity */
} LsInventory;

/* shown: by index of rank, NULL: all. */
LsInventory *ls_inventory_new(const LsTrace *trace, const bool *shown);
void ls_inventory_free(LsInventory *inventory);
