/* SPDX-License-Identifier: Apache-2.0
 * merge/horovod-private.h: what horovod*.c share. */
#pragma once

#include "capture/format.h"
#include "merge/horovod.h"
#include "trace/process.h"

/* One thing that Horovod executed, in the order in which it was done, the same on all ranks: a
 * tensor, or a group that was submitted as one. */
typedef struct LsDeed {
    const char *name;  /* NULL: not known; of a group what its members' names have in common */
    uint32_t first, n; /* its tensors, in LsDeeds.uses */
    uint8_t operation;
    bool grouped;
    int64_t bytes;    /* -1 unknown */
    int64_t begin_ns; /* no rank is done before this moment, and none submits after done_ns */
    int64_t done_ns;
} LsDeed;

/* What was done, as rank 0 tells it. */
typedef struct LsDeeds {
    LsProcess *teller;
    GArray *deeds;    /* LsDeed, by done_ns */
    GArray *uses;     /* uint32_t: rows of the teller's uses; empty where nothing is named */
    GPtrArray *names; /* char *: of groups */
    bool named;
} LsDeeds;

/* A rank's ranges that have ended, by their end, and the deed that each of them is. */
typedef struct LsRangeMatch {
    GArray *ranges;                    /* LsRange */
    GArray *deeds;                     /* uint32_t, row of deeds or LS_NONE */
    size_t unlike, outside, withdrawn; /* do not fit; beyond what is told; given up for certainty */
} LsRangeMatch;

/* One rank while it is joined. */
typedef struct LsMember {
    LsProcess *process;
    LsRangeMatch *match; /* NULL: it has no ranges */
    bool teller, had_uses;
    bool controlled; /* its control was seen */
    uint8_t *taken;  /* by call of MPI: part of the control, or a buffer's */
    GArray *data;    /* uint32_t: calls of MPI that may move buffers, in order */
    guint next;      /* of data */
    size_t inferred; /* calls whose start is the teller's */
    int64_t slack_ns;
} LsMember;

typedef struct LsJoin {
    LsDeeds *deeds;
    GArray *members;    /* LsMember */
    GByteArray *cached; /* by use of the teller's timeline: the response cache answered for it */
    uint32_t *n_uses;   /* by call of the teller: how many it carried */
    GArray *in_order;   /* uint32_t: the teller's calls by start */
} LsJoin;

/* The domain of Horovod's operations; whether a process has such ranges. */
#define LS_HOROVOD_OPERATIONS "HorovodOps"
/* Those of rank 0's timeline, written there as well; its activities are in "...Activities". */
#define LS_HOROVOD_MIRROR "HorovodTimeline"
/* Fact "timeline.placed_by" of a run without the file. */
#define LS_HOROVOD_MIRROR_ALONE "its NVTX mirror alone"
bool ls_horovod_has_ranges(const LsProcess *process);

/* horovod-deeds.c */
LsDeeds *ls_deeds_new(LsProcess *teller);
void ls_deeds_free(LsDeeds *deeds);
/* The ranges of this domain (prefix: of NVTX), those that ended, by end. */
GArray *ls_horovod_get_ranges(const LsProcess *process, const char *domain);
/* "HorovodGroupedAllreduce": LsOperation, LS_OPERATION_UNKNOWN. */
uint8_t ls_horovod_range_operation(const char *message, bool *ret_grouped);

/* horovod-mirror.c: rank 0's uses and calls get what the file of its timeline lacks. */
void ls_horovod_take_mirror(LsProcess *writer);

/* horovod-match.c */
LsRangeMatch *ls_range_match_new(const LsDeeds *deeds, const LsProcess *process);
void ls_range_match_free(LsRangeMatch *match);

/* horovod-calls.c: which calls of MPI may move buffers; a rank's calls, as the teller has them. */
void ls_member_list_data(LsMember *member);
/* A buffer of the teller's on this rank, whose tensors were all submitted by submit_ns, the first of
 * them done by done_ns. */
void ls_member_copy_call(LsMember *member, const LsDeeds *deeds, const LsCall *told,
                         uint32_t tensors, int64_t submit_ns, int64_t done_ns);
/* The teller's own call gets the times of its call of MPI. */
void ls_member_time_call(LsMember *member, LsCall *told, uint32_t tensors);
/* Without names: what ended between one call of MPI and the next was in that buffer. */
void ls_member_find_calls(LsMember *member);

/* horovod-uses.c: the ranges of a rank become uses. */
void ls_member_join_named(const LsJoin *join, LsMember *member);
void ls_member_join_nameless(const LsJoin *join, LsMember *member);

/* horovod-cycles.c: the process's control from its calls of MPI, as cycles and messages; marks
 * those that are part of it in `taken` (one byte a call). False: none is. */
bool ls_horovod_find_cycles(LsProcess *process, uint8_t *taken);
/* horovod-paths.c: what each cycle led to, when the process's uses and calls are there. cached: of
 * each of its uses whether the response cache answered for it; NULL where that is not known. */
void ls_horovod_settle_cycles(const LsMember *member, const GByteArray *cached);
/* What is the same on all ranks, or known from the others alone: paths, what a root received. */
void ls_horovod_settle_rounds(GPtrArray *processes, LsProcess *teller);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsDeeds, ls_deeds_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsRangeMatch, ls_range_match_free)
