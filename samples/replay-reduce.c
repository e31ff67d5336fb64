/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/replay-reduce.c: hands the tensors to `reduce`, and what is known of them beforehand:
 * each layer's tensors are a list, and a layer's gradients need those of the layer that backward
 * comes from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/replay-mover.h"

struct Mover {
    lockstep_context *context;
    const Workload *workload;
    lockstep_handle *handles;
    size_t n_handles;
};

static lockstep_status
complain(lockstep_status status, const char *what)
{
    const char *text = lockstep_last_error();
    fprintf(stderr, "replay: %s: %s%s%s\n", what, lockstep_status_text(status),
            text[0] != '\0' ? ": " : "", text);
    return status;
}

/* Adds a layer: tensors first to end; `needed` is the first tensor of the layer before, or NULL. */
static lockstep_status
add_layer(lockstep_graph *graph, const Workload *workload, const char **names, size_t first,
          size_t end, const char *needed)
{
    lockstep_status status = LOCKSTEP_OK;

    for (size_t i = first; i < end && status == LOCKSTEP_OK; i++) {
        const WorkloadTensor *tensor = &workload->tensors[i];
        names[i] = tensor->name;
        status = lockstep_graph_tensor(graph, tensor->name,
                                       tensor->count * (int64_t)workload_get_width(tensor->dtype));
        if (status == LOCKSTEP_OK && needed != NULL)
            status = lockstep_graph_needs(graph, tensor->name, needed);
    }
    if (status == LOCKSTEP_OK)
        status = lockstep_graph_group(graph, &names[first], end - first);
    return status;
}

/* A layer's tensors stand one behind another. */
static lockstep_graph *
make_graph(const Workload *workload)
{
    lockstep_graph *graph = lockstep_graph_new();
    const char **names = calloc(workload->n, sizeof *names), *needed = NULL;
    lockstep_status status = graph == NULL || names == NULL ? LOCKSTEP_ERR_NO_MEMORY : LOCKSTEP_OK;

    for (size_t first = 0, end; first < workload->n && status == LOCKSTEP_OK; first = end) {
        const char *layer = workload->tensors[first].layer;
        for (end = first; end < workload->n && strcmp(workload->tensors[end].layer, layer) == 0;)
            end++;
        status = add_layer(graph, workload, names, first, end, needed);
        needed = workload->tensors[first].name;
    }
    free(names);
    if (status == LOCKSTEP_OK)
        return graph;
    complain(status, "the graph of the tensors");
    lockstep_graph_free(graph);
    return NULL;
}

static void
close_reduce(Mover *mover)
{
    if (mover->context != NULL)
        lockstep_shutdown(mover->context);
    free(mover->handles);
    free(mover);
}

static Mover *
open_reduce(const Workload *workload, const char *strategy, const char *run)
{
    Mover *mover = calloc(1, sizeof *mover);
    lockstep_graph *graph = make_graph(workload);
    lockstep_options options;
    lockstep_status status = LOCKSTEP_ERR_NO_MEMORY;

    lockstep_options_init(&options);
    options.run = run;
    options.settings = strategy;
    options.graph = graph;
    if (mover != NULL && graph != NULL) {
        mover->workload = workload;
        mover->handles = calloc(workload->n, sizeof *mover->handles);
        if (mover->handles != NULL)
            status = lockstep_init(&options, &mover->context);
        if (status != LOCKSTEP_OK)
            complain(status, "cannot start");
    }
    lockstep_graph_free(graph);
    if (status == LOCKSTEP_OK)
        return mover;
    if (mover != NULL)
        close_reduce(mover);
    return NULL;
}

static int
get_rank(const Mover *mover)
{
    return lockstep_rank(mover->context);
}

static int
get_ranks(const Mover *mover)
{
    return lockstep_size(mover->context);
}

static lockstep_status
submit(Mover *mover, size_t tensor, const TensorData *data)
{
    const WorkloadTensor *known = &mover->workload->tensors[tensor];
    lockstep_tensor handed = {.size = sizeof handed,
                              .name = known->name,
                              .input = data->input,
                              .output = data->output,
                              .count = known->count,
                              .dtype = known->dtype};
    lockstep_status status = lockstep_allreduce(mover->context, &handed, LOCKSTEP_SUM,
                                                &mover->handles[mover->n_handles]);
    if (status < 0)
        return complain(status, known->name);
    mover->n_handles++;
    return LOCKSTEP_OK;
}

static lockstep_status
wait_all(Mover *mover)
{
    lockstep_status result = LOCKSTEP_OK;

    for (size_t i = 0; i < mover->n_handles; i++) {
        lockstep_status status = lockstep_wait(mover->context, mover->handles[i], -1);
        if (status < 0 && result == LOCKSTEP_OK)
            result = complain(status, "while waiting");
    }
    mover->n_handles = 0;
    return result;
}

const MoverClass mover_reduce = {open_reduce, close_reduce, get_rank, get_ranks, submit, wait_all};
