/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/groups-figure.h: one step as groups of tensors: who needs whom, when each tensor was
 * submitted, when its group was ready on every rank, in which cycle it was sent (arXiv 1909.11150,
 * figure 4; facts: seeds 6.8). Plain data, for ui/draw/figure-groups.c.
 *
 * Where nothing was grouped the buffers stand for groups: what the cycles made of the tensors.
 */
#pragma once

#include "layout/model.h"

/* A tensor; in order of place where the program told it, else of submission. */
typedef struct LsFigureMember {
    uint32_t tensor; /* name */
    uint32_t occurrence;
    guint section;
    int32_t place;                                            /* -1: not in the graph */
    int64_t bytes;                                            /* -1: unknown */
    int64_t submit_ns, ready_ns, agreed_ns, start_ns, end_ns; /* LS_TIME_NONE */
} LsFigureMember;

/* The lower tensor becomes ready only after the upper one, as the graph says. */
typedef struct LsFigureEdge {
    guint needed, needing; /* members */
} LsFigureEdge;

/* When a group was complete on a rank, and in which cycle it was reported. */
typedef struct LsFigureReady {
    uint32_t rank;
    int64_t ready_ns, cycle; /* LS_TIME_NONE, -1: not known */
} LsFigureReady;

typedef struct LsFigureSection {
    bool is_buffer;      /* it stands for tensors of no group */
    char *label, *scope; /* owned; scope: what a buffer's tensors' names have in common, "" */
    guint first, n;      /* members */
    int64_t bytes;
    int64_t submit_ns, ready_ns; /* its first, and complete, on the rank that is shown */
    int64_t agreed_ns, start_ns, end_ns;
    int64_t ready_cycle;                         /* on that rank; -1 */
    int64_t sent_first_cycle, sent_last_cycle;   /* -1 */
    guint first_ready, n_ready;                  /* of `ready`, by rank */
    guint last_ready;                            /* index: the rank that was last */
    int64_t first_ready_cycle, last_ready_cycle; /* over ranks; -1 */
} LsFigureSection;

typedef struct LsFigureCycle {
    int64_t number, start_ns, end_ns;
    bool sends; /* something was agreed in it */
} LsFigureCycle;

typedef struct LsFigurePhase {
    uint32_t name;
    int64_t start_ns, end_ns;
} LsFigurePhase;

typedef struct LsGroupsFigure {
    const LsModel *model;
    uint32_t rank;       /* index: whose view it is */
    int64_t step;        /* its number, -1: no steps were marked; then the */
    uint32_t occurrence; /* n-th use of every tensor */
    bool grouped, has_graph;
    int64_t zero_ns;          /* of the axis: the step's start, or the first submission */
    int64_t start_ns, end_ns; /* of what happened */
    GArray *sections, *members, *edges, *ready, *cycles, *phases;
    guint buffers, last_counts; /* sent in; sections in which last_rank was last */
    uint32_t last_rank;         /* index; LS_NONE: no one stands out, or one rank alone */
} LsGroupsFigure;

/* step: index of ls_model_get_steps, -1: without steps. NULL: nothing was submitted there on that
 * rank. */
LsGroupsFigure *ls_groups_figure_new(const LsModel *model, int step, uint32_t rank);
void ls_groups_figure_free(LsGroupsFigure *figure);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsGroupsFigure, ls_groups_figure_free)
