/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule.h: a random schedule of submissions, and the reference of what must come of it.
 */
#pragma once

#include <glib.h>

#include "reduce/control.h"
#include "reduce/group.h"
#include "reduce/transport-memory.h"

#define RANKS_MAX   64
#define TENSORS_MAX 24
#define TIMES_MAX   3

#define EXPECT(schedule, condition)                                                                \
    G_STMT_START                                                                                   \
    {                                                                                              \
        if (!(condition))                                                                          \
            g_error("LOCKSTEP_SEED=%u of %s: %s:%d: %s", (schedule)->seed,                         \
                    (schedule)->class->name, G_STRFUNC, __LINE__, #condition);                     \
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
    int64_t count_later; /* from occurrence change_time on */
    int change_time;
    int group;    /* -1: none */
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
    int64_t count;  /* of its first tensor */
    uint64_t ranks; /* that see it */
    int n, tensor[TENSORS_MAX];
} Buffer;

typedef struct Cycle {
    bool begun, judged, shut_down;
    int path;
    int n_words; /* allreduces of it: the and, and the or */
    size_t words;
    int calls;      /* gathers and broadcasts of it */
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
    const LsControlClass *class;
    int ranks, tensors, leaver; /* -1: nobody leaves early */
    LsGroups *groups;           /* NULL: none */
    int64_t leave_ns, span_ns, cycle_ns;
    LsControlConfig config;
    LsMemoryCost cost;
    Tensor tensor[TENSORS_MAX];
    Rank rank[RANKS_MAX];
    int order[RANKS_MAX][TENSORS_MAX];         /* of submission within a cycle */
    int64_t submit_ns[RANKS_MAX][TENSORS_MAX]; /* the next one; INT64_MAX: none */

    /* What happened. */
    int submitted[RANKS_MAX][TENSORS_MAX], answered[RANKS_MAX][TENSORS_MAX];
    Buffer log[TENSORS_MAX * TIMES_MAX]; /* tree: what was executed, in order */
    int n_log, at[RANKS_MAX];
    int64_t mail[4]; /* tree: messages sent, received; their bytes */
    int number[RANKS_MAX], calls[RANKS_MAX], n_words[RANKS_MAX], left;
    size_t words[RANKS_MAX];
    int held[RANKS_MAX][TENSORS_MAX]; /* order of submission within its group, + 1; 0: not held */
    int open;                         /* answers to come, on all ranks together */
    Cycle cycles[2];                  /* no rank is more than one ahead of another */

    /* The reference. */
    uint64_t seen[TENSORS_MAX];
    int64_t first_ns[TENSORS_MAX];
    int waiting[TENSORS_MAX], n_waiting; /* in order of first submission */
    int owed[RANKS_MAX][TENSORS_MAX];
    int done[TENSORS_MAX];
    int32_t status[TENSORS_MAX][TIMES_MAX];
    int64_t clock_next_ns;
    int32_t clock_peer;
    int queued[RANKS_MAX][TENSORS_MAX], n_queued[RANKS_MAX]; /* bitvector: not sent to rank 0 */
    int bits[2 * TENSORS_MAX];            /* its cache: tensors by bit, -1: none */
    int64_t kept[TENSORS_MAX];            /* the count it is kept with */
    int n_bits, age[TENSORS_MAX], n_ages; /* the least recently used first */
    bool erased;
};

Schedule *schedule_new(uint32_t seed, const LsControlClass *class);
/* Of the tensor's occurrence. */
int64_t schedule_count(const Schedule *s, int t, int occurrence);
void schedule_free(Schedule *s);
int64_t schedule_random(Schedule *s, int64_t below); /* 0 ... below - 1 */
/* What the rank submits now. */
LsRequest schedule_request(const Schedule *s, int rank, int t);
const char *schedule_field_text(Field field);

/* Works out what the cycle must answer, from its requests, and by which exchanges. */
void reference_cycle(Schedule *s, Cycle *cycle);
/* The part of bitvector (reference-cache.c): what the and agrees goes to the head of the queue,
 * what is sent to rank 0 replaces the cycle's requests. Returns how many are agreed. */
int reference_agree(Schedule *s, Cycle *cycle, int *ret_common);
/* The answers enter the cache. round: by a round. */
void reference_keep(Schedule *s, const Cycle *cycle, bool round);
