/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/graph.h: what the caller knows of its tensors: their order and bytes, which needs which,
 * and which belong together; and the colours of that graph: tensors of one colour are one group
 * (arXiv 1909.11150; facts: seeds 1.4).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/group.h"
#include "reduce/lockstep.h"
#include "reduce/roster.h"

typedef struct LsNode {
    LsRosterItem item; /* its name is owned */
    int32_t index;     /* in the graph */
    int64_t bytes;
    int32_t *needs; /* owned; indices of nodes */
    int32_t n_needs, capacity;
} LsNode;

struct lockstep_graph {
    LsRoster roster;
    LsNode **nodes; /* owned, in the order in which they were added */
    int32_t n, capacity;
    bool edges;      /* some tensor needs another */
    LsGroups *lists; /* groups given name by name */
};
typedef struct lockstep_graph LsGraph;

/* A sentence in `error`: the name is known already, out of memory. */
const char *ls_graph_add(LsGraph *graph, const char *name, int64_t bytes, char error[256]);
const char *ls_graph_need(LsGraph *graph, const char *name, const char *needed, char error[256]);
/* Without the lists. NULL: there is none, or out of memory. */
LsGraph *ls_graph_copy(const LsGraph *graph);
int32_t ls_graph_find(const LsGraph *graph, const char *name); /* -1: not there */

/* As the choices of the setting `grouping`. */
typedef enum LsColouring {
    LS_COLOURING_AUTO, /* the file, else the lists, else the depth of a graph with edges, else none
                        */
    LS_COLOURING_NONE,
    LS_COLOURING_LISTS,
    LS_COLOURING_LAYER, /* by the leading parts of the name */
    LS_COLOURING_SLICES,
    LS_COLOURING_BYTES,
    LS_COLOURING_DEPTH, /* bands of depth, merged to at least `bytes` */
    LS_COLOURING_FILE,
} LsColouring;

typedef struct LsColourRule {
    LsColouring by;
    const char *file; /* "": none */
    int64_t slices;   /* as many pieces of near-equal number, in order */
    int64_t bytes;    /* BYTES: a group ends when it has as many */
    int64_t parts;    /* LAYER: parts of the name that make the layer; 0: all but the last */
} LsColourRule;

/* Fills the empty groups. graph may be NULL: then there is no tensor. A sentence in `error`. */
const char *ls_colour(const LsGraph *graph, const LsColourRule *rule, LsGroups *groups,
                      char error[256]);
