/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/schedule.h: a random schedule that all ranks know, and a rank's own way through it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "reduce/lockstep.h"

#define SCHEDULE_TENSORS 24
#define SCHEDULE_ROUNDS  10
#define SCHEDULE_THREADS 5
#define SCHEDULE_RANKS   16

typedef struct ScheduleTensor {
    char name[24];
    int operation; /* LsOperation */
    lockstep_dtype dtype;
    lockstep_op op;
    int root;
    bool present[SCHEDULE_ROUNDS];
    int64_t rows[SCHEDULE_ROUNDS], step[SCHEDULE_ROUNDS], columns[SCHEDULE_ROUNDS];
    int bad_round, bad_rank; /* who submits another type, and when; -1: nobody */
    int bundle, n_bundle;    /* its neighbours' first, how many; they come in the same rounds */
    bool grouped;            /* the bundle is a group of the graph */
    bool one_call;           /* the bundle may be submitted in one call */
} ScheduleTensor;

/* The same on every rank, but for `host`. */
typedef struct Schedule {
    guint32 seed;
    int ranks, rank, tensors, rounds, groups;
    char settings[512];
    size_t cache_capacity;
    ScheduleTensor tensor[SCHEDULE_TENSORS];
} Schedule;

/* How a tensor's end is heard of. */
typedef enum ScheduleEnd {
    SCHEDULE_WAIT,
    SCHEDULE_POLL,
    SCHEDULE_CALLBACK, /* and no handle */
    SCHEDULE_ENDS,
} ScheduleEnd;

/* Drawn for each rank alone. */
typedef struct ScheduleWay {
    int threads;
    bool joined; /* all threads end a round before one begins the next */
    int thread[SCHEDULE_ROUNDS][SCHEDULE_TENSORS];
    int order[SCHEDULE_ROUNDS][SCHEDULE_TENSORS];
    int delay_us[SCHEDULE_ROUNDS][SCHEDULE_TENSORS];
    bool in_place[SCHEDULE_ROUNDS][SCHEDULE_TENSORS];
    bool one_call[SCHEDULE_ROUNDS][SCHEDULE_TENSORS]; /* of a bundle, at its first */
    ScheduleEnd end[SCHEDULE_ROUNDS][SCHEDULE_TENSORS];
} ScheduleWay;

void schedule_draw(Schedule *s, guint32 seed, int ranks, int rank);
void schedule_draw_way(const Schedule *s, ScheduleWay *ret_way);
/* The groups, for lockstep_init(). */
lockstep_graph *schedule_graph(const Schedule *s);

/* Of the tensor in the round; ranks differ in an allgather. */
int64_t schedule_rows(const ScheduleTensor *tensor, int round, int rank);
bool schedule_is_bad(const ScheduleTensor *tensor, int round);
/* The type that the rank submits. */
lockstep_dtype schedule_dtype(const ScheduleTensor *tensor, int round, int rank);
