/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/play.h: a rank's part in a schedule, tensor by tensor. */
#pragma once

#include <semaphore.h>

#include <pthread.h>

#include "schedule.h"

#define FAIL(play, piece, format, ...)                                                             \
    g_error("%s: rank %d, tensor %s, round %d: " format, (play)->repeat, (play)->s.rank,           \
            (play)->s.tensor[(piece)->t].name, (piece)->round, __VA_ARGS__)

typedef struct Play Play;

/* A tensor on its way. */
typedef struct Piece {
    Play *play;
    int t, round;
    bool in_place;
    void *input, *output;
    int64_t counts[SCHEDULE_RANKS]; /* elements that each rank gives to an allgather */
    lockstep_handle handle;
    sem_t called; /* by the callback, which says the rest */
    lockstep_status status;
    char text[512];
} Piece;

struct Play {
    Schedule s;
    ScheduleWay way;
    lockstep_context *context;
    pthread_barrier_t barrier;
    Piece pieces[SCHEDULE_TENSORS];
    int log[SCHEDULE_TENSORS * SCHEDULE_ROUNDS], n_log; /* what was executed, in order */
    char repeat[768];
};

/* From one of the rank's threads. */
void play_submit(Play *play, int t, int round);
/* All of a bundle in one call. */
void play_submit_bundle(Play *play, int first, int round);
/* Waits for it and checks all that came of it. */
void play_finish(Piece *piece);
