/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/inspect.h: what the inspector says of a selected thing, as text and bars: picture and
 * window show the same.
 */
#pragma once

#include "layout/view.h"

typedef struct LsInspectPair {
    char *key, *value;
} LsInspectPair;

/* One rank's arrival, a mark on a strip. */
typedef struct LsInspectArrival {
    char *label;     /* of the rank */
    int64_t late_ns; /* after the first */
    double at;       /* 0..1 along the strip */
    bool last;
} LsInspectArrival;

typedef struct LsInspectPart {
    char *label; /* "wait for rank 2" */
    int64_t time_ns;
    double length; /* 0..1 of the longest */
    LsRole role;
    LsForm form;
} LsInspectPart;

typedef enum LsInspectAction {
    LS_ACT_GO_TO_RANK, /* target: index into ranks */
    LS_ACT_GO_TO_STEP, /* target: index of the step */
    LS_ACT_SHOW,       /* zoom to it */
    LS_ACT_LIFE_LINE,  /* next and previous on the tensor's way */
    LS_ACT_COPY_PLACE,
} LsInspectAction;

typedef struct LsInspectLink {
    LsInspectAction action;
    char *label;
    size_t target;
} LsInspectLink;

typedef struct LsInspect {
    char *title;
    int64_t start_ns, end_ns; /* what LS_ACT_SHOW shows */
    GArray *pairs;    /* LsInspectPair: operation, tensors, bytes, start, duration, rank, what it
                         overlaps */
    GArray *arrivals; /* LsInspectArrival; at most 64, the first and the last kept */
    GArray *parts;    /* LsInspectPart: where its time went */
    char *sentence;   /* NULL: nothing to say */
    GArray *links;    /* LsInspectLink */
} LsInspect;

/* NULL when nothing is selected. */
LsInspect *ls_inspect_new(const LsModel *model, const LsPick *pick);
void ls_inspect_free(LsInspect *inspect);
/* One line for a tooltip: "NCCL_ALLREDUCE 6.5 ms, 3.2 MB". Caller frees; NULL for LS_PICK_NONE. */
char *ls_inspect_format_line(const LsModel *model, const LsPick *pick);
/* "buffer:12", "tensor:layer1.conv", "step:41", "rank:2" to a pick; around_ns: of several the one
 * next to it. false: no such thing, LS_ERROR_USAGE. */
bool ls_inspect_find(const LsModel *model, const char *place, int64_t around_ns, LsPick *ret_pick,
                     GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsInspect, ls_inspect_free)
