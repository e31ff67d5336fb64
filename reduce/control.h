/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/control.h: how ranks agree, as state machines without I/O.
 *
 * A control is one rank's half of a protocol. It is told what this rank has submitted and returns,
 * action by action, what must be exchanged; the driver performs each action over a transport and
 * hands the result back, until the control says it has a list of responses to execute. The same
 * code runs over MPI in a job, over memory with virtual time in tests, and in src/model. One table
 * row and one file per control: coordinator (Horovod's gather/broadcast protocol), bitvector (its
 * response cache), tree (the control tree of Kurth et al.). Not thread-safe: the background thread
 * owns it. Libc only, free of MPI and of src/capture.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/message.h"

typedef struct LsControl LsControl;
typedef struct LsGroups LsGroups; /* reduce/group.h */

typedef enum LsActionKind {
    LS_ACTION_GATHER,    /* every rank's `length` bytes to the root; lengths differ */
    LS_ACTION_BROADCAST, /* the root's bytes to all; only the root knows the length */
    LS_ACTION_AND,       /* words, in place, bitwise over all ranks */
    LS_ACTION_OR,
    LS_ACTION_SEND, /* `length` bytes to rank `root`; does not wait until they are there */
    LS_ACTION_POLL, /* the next message that was sent here, by any rank, if there is one */
    LS_ACTION_DONE, /* responses are ready: ls_control_take() */
} LsActionKind;

/* What the driver must do next. data/length are this rank's contribution (owned by the control,
 * valid until the next advance). */
typedef struct LsAction {
    LsActionKind kind;
    int root;
    const void *data;
    size_t length;   /* bytes */
    int64_t wait_ns; /* POLL: how long to wait for a message */
} LsAction;

/* What came of it. GATHER: at the root `parts` holds one piece per rank in rank order; elsewhere
 * none. BROADCAST: one piece. AND/OR: one piece. SEND: none. POLL: one piece or none. Borrowed for
 * the call. */
typedef struct LsPiece {
    const void *data;
    size_t length;
} LsPiece;
typedef struct LsResult {
    const LsPiece *parts;
    int n_parts;
    int from;      /* POLL: who sent it */
    int under_way; /* POLL: messages of this rank that rank `root` of the action has not received */
} LsResult;

typedef struct LsControlConfig {
    int rank, ranks;
    int64_t fusion_threshold_bytes; /* 0: no fusion */
    int64_t fusion_padding_bytes;   /* each tensor is rounded up to it; 1: not */
    int64_t stall_warning_ns;       /* 0: never */
    int64_t stall_limit_ns;         /* 0: never; else the tensor fails on all ranks */
    /* Pairs of hosts that measure their clocks in turn (LsResponseList.clock_peer goes round 0 ...
     * clock_peers - 1), one in a cycle, the next no sooner than the interval. 0 pairs: never. */
    int clock_peers;
    int64_t clock_interval_ns;
    size_t cache_capacity;  /* bitvector: tensors whose answers are kept; 0: none */
    int tree_radix;         /* tree: children of a rank; 0: all are rank 0's */
    int64_t poll_ns;        /* tree: how long a rank with a tensor pending waits for a message */
    const LsGroups *groups; /* borrowed, the same on all ranks; NULL: none */
    bool groups_alone;      /* buffers do not mix groups */
} LsControlConfig;

/* What the response cache of a rank was asked in a cycle. A request counts once, when it is first
 * looked up, but as invalid again when it has waited so long that its entry is given up. */
typedef struct LsCacheCount {
    uint32_t hits, misses, invalid;
    uint32_t evicted; /* entries that fell out for want of room, the same on every rank */
} LsCacheCount;

/* What advance() is at, where it takes time. */
typedef enum LsControlStage {
    LS_CONTROL_PARSE, /* reading what came */
    LS_CONTROL_BUILD, /* checking, fusing, encoding the answer (root only) */
} LsControlStage;

/* Told of things worth a record or a sentence, on the rank where they are known. Each may be NULL.
 */
typedef struct LsControlEvents {
    /* The tensor has waited that long for this rank. Once per missing rank, again after each
     * further stall_warning_ns. */
    void (*stall)(void *user, const char *tensor, int missing_rank, int64_t waited_ns);
    /* The last member of the tensor's group, `last`, was submitted here: from now on it is
     * reported. */
    void (*gate)(void *user, const char *tensor, int group, const char *last);
    /* The cycle asked the response cache; not where all counts are 0. */
    void (*cache)(void *user, const LsCacheCount *count);
    /* A sentence that the user should read, once. */
    void (*notice)(void *user, const char *text);
    /* The stage begins; it lasts until the next one or the return of advance(). */
    void (*stage)(void *user, LsControlStage stage);
    void *user;
} LsControlEvents;

typedef struct LsControlClass {
    const char *name;
    LsControl *(*open)(const LsControlConfig *config, const LsControlEvents *events);
    void (*close)(LsControl *control);
    /* A cycle begins (on every rank at once, where the control meets in collectives; in the tree
     * whenever a rank looks) with what was submitted since the last one (consumed). now_ns: any
     * monotonic clock, for stalls. shut_down: this rank wants to leave. */
    bool (*begin)(LsControl *control, LsRequestList *requests, bool shut_down, int64_t now_ns);
    /* result: of the previous action, NULL for the first. false: out of memory or a peer's bytes
     * make no sense (`error` tells); the context is then lost. What one rank finds, all learn: the
     * rank that fails stays in step to the end of the cycle, in which then every rank's advance is
     * false. */
    bool (*advance)(LsControl *control, const LsResult *result, LsAction *ret_action);
    /* After DONE: the responses in the order in which every rank must execute them (moved to the
     * caller), whether all leave after them, and the path that the cycle took (LsCyclePath). Every
     * name in them is pending on this rank, with the type and count that it submitted: names of
     * failures that concern other ranks only are left out. On leaving, what is still pending is the
     * caller's to fail (SHUT_DOWN). */
    void (*take)(LsControl *control, LsResponseList *ret_responses, bool *ret_shut_down,
                 int *ret_path);
    /* Requests of this rank that are not answered yet. */
    size_t (*pending)(const LsControl *control);
    const char *(*error)(const LsControl *control);
} LsControlClass;

extern const LsControlClass ls_control_coordinator;
extern const LsControlClass ls_control_bitvector;
extern const LsControlClass ls_control_tree;

/* Finds the row by name; NULL if there is none. */
const LsControlClass *ls_control_find(const char *name);
