/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule.h: a random schedule of submissions, and the reference of what must come of it.
 */
#pragma once

#include <glib.h>

#include "reduce/control.h"
#include "reduce/transport-memory.h"

#define RANKS_MAX   16
#define TENSORS_MAX 24
#define TIMES_MAX   3

#define EXPECT(schedule, condition)                                                                \
    G_STMT_START                                                                                   \
    {                                                                                              \
        if (!(condition))                                                                          \
            g_error("LOCKSTEP_SEED=%u: %s:%d: %s", (schedule)->seed, G_STRFUNC, __LINE__,          \
                    #condition);                                                                   \
    }                                                                                              \
    G_STMT_END

typedef enum Field {
    FIELD_DTYPE,
    FIELD_OPERATION,
    FIELD_SHAPE,
    FIELD_REDUCTION, /* of an allreduce; else root */
    FIELDS,
} Field;

typedef struct Tensor {
    char name[40];
    uint8_t operation, dtype, reduction;
    int32_t root;
    int64_t count;
    int times;    /* how often each rank submits it */
    int bad_time; /* the occurrence in which bad_rank submits another bad_field; -1: none */
    int bad_rank;
    Field bad_field;
} Tensor;

/* One response that is expected. */
typedef struct Buffer {
    uint8_t operation, dtype, reduction;
    int32_t root, status;
    int64_t bytes;  /* for the rule of fusion */
    uint32_t ranks; /* that see it */
    int n, tensor[TENSORS_MAX];
} Buffer;

typedef struct Cycle {
    bool begun, judged, shut_down, slow;
    int64_t now_ns; /* the root's, at its begin */
    int32_t clock_peer;
    int requests[RANKS_MAX][TENSORS_MAX], n_requests[RANKS_MAX];
    int late[RANKS_MAX][TENSORS_MAX], n_late[RANKS_MAX];
    Buffer buffers[TENSORS_MAX];
    int n_buffers, executed;
    int64_t bytes[4]; /* per call: what the others count less what the root counts */
    int counted[4];
} Cycle;

typedef struct Schedule Schedule;
typedef struct Rank {
    Schedule *schedule;
    int rank;
} Rank;

struct Schedule {
    uint32_t seed;
    GRand *random;
    int ranks, tensors, leaver; /* -1: nobody leaves early */
    int64_t leave_ns, span_ns, cycle_ns;
    LsControlConfig config;
    LsMemoryCost cost;
    Tensor tensor[TENSORS_MAX];
    Rank rank[RANKS_MAX];
    int order[RANKS_MAX][TENSORS_MAX];         /* of submission within a cycle */
    int64_t submit_ns[RANKS_MAX][TENSORS_MAX]; /* the next one; INT64_MAX: none */

    /* What happened. */
    int submitted[RANKS_MAX][TENSORS_MAX], answered[RANKS_MAX][TENSORS_MAX];
    int number[RANKS_MAX], calls[RANKS_MAX], left;
    int open;        /* answers to come, on all ranks together */
    Cycle cycles[2]; /* no rank is more than one ahead of another */

    /* The reference. */
    uint32_t seen[TENSORS_MAX];
    int64_t first_ns[TENSORS_MAX];
    int waiting[TENSORS_MAX], n_waiting; /* in order of first submission */
    int owed[RANKS_MAX][TENSORS_MAX];
    int done[TENSORS_MAX];
    int32_t status[TENSORS_MAX][TIMES_MAX];
    int64_t clock_next_ns;
    int32_t clock_peer;
};

Schedule *schedule_new(uint32_t seed);
void schedule_free(Schedule *s);
int64_t schedule_random(Schedule *s, int64_t below); /* 0 ... below - 1 */
/* What the rank submits now. */
LsRequest schedule_request(const Schedule *s, int rank, int t);
const char *schedule_field_text(Field field);

/* Works out what the cycle must answer, from its requests. */
void reference_cycle(Schedule *s, Cycle *cycle);
