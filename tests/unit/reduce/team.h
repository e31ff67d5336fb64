/* SPDX-License-Identifier: Apache-2.0
 *
 * team.h: a few controls whose messages are carried by hand, so that a test can say what each rank
 * submits in a cycle, spoil a message, and look at what each rank was answered.
 */
#pragma once

#include <glib.h>

#include "reduce/control.h"

#define TEAM_MAX 4

typedef struct Team Team;

typedef struct Seat {
    Team *team;
    int rank;
} Seat;

struct Team {
    const LsControlClass *class; /* NULL: the coordinator */
    int ranks;
    Seat seats[TEAM_MAX];
    LsControl *controls[TEAM_MAX];
    LsControlConfig config;
    int64_t now_ns;
    LsRequestList requests[TEAM_MAX]; /* to submit in the next cycle */
    bool shut_down[TEAM_MAX];
    /* A message to go out in place of this rank's own: to the gather (rank > 0), as the broadcast
     * (rank 0). */
    const uint8_t *spoilt[TEAM_MAX];
    size_t spoilt_length[TEAM_MAX];

    /* Of the last cycle. */
    LsResponseList responses[TEAM_MAX];
    bool done[TEAM_MAX]; /* false: the control failed */
    bool left[TEAM_MAX];
    int path[TEAM_MAX];
    LsCacheCount counts[TEAM_MAX];
    GString *stalls; /* "tensor:rank:ns " ... of all cycles */
    GString *gates;  /* "rank:tensor:group " ... of all cycles */
    GString *notices;
    GString *calls; /* of the last cycle: G gather, B broadcast, A and, O or; words behind A, O */
};

void team_open(Team *team, int ranks); /* config is filled in before, or all zero */
void team_close(Team *team);
/* Adds to rank's next cycle an allreduce of [count] float32, sum; returned for changes. */
LsRequest *team_submit(Team *team, int rank, const char *name, int64_t count);
/* The same on all ranks. */
void team_submit_all(Team *team, const char *name, int64_t count);
void team_cycle(Team *team);
/* The last cycle's answers to the rank: "a+b c !d": buffers, ! before a failure. */
char *team_text(const Team *team, int rank);

/* The last cycle did these exchanges, answered this on every rank and took this path (-1: any). */
void team_check_cycle(const Team *team, const char *calls, const char *expected, int path);
/* The last cycle answered this on every rank. */
void team_check_answers(const Team *team, const char *expected);
/* Its i-th response is this failure on every rank. */
void team_check_error(const Team *team, size_t i, int32_t status, const char *text);
/* All ranks gave up in it with this sentence. */
void team_check_failure(const Team *team, const char *text);
